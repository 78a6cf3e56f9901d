"""The probe flow: the dense ranking of a question before any threshold."""

from __future__ import annotations

from typing import Annotated

from prefect import flow
from pydantic import Field

from flows import tasks
from flows.artifacts import leave_ranking
from flows.blocks import open_runtime
from flows.run_names import question_run_name
from rag_core.runtime import DEFAULT_PROFILE
from rag_core.types.questions import Asked
from rag_core.verbs.probe import Probe
from rag_core.verbs.probe import probe as run_probe
from rag_core.verbs.requests import resolve_question


@flow(name="probe", flow_run_name=question_run_name, persist_result=False, validate_parameters=True)
def probe(
    question: str,
    *,
    limit: Annotated[int, Field(ge=1)] = 10,
    as_of: str = "",
    scopes: list[str] | None = None,
    product: str = "",
    background: str = "",
    profile: str = DEFAULT_PROFILE,
    state: str = "",
) -> Probe:
    """Show the best eligible chunks by cosine, with what admission would say of each.

    Args:
        question: The question, in plain words.
        limit: Most hits to show.
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
    resolved = resolve_question(asked, profile=runtime.profile, clock=runtime.clock)
    result = tasks.run_as_task("probe", run_probe, resolved, ports=runtime.retrieval, limit=limit)
    leave_ranking(result)
    return result
