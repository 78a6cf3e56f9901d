from __future__ import annotations

import dataclasses
import os
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from builders import digest_of
from rag_core.adapters import durable
from rag_core.adapters.run_log import RunLogFolder
from rag_core.adapters.run_log_schemas import COLUMNS, SCHEMAS
from rag_core.errors import IntegrityError, RecordError
from rag_core.types.corpus import Span
from rag_core.types.ids import ChunkId, RunId, SourceId
from rag_core.types.index import Counts
from rag_core.types.questions import Question
from rag_core.types.records import (
    AnswerRecords,
    CallCounts,
    HitRecord,
    IngestRecord,
    VerdictRecord,
)
from rag_core.types.retrieval import Admission, Candidate
from rag_core.types.verdicts import (
    Flag,
    MatchKind,
    Outcome,
    Published,
    Reason,
    Rejection,
    Verdict,
)

STARTED = datetime(2026, 3, 1, 23, 30, tzinfo=UTC)
RUN = RunId("20260301T233000Z-1a2b3c4d")
QUESTION = Question("Where can I export?", date(2026, 3, 1), ("public",), background="CSV")
PUBLISHED = Published(
    chunk_id=ChunkId("EXPORT#0"),
    source_id=SourceId("EXPORT"),
    title="Exporting",
    text="Export is in Reporting.",
    span=Span(10, 33),
    quote_span=Span(10, 32),
    match=MatchKind.TYPOGRAPHIC,
    sentence_cut=False,
    context="Before. Export is in Reporting. After.",
    heading_path=("Guide", "Export"),
    scope="public",
    valid_from=date(2025, 1, 1),
    valid_until=None,
    path="export.md",
    url=None,
    source_digest=digest_of("source"),
    file_digest=digest_of("file"),
)
ANSWERED = Verdict(
    Outcome.ANSWERED, published=(PUBLISHED,), flags=(Flag.UNCALIBRATED,), detail="Answered."
)
REFUSED = Verdict(
    Outcome.REFUSED,
    (Reason.QUOTE_NOT_FOUND,),
    detail="Insufficient evidence: not verbatim.",
    rejections=(Rejection(Reason.QUOTE_NOT_FOUND, "EXPORT#0", "an invented quote", "near"),),
)


def make_verdict(index: int = 0, verdict: Verdict = ANSWERED) -> VerdictRecord:
    return VerdictRecord(
        run_id=RUN,
        question_index=index,
        flow_run_id=None,
        started_at=STARTED,
        question=QUESTION,
        question_digest=digest_of(QUESTION.text),
        as_of="2026-03-01",
        scopes=("public",),
        product=None,
        variant="direct",
        profile="offline",
        chat_provider="ollama",
        chat_model="granite4:3b",
        proposal_style="quotes",
        contract_digest=digest_of("contract"),
        generation_digest=digest_of("generation"),
        verdict=verdict,
        min_cosine=0.4,
        abstain_threshold=0.6,
        indexed=40,
        eligible=30,
        top_cosine=0.71,
        top_sentence_score=None,
        calls=CallCounts(host_calls=1, chat_calls=2, repair_calls=1, embedding_calls=3),
        input_tokens=None,
        output_tokens=None,
        timings_ms=(("retrieve", 12.5), ("gate", 0.25)),
    )


def make_hit(rank: int = 1, admission: Admission = Admission.ADMITTED) -> HitRecord:
    candidate = Candidate(
        ChunkId(f"EXPORT#{rank}"), rank, 0.03, 0.71, rank, None, None, 2, admission
    )
    return HitRecord(RUN, 0, candidate, "EXPORT")


def make_answers(*verdicts: VerdictRecord, started_at: datetime = STARTED) -> AnswerRecords:
    return AnswerRecords(
        RUN,
        started_at,
        (make_hit(1), make_hit(2, Admission.NO_SHARED_TERM)),
        verdicts or (make_verdict(),),
    )


