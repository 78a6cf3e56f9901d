"""How missing texts become embedding requests and staged shards (DESIGN section 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_core.types.chunks import BATCH_SIZE, ChunkBatch, EmbeddingInput

if TYPE_CHECKING:
    from collections.abc import Sequence

SHARD_BATCHES = 64
"""Part files that are merged into one shard (DESIGN section 4)."""


def batch_inputs(inputs: Sequence[EmbeddingInput]) -> tuple[ChunkBatch, ...]:
    """Batches in the order of `inputs`, each filled up to 16 windows before the next begins.

    An input of more than 16 windows is a batch of its own.
    """
    batches: list[ChunkBatch] = []
    current: list[EmbeddingInput] = []
    windows = 0
    for item in inputs:
        if current and windows + item.windows > BATCH_SIZE:
            batches.append(ChunkBatch(tuple(current)))
            current, windows = [], 0
        current.append(item)
        windows += item.windows
    if current:
        batches.append(ChunkBatch(tuple(current)))
    return tuple(batches)


def shards_of(
    batches: Sequence[ChunkBatch], *, size: int = SHARD_BATCHES
) -> tuple[tuple[ChunkBatch, ...], ...]:
    """The batches in their order, in groups of `size`; the last one may be smaller.

    Raises:
        ValueError: If `size` is below 1.
    """
    if size < 1:
        raise ValueError(f"shards: want a size of at least 1, got {size}")
    return tuple(tuple(batches[at : at + size]) for at in range(0, len(batches), size))
