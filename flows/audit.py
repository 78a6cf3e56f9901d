"""The audit flow: everything stored against its digests, and the folder against the index."""

from __future__ import annotations

from prefect import flow

from flows import tasks
from flows.artifacts import leave_checks
from flows.blocks import open_runtime
from rag_core.runtime import DEFAULT_PROFILE
from rag_core.verbs.audit import Audit, require_clean
from rag_core.verbs.audit import audit as run_audit


@flow(name="audit", persist_result=False, validate_parameters=True)
def audit(
    corpus: str = "",
    require_current: bool = False,
    profile: str = DEFAULT_PROFILE,
    state: str = "",
) -> Audit:
    """Recompute every digest; no model is needed and nothing is changed.

    Args:
        corpus: Corpus folder to compare with; empty: index only.
        require_current: Fail when the folder has moved on since the ingest.
        profile: Packaged profile name, or path of a .toml file.
        state: State root; empty: RAG_STATE_ROOT, else ./state.
    """
    runtime = open_runtime(profile, state)
    result = tasks.run_as_task(
        "audit",
        run_audit,
        store=runtime.store,
        run_log=runtime.run_log,
        corpus=runtime.corpus(corpus) if corpus else None,
    )
    leave_checks(result)
    require_clean(result, require_current=require_current)
    return result
