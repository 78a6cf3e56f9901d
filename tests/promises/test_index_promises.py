"""Promises 7, 8, 9 and 12 end to end: a whole index or the previous one, exact and untampered."""

from __future__ import annotations

import json
import math
import os
import signal
import sqlite3
import struct
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpora import Workbench, write_document

from rag_core.adapters import sqlite_values
from rag_core.errors import IntegrityError, ProviderError
from rag_core.types.questions import Asked
from rag_core.types.verdicts import Outcome, Reason
from rag_core.verbs.audit import audit
from rag_core.verbs.contract import CANARY_TEXTS
from rag_core.verbs.probe import probe
from rag_core.verbs.requests import resolve_question

TESTS = Path(__file__).resolve().parent.parent
QUESTION = "What colour is the seal of the pump?"
SENTENCE = "The seal of the pump is blue and never removed."
SEAL = [1, 0, 0, 0, 0, 0, 0, 0]
KEY = b"a signing key of the tests"


def filled(root: Path, *, key: bytes | None = None) -> Workbench:
    """A bench whose question has one answer; its index is not built yet."""
    bench = Workbench(root, key=key)
    bench.embedder.vectors = {"seal": SEAL}
    write_document(bench.corpus, "SEAL", SENTENCE)
    return bench


@pytest.fixture
def bench(tmp_path):
    bench = filled(tmp_path)
    bench.ingest()
    return bench


def only(run):
    return run.answers[0].verdict


def source_ids(bench: Workbench) -> tuple[str, ...]:
    with bench.store.open() as snapshot:
        return snapshot.source_ids()