def make_ingest(run_id: str = "ingest-1", **changes: object) -> IngestRecord:
    record = IngestRecord(
        run_id=RunId(run_id),
        flow_run_id="flow",
        started_at=STARTED,
        profile="offline",
        outcome="committed",
        reason=None,
        contract_digest=digest_of("contract"),
        generation_digest=digest_of(run_id),
        previous_generation=None,
        counts=Counts(3, 7, 7, 1),
        embedded=5,
        reused=2,
        requests=1,
        findings=(("notice", "gap", "a.md", "a gap"),),
        timings_ms=(("commit", 3.0),),
    )
    return dataclasses.replace(record, **changes)  # type: ignore[arg-type]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The runs folder of a test; nothing is there yet."""
    return tmp_path / "state" / "runs"


def query(sql: str) -> list[tuple[object, ...]]:
    relation = duckdb.sql(sql)
    assert relation is not None
    return relation.fetchall()


def test_an_answer_is_two_files_under_its_utc_day(root):
    hits, verdicts = RunLogFolder(root).write_answers(make_answers())
    assert hits == root / "hits" / "date=2026-03-01" / f"{RUN}.parquet"
    assert verdicts == root / "verdicts" / "date=2026-03-01" / f"{RUN}.parquet"
    assert not list(root.rglob("*.tmp"))


def test_the_day_of_a_local_time_is_its_utc_day(root):
    berlin = datetime(2026, 7, 2, 1, 0, tzinfo=timezone(timedelta(hours=2)))
    _, verdicts = RunLogFolder(root).write_answers(make_answers(started_at=berlin))
    assert verdicts.parent.name == "date=2026-07-01"


@pytest.mark.parametrize("table", SCHEMAS)
def test_every_file_has_its_schema_and_version(root, table):
    log = RunLogFolder(root)
    log.write_answers(make_answers())
    log.write_ingest(make_ingest())
    (path,) = (root / table).rglob("*.parquet")
    schema = pq.read_schema(path)
    assert schema.equals(SCHEMAS[table])
    assert tuple(schema.names) == COLUMNS[table]
    assert schema.metadata[b"rag.table"] == table.encode()
    assert schema.metadata[b"rag.schema_version"] == b"2"


def test_a_file_of_the_first_version_reads_with_null_in_the_columns_it_lacks(root):
    log = RunLogFolder(root)
    _, path = log.write_answers(make_answers(make_verdict(0)))
    table = pq.read_table(path)
    old = table.drop_columns(["chat_provider", "chat_model", "proposal_style"])
    pq.write_table(old.replace_schema_metadata({"rag.schema_version": "1"}), path)
    (row,) = (log.read_run(RUN) or {})["verdicts"]
    assert row["chat_provider"] is row["chat_model"] is row["proposal_style"] is None
    assert row["profile"] == "offline"


def test_duckdb_reads_published_texts_with_plain_sql(root):
    RunLogFolder(root).write_answers(make_answers(make_verdict(0), make_verdict(1, REFUSED)))
    rows = query(
        f"""
        SELECT CAST(v.date AS VARCHAR), v.question, v.outcome, p.chunk_id, p.text, p.start, p."end",
               p.quote_start, p.quote_end, p.match, p.valid_from, p.valid_until, p.source_digest
        FROM read_parquet('{root}/verdicts/*/*.parquet', hive_partitioning=true) AS v,
             unnest(v.published) AS u(p)
        """
    )
    assert rows == [
        (
            "2026-03-01",
            "Where can I export?",
            "answered",
            "EXPORT#0",
            "Export is in Reporting.",
            10,
            33,
            10,
            32,
            "typographic",
            date(2025, 1, 1),
            None,
            digest_of("source"),
        )
    ]


def test_duckdb_counts_refusals_by_reason(root):
    RunLogFolder(root).write_answers(
        make_answers(make_verdict(0), make_verdict(1, REFUSED), make_verdict(2, REFUSED))
    )
    rows = query(
        f"""
        SELECT r.reason, count(*)
        FROM read_parquet('{root}/verdicts/*/*.parquet', hive_partitioning=true),
             unnest(reasons) AS r(reason)
        WHERE date = '2026-03-01' AND started_at > '2026-03-01 00:00:00+00'
        GROUP BY ALL
        """
    )
    assert rows == [("quote_not_found", 2)]


