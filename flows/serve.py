"""Serves the flows, so that they are started and scheduled from the Prefect UI."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast
from zoneinfo import ZoneInfo

from prefect import serve
from prefect.schedules import Cron, Schedule

from flows.answer import answer
from flows.audit import audit
from flows.compare import compare
from flows.ingest import ingest
from flows.probe import probe
from rag_core.errors import UsageError

if TYPE_CHECKING:
    from prefect.deployments.runner import RunnerDeployment


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """What the served runs use unless a run says otherwise."""

    corpus: str
    profile: str
    state: str
    cron: str | None = None
    """Five fields, read in `timezone`; None: ingests are started by hand."""
    timezone: str = "UTC"
    limit: int = 4
    """Most runs at once."""


def serve_flows(options: ServeOptions) -> None:
    """Serve until interrupted; one ingest at a time.

    Raises:
        UsageError: If the cron expression or the time zone is invalid.
    """
    shared = {"profile": options.profile, "state": options.state}
    with_corpus = {**shared, "corpus": options.corpus}
    deployments = [
        ingest.to_deployment(
            name="ingest",
            parameters=with_corpus,
            schedules=_schedules(options),
            concurrency_limit=1,
            tags=["rag"],
        ),
        answer.to_deployment(name="answer", parameters=shared, tags=["rag"]),
        probe.to_deployment(name="probe", parameters=shared, tags=["rag"]),
        compare.to_deployment(name="compare", parameters=shared, tags=["rag"]),
        audit.to_deployment(name="audit", parameters=with_corpus, tags=["rag"]),
    ]
    # Typed as maybe a coroutine; called from synchronous code it is the deployment itself.
    serve(*cast("list[RunnerDeployment]", deployments), limit=options.limit)


def _schedules(options: ServeOptions) -> list[Schedule] | None:
    if options.cron is None:
        return None
    try:
        ZoneInfo(options.timezone)
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(
            f"timezone {options.timezone!r}: want an IANA zone such as Europe/Berlin"
        ) from error
    try:
        return [Cron(options.cron, timezone=options.timezone)]
    except ValueError as error:
        raise UsageError(f"cron {options.cron!r}: {error}. Want five fields: 0 3 * * *") from error