def edit(bench: Workbench, *statements: str) -> None:
    with closing(sqlite3.connect(bench.state / "index.sqlite")) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def in_a_new_process(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": f"{TESTS}{os.pathsep}{TESTS.parent}"}
    return subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


# --- Promise 7: all or nothing --------------------------------------------------------------------

INGEST_AND_DIE = """
import os, signal, sys
from pathlib import Path
from corpora import Workbench
from rag_core.types.ids import RunId
from rag_core.verbs.ingest import ingest

root, label, when = Path(sys.argv[1]), sys.argv[2], sys.argv[3]

def run_step(name, step, /, *args, **kwargs):
    if name == label and when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    result = step(*args, **kwargs)
    if name == label:
        os.kill(os.getpid(), signal.SIGKILL)
    return result

bench = Workbench(root)
bench.embedder.vectors = {"seal": [1, 0, 0, 0, 0, 0, 0, 0]}
ingest(ports=bench.ingest_ports(), run_id=RunId("killed"), run_step=run_step)
"""


@pytest.mark.parametrize(
    ("label", "when"),
    [
        pytest.param("normalize", "after", id="documents are staged"),
        pytest.param("embed shard 1", "before", id="nothing is embedded"),
        pytest.param("embed shard 1", "after", id="all is embedded"),
        pytest.param("commit", "before", id="the build is staged"),
    ],
)
def test_promise_7_killed_after_any_step_the_previous_index_answers_and_the_next_run_ends(
    bench, label, when
):
    before = only(bench.answer(QUESTION))
    write_document(bench.corpus, "NEW", "A new rule is in force.")
    died = in_a_new_process(INGEST_AND_DIE, bench.root, label, when)
    assert died.returncode == -signal.SIGKILL, died.stderr
    assert source_ids(bench) == ("SEAL",)
    assert only(bench.answer(QUESTION)) == before
    bench.ingest()
    assert source_ids(bench) == ("NEW", "SEAL")


def test_promise_7_killed_behind_its_commit_an_ingest_stays_and_is_whole(bench):
    write_document(bench.corpus, "NEW", "A new rule is in force.")
    died = in_a_new_process(INGEST_AND_DIE, bench.root, "commit", "after")
    assert died.returncode == -signal.SIGKILL, died.stderr
    assert source_ids(bench) == ("NEW", "SEAL")
    assert bench.ingest().outcome == "unchanged"


@pytest.mark.parametrize("table", ["rag_sources", "rag_chunk_texts", "rag_manifest"])
def test_promise_7_cancellation_inside_the_transaction_rolls_back(bench, monkeypatch, table):
    before = only(bench.answer(QUESTION))
    edit(bench, "CREATE TABLE theirs (note TEXT)", "INSERT INTO theirs VALUES ('keep me')")
    write_document(bench.corpus, "NEW", "A new rule is in force.")
    insert = sqlite_values.insert

    def cancelled(connection: sqlite3.Connection, name: str, rows: Any) -> None:
        insert(connection, name, rows)
        if name == table:
            raise KeyboardInterrupt

    monkeypatch.setattr(sqlite_values, "insert", cancelled)
    with pytest.raises(KeyboardInterrupt):
        bench.ingest()
    monkeypatch.undo()
    assert source_ids(bench) == ("SEAL",)
    assert only(bench.answer(QUESTION)) == before
    with closing(sqlite3.connect(bench.state / "index.sqlite")) as connection:
        assert connection.execute("SELECT note FROM theirs").fetchall() == [("keep me",)]
    assert bench.ingest().outcome == "committed"


def test_promise_7_a_reader_during_the_swap_answers_from_one_whole_generation(bench, monkeypatch):
    first = only(bench.answer(QUESTION))
    write_document(bench.corpus, "SEAL", "The seal of the pump is green and never removed.")
    insert, during = sqlite_values.insert, []

    def watched(connection: sqlite3.Connection, name: str, rows: Any) -> None:
        insert(connection, name, rows)
        during.append(only(bench.answer(QUESTION)))

    monkeypatch.setattr(sqlite_values, "insert", watched)
    bench.ingest()
    assert len(during) >= 5
    assert all(verdict == first for verdict in during)
    assert only(bench.answer(QUESTION)).published[0].text == (
        "The seal of the pump is green and never removed."
    )


def test_promise_7_a_snapshot_taken_before_the_swap_stays_whole_behind_it(bench):
    with bench.store.open() as snapshot:
        write_document(bench.corpus, "SEAL", "The seal of the pump is green and never removed.")
        bench.ingest()
        (chunk,) = snapshot.chunks()
        assert snapshot.texts([chunk.id]) == (f"{SENTENCE}\n",)
        assert snapshot.vectors([chunk.id]).tolist() == [SEAL]


PROBE = """
import json, sys
from pathlib import Path
from corpora import Workbench
from rag_core.types.questions import Asked
from rag_core.verbs.probe import probe
from rag_core.verbs.requests import resolve_question

bench = Workbench(Path(sys.argv[1]))
bench.embedder.vectors = {"seal": [1, 0, 0, 0, 0, 0, 0, 0]}
question = resolve_question(Asked(sys.argv[2]), profile=bench.profile, clock=bench.clock)
found = probe(question, ports=bench.retrieval_ports())
print(json.dumps([found.generation_digest, [(h.chunk_id, h.cosine, h.text) for h in found.hits]]))
"""


def test_a_new_process_probes_what_another_process_wrote(bench):
    write_document(bench.corpus, "VALVE", "The valve opens at five bar and closes at two.")
    manifest = bench.ingest().manifest
    question = resolve_question(Asked(QUESTION), profile=bench.profile, clock=bench.clock)
    here = probe(question, ports=bench.retrieval_ports())
    there = in_a_new_process(PROBE, bench.root, QUESTION)
    assert there.returncode == 0, there.stderr
    hits = [[hit.chunk_id, hit.cosine, hit.text] for hit in here.hits]
    assert hits[0][:2] == ["SEAL#0", 1.0]
    assert there.stdout.strip() == json.dumps([manifest.generation_digest, hits])


# --- Promise 8: every vector sound, in the order of its chunk, read back before the commit --------


def test_promise_8_each_chunk_is_stored_with_the_vector_of_its_own_text(tmp_path):
    bench = Workbench(tmp_path)
    for number in range(40):
        write_document(bench.corpus, f"DOC-{number}", f"Rule {number} is in force.")
    bench.ingest()
    with bench.store.open() as snapshot:
        ids = [chunk.id for chunk in snapshot.chunks()]
        texts = snapshot.texts(ids)
        stored = snapshot.vectors(ids)
    for text, vector in zip(texts, stored, strict=True):
        (expected,) = bench.embedder.embed([f"A title\n{text}"])
        assert vector.tobytes() == expected.tobytes()


def with_value(value: float):
    def spoil(vectors: np.ndarray) -> np.ndarray:
        spoiled = vectors.copy()
        spoiled[-1, -1] = value
        return spoiled

    return spoil


def zero_last(vectors: np.ndarray) -> np.ndarray:
    return np.vstack([vectors[:-1], np.zeros_like(vectors[:1])])


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(with_value(math.nan), id="one coordinate is no number"),
        pytest.param(with_value(math.inf), id="one coordinate is infinite"),
        pytest.param(zero_last, id="one vector is zero"),
    ],
)
def test_promise_8_one_bad_vector_names_its_chunk_and_keeps_the_previous_index(bench, spoil):
    before = only(bench.answer(QUESTION))
    sound = bench.embedder.embed

    def embed(texts):
        return sound(texts) if texts[0] in CANARY_TEXTS else spoil(sound(texts))

    bench.embedder.embed = embed
    write_document(bench.corpus, "NEW-A", "A new rule is in force.")
    write_document(bench.corpus, "NEW-B", "Another new rule is in force.")
    with pytest.raises(ProviderError, match="NEW-B#0"):
        bench.ingest()
    bench.embedder.embed = sound
    assert source_ids(bench) == ("SEAL",)
    assert only(bench.answer(QUESTION)) == before


