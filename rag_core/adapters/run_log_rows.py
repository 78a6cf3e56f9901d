"""Our records as rows of the run log's tables; columns as in `run_log_schemas`."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rag_core.types.records import HitRecord, IngestRecord, VerdictRecord
    from rag_core.types.verdicts import Published


def hit_row(record: HitRecord) -> dict[str, object]:
    """A candidate as a row of `HITS`."""
    candidate = record.candidate
    return {
        "run_id": record.run_id,
        "question_index": record.question_index,
        "chunk_id": candidate.chunk_id,
        "source_id": record.source_id,
        "rank": candidate.rank,
        "fused_score": candidate.fused_score,
        "cosine": candidate.cosine,
        "dense_rank": candidate.dense_rank,
        "lexical_rank": candidate.lexical_rank,
        "lexical_score": candidate.lexical_score,
        "shared_terms": candidate.shared_terms,
        "admission": candidate.admission.value,
    }


def verdict_row(record: VerdictRecord) -> dict[str, object]:
    """A question with its outcome as a row of `VERDICTS`.

    Where the profile logs digests only, `question` and `background` are null.
    """
    verdict, question = record.verdict, record.question
    return {
        "run_id": record.run_id,
        "question_index": record.question_index,
        "flow_run_id": record.flow_run_id,
        "started_at": record.started_at,
        "question": None if question is None else question.text,
        "background": None if question is None else question.background,
        "question_digest": record.question_digest,
        "as_of": record.as_of,
        "scopes": list(record.scopes),
        "product": record.product,
        "variant": record.variant,
        "profile": record.profile,
        "chat_provider": record.chat_provider,
        "chat_model": record.chat_model,
        "proposal_style": record.proposal_style,
        "contract_digest": record.contract_digest,
        "generation_digest": record.generation_digest,
        "outcome": verdict.outcome.value,
        "reasons": [reason.value for reason in verdict.reasons],
        "detail": verdict.detail,
        "flags": [flag.value for flag in verdict.flags],
        "published": [_published_row(published) for published in verdict.published],
        "rejections": [
            {
                "reason": item.reason.value,
                "source_id": item.source_id,
                "quote": item.quote,
                "nearest": item.nearest,
            }
            for item in verdict.rejections
        ],
        "min_cosine": record.min_cosine,
        "abstain_threshold": record.abstain_threshold,
        "indexed": record.indexed,
        "eligible": record.eligible,
        "top_cosine": record.top_cosine,
        "top_sentence_score": record.top_sentence_score,
        **dataclasses.asdict(record.calls),
        "input_tokens": record.input_tokens,
        "output_tokens": record.output_tokens,
        "timings_ms": _timings(record.timings_ms),
    }


def _published_row(published: Published) -> dict[str, object]:
    return {
        "chunk_id": published.chunk_id,
        "source_id": published.source_id,
        "title": published.title,
        "text": published.text,
        "start": published.span.start,
        "end": published.span.end,
        "quote_start": published.quote_span.start,
        "quote_end": published.quote_span.end,
        "match": published.match.value,
        "sentence_cut": published.sentence_cut,
        "context": published.context,
        "heading_path": list(published.heading_path),
        "scope": published.scope,
        "valid_from": published.valid_from,
        "valid_until": published.valid_until,
        "path": published.path,
        "url": published.url,
        "source_digest": published.source_digest,
        "file_digest": published.file_digest,
    }


def ingest_row(record: IngestRecord) -> dict[str, object]:
    """An ingest as a row of `INGESTS`."""
    counts = record.counts
    return {
        "run_id": record.run_id,
        "flow_run_id": record.flow_run_id,
        "started_at": record.started_at,
        "profile": record.profile,
        "outcome": record.outcome,
        "reason": record.reason,
        "contract_digest": record.contract_digest,
        "generation_digest": record.generation_digest,
        "previous_generation": record.previous_generation,
        "sources": None if counts is None else counts.sources,
        "chunks": None if counts is None else counts.chunks,
        "vectors": None if counts is None else counts.vectors,
        "products": None if counts is None else counts.products,
        "embedded": record.embedded,
        "reused": record.reused,
        "requests": record.requests,
        "findings": [
            {"severity": severity, "code": code, "path": path, "message": message}
            for severity, code, path, message in record.findings
        ],
        "timings_ms": _timings(record.timings_ms),
    }


def _timings(timings: tuple[tuple[str, float], ...]) -> list[dict[str, object]]:
    return [{"step": step, "ms": milliseconds} for step, milliseconds in timings]
