"""Cutting documents into chunks (DESIGN section 4)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING

from rag_core.rules.headings import heading_path
from rag_core.rules.segmentation import grapheme_bounds
from rag_core.types.chunks import Chunk
from rag_core.types.corpus import Span
from rag_core.types.ids import ChunkId

if TYPE_CHECKING:
    from rag_core.types.corpus import Document

CHARS_600 = "chars-600-overlap-80-v1"
"""Names this rule in every contract. Sizes are the reference implementation's."""

WINDOW = 600
OVERLAP = 80


def chunk_document(document: Document) -> tuple[Chunk, ...]:
    """The chunks of a document in order of part, from 0; none for an empty text.

    A chunk's heading path is that of its first character.

    Raises:
        ValueError: As `cut_windows`.
    """
    return tuple(
        Chunk(
            id=ChunkId(f"{document.id}#{part}"),
            source_id=document.id,
            part=part,
            span=span,
            text=document.text[span.start : span.end],
            heading_path=heading_path(document.headings, span.start),
            title=document.title,
            governance=document.governance,
            language=document.language,
        )
        for part, span in enumerate(cut_windows(document.text))
    )


def cut_windows(text: str) -> tuple[Span, ...]:
    """Windows of at most 600 code points that overlap by about 80, cut on grapheme bounds.

    A window ends at the last bound not after its start + 600. The next starts at the last bound not
    after that end - 80, or later where it would otherwise lie inside the window before: at the
    first bound from which 600 code points reach past that end.

    Raises:
        ValueError: If a grapheme is longer than a window; its offset is named.
    """
    bounds = grapheme_bounds(text)
    _refuse(_oversized(bounds))
    windows = []
    start = 0
    while start < len(text):
        end = bounds[bisect_right(bounds, start + WINDOW) - 1]
        windows.append(Span(start, end))
        if end == len(text):
            break
        overlapping = bounds[bisect_right(bounds, end - OVERLAP) - 1] if end > OVERLAP else 0
        beyond = bounds[bisect_right(bounds, end)]
        reaching = bounds[bisect_left(bounds, beyond - WINDOW)]
        start = max(overlapping, reaching)
    return tuple(windows)


def oversized_grapheme(text: str) -> int | None:
    """The offset of the first grapheme that no window can hold; None if there is none."""
    return _oversized(grapheme_bounds(text))


def _oversized(bounds: tuple[int, ...]) -> int | None:
    return next((left for left, right in pairwise(bounds) if right - left > WINDOW), None)


def _refuse(offset: int | None) -> None:
    if offset is not None:
        raise ValueError(
            f"offset {offset}: a grapheme is longer than {WINDOW} code points, "
            "so no window can hold it without cutting it"
        )