@pytest.mark.parametrize(
    "trigger",
    [
        pytest.param("DELETE FROM rag_vectors WHERE chunk_id = 'NEW#0'", id="a vector is lost"),
        pytest.param("DELETE FROM rag_chunk_texts WHERE chunk_id = 'NEW#0'", id="a text is lost"),
        pytest.param(
            "UPDATE rag_chunks SET vector_digest = text_digest WHERE id = 'NEW#0'",
            id="a digest is another",
        ),
    ],
)
def test_promise_8_rows_that_do_not_read_back_end_the_ingest_before_its_commit(bench, trigger):
    before = only(bench.answer(QUESTION))
    edit(
        bench,
        f"CREATE TRIGGER faulty AFTER INSERT ON rag_manifest BEGIN {trigger}; END",
    )
    write_document(bench.corpus, "NEW", "A new rule is in force.")
    with pytest.raises(IntegrityError):
        bench.ingest()
    assert source_ids(bench) == ("SEAL",)
    assert only(bench.answer(QUESTION)) == before


# --- Promise 9: exact and deterministic -----------------------------------------------------------


def plain_cosine(left: list[float], right: list[float]) -> float:
    dot = a = b = 0.0
    for x, y in zip(left, right, strict=True):
        dot += x * y
        a += x * x
        b += y * y
    return max(-1.0, min(1.0, dot / math.sqrt(a * b)))


def stored_vectors(bench: Workbench) -> dict[str, list[float]]:
    """Every vector of the file, read by plain SQL and unpacked by the standard library."""
    with closing(sqlite3.connect(bench.state / "index.sqlite")) as connection:
        found = connection.execute("SELECT chunk_id, vector FROM rag_vectors").fetchall()
    return {chunk_id: list(struct.unpack(f"<{len(raw) // 4}f", raw)) for chunk_id, raw in found}


def probed(bench: Workbench, text: str) -> list[tuple[str, float]]:
    question = resolve_question(Asked(text), profile=bench.profile, clock=bench.clock)
    found = probe(question, ports=bench.retrieval_ports(), limit=1_000)
    return [(str(hit.chunk_id), hit.cosine) for hit in found.hits]


def test_promise_9_a_probe_equals_a_plain_scan_of_every_eligible_chunk(tmp_path):
    bench = Workbench(tmp_path)
    for number in range(120):
        scope = "hr" if number % 5 == 0 else "public"
        write_document(bench.corpus, f"DOC-{number}", f"Rule {number} is law.", scope=scope)
    bench.ingest()
    question = "Which rule is in force?"
    query = bench.embedder.embed([question])[0].tolist()
    hidden = {f"DOC-{number}#0" for number in range(0, 120, 5)}
    expected = sorted(
        (-plain_cosine(query, vector), chunk_id)
        for chunk_id, vector in stored_vectors(bench).items()
        if chunk_id not in hidden
    )
    assert probed(bench, question) == [(chunk_id, -score) for score, chunk_id in expected]
    assert len(expected) == 96


