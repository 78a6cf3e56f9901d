"""The dense ranking of a question before any threshold: a diagnostic without a chat model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_core.errors import UsageError
from rag_core.verbs.ranking import (
    RetrievalPorts,
    admitted_candidates,
    eligible_set,
    open_for_questions,
    question_rule,
    rank,
)

if TYPE_CHECKING:
    from datetime import date

    from rag_core.types.ids import ChunkId, Digest, SourceId
    from rag_core.types.questions import Question
    from rag_core.types.retrieval import Admission


@dataclass(frozen=True, slots=True)
class ProbeHit:
    """One eligible chunk at its dense rank, with what admission would say."""

    rank: int
    chunk_id: ChunkId
    source_id: SourceId
    title: str
    scope: str
    valid_from: date
    valid_until: date | None
    cosine: float
    shared_terms: int | None
    """None where the hit lies outside the fused candidates."""
    admission: Admission | None
    text: str


@dataclass(frozen=True, slots=True)
class Probe:
    """The best eligible chunks for a question."""

    question: Question
    indexed: int
    eligible: int
    hits: tuple[ProbeHit, ...]
    unknown_products: tuple[str, ...]
    generation_digest: Digest


def probe(question: Question, *, ports: RetrievalPorts, limit: int = 10) -> Probe:
    """Rank the eligible chunks by cosine and show the first `limit`, thresholds not applied.

    Raises:
        UsageError: If `limit` is below 1.
        NoIndexError, ContractMismatchError, IntegrityError, ProviderError: As for an answer.
    """
    if limit < 1:
        raise UsageError(f"limit: want at least 1, found {limit}")
    with ports.store.open() as snapshot:
        open_for_questions(snapshot.manifest, ports=ports)
        rule, unknown = question_rule(question, snapshot, ports.profile)
        eligible = eligible_set(snapshot, rule, ports.profile)
        generation = snapshot.manifest.generation_digest
        if not eligible.chunks:
            return Probe(question, eligible.indexed, 0, (), unknown, generation)
        rankings = rank(question, eligible, snapshot, ports)
        candidates = {c.chunk_id: c for c in admitted_candidates(rankings, ports.profile)}
        rows = {chunk.id: chunk for chunk in eligible.chunks}
        best = rankings.dense.hits[:limit]
        texts = snapshot.texts([hit.chunk_id for hit in best])
        hits = []
        for hit, text in zip(best, texts, strict=True):
            row, candidate = rows[hit.chunk_id], candidates.get(hit.chunk_id)
            hits.append(
                ProbeHit(
                    rank=hit.rank,
                    chunk_id=hit.chunk_id,
                    source_id=row.source_id,
                    title=row.title,
                    scope=row.governance.scope,
                    valid_from=row.governance.valid_from,
                    valid_until=row.governance.valid_until,
                    cosine=hit.score,
                    shared_terms=candidate.shared_terms if candidate else None,
                    admission=candidate.admission if candidate else None,
                    text=text,
                )
            )
        return Probe(
            question, eligible.indexed, len(eligible.chunks), tuple(hits), unknown, generation
        )
