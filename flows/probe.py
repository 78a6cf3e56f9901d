"""The probe flow: the dense ranking of a question before any threshold."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any

from prefect import flow
from prefect import runtime as prefect_runtime
from pydantic import Field

from flows import tasks
from flows.artifacts import leave_ranking
from rag_core.runtime import DEFAULT_PROFILE, Runtime
from rag_core.types.questions import Asked
from rag_core.verbs.probe import Probe
from rag_core.verbs.probe import probe as run_probe
from rag_core.verbs.requests import resolve_question


def _run_name() -> str:
    parameters: dict[str, Any] = prefect_runtime.flow_run.parameters
    digest = hashlib.sha256(str(parameters.get("question")).encode()).hexdigest()
    return f"probe-{digest[:8]}"


@flow(name="probe", flow_run_name=_run_name, persist_result=False, validate_parameters=True)
def probe(
    question: Annotated[str, Field(description="The question, in plain words.")],
    *,
    limit: Annotated[int, Field(ge=1, description="Most hits to show.")] = 10,
    as_of: Annotated[
        str | None, Field(description="Day as YYYY-MM-DD; empty: today in the profile's zone.")
    ] = None,
    scopes: Annotated[
        list[str] | None, Field(description="Scopes to search; empty: the profile's defaults.")
    ] = None,
    product: Annotated[
        str | None, Field(description="Product code; wins over codes in the question.")
    ] = None,
    profile: Annotated[
        str, Field(description="Packaged profile name, or path of a .toml file.")
    ] = DEFAULT_PROFILE,
    state: Annotated[
        str | None, Field(description="State root; empty: RAG_STATE_ROOT, else ./state.")
    ] = None,
) -> Probe:
    """Show the best eligible chunks by cosine, with what admission would say of each."""
    runtime = Runtime.open(profile, state)
    asked = Asked(question, as_of, tuple(scopes or ()), product)
    resolved = resolve_question(asked, profile=runtime.profile, clock=runtime.clock)
    result = tasks.run_as_task("probe", run_probe, resolved, ports=runtime.retrieval, limit=limit)
    leave_ranking(result)
    return result
