"""Which fused hits become excerpts (DESIGN section 5).

A hit needs both: a cosine of at least `min_cosine`, and a meaningful term that it shares with the
question. What passes is cut to the best few. A fused score is neither cosine nor probability and
decides only the order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_core.rules.fusion import DEPTH
from rag_core.types.retrieval import Admission, Candidate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rag_core.types.ids import ChunkId
    from rag_core.types.retrieval import RankedHit, Ranking


def admit(
    fused: Ranking,
    dense: Ranking,
    lexical: Ranking,
    shared: Mapping[ChunkId, int],
    *,
    min_cosine: float,
    limit: int,
    depth: int = DEPTH,
) -> tuple[Candidate, ...]:
    """One candidate per fused hit, in fused order, each with its admission or the reason against.

    Args:
        fused: What RRF made of the other two.
        dense: Every eligible chunk with its cosine.
        lexical: The chunks with a lexical score.
        shared: Distinct terms shared with the question, per fused chunk.
        min_cosine: Least cosine of an admitted hit, -1 to 1.
        limit: Most admitted hits, at least 1.
        depth: How much of each ranking was fused; a rank beyond it counts as absent and is None.

    Raises:
        ValueError: If `limit` is below 1, `min_cosine` lies outside -1..1, or a fused hit has no
            cosine or no count of shared terms: a gap is a fault, never a zero.
    """
    if limit < 1 or not -1 <= min_cosine <= 1:
        raise ValueError(
            f"admission: want limit >= 1, -1 <= min_cosine <= 1, got {limit}, {min_cosine}"
        )
    by_cosine = {hit.chunk_id: hit for hit in dense.hits}
    by_terms = {hit.chunk_id: hit for hit in lexical.hits}
    candidates = []
    admitted = 0
    for hit in fused.hits:
        if hit.chunk_id not in by_cosine or hit.chunk_id not in shared:
            raise ValueError(f"admission: no cosine or no shared terms are known of {hit.chunk_id}")
        dense_hit, lexical_hit = by_cosine[hit.chunk_id], by_terms.get(hit.chunk_id)
        terms = shared[hit.chunk_id]
        decision = _decide(dense_hit.score, terms, min_cosine=min_cosine, free=limit - admitted)
        admitted += decision is Admission.ADMITTED
        candidates.append(
            Candidate(
                chunk_id=hit.chunk_id,
                rank=hit.rank,
                fused_score=hit.score,
                cosine=dense_hit.score,
                dense_rank=_rank_within(depth, dense_hit),
                lexical_rank=_rank_within(depth, lexical_hit),
                lexical_score=None if lexical_hit is None else int(lexical_hit.score),
                shared_terms=terms,
                admission=decision,
            )
        )
    return tuple(candidates)


def _decide(cosine: float, terms: int, *, min_cosine: float, free: int) -> Admission:
    if cosine < min_cosine:
        return Admission.BELOW_MIN_COSINE
    if terms < 1:
        return Admission.NO_SHARED_TERM
    return Admission.ADMITTED if free > 0 else Admission.OVER_LIMIT


def _rank_within(depth: int, hit: RankedHit | None) -> int | None:
    return hit.rank if hit is not None and hit.rank <= depth else None
