"""What an ingest promises: all or nothing, nothing embedded twice, resumes, says what it did."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

import numpy as np
import pytest
from corpora import Workbench, write_document

from rag_core.adapters.corpus_folder import CorpusFolder
from rag_core.errors import (
    ContractMismatchError,
    CorpusError,
    LockedError,
    ProviderError,
    RecordError,
)
from rag_core.types.ids import RunId
from rag_core.types.verdicts import Outcome
from rag_core.verbs.contract import CANARY_TEXTS
from rag_core.verbs.ingest import IngestOptions, ingest


@pytest.fixture
def bench(tmp_path):
    bench = Workbench(tmp_path)
    write_document(bench.corpus, "SEAL", "The seal of the pump is blue and never removed.")
    write_document(bench.corpus, "VALVE", "The valve opens at five bar and closes at two bar.")
    return bench


def chunk_ids(bench: Workbench) -> list[str]:
    with bench.store.open() as snapshot:
        return [chunk.id for chunk in snapshot.chunks()]


def texts_embedded(bench: Workbench) -> list[str]:
    return [text for request in bench.embedder.requests for text in request]


def test_a_first_ingest_commits_every_document(bench):
    done = bench.ingest()
    assert (done.outcome, done.manifest.counts.sources) == ("committed", 2)
    assert chunk_ids(bench) == ["SEAL#0", "VALVE#0"]


def test_an_unchanged_corpus_is_not_committed_again(bench):
    first = bench.ingest()
    second = bench.ingest()
    assert second.outcome == "unchanged"
    assert second.manifest.generation_digest == first.manifest.generation_digest


def test_an_unchanged_corpus_costs_one_canary_request(bench):
    bench.ingest()
    bench.embedder.requests.clear()
    bench.ingest()
    assert bench.embedder.requests == [CANARY_TEXTS]


def test_adding_one_document_to_a_thousand_embeds_one_text_and_says_so(tmp_path):
    bench = Workbench(tmp_path)
    for number in range(1000):
        write_document(bench.corpus, f"DOC-{number:04}", f"Rule {number} is in force.")
    bench.ingest()
    bench.embedder.requests.clear()
    write_document(bench.corpus, "NEW", "A new rule is in force.")
    done = bench.ingest()
    embedded = [text for text in texts_embedded(bench) if text not in CANARY_TEXTS]
    assert embedded == ["A title\nA new rule is in force.\n"]
    assert (done.plan.missing, done.plan.reused, done.plan.requests) == (1, 1000, 1)


def test_thirty_three_missing_chunks_are_three_requests(tmp_path):
    bench = Workbench(tmp_path)
    for number in range(33):
        write_document(bench.corpus, f"DOC-{number:02}", f"Rule {number} is in force.")
    done = bench.ingest()
    chunk_requests = [r for r in bench.embedder.requests if r[0] not in CANARY_TEXTS]
    assert [len(request) for request in chunk_requests] == [16, 16, 1]
    assert done.plan.requests == 3


def test_two_equal_texts_are_embedded_once_and_stay_two_chunks(tmp_path):
    bench = Workbench(tmp_path)
    write_document(bench.corpus, "ONE", "Keep the shared paragraph.")
    write_document(bench.corpus, "TWO", "Keep the shared paragraph.")
    done = bench.ingest()
    assert (done.plan.chunks, done.plan.missing) == (2, 1)
    assert chunk_ids(bench) == ["ONE#0", "TWO#0"]


def test_a_removed_document_leaves_no_chunk(bench):
    bench.ingest()
    (bench.corpus / "seal.md").unlink()
    bench.ingest()
    assert chunk_ids(bench) == ["VALVE#0"]


def test_a_shortened_document_leaves_no_old_part(tmp_path):
    bench = Workbench(tmp_path)
    write_document(bench.corpus, "LONG", "A sentence of the long rule. " * 60)
    bench.ingest()
    assert chunk_ids(bench) == ["LONG#0", "LONG#1", "LONG#2", "LONG#3"]
    write_document(bench.corpus, "LONG", "A short rule.")
    bench.ingest()
    assert chunk_ids(bench) == ["LONG#0"]


def test_an_embedding_error_keeps_the_previous_index_and_names_no_success(bench):
    bench.ingest()
    before = chunk_ids(bench)
    write_document(bench.corpus, "NEW", "A new rule is in force.")
    bench.embedder.fail_after = len(bench.embedder.requests) + 1  # the canary passes
    with pytest.raises(ProviderError):
        bench.ingest()
    assert chunk_ids(bench) == before


def test_an_interrupted_ingest_resumes_with_the_batches_that_were_finished(tmp_path):
    bench = Workbench(tmp_path)
    for number in range(40):
        write_document(bench.corpus, f"DOC-{number:02}", f"Rule {number} is in force.")
    bench.embedder.fail_after = 3  # the canaries and two batches
    with pytest.raises(ProviderError):
        bench.ingest()
    bench.embedder.fail_after = None
    bench.embedder.requests.clear()
    done = bench.ingest()
    assert (done.plan.reused, done.plan.missing) == (32, 8)
    assert len(chunk_ids(bench)) == 40


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda v: v * np.nan, id="not a number"),
        pytest.param(lambda v: v * 0, id="zero vector"),
        pytest.param(lambda v: v[:, :-1], id="another dimension"),
        pytest.param(lambda v: v[:-1], id="one vector too few"),
        pytest.param(lambda v: np.vstack([v, v[:1]]), id="one vector too many"),
        pytest.param(lambda v: v * np.inf, id="infinite"),
    ],
)
def test_a_bad_vector_stops_the_ingest_before_the_transaction(bench, spoil):
    bench.ingest()
    before = bench.store
    write_document(bench.corpus, "NEW", "A new rule is in force.")
    bench.embedder.spoil = spoil
    with pytest.raises(ProviderError):
        bench.ingest()
    with before.open() as snapshot:
        assert snapshot.source_ids() == ("SEAL", "VALVE")


def test_a_corpus_error_is_raised_before_any_embedding(bench):
    write_document(bench.corpus, "BAD", "Text.", valid_until="2024-01-01")
    with pytest.raises(CorpusError) as caught:
        bench.ingest()
    assert [finding.code for finding in caught.value.findings] == ["invalid_interval"]
    assert bench.embedder.requests == []


def test_another_model_of_equal_dimension_is_refused_with_both_sides_named(bench):
    bench.ingest()
    bench.embedder.model = "other-model"
    with pytest.raises(ContractMismatchError) as caught:
        bench.ingest()
    assert "'known-vectors'" in str(caught.value)
    assert "'other-model'" in str(caught.value)


def test_a_rebuild_accepts_another_model_and_reuses_nothing(bench):
    bench.ingest()
    bench.embedder.model = "other-model"
    done = bench.ingest(rebuild=True)
    assert (done.plan.missing, done.plan.reused) == (2, 0)
    assert done.manifest.contract.embedding.model == "other-model"


def test_a_model_swapped_behind_its_name_is_caught_by_a_canary(bench):
    bench.ingest()
    bench.embedder.spoil = lambda vectors: vectors[:, ::-1].copy()
    with pytest.raises(ContractMismatchError, match="canary"):
        bench.ingest()


@pytest.mark.parametrize("dry_run", [True, False], ids=["dry run", "ingest"])
def test_a_document_that_the_profile_cannot_see_is_a_notice_with_the_close_match(bench, dry_run):
    write_document(bench.corpus, "TYPO", "A rule of a misspelt scope.", scope="pubic")
    (finding,) = bench.ingest(dry_run=dry_run).findings
    assert (finding.code, finding.path, finding.field) == ("unreachable_scope", "typo.md", "scope")
    assert finding.message.endswith("close matches: public")


def test_a_chunk_longer_than_the_models_window_is_a_notice_with_its_window_count(bench):
    bench.embedder.window_chars = 40
    done = bench.ingest()
    assert [(f.code, f.path) for f in done.findings] == [
        ("token_windows", "seal.md"),
        ("token_windows", "valve.md"),
    ]
    assert "2 token windows" in done.findings[0].message
    with bench.store.open() as snapshot:
        assert [chunk.windows for chunk in snapshot.chunks()] == [2, 2]


def test_each_token_window_counts_as_an_input_of_a_batch(tmp_path):
    bench = Workbench(tmp_path)
    bench.embedder.window_chars = 20
    for number in range(10):
        write_document(bench.corpus, f"DOC-{number}", "Forty characters of text.")
    done = bench.ingest(dry_run=True)
    assert (done.plan.missing, done.plan.requests) == (1, 1)
    for number in range(10):
        write_document(bench.corpus, f"DOC-{number}", f"Rule {number} is a text of its own.")
    done = bench.ingest(dry_run=True)
    assert (done.plan.missing, done.plan.requests) == (10, 2)


def test_a_dry_run_embeds_and_commits_nothing(bench):
    done = bench.ingest(dry_run=True)
    assert (done.outcome, done.plan.missing, done.plan.requests) == ("dry_run", 2, 1)
    assert bench.embedder.requests == []
    assert not (bench.state / "index.sqlite").exists()


def test_a_second_ingest_at_once_ends_with_a_clear_state(bench):
    with bench.ingest_ports().lock(), pytest.raises(LockedError):
        bench.ingest()


def test_tables_of_other_modules_survive(bench):
    bench.state.mkdir(parents=True)
    with sqlite3.connect(bench.state / "index.sqlite") as connection:
        connection.execute("CREATE TABLE theirs (id INTEGER PRIMARY KEY, note TEXT)")
        connection.execute("INSERT INTO theirs VALUES (1, 'keep me')")
    connection.close()
    bench.ingest()
    bench.ingest(rebuild=True)
    connection = sqlite3.connect(bench.state / "index.sqlite")
    assert connection.execute("SELECT * FROM theirs").fetchall() == [(1, "keep me")]
    connection.close()


def test_newlines_and_byte_order_mark_do_not_change_the_contract(bench):
    first = bench.ingest()
    path = bench.corpus / "seal.md"
    text = path.read_text(encoding="utf-8")
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    second = bench.ingest()
    assert second.manifest.contract_digest == first.manifest.contract_digest
    assert second.plan.missing == 0


def test_every_ingest_is_recorded_also_a_failed_one(bench):
    bench.ingest()
    write_document(bench.corpus, "BAD", "Text.", status="aproved")
    with pytest.raises(CorpusError):
        bench.ingest()
    rows = [bench.run_log.read_run(f"run-{n}")["ingests"][0] for n in (1, 2)]
    assert [(row["outcome"], row["reason"]) for row in rows] == [
        ("committed", None),
        ("failed", "corpus_findings"),
    ]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        pytest.param(ZeroDivisionError("a bug"), "internal", id="a bug"),
        pytest.param(KeyboardInterrupt(), "cancelled", id="a cancellation"),
    ],
)
def test_whatever_stops_an_ingest_leaves_a_failed_row_and_the_index(bench, error, reason):
    bench.ingest()
    write_document(bench.corpus, "NEW", "A new rule is in force.")

    def stop(vectors):
        raise error

    bench.embedder.spoil = stop
    with pytest.raises(type(error)):
        bench.ingest()
    (row,) = bench.run_log.read_run("run-2")["ingests"]
    assert (row["outcome"], row["reason"]) == ("failed", reason)
    assert chunk_ids(bench) == ["SEAL#0", "VALVE#0"]


def test_an_ingest_that_found_the_lock_held_leaves_a_failed_row(bench):
    with bench.ingest_ports().lock(), pytest.raises(LockedError):
        bench.ingest()
    (row,) = bench.run_log.read_run("run-1")["ingests"]
    assert (row["outcome"], row["reason"]) == ("failed", "locked")


def test_with_a_key_a_staged_artifact_that_was_sealed_without_it_is_not_used(tmp_path):
    """Promise 12: staged text and vectors become signed content, so they need the key too."""
    forger = Workbench(tmp_path)
    write_document(forger.corpus, "SEAL", "The seal of the pump is blue and never removed.")
    forger.ingest(dry_run=True)
    forger.embedder.fail_after = 1
    with pytest.raises(ProviderError):
        forger.ingest()  # its vectors are staged, its canaries fail
    bench = Workbench(tmp_path, key=b"a signing key")
    done = bench.ingest()
    assert (done.plan.missing, done.plan.reused) == (1, 0)


def test_stages_hold_what_the_last_two_generations_need_and_no_more(bench):
    for number in range(4):
        write_document(bench.corpus, "NEW", f"Rule {number} is in force.")
        bench.ingest()
    for kind in ("documents", "chunks", "builds"):
        assert len(list((bench.state / "stages" / kind).glob("*.parquet"))) == 2
    write_document(bench.corpus, "NEW", "Rule 2 is in force.")
    assert bench.ingest(dry_run=True).plan.missing == 0


def test_a_rebuild_reads_every_file_again(bench):
    bench.ingest()
    read = []

    class CountingFolder(CorpusFolder):
        def read(self, files):
            read.append(len(files))
            return super().read(files)

    ports = replace(bench.ingest_ports(), corpus=CountingFolder(bench.corpus))
    ingest(ports=ports, run_id=RunId("again"), options=IngestOptions(rebuild=True))
    assert read == [2]


def test_the_signing_key_is_not_in_the_repr_of_the_ports(tmp_path):
    assert "s3cret" not in repr(Workbench(tmp_path, key=b"s3cret").ingest_ports())


def test_a_commit_that_cannot_be_recorded_says_so_and_stays(bench):
    bench.ingest()
    write_document(bench.corpus, "NEW", "A new rule is in force.")
    runs = bench.state / "runs"
    for path in sorted(runs.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    runs.rmdir()
    runs.write_text("a file where the run log should be")
    with pytest.raises(RecordError):
        bench.ingest()
    assert chunk_ids(bench) == ["NEW#0", "SEAL#0", "VALVE#0"]


def test_a_damaged_index_is_named_and_a_rebuild_replaces_it(bench):
    bench.ingest()
    connection = sqlite3.connect(bench.state / "index.sqlite")
    connection.execute("UPDATE rag_chunk_texts SET text = 'forged' WHERE chunk_id = 'SEAL#0'")
    connection.commit()
    connection.close()
    run = bench.answer("What colour is the seal of the pump?")
    assert run.answers[0].verdict.outcome is Outcome.FAILED
    assert [r.value for r in run.answers[0].verdict.reasons] == ["integrity"]
    bench.ingest(rebuild=True)
    assert chunk_ids(bench) == ["SEAL#0", "VALVE#0"]
