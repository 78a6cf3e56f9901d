"""Promises 10 and 11 end to end: no answer without a record, and no secret in any of them."""

from __future__ import annotations

import logging
import traceback
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from corpora import Workbench, write_document

from flows import cli
from rag_core.adapters.run_log import RunLogFolder
from rag_core.errors import CorpusError, IntegrityError, ProviderError, RecordError
from rag_core.runtime import KEY_VARIABLE, Runtime, bundled_corpus
from rag_core.types.verdicts import Outcome
from rag_core.verbs.ingest import ingest

if TYPE_CHECKING:
    from pathlib import Path

QUESTION = "What colour is the seal of the pump?"
SENTENCE = "The seal of the pump is blue and never removed."
SECRET = "s3cret-signing-key-7f3a"


@pytest.fixture
def bench(tmp_path):
    bench = Workbench(tmp_path, key=SECRET.encode())
    bench.embedder.vectors = {"seal": [1, 0, 0, 0, 0, 0, 0, 0]}
    write_document(bench.corpus, "SEAL", SENTENCE)
    bench.ingest()
    return bench


def only(run):
    return run.answers[0].verdict


# --- Promise 10: hits and verdict are durable before the answer is shown --------------------------


@pytest.mark.parametrize("table", ["hits", "verdicts"])
def test_promise_10_an_answer_is_withheld_when_either_table_cannot_be_written(
    bench, table, monkeypatch
):
    write = RunLogFolder._write

    def refused(self, name: str, *rest: Any) -> Path:
        if name == table:
            raise RecordError("the disk is full")
        return write(self, name, *rest)

    monkeypatch.setattr(RunLogFolder, "_write", refused)
    with pytest.raises(RecordError):
        bench.answer(QUESTION)
    assert list((bench.state / "runs" / "verdicts").rglob("*.parquet")) == []


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        pytest.param(QUESTION, Outcome.ANSWERED, id="answered"),
        pytest.param("Who repairs the roof?", Outcome.REFUSED, id="refused"),
    ],
)
def test_promise_10_what_returns_stands_in_the_log_word_for_word(bench, text, outcome):
    run = bench.answer(text)
    verdict, retrieval = only(run), run.answers[0].retrieval
    assert verdict.outcome is outcome
    (row,) = pq.ParquetFile(run.verdicts_path).read().to_pylist()
    hits = pq.ParquetFile(run.hits_path).read().to_pylist()
    assert row["question"] == text
    assert row["outcome"] == outcome.value
    assert row["reasons"] == [reason.value for reason in verdict.reasons]
    assert [item["text"] for item in row["published"]] == [t.text for t in verdict.published]
    assert [hit["chunk_id"] for hit in hits] == [c.chunk_id for c in retrieval.candidates]


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """A state root with the bundled corpus under the embedded model."""
    root = tmp_path_factory.mktemp("sample")
    runtime = Runtime.open("offline", root)
    ingest(ports=runtime.ingesting(bundled_corpus()), run_id=runtime.new_run_id())
    return root


@pytest.mark.parametrize("extra", [[], ["--json"], ["--questions"]], ids=["text", "json", "file"])
def test_promise_10_the_command_line_prints_no_answer_that_is_not_recorded(
    sample, tmp_path, extra, monkeypatch, capsys
):
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    question = "Where can I export CSV in Reporting?"
    asked = [question, *extra]
    if extra == ["--questions"]:
        file = tmp_path / "questions.txt"
        file.write_text(f"{question}\n", encoding="utf-8")
        asked = ["--questions", str(file)]
    command = ["rag", "answer", *asked, "--state", str(sample)]
    monkeypatch.setattr("sys.argv", command)

    def full(*_: object) -> None:
        raise RecordError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(RunLogFolder, "write_answers", full)
        with pytest.raises(SystemExit) as ended:
            cli.main()
    printed = capsys.readouterr()
    assert ended.value.code == 9
    assert "choose CSV" not in printed.out + printed.err
    assert "ACME-EXPORT" not in printed.out + printed.err
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 0
    assert "ACME-EXPORT" in capsys.readouterr().out


# --- Promise 11: no secret anywhere ---------------------------------------------------------------


def everything_below(root: Path) -> str:
    """All that lies in a state root: raw bytes, and Parquet without its compression."""
    texts = []
    for path in sorted(item for item in root.rglob("*") if item.is_file()):
        texts += [str(path), path.read_bytes().decode("utf-8", "replace")]
        if path.suffix == ".parquet":
            table = pq.ParquetFile(path).read()
            texts += [str(table.to_pylist()), str(table.schema.metadata)]
    return "\n".join(texts)


def test_promise_11_the_key_is_in_no_file_that_runs_leave(bench):
    bench.answer(QUESTION)
    write_document(bench.corpus, "BAD", "Text.", status="aproved")
    with pytest.raises(CorpusError):
        bench.ingest()
    (bench.corpus / "bad.md").unlink()
    write_document(bench.corpus, "NEW", "A new rule is in force.")
    bench.embedder.fail_after = 0
    with pytest.raises(ProviderError):
        bench.ingest()
    bench.answer(QUESTION)
    left = everything_below(bench.state)
    assert "SEAL#0" in left  # what is searched is there at all
    assert SECRET not in left


@pytest.mark.parametrize(
    "made_with",
    [pytest.param(None, id="unsigned"), pytest.param(b"0ther-key-91c2", id="another key")],
)
def test_promise_11_the_key_is_in_no_error_and_in_no_log_line(tmp_path, caplog, made_with):
    caplog.set_level(logging.DEBUG)
    bench = Workbench(tmp_path, key=made_with)
    write_document(bench.corpus, "SEAL", SENTENCE)
    bench.ingest()
    bench.key = SECRET.encode()
    with pytest.raises(IntegrityError) as caught:
        bench.ingest()
    verdict = only(bench.answer(QUESTION))
    told = "".join(traceback.format_exception(caught.value)) + verdict.detail + caplog.text
    assert "signature" in told
    assert SECRET not in told
    assert "0ther-key-91c2" not in told


def test_promise_11_the_key_is_in_no_artifact_and_not_in_the_manifest(bench, monkeypatch):
    from flows import artifacts
    from rag_core.verbs.audit import audit

    left: list[str] = []
    for name in ("create_markdown_artifact", "create_table_artifact"):
        monkeypatch.setattr(artifacts, name, lambda **values: left.append(repr(values)))
    write_document(bench.corpus, "NEW", "A new rule is in force.")
    done = bench.ingest()
    artifacts.leave_manifest(done)
    artifacts.leave_findings(done.findings)
    run = bench.answer(QUESTION)
    artifacts.leave_verdict(run, run.answers[0], bench.profile)
    artifacts.leave_checks(audit(store=bench.store, run_log=bench.run_log))
    assert len(left) == 4
    assert SECRET not in "".join(left) + repr(done.manifest)
    assert "| signed | yes |" in left[0]


def test_promise_11_the_runtime_shows_no_key(tmp_path, monkeypatch):
    monkeypatch.setenv(KEY_VARIABLE, SECRET)
    runtime = Runtime.open("offline", tmp_path)
    shown = [repr(runtime), repr(runtime.store), repr(runtime.answering), repr(runtime.health())]
    assert SECRET not in "".join(shown)
