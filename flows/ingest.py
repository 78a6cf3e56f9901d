"""The ingest flow: from a corpus folder to a committed index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from prefect import flow
from prefect import runtime as prefect_runtime
from prefect.logging import get_run_logger
from prefect.states import Completed
from pydantic import Field

from flows.artifacts import leave_findings, leave_manifest
from flows.blocks import open_runtime
from flows.progress import WATCHER
from flows.run_names import corpus_run_name
from flows.tasks import run_as_task
from rag_core.errors import CorpusError
from rag_core.runtime import DEFAULT_PROFILE
from rag_core.verbs.ingest import Ingested, IngestOptions
from rag_core.verbs.ingest import ingest as run_ingest

if TYPE_CHECKING:
    from prefect import State

_STATE_NAMES = {"committed": "Committed", "unchanged": "Unchanged", "dry_run": "DryRun"}


@flow(name="ingest", flow_run_name=corpus_run_name, persist_result=False, validate_parameters=True)
def ingest(
    corpus: str = "corpus",
    *,
    profile: str = DEFAULT_PROFILE,
    state: str = "",
    dry_run: bool = False,
    rebuild: bool = False,
    wait_s: Annotated[float, Field(ge=0)] = 0.0,
) -> State[Ingested]:
    """Normalize, chunk, embed, validate and commit a corpus, all or nothing.

    Ends as `Committed`, `Unchanged` or `DryRun`; a failed run leaves the previous index as it
    was, and the next run resumes with the batches that were finished.

    Args:
        corpus: Folder of governed documents.
        profile: Packaged profile name, or path of a .toml file.
        state: State root; empty: RAG_STATE_ROOT, else ./state.
        dry_run: Plan only: say what would be embedded, commit nothing.
        rebuild: Embed everything again, under the profile's contract.
        wait_s: Seconds to wait for another ingest before giving up.
    """
    logger = get_run_logger()
    runtime = open_runtime(profile, state)
    watcher = WATCHER.get()

    def progress(step: str, done: int, total: int) -> None:
        logger.info("%s: %d of %d", step, done, total)
        if watcher is not None:
            watcher(step, done, total)

    try:
        done = run_ingest(
            ports=runtime.ingesting(corpus, lock_timeout_s=wait_s),
            run_id=runtime.new_run_id(),
            options=IngestOptions(dry_run=dry_run, rebuild=rebuild),
            flow_run_id=prefect_runtime.flow_run.id,
            run_step=run_as_task,
            progress=progress,
        )
    except CorpusError as error:
        leave_findings(error.findings)
        raise
    leave_findings(done.findings)
    leave_manifest(done)
    message = f"{done.plan.chunks} chunks, {done.plan.missing} embedded, {done.plan.reused} reused"
    return Completed(name=_STATE_NAMES[done.outcome], message=message, data=done)
