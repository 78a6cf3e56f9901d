"""The answer flow: one question, one verdict, recorded before it is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prefect import flow
from prefect import runtime as prefect_runtime
from prefect.states import Completed

from flows.artifacts import leave_verdict
from flows.blocks import open_runtime
from flows.run_names import question_run_name
from flows.tasks import run_as_task
from rag_core.runtime import DEFAULT_PROFILE
from rag_core.types.proposals import Variant
from rag_core.types.questions import Asked
from rag_core.types.verdicts import Outcome
from rag_core.verbs.answer import AnswerRun
from rag_core.verbs.answer import answer as run_answer
from rag_core.verbs.answer_records import RunIds
from rag_core.verbs.requests import resolve_question

if TYPE_CHECKING:
    from prefect import State


@flow(
    name="answer", flow_run_name=question_run_name, persist_result=False, validate_parameters=True
)
def answer(
    question: str,
    *,
    as_of: str = "",
    scopes: list[str] | None = None,
    product: str = "",
    background: str = "",
    variant: Variant | None = None,
    profile: str = DEFAULT_PROFILE,
    state: str = "",
) -> State[AnswerRun]:
    """Answer with exact quotations of eligible documents, or refuse with a reason.

    Ends as `Answered` or `Refused` (both completed), or fails with the error that stopped it.

    Args:
        question: The question, in plain words.
        as_of: Day as YYYY-MM-DD; empty: today in the profile's zone.
        scopes: Scopes to search; empty: the profile's defaults.
        product: Product code; wins over codes in the question.
        background: The asker's situation; read by retrieval and by chat models.
        variant: How the proposer gets its excerpts; empty: the profile's.
        profile: Packaged profile name, or path of a .toml file.
        state: State root; empty: RAG_STATE_ROOT, else ./state.
    """
    runtime = open_runtime(profile, state)
    # The form of the Prefect UI sends empty texts for what was left out.
    asked = Asked(question, as_of or None, tuple(scopes or ()), product or None, background or None)
    run = run_answer(
        [resolve_question(asked, profile=runtime.profile, clock=runtime.clock)],
        ports=runtime.answering,
        ids=RunIds(runtime.new_run_id(), prefect_runtime.flow_run.id),
        variant=variant,
        run_step=run_as_task,
    )
    item = run.answers[0]
    leave_verdict(run, item, runtime.profile)
    if item.error is not None:
        raise item.error
    answered = item.verdict.outcome is Outcome.ANSWERED
    count = len(item.verdict.published)
    message = (
        f"{count} quotation{'s' if count > 1 else ''}"
        if answered
        else ", ".join(reason.value for reason in item.verdict.reasons)
    )
    return Completed(name="Answered" if answered else "Refused", message=message, data=run)
