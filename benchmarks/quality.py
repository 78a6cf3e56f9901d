"""Answers the questions of public sets with the product and scores what it published.

    python -m benchmarks.quality [--set NAME ...] [--out FOLDER]

Each set is converted (see `convert_set`), ingested and answered in this process, without Prefect.
FOLDER/predictions.jsonl is scored by the sets' own `score.py`; what that leaves out is printed
beside its table. Exits 1 when a question failed, when a quotation is not verbatim in the set or
comes from a document that the question may not see, and when an answer for a day does not come
from the version of that day.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.as_of import as_of_answers
from benchmarks.convert_set import convert, report
from benchmarks.devdata import DOCUMENTS, QUESTIONS, SCORER, devdata_root, read_rows, set_folder
from benchmarks.measures import measure
from rag_core.adapters.question_files import read_questions
from rag_core.errors import RagError
from rag_core.runtime import Runtime
from rag_core.types.questions import Asked
from rag_core.types.verdicts import Outcome
from rag_core.verbs.answer import answer
from rag_core.verbs.answer_records import RunIds
from rag_core.verbs.ingest import ingest
from rag_core.verbs.requests import resolve_question

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.convert_set import Conversion
    from benchmarks.devdata import Row
    from rag_core.types.ports import IndexSnapshot
    from rag_core.verbs.answer import Answered

DEFAULT_SETS = (
    "clapnq",
    "squad2",
    "rustsec",
    "release_schedules_asof",
    "conditionalqa",
    "contractnli",
)
HITS_WITH_TEXT = 10
"""As many as the scorer's chk@10 reads."""
FAILURES_SHOWN = 5
"""Of each set; all of them are counted."""
_VERDICTS = {
    Outcome.ANSWERED: "accepted",
    Outcome.REFUSED: "refused",
    Outcome.FAILED: "failed",
}


def predict(converted: Conversion, runtime: Runtime) -> list[Row]:
    """One prediction per question of an ingested set, in order, in the scorer's form.

    `verdict` may also be `failed`, which the scorer does not know; `reason` is ours.
    """
    questions = [
        resolve_question(asked, profile=runtime.profile, clock=runtime.clock)
        for asked in read_questions(converted.questions, defaults=Asked(text=""))
    ]
    run = answer(questions, ports=runtime.answering, ids=RunIds(runtime.new_run_id()))
    with runtime.store.open() as snapshot:
        return [
            _prediction(question_id, item, converted, snapshot)
            for question_id, item in zip(converted.question_ids, run.answers, strict=True)
        ]


def _prediction(
    question_id: str, item: Answered, converted: Conversion, snapshot: IndexSnapshot
) -> Row:
    ids = converted.documents
    candidates = item.retrieval.candidates if item.retrieval else ()
    chunk_ids = [candidate.chunk_id for candidate in candidates]
    hits: list[Row] = [
        {"chunk_id": chunk_id, "source_id": ids[chunk_id.rpartition("#")[0]]}
        for chunk_id in chunk_ids
    ]
    texts = snapshot.texts(chunk_ids[:HITS_WITH_TEXT])
    for hit, text in zip(hits, texts, strict=False):
        hit["text"] = text
    verdict = item.verdict
    return {
        "set": converted.name,
        "question_id": question_id,
        "verdict": _VERDICTS[verdict.outcome],
        "reason": verdict.reasons[0].value if verdict.reasons else verdict.outcome.value,
        "detail": verdict.detail,
        "flags": [flag.value for flag in verdict.flags],
        "evidence": [
            {"source_id": ids[text.source_id], "quote": text.text} for text in verdict.published
        ],
        "hits": hits,
        "latency_s": sum(ms for _, ms in item.record.timings_ms) / 1e3,
    }


def run_set(name: str, out: Path) -> list[Row]:
    """Convert, ingest and answer one set below `out`; returns its predictions."""
    converted = convert(set_folder(name), out / name)
    print(report(converted))
    runtime = Runtime.open(str(converted.profile), out / name / "state")
    started = time.perf_counter()
    done = ingest(ports=runtime.ingesting(converted.corpus), run_id=runtime.new_run_id())
    print(
        f"  ingest: {done.outcome}, {done.plan.chunks} chunks, {done.plan.missing} embedded, "
        f"{time.perf_counter() - started:.1f} s",
        flush=True,
    )
    started = time.perf_counter()
    predictions = predict(converted, runtime)
    print(f"  {len(predictions)} questions in {time.perf_counter() - started:.1f} s", flush=True)
    return predictions


def score(predictions: Sequence[Row], names: Sequence[str], out: Path) -> int:
    """Print the scorer's table; returns its exit code.

    A failed question is left out, so that the scorer reports it as missing.
    """
    path = out / "predictions.jsonl"
    rows = (row for row in predictions if row["verdict"] != "failed")
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    root = devdata_root()
    command = [sys.executable, str(root / SCORER), str(path), "--sets", str(root), "--by-type"]
    for name in names:
        command += ["--set", name]
    command += ["--json", str(out / "score.json")]
    return subprocess.run(command, check=False).returncode  # noqa: S603 - the sets' own scorer


def run(names: Sequence[str], out: Path) -> int:
    """Measure these sets and print everything; returns the exit code."""
    out.mkdir(parents=True, exist_ok=True)
    predictions = {name: run_set(name, out) for name in names}
    print(flush=True)
    scored = score([row for rows in predictions.values() for row in rows], names, out)
    sound = scored == 0
    for name, rows in predictions.items():
        sound = is_sound(name, rows) and sound
    return 0 if sound else 1


def is_sound(name: str, rows: Sequence[Row]) -> bool:
    """Print what the scorer leaves out; returns whether the set kept what is promised."""
    documents = read_rows(set_folder(name) / DOCUMENTS)
    questions = read_rows(set_folder(name) / QUESTIONS)
    measures = measure(rows, documents=documents, questions=questions)
    print(f"{name}: {measures}")
    as_of = as_of_answers(rows, documents=documents, questions=questions)
    if as_of is not None:
        print(f"  {as_of}")
    failed = [row for row in rows if row["verdict"] == "failed"]
    for row in failed[:FAILURES_SHOWN]:
        print(f"  FAILED {row['question_id']}: {row['reason']}: {row['detail']}")
    return measures.kept_promises and (as_of is None or as_of.kept)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--set", action="append", help=f"default: {', '.join(DEFAULT_SETS)}")
    parser.add_argument("--out", type=Path, default=Path("state/quality"), help="%(default)s")
    given = parser.parse_args()
    try:
        # Absolute: profiles are named by path.
        code = run(given.set or DEFAULT_SETS, given.out.absolute())
    except RagError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        code = error.exit_code
    sys.exit(code)


if __name__ == "__main__":
    main()
