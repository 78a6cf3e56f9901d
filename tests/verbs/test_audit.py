"""What an audit finds: damage, drift, and an older generation put back."""

from __future__ import annotations

import shutil
import sqlite3

import pytest
from corpora import Workbench, write_document

from rag_core.adapters.corpus_folder import CorpusFolder
from rag_core.errors import IntegrityError, StaleIndexError
from rag_core.verbs.audit import audit, require_clean


@pytest.fixture
def bench(tmp_path):
    bench = Workbench(tmp_path)
    write_document(bench.corpus, "SEAL", "The seal of the pump is blue and never removed.")
    write_document(bench.corpus, "VALVE", "The valve opens at five bar and closes at two.")
    bench.ingest()
    return bench


def audited(bench, *, compare=False):
    corpus = CorpusFolder(bench.corpus) if compare else None
    return audit(store=bench.store, run_log=bench.run_log, corpus=corpus)


def test_a_sound_index_has_no_problem(bench):
    assert audited(bench).problems == ()


def test_an_audit_loads_no_model(bench):
    bench.embedder.requests.clear()
    audited(bench)
    assert bench.embedder.requests == []


def test_drift_names_what_was_added_removed_and_changed(bench):
    write_document(bench.corpus, "NEW", "A new rule is in force.")
    write_document(bench.corpus, "SEAL", "The seal of the pump is green and never removed.")
    (bench.corpus / "valve.md").unlink()
    drift = audited(bench, compare=True).drift
    assert (drift.added, drift.removed, drift.changed) == (("NEW",), ("VALVE",), ("SEAL",))


def test_other_newlines_are_no_drift(bench):
    path = bench.corpus / "seal.md"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert not audited(bench, compare=True).drift


def test_drift_is_an_error_only_where_a_current_index_is_required(bench):
    write_document(bench.corpus, "NEW", "A new rule is in force.")
    result = audited(bench, compare=True)
    require_clean(result, require_current=False)
    with pytest.raises(StaleIndexError, match="1 added"):
        require_clean(result, require_current=True)


def test_a_damaged_vector_is_one_failed_check_and_the_others_still_run(bench):
    connection = sqlite3.connect(bench.state / "index.sqlite")
    connection.execute("UPDATE rag_vectors SET vector = zeroblob(32) WHERE chunk_id = 'SEAL#0'")
    connection.commit()
    connection.close()
    result = audited(bench)
    assert [check.name for check in result.problems] == ["vectors"]
    with pytest.raises(IntegrityError, match="vectors"):
        require_clean(result, require_current=False)


def test_a_commit_whose_record_was_lost_is_no_older_generation(bench):
    write_document(bench.corpus, "NEW", "A new rule is in force.")
    done = bench.ingest()
    (record,) = (bench.state / "runs" / "ingests").rglob(f"{done.record.run_id}.parquet")
    record.unlink()
    assert audited(bench).problems == ()
    bench.ingest()
    assert "run run-3" in audited(bench).checks[-1].found


@pytest.mark.parametrize("key", [None, b"a signing key"], ids=["unsigned", "signed"])
def test_an_older_generation_put_back_is_reported(tmp_path, key):
    bench = Workbench(tmp_path, key=key)
    write_document(bench.corpus, "SEAL", "The seal of the pump is blue and never removed.")
    bench.ingest()
    index, old = bench.state / "index.sqlite", tmp_path / "old.sqlite"
    shutil.copy(index, old)
    write_document(bench.corpus, "NEW", "A new rule is in force.")
    bench.ingest()
    shutil.copy(old, index)
    assert [check.name for check in audited(bench).problems] == ["newest generation"]
