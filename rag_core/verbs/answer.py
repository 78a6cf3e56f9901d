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
from rag_core.rules.proposals import parse_reply
from rag_core.types.proposals import ChatRequest, MalformedReply, Repair
from rag_core.types.records import AnswerRecords, VerdictRecord
from rag_core.types.verdicts import Flag, Outcome, Reason, Verdict
from rag_core.verbs.answer_records import Proposed, RunIds, Trace, hit_records, verdict_record
from rag_core.verbs.ranking import RetrievalPorts
from rag_core.verbs.retrieve import retrieve
from rag_core.verbs.steps import RunStep, TimedSteps, call_plainly, no_progress

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from pathlib import Path

    from rag_core.types.ports import Chat, Clock, Progress, RunLog
    from rag_core.types.profiles import Profile
    from rag_core.types.proposals import ChatReply
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
    run_step: RunStep = call_plainly,
    progress: Progress = no_progress,
) -> AnswerRun:
    """One verdict per question in order, recorded before it is returned (promise 10).

    A question that fails becomes a `failed` verdict with its error attached; the others go on.

    Raises:
        RecordError: If the log cannot be written; then nothing may be shown.
    """
    run = _Run(ids, ports, ports.clock.now(), run_step)
    answers = []
    for index, question in enumerate(questions):
        answers.append(_answer_one(index, question, run))
        progress("answer", index + 1, len(questions))
    records = AnswerRecords(
        run_id=ids.run_id,
        started_at=run.started_at,
        hits=tuple(
            hit
            for index, item in enumerate(answers)
            for hit in hit_records(ids.run_id, index, item.retrieval)
        ),
        verdicts=tuple(item.record for item in answers),
    )
    hits_path, verdicts_path = run_step("record", record, records, run_log=ports.run_log)
    return AnswerRun(tuple(answers), hits_path, verdicts_path)


def propose(retrieval: Retrieval, *, make_chat: Callable[[], Chat]) -> Proposed:
    """Ask a new chat client for a proposal; a malformed reply gets one repair attempt.

    Raises:
        ProviderError: If the provider fails.
    """
    chat = make_chat()
    request = ChatRequest(retrieval.question, retrieval.excerpts, retrieval.sentences)
    first = chat.propose(request)
    parsed = parse_reply(first.text)
    if not isinstance(parsed, MalformedReply):
        return Proposed(parsed, 1, 0, *_tokens(first))
    repair = Repair(reply=first.text, problem=parsed.problem)
    second = chat.propose(replace(request, repair=repair))
    return Proposed(parse_reply(second.text), 2, 1, *_tokens(first, second))


def gate(proposed: Proposed, retrieval: Retrieval, *, profile: Profile) -> Verdict:
    """The verdict on a proposal: exact quotations of eligible, retrieved text, or a refusal."""
    verdict = judge(
        proposed.reply,
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


def _answer_one(index: int, question: Question, run: _Run) -> Answered:
    ports = run.ports
    steps = TimedSteps(run.run_step, ports.clock)
    retrieval = proposed = error = None
    try:
        retrieval = steps("retrieve", retrieve, question, ports=ports.retrieval)
        if retrieval.refusal is not None:
            refusal = refuse(retrieval.refusal, retrieval.refusal_detail)
            verdict = _with_calibration(refusal, ports.profile)
        else:
            proposed = steps("chat", propose, retrieval, make_chat=ports.make_chat)
            verdict = steps("gate", gate, proposed, retrieval, profile=ports.profile)
    except Exception as failure:  # noqa: BLE001 - a failure is a row of the log, whatever it is
        error = _as_rag_error(failure)
        verdict = Verdict(Outcome.FAILED, (Reason(error.reason),), detail=str(error))
    trace = Trace(question, verdict, retrieval, proposed, tuple(steps.timings_ms))
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


def _tokens(*replies: ChatReply) -> tuple[int | None, int | None]:
    counted = [(r.input_tokens, r.output_tokens) for r in replies]
    inputs = [i for i, _ in counted if i is not None]
    outputs = [o for _, o in counted if o is not None]
    return (sum(inputs) if inputs else None, sum(outputs) if outputs else None)
