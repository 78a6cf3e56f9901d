"""From a corpus folder to a committed index, all or nothing.

    normalize → chunk → plan → embed shards → validate → commit → record

Each step is handed references to staged artifacts, so that an interrupted ingest resumes where
it stopped and an unchanged chunk is never embedded twice. Everything is embedded before the
one transaction opens (promises 7 and 8).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rag_core.errors import (
    ContractMismatchError,
    CorpusError,
    NoIndexError,
    RagError,
)
from rag_core.rules.findings import sort_findings
from rag_core.rules.manifest import contract_differences
from rag_core.types.records import IngestRecord
from rag_core.verbs.ingest_notices import scope_notices
from rag_core.verbs.ingest_steps import chunk, commit, embed_shard, normalize, validate
from rag_core.verbs.ingest_vectors import (
    EmbeddingPlan,
    IngestPorts,
    meet_model,
    plan_embedding,
    require_same_model_still,
)
from rag_core.verbs.steps import RunStep, TimedSteps, call_plainly, no_progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_core.types.corpus import Finding
    from rag_core.types.ids import RunId
    from rag_core.types.index import Manifest
    from rag_core.types.ports import Progress


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """What the caller chose."""

    dry_run: bool = False
    """Plan only: stages documents and chunks, embeds and commits nothing."""
    rebuild: bool = False
    """Reuse no vector, and accept another embedding contract than the live index has."""


@dataclass(frozen=True, slots=True)
class Ingested:
    """What an ingest did."""

    outcome: str
    """`committed`, `unchanged` or `dry_run`."""
    plan: EmbeddingPlan
    findings: tuple[Finding, ...]
    manifest: Manifest | None
    """The live manifest afterwards; None on a dry run without an index."""
    record: IngestRecord


def ingest(
    *,
    ports: IngestPorts,
    run_id: RunId,
    options: IngestOptions = IngestOptions(),
    flow_run_id: str | None = None,
    run_step: RunStep = call_plainly,
    progress: Progress = no_progress,
) -> Ingested:
    """Bring the index in line with the corpus folder, and record the run.

    Raises:
        CorpusError: If a finding is an error; the index is as it was.
        ContractMismatchError: If the live index has another embedding contract or another model
            answers to its name, and `rebuild` was not asked for.
        IntegrityError: If the live index is damaged and `rebuild` was not asked for, or the
            build contradicts itself.
        ProviderError: If the embedder fails; finished batches are kept for the next run.
        LockedError: If another ingest runs.
        RecordError: If the run log cannot be written; a commit that happened stays.
    """
    steps = TimedSteps(run_step, ports.clock)
    blank = IngestRecord(
        run_id=run_id,
        flow_run_id=flow_run_id,
        started_at=ports.clock.now(),
        profile=ports.profile.name,
        outcome="failed",
        reason="internal",
    )
    try:
        with ports.lock():
            done = _ingest_locked(ports, options, steps, progress, blank)
    except BaseException as error:  # cancellation too leaves its row
        _record_failure(ports, blank, error, steps)
        raise
    ports.run_log.write_ingest(done.record)
    return done


def _ingest_locked(
    ports: IngestPorts,
    options: IngestOptions,
    steps: TimedSteps,
    progress: Progress,
    blank: IngestRecord,
) -> Ingested:
    ports.stages.clean_temporary()
    corpus_ref = steps("normalize", normalize, ports=ports, rebuild=options.rebuild)
    corpus, found = ports.stages.get_corpus(corpus_ref)
    findings = sort_findings((*found, *scope_notices(corpus, ports.profile)))
    chunks_ref = steps("chunk", chunk, corpus_ref, ports=ports, rebuild=options.rebuild)
    live = live_manifest(ports, rebuild=options.rebuild)
    met = None if options.dry_run else meet_model(ports, live=live, rebuild=options.rebuild)
    plan = plan_embedding(chunks_ref, ports=ports, rebuild=options.rebuild, live=live)
    base = replace(
        blank,
        reused=plan.reused,
        previous_generation=live.generation_digest if live else None,
        findings=_logged(findings),
    )
    if met is None:
        row = replace(base, outcome="dry_run", reason=None, timings_ms=tuple(steps.timings_ms))
        return Ingested("dry_run", plan, findings, live, row)
    _embed(plan, ports, steps, progress)
    if plan.missing:
        require_same_model_still(ports, met)
    build_ref, unchanged = steps(
        "validate",
        validate,
        corpus_ref,
        chunks_ref,
        ports=ports,
        live=live,
        rebuild=options.rebuild,
    )
    manifest = live if unchanged else None
    outcome = "unchanged" if unchanged else "committed"
    if manifest is None:
        manifest = steps("commit", commit, build_ref, ports=ports)
    row = replace(
        base,
        outcome=outcome,
        reason=None,
        contract_digest=manifest.contract_digest,
        generation_digest=manifest.generation_digest,
        counts=manifest.counts,
        findings=_logged(findings if unchanged else manifest.notices),
        embedded=plan.missing,
        requests=plan.requests,
        timings_ms=tuple(steps.timings_ms),
    )
    # An unchanged index keeps the notices of its own profile; these are of today's.
    shown = findings if unchanged else manifest.notices
    return Ingested(outcome, plan, shown, manifest, row)


def live_manifest(ports: IngestPorts, *, rebuild: bool) -> Manifest | None:
    """The live index's manifest, or None where there is none (or a rebuild replaces a bad one).

    Raises:
        ContractMismatchError: If its embedding contract is another and `rebuild` is false.
        IntegrityError: If it is damaged and `rebuild` is false.
    """
    try:
        with ports.store.open() as snapshot:
            manifest = snapshot.manifest
    except NoIndexError:
        return None
    except RagError:
        if rebuild:
            return None
        raise
    differences = contract_differences(
        manifest.contract,
        embedding=ports.embedder.contract,
        chunking=manifest.contract.chunking,
        splitter=manifest.contract.splitter,
        schema_version=manifest.contract.schema_version,
    )
    if differences and not rebuild:
        raise ContractMismatchError(
            f"the live index has another embedding contract than profile "
            f"{ports.profile.name!r}: {'; '.join(differences)}. "
            "To replace all vectors, run: rag ingest --rebuild"
        )
    return manifest


def _embed(plan: EmbeddingPlan, ports: IngestPorts, steps: TimedSteps, progress: Progress) -> None:
    done = 0
    progress("embed", done, plan.missing)
    for number, shard in enumerate(plan.shards, start=1):

        def tell(inputs: int, before: int = done) -> None:
            progress("embed", before + inputs, plan.missing)

        done += steps(f"embed shard {number}", embed_shard, shard, ports=ports, tell=tell)


def _record_failure(
    ports: IngestPorts, blank: IngestRecord, error: BaseException, steps: TimedSteps
) -> None:
    findings = error.findings if isinstance(error, CorpusError) else ()
    row = replace(
        blank,
        reason=_reason(error),
        findings=_logged(findings),
        timings_ms=tuple(steps.timings_ms),
    )
    try:
        ports.run_log.write_ingest(row)
    except RagError as also:
        # The first error is the one to act on; the second is told beside it.
        error.add_note(str(also))


def _reason(error: BaseException) -> str:
    if isinstance(error, RagError):
        return error.reason
    return RagError.reason if isinstance(error, Exception) else "cancelled"


def _logged(findings: Sequence[Finding]) -> tuple[tuple[str, str, str, str], ...]:
    return tuple((f.severity.value, f.code, f.path, f.message) for f in findings)