def test_duckdb_joins_verdicts_with_their_hits(root):
    RunLogFolder(root).write_answers(make_answers())
    rows = query(
        f"""
        SELECT h.chunk_id, h.rank, h.lexical_rank, h.admission, v.top_cosine
        FROM read_parquet('{root}/verdicts/*/*.parquet', hive_partitioning=true) AS v
        JOIN read_parquet('{root}/hits/*/*.parquet', hive_partitioning=true) AS h
        USING (run_id, question_index) ORDER BY rank
        """
    )
    assert rows == [
        ("EXPORT#1", 1, None, "admitted", 0.71),
        ("EXPORT#2", 2, None, "no_shared_term", 0.71),
    ]


def test_a_run_without_a_hit_still_has_both_files_and_duckdb_reads_them(root):
    records = AnswerRecords(RUN, STARTED, (), (make_verdict(0, REFUSED),))
    RunLogFolder(root).write_answers(records)
    count = f"SELECT count(*) FROM read_parquet('{root}/hits/*/*.parquet', hive_partitioning=true)"
    assert query(count) == [(0,)]


def test_a_verdict_reads_back_with_every_field(root):
    log = RunLogFolder(root)
    log.write_answers(make_answers(make_verdict(3, REFUSED)))
    tables = log.read_run(RUN)
    assert tables is not None
    assert list(tables) == ["hits", "verdicts"]
    assert tables["verdicts"] == [
        {
            "run_id": RUN,
            "question_index": 3,
            "flow_run_id": None,
            "started_at": STARTED,
            "question": "Where can I export?",
            "background": "CSV",
            "question_digest": digest_of("Where can I export?"),
            "as_of": "2026-03-01",
            "scopes": ["public"],
            "product": None,
            "variant": "direct",
            "profile": "offline",
            "chat_provider": "ollama",
            "chat_model": "granite4:3b",
            "proposal_style": "quotes",
            "contract_digest": digest_of("contract"),
            "generation_digest": digest_of("generation"),
            "outcome": "refused",
            "reasons": ["quote_not_found"],
            "detail": "Insufficient evidence: not verbatim.",
            "flags": [],
            "published": [],
            "rejections": [
                {
                    "reason": "quote_not_found",
                    "source_id": "EXPORT#0",
                    "quote": "an invented quote",
                    "nearest": "near",
                }
            ],
            "min_cosine": 0.4,
            "abstain_threshold": 0.6,
            "indexed": 40,
            "eligible": 30,
            "top_cosine": 0.71,
            "top_sentence_score": None,
            "host_calls": 1,
            "chat_calls": 2,
            "repair_calls": 1,
            "tool_calls": 0,
            "context_calls": 0,
            "embedding_calls": 3,
            "input_tokens": None,
            "output_tokens": None,
            "timings_ms": [{"step": "retrieve", "ms": 12.5}, {"step": "gate", "ms": 0.25}],
        }
    ]


def test_a_published_text_reads_back_with_every_field(root):
    log = RunLogFolder(root)
    log.write_answers(make_answers())
    tables = log.read_run(RUN)
    assert tables is not None
    spans = {"start": 10, "end": 33, "quote_start": 10, "quote_end": 32}
    plain = dataclasses.asdict(PUBLISHED)
    del plain["span"], plain["quote_span"]
    plain["heading_path"] = ["Guide", "Export"]
    assert tables["verdicts"][0]["published"] == [{**plain, **spans}]


def test_where_only_digests_are_logged_no_word_of_the_question_is_in_the_file(root):
    record = dataclasses.replace(make_verdict(), question=None)
    _, path = RunLogFolder(root).write_answers(make_answers(record))
    (row,) = pq.ParquetFile(path).read().to_pylist()
    assert row["question"] is None
    assert row["background"] is None
    assert row["question_digest"] == digest_of("Where can I export?")
    assert "Where can I export?" not in str(row)


def test_an_ingest_reads_back_with_its_counts_and_findings(root):
    log = RunLogFolder(root)
    path = log.write_ingest(make_ingest())
    assert path == root / "ingests" / "date=2026-03-01" / "ingest-1.parquet"
    tables = log.read_run(RunId("ingest-1"))
    assert tables is not None
    (row,) = tables["ingests"]
    assert [row[name] for name in ("sources", "chunks", "vectors", "products")] == [3, 7, 7, 1]
    assert [row[name] for name in ("embedded", "reused", "requests")] == [5, 2, 1]
    assert row["findings"] == [
        {"severity": "notice", "code": "gap", "path": "a.md", "message": "a gap"}
    ]


