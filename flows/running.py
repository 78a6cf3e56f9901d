"""Runs a verb for the command line: as a flow where that is wanted, else in this process."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, TypeVar

from flows.blocks import open_runtime
from flows.console import ERR
from flows.environment import api_configured, prepare_prefect
from flows.progress_bar import progress_bar
from rag_core.errors import ProviderError, RagError, UsageError
from rag_core.runtime import Runtime, StatePaths
from rag_core.verbs.answer import answer as answer_plainly
from rag_core.verbs.answer_records import RunIds
from rag_core.verbs.audit import audit as audit_plainly
from rag_core.verbs.compare import compare as compare_plainly
from rag_core.verbs.doctor import HealthCheck
from rag_core.verbs.probe import probe as probe_plainly
from rag_core.verbs.requests import resolve_question

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rag_core.types.proposals import Variant
    from rag_core.types.questions import Asked
    from rag_core.verbs.answer import AnswerRun
    from rag_core.verbs.audit import Audit
    from rag_core.verbs.compare import Comparison
    from rag_core.verbs.ingest import Ingested
    from rag_core.verbs.probe import Probe

R = TypeVar("R")


def run_ingest(
    *,
    corpus: Path,
    profile: str,
    state: Path | None,
    dry_run: bool,
    rebuild: bool,
    wait_s: float,
) -> Ingested:
    """Ingest as a flow, always: on the configured server or on a temporary one.

    Raises:
        RagError: Whatever stopped the ingest.
    """
    runtime = open_runtime(profile, state)
    if not corpus.is_dir():
        raise UsageError(f"corpus {corpus}: no such folder. For a sample, run: rag init {corpus}")
    _ = runtime.embedder  # addresses and keys that are missing are told before a server starts
    _require_server()
    _announce_server(runtime.paths)
    from flows.ingest import ingest
    from flows.progress import WATCHER

    with progress_bar() as progress:
        token = WATCHER.set(progress)
        try:
            result: Ingested = _run_flow(
                ingest,
                corpus=str(corpus.absolute()),
                profile=_absolute_profile(profile),
                state=str(runtime.paths.root),
                dry_run=dry_run,
                rebuild=rebuild,
                wait_s=wait_s,
            )
        finally:
            WATCHER.reset(token)
    return result


def run_answer(
    asked: Asked,
    runtime: Runtime,
    *,
    variant: Variant | None,
    profile: str,
    as_flow: bool,
) -> AnswerRun:
    """Answer one question; a Prefect API that fails does not fail the answer.

    Raises:
        UsageError: If the question breaks a rule.
        RecordError: If the run log cannot be written.
    """
    question = resolve_question(asked, profile=runtime.profile, clock=runtime.clock)

    def plainly() -> AnswerRun:
        return answer_plainly(
            [question],
            ports=runtime.answering,
            ids=RunIds(runtime.new_run_id()),
            variant=variant,
        )

    def flowing() -> AnswerRun:
        from flows.answer import answer

        result: AnswerRun = _run_flow(
            answer,
            question=asked.text,
            as_of=question.as_of.isoformat(),
            scopes=list(question.scopes),
            product=question.product or "",
            background=question.background or "",
            variant=variant,
            profile=_absolute_profile(profile),
            state=str(runtime.paths.root),
        )
        return result

    return _flow_or_plain(flowing, plainly, runtime, as_flow=as_flow)


def run_probe(asked: Asked, runtime: Runtime, *, profile: str, limit: int, as_flow: bool) -> Probe:
    """The dense ranking of one question."""
    question = resolve_question(asked, profile=runtime.profile, clock=runtime.clock)

    def flowing() -> Probe:
        from flows.probe import probe

        result: Probe = _run_flow(
            probe,
            question=asked.text,
            limit=limit,
            as_of=question.as_of.isoformat(),
            scopes=list(question.scopes),
            product=question.product or "",
            background=question.background or "",
            profile=_absolute_profile(profile),
            state=str(runtime.paths.root),
        )
        return result

    return _flow_or_plain(
        flowing,
        lambda: probe_plainly(question, ports=runtime.retrieval, limit=limit),
        runtime,
        as_flow=as_flow,
    )


def run_compare(
    asked: Asked,
    runtime: Runtime,
    *,
    variants: Sequence[Variant],
    profile: str,
    limit: int,
    as_flow: bool,
) -> Comparison:
    """The rankings of one question, and its answers in these variants."""
    question = resolve_question(asked, profile=runtime.profile, clock=runtime.clock)

    def plainly() -> Comparison:
        return compare_plainly(
            question,
            ports=runtime.answering,
            ids=RunIds(runtime.new_run_id()),
            variants=variants,
            limit=limit,
        )

    def flowing() -> Comparison:
        from flows.compare import compare

        result: Comparison = _run_flow(
            compare,
            question=asked.text,
            variants=bool(variants),
            limit=limit,
            as_of=question.as_of.isoformat(),
            scopes=list(question.scopes),
            product=question.product or "",
            background=question.background or "",
            profile=_absolute_profile(profile),
            state=str(runtime.paths.root),
        )
        return result

    return _flow_or_plain(flowing, plainly, runtime, as_flow=as_flow)


def run_audit(runtime: Runtime, *, profile: str, corpus: Path | None, as_flow: bool) -> Audit:
    """All checks of the index, and its drift from a folder."""

    def flowing() -> Audit:
        from flows.audit import audit

        result: Audit = _run_flow(
            audit,
            corpus=str(corpus.absolute()) if corpus else "",
            profile=_absolute_profile(profile),
            state=str(runtime.paths.root),
        )
        return result

    return _flow_or_plain(
        flowing,
        lambda: audit_plainly(
            store=runtime.store,
            run_log=runtime.run_log,
            corpus=runtime.corpus(corpus) if corpus else None,
        ),
        runtime,
        as_flow=as_flow,
    )


def run_serve(
    *,
    corpus: Path,
    profile: str,
    state: Path | None,
    cron: str | None,
    timezone: str,
    limit: int,
) -> None:
    """Serve the flows until interrupted.

    Raises:
        UsageError: If no Prefect server is configured, or the schedule is invalid.
    """
    runtime = open_runtime(profile, state)
    if not api_configured():
        raise UsageError(
            "serve: no Prefect server is configured. Run: prefect server start, and set "
            "PREFECT_API_URL=http://127.0.0.1:4200/api"
        )
    if not corpus.is_dir():
        raise UsageError(f"corpus {corpus}: no such folder. For a sample, run: rag init {corpus}")
    _require_server()
    prepare_prefect(runtime.paths, quiet=False)
    from flows.serve import ServeOptions, serve_flows

    options = ServeOptions(
        corpus=str(corpus.absolute()),
        profile=_absolute_profile(profile),
        state=str(runtime.paths.root),
        cron=cron,
        timezone=timezone,
        limit=limit,
    )
    serve_flows(options)


def prefect_check() -> HealthCheck:
    """Whether the configured Prefect server answers; fine where none is configured."""
    import httpx

    url = os.environ.get("PREFECT_API_URL")
    if not url:
        return HealthCheck("Prefect", True, "no server configured: ingests start a temporary one")
    try:
        httpx.get(f"{url.rstrip('/')}/health", timeout=5).raise_for_status()
    except httpx.HTTPError as error:
        return HealthCheck(
            "Prefect",
            False,
            f"the server at PREFECT_API_URL does not answer: {type(error).__name__}",
            "start it with: prefect server start, or unset PREFECT_API_URL",
            ProviderError.exit_code,
        )
    return HealthCheck("Prefect", True, "the configured server answers")


def _require_server() -> None:
    """Return where no server is configured, or the configured one answers.

    Raises:
        ProviderError: If it does not.
    """
    check = prefect_check()
    if not check.ok:
        raise ProviderError(f"Prefect: {check.found}. Next: {check.next_step}")


def _flow_or_plain(
    flowing: Callable[[], R], plainly: Callable[[], R], runtime: Runtime, *, as_flow: bool
) -> R:
    if not (as_flow or api_configured()):
        return plainly()
    _announce_server(runtime.paths)
    try:
        return flowing()
    except RagError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever Prefect's API does, the answer goes on
        cause = (str(error).splitlines() or [type(error).__name__])[0]
        ERR.print(f"Prefect did not run the flow: {cause}", style="yellow")
        ERR.print("continuing without it; rag doctor says what is wrong", style="yellow")
        return plainly()


def _announce_server(paths: StatePaths) -> None:
    prepare_prefect(paths, quiet=True)
    if not api_configured() and "prefect" not in sys.modules:
        ERR.print("starting a temporary Prefect server, about ten seconds", style="dim")


def _run_flow(flow: Any, **parameters: object) -> Any:  # noqa: ANN401 - Prefect's own types
    """Call a flow in this process, without the heartbeat thread that delays its end by 1 s."""
    from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings

    with temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):
        return flow(**parameters)


def _absolute_profile(profile: str) -> str:
    from pathlib import Path

    return str(Path(profile).absolute()) if profile.endswith(".toml") else profile
