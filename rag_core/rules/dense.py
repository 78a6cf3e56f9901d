"""Exact cosine, equal bit for bit to a plain float64 loop on every machine (promise 9).

A library's dot product adds in an order of its own; these sums run from left to right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rag_core.types.retrieval import RankedHit, Ranking

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rag_core.types.chunks import FloatMatrix, FloatVector
    from rag_core.types.ids import ChunkId

NAME = "dense"

_BLOCK_VALUES = 2**20
"""Coordinates summed at once: 8 MiB of products, whatever the number of rows."""


def cosine(left: FloatVector, right: FloatVector) -> float:
    """`clamp(dot / sqrt(a * b), -1, 1)` with three left-to-right float64 sums.

    Args:
        left: Shape (dimension,), float32, finite, not zero.
        right: The same.

    Raises:
        ValueError: If the dimensions differ, a coordinate is not finite, or a vector is zero.
    """
    _check_vector(left, "left vector")
    _check_vector(right, "right vector")
    return float(_cosines(left, right[np.newaxis])[0])


def rank_by_cosine(query: FloatVector, ids: Sequence[ChunkId], vectors: FloatMatrix) -> Ranking:
    """Every chunk by its cosine with the query, best first; ties in ordinal order of chunk id.

    Args:
        query: Shape (dimension,), float32, finite, not zero.
        ids: Distinct chunk ids, row i of `vectors` belonging to `ids[i]`.
        vectors: Shape (len(ids), dimension), float32, rows finite and not zero.

    Raises:
        ValueError: If shapes disagree, an id comes twice, a coordinate is not finite, or a row is
            zero; a bad row is named by its chunk.
    """
    _check_vector(query, "query")
    if vectors.ndim != 2 or len(vectors) != len(ids):  # noqa: PLR2004 - rows and coordinates
        raise ValueError(f"vectors: want {len(ids)} rows, one per chunk, got shape {vectors.shape}")
    if len(set(ids)) != len(ids):
        raise ValueError("vectors: a chunk id comes twice")
    rows = max(1, _BLOCK_VALUES // len(query))
    negated: list[float] = []
    for start in range(0, len(ids), rows):
        block = vectors[start : start + rows]
        _check_rows(block, ids[start : start + rows])
        negated.extend((-_cosines(query, block)).tolist())
    best_first = sorted(zip(negated, ids, strict=True))
    return Ranking(
        NAME,
        tuple(
            RankedHit(chunk_id, rank, -score)
            for rank, (score, chunk_id) in enumerate(best_first, start=1)
        ),
    )


def _check_vector(vector: FloatVector, name: str) -> None:
    if vector.ndim != 1:
        raise ValueError(f"{name}: want one vector, got shape {vector.shape}")
    if not np.isfinite(vector).all():
        raise ValueError(f"{name}: want finite coordinates, got NaN or infinity")
    if not vector.any():
        raise ValueError(f"{name}: want a vector with a direction, got {len(vector)} zeros")


def _check_rows(block: FloatMatrix, ids: Sequence[ChunkId]) -> None:
    sound = np.isfinite(block).all(axis=1) & block.any(axis=1)
    if not sound.all():
        first = int(np.argmin(sound))
        _check_vector(block[first], f"vector of {ids[first]}")


def _cosines(query: FloatVector, block: FloatMatrix) -> NDArray[np.float64]:
    if block.shape[1] != len(query):
        raise ValueError(f"cosine: want equal dimensions, got {len(query)} and {block.shape[1]}")
    left = query.astype(np.float64)
    right = block.astype(np.float64)
    dots = _sums(left * right)
    # Squares of float32 values neither overflow nor vanish in float64, nor do these products.
    squares = _sums((left * left)[np.newaxis]) * _sums(right * right)
    return np.clip(dots / np.sqrt(squares), -1.0, 1.0)


def _sums(products: NDArray[np.float64]) -> NDArray[np.float64]:
    """Row sums from left to right: `accumulate` keeps that order, `sum` and `dot` do not.

    A loop starts from 0.0 and `accumulate` from the first product; adding 0.0 makes a -0.0 of the
    latter the 0.0 of the former, and changes nothing else.
    """
    return np.add.accumulate(products, axis=1)[:, -1] + 0.0