def test_a_failed_ingest_is_a_row_without_counts(root):
    log = RunLogFolder(root)
    log.write_ingest(make_ingest(outcome="failed", reason="provider", counts=None))
    tables = log.read_run(RunId("ingest-1"))
    assert tables is not None
    assert (tables["ingests"][0]["reason"], tables["ingests"][0]["chunks"]) == ("provider", None)


@pytest.mark.parametrize(
    "run_id", ["unknown", "*", "../verdicts/date=2026-03-01/x", "", "a/b", "date=2026-03-01"]
)
def test_an_unknown_run_is_none(root, run_id):
    log = RunLogFolder(root)
    log.write_answers(make_answers())
    assert log.read_run(RunId(run_id)) is None


def test_the_latest_generation_is_that_of_the_last_ingest_that_left_one_live(root):
    log = RunLogFolder(root)
    assert log.latest_generation() is None
    log.write_ingest(make_ingest("b", started_at=STARTED))
    log.write_ingest(make_ingest("a", started_at=STARTED + timedelta(minutes=1)))
    log.write_ingest(make_ingest("old", started_at=STARTED - timedelta(days=3)))
    later = STARTED + timedelta(days=2)
    for outcome in ("failed", "dry_run"):
        log.write_ingest(make_ingest(f"c-{outcome[0]}", started_at=later, outcome=outcome))
    assert log.latest_generation() == ("a", digest_of("a"))


# --- Promise 10: no answer without a record -----------------------------------------------------


def test_a_folder_that_cannot_be_made_names_path_cause_and_next_step(tmp_path):
    (tmp_path / "runs").write_text("a file")
    with pytest.raises(RecordError) as caught:
        RunLogFolder(tmp_path / "runs").write_answers(make_answers())
    message = str(caught.value)
    assert str(tmp_path / "runs" / "hits") in message
    assert "File exists" in message
    assert "choose another state root with --state" in message
    assert caught.value.exit_code == 9


def test_a_full_disk_leaves_neither_verdicts_nor_temporary_names(root, monkeypatch):
    def refuse(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(RecordError, match="No space left on device"):
        RunLogFolder(root).write_answers(make_answers())
    assert [path for path in root.rglob("*") if path.is_file()] == []


def test_hits_are_durable_before_the_verdicts_are_begun(root, monkeypatch):
    order: list[str] = []
    write = os.fsync

    def note(descriptor: int) -> None:
        order.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()).removeprefix(str(root)))
        write(descriptor)

    durable.make_folder(root / "hits" / "date=2026-03-01")
    durable.make_folder(root / "verdicts" / "date=2026-03-01")
    monkeypatch.setattr(os, "fsync", note)
    RunLogFolder(root).write_answers(make_answers())
    assert [name.split(".")[0] for name in order] == [
        "/hits/date=2026-03-01/",
        "/hits/date=2026-03-01",
        "/verdicts/date=2026-03-01/",
        "/verdicts/date=2026-03-01",
    ]


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(dataclasses.replace(make_verdict(), profile="\ud800"), id="a lone surrogate"),
        pytest.param(dataclasses.replace(make_verdict(), indexed=2**70), id="a number too large"),
    ],
)
def test_values_that_parquet_cannot_hold_are_record_errors(root, record):
    with pytest.raises(RecordError, match="could not be written"):
        RunLogFolder(root).write_answers(make_answers(record))
    assert not (root / "verdicts" / "date=2026-03-01" / f"{RUN}.parquet").exists()


def test_a_run_id_that_is_a_path_is_refused(root):
    with pytest.raises(RecordError, match="expected letters, digits and hyphens"):
        RunLogFolder(root).write_ingest(make_ingest("../../escape"))


def test_a_damaged_file_is_named_when_it_is_read(root):
    log = RunLogFolder(root)
    path = log.write_ingest(make_ingest())
    path.write_bytes(path.read_bytes()[:-9])
    for read in (log.latest_generation, lambda: log.read_run(RunId("ingest-1"))):
        with pytest.raises(IntegrityError, match=str(path)):
            read()
