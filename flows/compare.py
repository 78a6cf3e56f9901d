"""The compare flow: three rankings of a question, and on request its answer in each variant."""

from __future__ import annotations

from typing import Annotated

from prefect import flow
from prefect import runtime as prefect_runtime
from pydantic import Field

from flows.artifacts import leave_rankings, leave_variants
from flows.blocks import open_runtime
from flows.run_names import question_run_name
from flows.tasks import run_as_task
from rag_core.runtime import DEFAULT_PROFILE
from rag_core.types.proposals import Variant
from rag_core.types.questions import Asked
from rag_core.verbs.answer_records import RunIds
from rag_core.verbs.compare import Comparison
from rag_core.verbs.compare import compare as run_compare
from rag_core.verbs.requests import resolve_question


@flow(
    name="compare", flow_run_name=question_run_name, persist_result=False, validate_parameters=True
)
def compare(
    question: str,
    *,
    variants: bool = False,
    limit: Annotated[int, Field(ge=1)] = 10,
    as_of: str = "",
    scopes: list[str] | None = None,
    product: str = "",
    background: str = "",
    profile: str = DEFAULT_PROFILE,
    state: str = "",
) -> Comparison:
    """Show the dense, lexical and fused rankings side by side, and the variants where asked for.

    Fails with the first error among the variants, after all of them were recorded and shown.

    Args:
        question: The question, in plain words.
        variants: Also answer it in the variants direct, tool and context, and record that.
        limit: Most hits of each ranking to show.
        as_of: Day as YYYY-MM-DD; empty: today in the profile's zone.
        scopes: Scopes to search; empty: the profile's defaults.
        product: Product code; wins over codes in the question.
        background: The asker's situation; read by retrieval and by chat models.
        profile: Packaged profile name, or path of a .toml file.
        state: State root; empty: RAG_STATE_ROOT, else ./state.
    """
    runtime = open_runtime(profile, state)
    # The form of the Prefect UI sends empty texts for what was left out.
    asked = Asked(question, as_of or None, tuple(scopes or ()), product or None, background or None)
    result = run_compare(
        resolve_question(asked, profile=runtime.profile, clock=runtime.clock),
        ports=runtime.answering,
        ids=RunIds(runtime.new_run_id(), prefect_runtime.flow_run.id),
        variants=tuple(Variant) if variants else (),
        limit=limit,
        run_step=run_as_task,
    )
    leave_rankings(result)
    if result.run is not None:
        leave_variants(result.run, runtime.profile)
        for item in result.run.answers:
            if item.error is not None:
                raise item.error
    return result
