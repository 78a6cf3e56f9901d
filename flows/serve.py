"""Serves the flows, so that they are started and scheduled from the Prefect UI."""

from __future__ import annotations

from dataclasses import dataclass
from zoneinfo import ZoneInfo

from prefect import serve
from prefect.schedules import Cron

from flows.answer import answer
from flows.audit import audit
from flows.ingest import ingest
from flows.probe import probe
from rag_core.errors import UsageError


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
    ingesting = ingest.to_deployment(
        name="ingest",
        description="Bring the index in line with the corpus folder.",
        parameters={**shared, "corpus": options.corpus},
        schedules=_schedules(options),
        concurrency_limit=1,
        tags=["rag"],
    )
    others = [
        flow.to_deployment(name=flow.name, parameters=shared, tags=["rag"])
        for flow in (answer, probe)
    ]
    auditing = audit.to_deployment(
        name="audit", parameters={**shared, "corpus": options.corpus}, tags=["rag"]
    )
    serve(ingesting, *others, auditing, limit=options.limit)


def _schedules(options: ServeOptions) -> list[Cron] | None:
    if options.cron is None:
        return None
    try:
        ZoneInfo(options.timezone)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"timezone {options.timezone!r}: want an IANA zone such as Europe/Berlin"
        ) from error
    try:
        return [Cron(options.cron, timezone=options.timezone)]
    except ValueError as error:
        raise UsageError(f"cron {options.cron!r}: {error}. Want five fields: 0 3 * * *") from error