def test_promise_9_ties_go_by_ordinal_chunk_id(tmp_path):
    bench = Workbench(tmp_path)
    bench.embedder.vectors = {"seal": SEAL}
    write_document(bench.corpus, "B", "The seal of the pump. " * 280)
    write_document(bench.corpus, "a", "The seal of the pump is blue.")
    (bench.corpus / "a.md").rename(bench.corpus / "lower-case.md")
    write_document(bench.corpus, "A", "The seal of the pump is blue.")
    bench.ingest()
    parts = sorted(chunk_id for chunk_id in stored_vectors(bench) if chunk_id.startswith("B#"))
    assert "B#10" in parts
    assert probed(bench, QUESTION) == [(i, 1.0) for i in ("A#0", *parts, "a#0")]
    assert parts.index("B#10") < parts.index("B#2")


def test_promise_9_the_order_in_which_files_were_written_changes_no_ranking(tmp_path):
    ranked = []
    for name, order in (("one", range(30)), ("two", reversed(range(30)))):
        bench = Workbench(tmp_path / name)
        bench.embedder.vectors = {"pump": SEAL}  # all ties
        for number in order:
            write_document(bench.corpus, f"DOC-{number}", f"Rule {number} of the pump is law.")
            if number % 10 == 5:
                bench.ingest()
        bench.ingest()
        (item,) = bench.answer("Which rule of the pump is law?").answers
        assert item.retrieval is not None
        ranked.append((probed(bench, QUESTION), item.retrieval.candidates))
    assert ranked[0] == ranked[1]


# --- Promise 12: with a key configured, nothing tampered is used ----------------------------------


def test_promise_12_with_a_key_an_unsigned_index_is_refused_until_it_is_rebuilt(tmp_path):
    filled(tmp_path).ingest()
    bench = filled(tmp_path, key=KEY)
    bench.runs = 10
    assert only(bench.answer(QUESTION)).reasons == (Reason.INTEGRITY,)
    with pytest.raises(IntegrityError, match="no signature"):
        bench.ingest()
    bench.ingest(rebuild=True)
    assert only(bench.answer(QUESTION)).outcome is Outcome.ANSWERED


def test_promise_12_an_index_of_another_key_is_refused_by_every_reader(tmp_path):
    filled(tmp_path, key=b"another key").ingest()
    bench = filled(tmp_path, key=KEY)
    bench.runs = 10
    assert only(bench.answer(QUESTION)).reasons == (Reason.INTEGRITY,)
    question = resolve_question(Asked(QUESTION), profile=bench.profile, clock=bench.clock)
    with pytest.raises(IntegrityError, match="signature"):
        probe(question, ports=bench.retrieval_ports())
    with pytest.raises(IntegrityError, match="signature"):
        audit(store=bench.store, run_log=bench.run_log)


def test_promise_12_a_forger_without_the_key_cannot_put_in_another_text(tmp_path):
    bench = filled(tmp_path / "true", key=KEY)
    bench.ingest()
    forged = filled(tmp_path / "forged")
    write_document(forged.corpus, "SEAL", "The seal of the pump is red and often removed.")
    forged.ingest()
    (forged.state / "index.sqlite").replace(bench.state / "index.sqlite")
    assert only(bench.answer(QUESTION)).reasons == (Reason.INTEGRITY,)
    # The same forgery, with the true index's signature copied onto it.
    again = filled(tmp_path / "again", key=KEY)
    again.ingest()
    with again.store.open() as snapshot:
        signature = snapshot.manifest.signature
    with closing(sqlite3.connect(bench.state / "index.sqlite")) as connection, connection:
        connection.execute("UPDATE rag_manifest SET signature = ?", (signature,))
    assert only(bench.answer(QUESTION)).reasons == (Reason.INTEGRITY,)
