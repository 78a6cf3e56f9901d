"""The plain exact ranking: reads every eligible vector and scans it in float64."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_core.rules.dense import rank_by_cosine

if TYPE_CHECKING:
    from rag_core.types.chunks import FloatVector
    from rag_core.types.ports import IndexSnapshot
    from rag_core.types.retrieval import EligibleSet, Ranking


class ExactScan:
    """Implements `VectorRanker`; O(eligible chunks x dimension)."""

    def rank(self, query: FloatVector, snapshot: IndexSnapshot, eligible: EligibleSet) -> Ranking:
        """All eligible chunks by cosine, best first; ties in ordinal order of chunk id."""
        ids = eligible.ids
        return rank_by_cosine(query, ids, snapshot.vectors(ids))
