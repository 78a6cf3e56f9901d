"""Reciprocal rank fusion: `score = sum of 1 / (constant + rank)` over the lists that have a hit.

Cormack, Clarke and Büttcher (2009), with their constant of 60 and ranks from 1. A list without the
hit adds nothing; raw scores of the lists play no part.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rag_core.types.retrieval import RankedHit, Ranking

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_core.types.ids import ChunkId

CONSTANT = 60
"""DESIGN section 5, as the reference implementation."""

DEPTH = 200
"""How much of each ranking counts (DESIGN section 5)."""

NAME = "fused"


def fuse(rankings: Sequence[Ranking], *, depth: int, constant: int = CONSTANT) -> Ranking:
    """All hits among the first `depth` of any ranking, by their sum of reciprocal ranks.

    The order of `rankings` does not matter, bit for bit: the sum is correctly rounded. Equal sums
    stand in ordinal order of chunk id.

    Raises:
        ValueError: If `depth` is below 1, `constant` is below 0, or the ranks of a ranking are not
            1, 2, 3 ... over distinct chunks.
    """
    if depth < 1 or constant < 0:
        raise ValueError(f"fusion: want depth >= 1 and constant >= 0, got {depth} and {constant}")
    shares: dict[ChunkId, list[float]] = {}
    for ranking in rankings:
        _check_ranks(ranking)
        for hit in ranking.hits[:depth]:
            shares.setdefault(hit.chunk_id, []).append(1 / (constant + hit.rank))
    best_first = sorted((-math.fsum(parts), chunk_id) for chunk_id, parts in shares.items())
    return Ranking(
        NAME,
        tuple(
            RankedHit(chunk_id, rank, -negated)
            for rank, (negated, chunk_id) in enumerate(best_first, start=1)
        ),
    )


def _check_ranks(ranking: Ranking) -> None:
    for expected, hit in enumerate(ranking.hits, start=1):
        if hit.rank != expected:
            raise ValueError(
                f"{ranking.name}: want rank {expected} at {hit.chunk_id}, got {hit.rank}"
            )
    if len({hit.chunk_id for hit in ranking.hits}) != len(ranking.hits):
        raise ValueError(f"{ranking.name}: a chunk comes twice")
