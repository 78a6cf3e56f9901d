"""Lexical ranking in integers, so that every implementation agrees bit for bit (DESIGN section 5).

Scores are whole numbers: their order of summation cannot matter, and equal means equal.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_core.types.retrieval import RankedHit, Ranking

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from rag_core.types.ids import ChunkId

K1 = 1.2
"""Saturation of repeated terms (DESIGN section 5)."""

B = 0.75
"""How much a long chunk is held against it (DESIGN section 5)."""

SCALE = 2**20
"""Units of a weight of 1."""

NAME = "lexical"


@dataclass(frozen=True, slots=True, eq=False)
class LexicalIndex:
    """Term statistics of the eligible chunks, and of nothing else (promise 2); see `of`."""

    n: int
    """Number of chunks."""
    avgdl: float
    """Mean number of terms of a chunk, repetitions counted; 0.0 without chunks."""
    lengths: Mapping[ChunkId, int]
    """Terms per chunk, repetitions counted."""
    postings: Mapping[str, Mapping[ChunkId, int]]
    """How often each term stands in each chunk that has it."""
    df: Mapping[str, int]
    """In how many chunks each term stands; absent terms are left out."""

    @classmethod
    def of(cls, entries: Iterable[tuple[ChunkId, Sequence[str]]]) -> LexicalIndex:
        """The statistics of chunks given as id and terms of title and text, with repetition.

        Raises:
            ValueError: If a chunk id comes twice.
        """
        lengths: dict[ChunkId, int] = {}
        postings: dict[str, dict[ChunkId, int]] = {}
        for chunk_id, chunk_terms in entries:
            if chunk_id in lengths:
                raise ValueError(f"lexical index: chunk {chunk_id} comes twice")
            lengths[chunk_id] = len(chunk_terms)
            for term, count in Counter(chunk_terms).items():
                postings.setdefault(term, {})[chunk_id] = count
        return cls(
            n=len(lengths),
            avgdl=sum(lengths.values()) / len(lengths) if lengths else 0.0,
            lengths=lengths,
            postings=postings,
            df={term: len(where) for term, where in postings.items()},
        )

    def idf(self, term: str) -> float:
        """`ln(1 + (n - df + 0.5) / (df + 0.5))`, above 0 for every term, absent ones included."""
        df = self.df.get(term, 0)
        return math.log(1 + (self.n - df + 0.5) / (df + 0.5))


def rank_by_bm25(question_terms: Collection[str], index: LexicalIndex) -> Ranking:
    """Chunks with a weight above 0, best first; scores are whole weights in units of 2**-20.

    The weight of a term in a chunk is `2**20 * idf * tf / (tf + k1 * (1 - b + b * dl / avgdl))`,
    in float64 from left to right, rounded half to even. Repeated question terms count once.
    """
    scores: dict[ChunkId, int] = {}
    for term in frozenset(question_terms):
        scaled_idf = SCALE * index.idf(term)
        for chunk_id, tf in index.postings.get(term, {}).items():
            norm = 1 - B + B * index.lengths[chunk_id] / index.avgdl
            weight = round(scaled_idf * (tf / (tf + K1 * norm)))
            scores[chunk_id] = scores.get(chunk_id, 0) + weight
    return _ranking(scores)


def rank_by_overlap(question_terms: Collection[str], index: LexicalIndex) -> Ranking:
    """Chunks that share terms with the question, most distinct ones first (profile `reference`)."""
    scores: dict[ChunkId, int] = {}
    for term in frozenset(question_terms):
        for chunk_id in index.postings.get(term, {}):
            scores[chunk_id] = scores.get(chunk_id, 0) + 1
    return _ranking(scores)


def shared_terms(question_terms: Collection[str], chunk_id: ChunkId, index: LexicalIndex) -> int:
    """How many distinct terms a question and a chunk share.

    Raises:
        ValueError: If the index does not hold the chunk.
    """
    if chunk_id not in index.lengths:
        raise ValueError(f"lexical index: no chunk {chunk_id} among {index.n}")
    return sum(chunk_id in index.postings.get(term, {}) for term in frozenset(question_terms))


def _ranking(scores: Mapping[ChunkId, int]) -> Ranking:
    best_first = sorted((-score, chunk_id) for chunk_id, score in scores.items() if score > 0)
    return Ranking(
        NAME,
        tuple(
            RankedHit(chunk_id, rank, float(-negated))
            for rank, (negated, chunk_id) in enumerate(best_first, start=1)
        ),
    )
