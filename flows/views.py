"""Results as plain data, for `--json`, artifacts and tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rag_core.types.retrieval import Candidate
    from rag_core.verbs.answer import Answered, AnswerRun
    from rag_core.verbs.audit import Audit
    from rag_core.verbs.compare import Comparison
    from rag_core.verbs.ingest import Ingested


def as_plain(value: Any) -> Any:  # noqa: ANN401 - takes any of our values
    """Dataclasses become objects, enums their values, dates ISO strings, tuples lists."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: as_plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): as_plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list, set, frozenset)):
        items = sorted(value) if isinstance(value, (set, frozenset)) else value
        return [as_plain(item) for item in items]
    return value


def answer_view(run: AnswerRun, item: Answered) -> dict[str, Any]:
    """One answer as an object: question, verdict, what was searched, where it is recorded."""
    row, verdict = item.record, item.verdict
    return {
        "run_id": row.run_id,
        "question_index": row.question_index,
        "question": item.question.text,
        "as_of": row.as_of,
        "scopes": list(row.scopes),
        "product": row.product,
        "profile": row.profile,
        "chat_provider": row.chat_provider,
        "chat_model": row.chat_model,
        "proposal_style": row.proposal_style,
        "variant": row.variant,
        "outcome": verdict.outcome.value,
        "reasons": [reason.value for reason in verdict.reasons],
        "detail": verdict.detail,
        "flags": [flag.value for flag in verdict.flags],
        "published": as_plain(verdict.published),
        "indexed": row.indexed,
        "eligible": row.eligible,
        "top_cosine": row.top_cosine,
        "top_sentence_score": row.top_sentence_score,
        "calls": as_plain(row.calls),
        "input_tokens": row.input_tokens,
        "output_tokens": row.output_tokens,
        "timings_ms": dict(row.timings_ms),
        "contract_digest": row.contract_digest,
        "generation_digest": row.generation_digest,
        "hits_path": str(run.hits_path),
        "verdicts_path": str(run.verdicts_path),
    }


def compare_view(result: Comparison) -> dict[str, Any]:
    """A comparison as an object: three rankings, and the answers where they were asked for."""
    retrieval, run = result.retrieval, result.run
    refusal = retrieval.refusal
    return {
        "question": result.question.text,
        "as_of": result.question.as_of.isoformat(),
        "scopes": list(result.question.scopes),
        "indexed": retrieval.indexed,
        "eligible": retrieval.eligible,
        "refusal": refusal.value if refusal else None,
        "dense": [_ranked(hit, hit.dense_rank) for hit in result.dense],
        "lexical": [_ranked(hit, hit.lexical_rank) for hit in result.lexical],
        "fused": [_ranked(hit, hit.rank) for hit in result.fused],
        "variants": [answer_view(run, item) for item in run.answers] if run else [],
    }


def _ranked(hit: Candidate, rank: int | None) -> dict[str, Any]:
    return {
        "rank": rank,
        "chunk_id": hit.chunk_id,
        "cosine": hit.cosine,
        "lexical_score": hit.lexical_score,
        "fused_score": hit.fused_score,
        "shared_terms": hit.shared_terms,
        "admission": hit.admission.value,
    }


def ranking_rows(result: Comparison) -> list[dict[str, Any]]:
    """One row per hit that is among the best of any ranking, in fused order, with its three ranks.

    A rank is empty where the hit is not in that ranking's part that was fused.
    """
    best = {hit.rank: hit for hit in (*result.fused, *result.dense, *result.lexical)}
    return [
        {
            "chunk": hit.chunk_id,
            "fused": hit.rank,
            "dense": hit.dense_rank,
            "cosine": f"{hit.cosine:.4f}",
            "lexical": hit.lexical_rank,
            "terms": hit.shared_terms,
            "in or out": hit.admission.value,
        }
        for _, hit in sorted(best.items())
    ]


def variant_row(item: Answered) -> dict[str, Any]:
    """One variant's outcome and its calls, without texts."""
    row, verdict = item.record, item.verdict
    return {
        "variant": row.variant,
        "outcome": verdict.outcome.value,
        "reason": ", ".join(reason.value for reason in verdict.reasons),
        "accepted": len(verdict.published),
        "host": row.calls.host_calls,
        "tool": row.calls.tool_calls,
        "context": row.calls.context_calls,
        "chat": row.calls.chat_calls,
        "repair": row.calls.repair_calls,
    }


def audit_view(result: Audit) -> dict[str, Any]:
    """An audit as an object: the generation, each check, and the drift where compared."""
    manifest = result.manifest
    return {
        "generation_digest": manifest.generation_digest,
        "contract_digest": manifest.contract_digest,
        "created_at": manifest.created_at.isoformat(),
        "counts": as_plain(manifest.counts),
        "signed": manifest.signature is not None,
        "checks": as_plain(result.checks),
        "problems": len(result.problems),
        "drift": as_plain(result.drift),
    }


def ingest_view(done: Ingested) -> dict[str, Any]:
    """An ingest as an object: what was planned and done, and what was found."""
    return {
        "run_id": done.record.run_id,
        "outcome": done.outcome,
        "chunks": done.plan.chunks,
        "distinct_texts": done.plan.distinct,
        "reused": done.plan.reused,
        "to_embed": done.plan.missing,
        "requests": done.plan.requests,
        "counts": as_plain(done.manifest.counts) if done.manifest else None,
        "contract_digest": done.manifest.contract_digest if done.manifest else None,
        "generation_digest": done.manifest.generation_digest if done.manifest else None,
        "findings": as_plain(done.findings),
        "timings_ms": dict(done.record.timings_ms),
    }
