"""From questions to verdicts: retrieve, ask for a proposal, judge it, record, and only then show.

    retrieve → (refused? verdict) → chat → gate → record → answer

`run_step` calls each step; a flow passes one that runs the step as a named Prefect task.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rag_core.errors import RagError
from rag_core.rules.gate import judge, refuse
from rag_core.types.records import AnswerRecords, VerdictRecord
from rag_core.types.verdicts import Flag, Outcome, Reason, Verdict
from rag_core.verbs.answer_records import RunIds, Trace, hit_records, verdict_record
from rag_core.verbs.propose import Reply, Tally, propose
from rag_core.verbs.ranking import RetrievalPorts
from rag_core.verbs.retrieve import retrieve
from rag_core.verbs.steps import RunStep, TimedSteps, call_plainly, no_progress

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from pathlib import Path

    from rag_core.types.ports import Chat, Clock, Progress, RunLog
    from rag_core.types.profiles import Profile
    from rag_core.types.proposals import Variant
    from rag_core.types.questions import Question
    from rag_core.types.retrieval import Retrieval


@dataclass(frozen=True, slots=True)
class AnswerPorts:
    """What answering needs from the world."""

    retrieval: RetrievalPorts
    make_chat: Callable[[], Chat]
    """Called only when there is something to propose from (promise 4)."""
    run_log: RunLog
    clock: Clock

    @property
    def profile(self) -> Profile:
        """The profile that retrieval, gate and log share."""
        return self.retrieval.profile


@dataclass(frozen=True, slots=True)
class _Run:
    """What every question of one run shares."""

    ids: RunIds
    ports: AnswerPorts
    started_at: datetime
    run_step: RunStep


@dataclass(frozen=True, slots=True)
class Answered:
    """One question with its verdict; the retrieval is absent when the run failed before it."""

    question: Question
    verdict: Verdict
    retrieval: Retrieval | None
    record: VerdictRecord
    error: RagError | None = None


@dataclass(frozen=True, slots=True)
class AnswerRun:
    """All answers of one run, durable in the log at these paths."""

    answers: tuple[Answered, ...]
    hits_path: Path
    verdicts_path: Path


def answer(
    questions: Sequence[Question],
    *,
    ports: AnswerPorts,
    ids: RunIds,
    variant: Variant | None = None,
    run_step: RunStep = call_plainly,
    progress: Progress = no_progress,
) -> AnswerRun:
    """One verdict per question in order, recorded before it is returned (promise 10).

    A question that fails becomes a `failed` verdict with its error attached; the others go on.
    Without a variant, the profile's.

    Raises:
        RecordError: If the log cannot be written; then nothing may be shown.
    """
    run = _Run(ids, ports, ports.clock.now(), run_step)
    chosen = variant or ports.profile.chat.variant
    answers = []
    for index, question in enumerate(questions):
        answers.append(_answer_one(index, question, chosen, run))
        progress("answer", index + 1, len(questions))
    return _recorded(answers, run)


def answer_in_variants(
    question: Question,
    variants: Sequence[Variant],
    *,
    ports: AnswerPorts,
    ids: RunIds,
    run_step: RunStep = call_plainly,
) -> AnswerRun:
    """One verdict per variant in order, all from the same retrieval; recorded as one run.

    Where the retrieval itself fails there is one failed verdict, that of the first variant.

    Raises:
        RecordError: If the log cannot be written; then nothing may be shown.
    """
    run = _Run(ids, ports, ports.clock.now(), run_step)
    answers: list[Answered] = []
    for index, variant in enumerate(variants):
        found = answers[0].retrieval if answers else None
        answers.append(_answer_one(index, question, variant, run, found))
        if answers[0].retrieval is None:  # without excerpts no variant gets any further
            break
    return _recorded(answers, run)


def gate(reply: Reply, retrieval: Retrieval, *, profile: Profile) -> Verdict:
    """The verdict on a proposal: exact quotations of eligible, retrieved text, or a refusal."""
    verdict = judge(
        reply,
        retrieval.excerpts,
        eligibility=retrieval.eligibility,
        settings=profile.gate,
    )
    return _with_calibration(verdict, profile)


def record(records: AnswerRecords, *, run_log: RunLog) -> tuple[Path, Path]:
    """Make hits and verdicts durable; returns their paths.

    Raises:
        RecordError: If either file cannot be written.
    """
    return run_log.write_answers(records)


def _recorded(answers: Sequence[Answered], run: _Run) -> AnswerRun:
    records = AnswerRecords(
        run_id=run.ids.run_id,
        started_at=run.started_at,
        hits=tuple(
            hit
            for index, item in enumerate(answers)
            for hit in hit_records(run.ids.run_id, index, item.retrieval)
        ),
        verdicts=tuple(item.record for item in answers),
    )
    run_log = run.ports.run_log
    hits_path, verdicts_path = run.run_step("record", record, records, run_log=run_log)
    return AnswerRun(tuple(answers), hits_path, verdicts_path)


def _answer_one(
    index: int, question: Question, variant: Variant, run: _Run, found: Retrieval | None = None
) -> Answered:
    """One verdict; `found` is a retrieval of this question that this run has already made."""
    ports = run.ports
    steps = TimedSteps(run.run_step, ports.clock)
    retrieval, error, tally = found, None, Tally()
    try:
        if retrieval is None:
            retrieval = steps("retrieve", retrieve, question, ports=ports.retrieval)
        if retrieval.refusal is not None:
            refusal = refuse(retrieval.refusal, retrieval.refusal_detail)
            verdict = _with_calibration(refusal, ports.profile)
        else:
            reply = steps(
                "chat",
                propose,
                retrieval,
                make_chat=ports.make_chat,
                variant=variant,
                style=ports.profile.chat.style,
                tally=tally,
            )
            verdict = steps("gate", gate, reply, retrieval, profile=ports.profile)
    except Exception as failure:  # noqa: BLE001 - a failure is a row of the log, whatever it is
        error = _as_rag_error(failure)
        verdict = Verdict(Outcome.FAILED, (Reason(error.reason),), detail=str(error))
    trace = Trace(question, variant, verdict, retrieval, tally, tuple(steps.timings_ms))
    row = verdict_record(
        index, trace, ids=run.ids, started_at=run.started_at, profile=ports.profile
    )
    return Answered(question, verdict, retrieval, row, error)


def _as_rag_error(failure: Exception) -> RagError:
    if isinstance(failure, RagError):
        return failure
    bug = RagError(f"internal error, please report it: {type(failure).__name__}: {failure}")
    bug.__cause__ = failure
    return bug


def _with_calibration(verdict: Verdict, profile: Profile) -> Verdict:
    if profile.abstention.calibrated:
        return verdict
    return replace(verdict, flags=(*verdict.flags, Flag.UNCALIBRATED))
