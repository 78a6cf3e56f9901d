"""What flows leave in the Prefect UI. A view: the run log is the record of truth.

Artifacts never make a run fail, and hold no published text where the profile says `digest`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.logging import get_run_logger

from flows.views import ranking_rows, variant_row

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rag_core.types.corpus import Finding
    from rag_core.types.profiles import Profile
    from rag_core.verbs.answer import Answered, AnswerRun
    from rag_core.verbs.audit import Audit
    from rag_core.verbs.compare import Comparison
    from rag_core.verbs.ingest import Ingested
    from rag_core.verbs.probe import Probe


def leave_verdict(run: AnswerRun, item: Answered, profile: Profile) -> None:
    """The verdict with its quotations, under the key `answer-verdict`."""
    verdict, row = item.verdict, item.record
    full = profile.log.artifact_detail == "full"
    lines = [f"# {verdict.outcome.value.capitalize()}", ""]
    if verdict.reasons:
        lines += [f"**{', '.join(r.value for r in verdict.reasons)}** — {verdict.detail}", ""]
    for text in verdict.published:
        until = text.valid_until.isoformat() if text.valid_until else "open"
        lines += [
            f"### {_escaped(text.title)}",
            f"> {_quoted(text.text)}" if full else f"> ({len(text.text)} characters)",
            "",
            (
                f"`{text.chunk_id}` at {text.span.start}..{text.span.end}, {_escaped(text.path)}, "
                f"valid {text.valid_from.isoformat()} to {until}, {text.match.value} match"
            ),
            "",
        ]
    lines += [
        "| asked | eligible chunks | flags | recorded in |",
        "|---|---|---|---|",
        (
            f"| as of {row.as_of}, scopes {', '.join(row.scopes)} "
            f"| {row.eligible} of {row.indexed} "
            f"| {', '.join(f.value for f in verdict.flags) or 'none'} "
            f"| `{run.verdicts_path.name}` |"
        ),
    ]
    _leave(
        lambda: create_markdown_artifact(
            key="answer-verdict",
            markdown="\n".join(lines),
            description=f"Verdict of run {row.run_id}: {verdict.outcome.value}",
        )
    )


def leave_manifest(done: Ingested) -> None:
    """The manifest and what the ingest cost, under the key `ingest-manifest`."""
    manifest, plan = done.manifest, done.plan
    rows = [
        ("outcome", done.outcome),
        ("chunks", str(plan.chunks)),
        ("distinct texts", str(plan.distinct)),
        ("vectors reused", str(plan.reused)),
        ("texts to embed", f"{plan.missing} in {plan.requests} requests"),
    ]
    if manifest is not None:
        embedding = manifest.contract.embedding
        rows += [
            ("sources", str(manifest.counts.sources)),
            ("model", f"{embedding.provider} {embedding.model}, {embedding.dimension}"),
            ("chunking", manifest.contract.chunking),
            ("corpus digest", manifest.contract.corpus_digest),
            ("contract digest", manifest.contract_digest),
            ("generation digest", manifest.generation_digest),
            ("signed", "yes" if manifest.signature else "no"),
        ]
    table = ["| what | value |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)]
    _leave(
        lambda: create_markdown_artifact(
            key="ingest-manifest",
            markdown="\n".join(table),
            description=f"Index after run {done.record.run_id}: {done.outcome}",
        )
    )


def leave_findings(findings: Sequence[Finding]) -> None:
    """All corpus findings as a table, under the key `ingest-findings`."""
    rows = [
        {
            "severity": finding.severity.value,
            "code": finding.code,
            "file": finding.path,
            "line": finding.line or "",
            "field": finding.field or "",
            "message": finding.message,
        }
        for finding in findings
    ]
    _leave(
        lambda: create_table_artifact(
            key="ingest-findings",
            table=rows or [{"severity": "none", "message": "no findings"}],
            description=f"{len(findings)} corpus findings",
        )
    )


def leave_checks(result: Audit) -> None:
    """The checks of an audit as a table, under the key `audit-checks`."""
    rows = [
        {
            "check": check.name,
            "promise": check.promise,
            "result": check.problem or check.found,
            "ok": "no" if check.problem else "yes",
        }
        for check in result.checks
    ]
    _leave(
        lambda: create_table_artifact(
            key="audit-checks",
            table=rows,
            description=f"{len(result.problems)} of {len(rows)} checks failed",
        )
    )


def leave_ranking(result: Probe) -> None:
    """The dense ranking of a probe as a table, under the key `probe-ranking`."""
    rows = [
        {
            "rank": hit.rank,
            "chunk": hit.chunk_id,
            "cosine": round(hit.cosine, 4),
            "shared terms": "" if hit.shared_terms is None else hit.shared_terms,
            "admission": hit.admission.value if hit.admission else "not a candidate",
            "title": hit.title,
        }
        for hit in result.hits
    ]
    _leave(
        lambda: create_table_artifact(
            key="probe-ranking",
            table=rows or [{"rank": "none"}],
            description=f"{result.eligible} of {result.indexed} chunks eligible",
        )
    )


def leave_rankings(result: Comparison) -> None:
    """The ranks of each hit in three rankings, under the key `compare-rankings`."""
    rows = [
        {name: "" if value is None else value for name, value in row.items()}
        for row in ranking_rows(result)
    ]
    retrieval = result.retrieval
    _leave(
        lambda: create_table_artifact(
            key="compare-rankings",
            table=rows or [{"rank": "none"}],
            description=f"{retrieval.eligible} of {retrieval.indexed} chunks eligible",
        )
    )


def leave_variants(run: AnswerRun, profile: Profile) -> None:
    """Outcome and calls of each variant, then its quotations, under the key `compare-variants`."""
    full = profile.log.artifact_detail == "full"
    rows = [variant_row(item) for item in run.answers]
    lines = [
        f"| {' | '.join(rows[0])} |",
        f"|{'---|' * len(rows[0])}",
        *(f"| {' | '.join(map(str, row.values()))} |" for row in rows),
    ]
    for item in run.answers:
        lines += ["", f"### {item.record.variant}", ""] if item.verdict.published else []
        for text in item.verdict.published:
            quoted = _quoted(text.text) if full else f"({len(text.text)} characters)"
            lines += [f"`{text.chunk_id}`", f"> {quoted}", ""]
    _leave(
        lambda: create_markdown_artifact(
            key="compare-variants",
            markdown="\n".join(lines),
            description=f"Variants of run {run.answers[0].record.run_id}",
        )
    )


def _leave(create: Callable[[], object]) -> None:
    try:
        create()
    except Exception as error:  # noqa: BLE001 - the API may fail in any way; the run goes on
        get_run_logger().warning("artifact not stored: %s", type(error).__name__)


def _escaped(text: str) -> str:
    """Document text cannot become Markdown structure, links or HTML in the UI."""
    special = "\\`*_{}[]<>()#+-.!|&"
    return "".join(f"\\{char}" if char in special else char for char in text)


def _quoted(text: str) -> str:
    return _escaped(text).replace("\n", "\n> ")
