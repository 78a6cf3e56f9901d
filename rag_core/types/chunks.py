"""Chunks, and what an embedder is asked for and gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_core.types.corpus import Governance, Span
from rag_core.types.ids import ChunkId, Digest, SourceId

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    FloatVector = NDArray[np.float32]
    FloatMatrix = NDArray[np.float32]

BATCH_SIZE = 16
"""Most inputs of one embedding request (DESIGN section 4)."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of one document: `text == document.text[span.start:span.end]`."""

    id: ChunkId
    source_id: SourceId
    part: int
    span: Span
    text: str
    heading_path: tuple[str, ...]
    title: str
    governance: Governance
    language: str | None


@dataclass(frozen=True, slots=True)
class EmbeddingInput:
    """A rendered text and the key under which its vector is kept and reused."""

    key: Digest
    """SHA-256 over the embedding contract and the rendered text."""
    text: str
    windows: int = 1
    """Token windows that the model needs for it; each counts as an input of a batch."""
    name: str = ""
    """The first chunk that renders to it, for error messages."""


@dataclass(frozen=True, slots=True)
class ChunkBatch:
    """One embedding request: at most `BATCH_SIZE` windows in all, at least one input."""

    inputs: tuple[EmbeddingInput, ...]

    def __post_init__(self) -> None:
        if not self.inputs:
            raise ValueError("chunk batch: want at least one input, got none")
        total = sum(item.windows for item in self.inputs)
        if len(self.inputs) > 1 and total > BATCH_SIZE:
            raise ValueError(f"chunk batch: want at most {BATCH_SIZE} windows, got {total}")


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddedBatch:
    """Vectors of one batch, row i belonging to `keys[i]`; checked, see `rules.vectors`."""

    keys: tuple[Digest, ...]
    vectors: FloatMatrix
    """Shape (len(keys), dimension), float32, finite, no zero row."""
    windows: tuple[int, ...]
