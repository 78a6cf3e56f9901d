"""Quotations that leave something out: `…` and `[…]` join ordered parts of one chunk."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Final

from rag_core.rules.bounds import tears
from rag_core.rules.length import is_long_enough
from rag_core.rules.places import exact_places, typographic_places
from rag_core.types.corpus import Span

if TYPE_CHECKING:
    from rag_core.types.retrieval import Excerpt

MAX_GAP: Final = 200
"""Most source characters between two parts (DESIGN section 6)."""

_ELLIPSIS: Final = re.compile(r"\[\s*…\s*\]|…")


def split_at_ellipses(quote: str) -> tuple[str, ...]:
    """The trimmed parts between ellipses, empty ones included; one part without an ellipsis."""
    return tuple(part.strip() for part in _ELLIPSIS.split(quote))


def has_short_part(quote: str) -> bool:
    """Whether an ellipsis joins something too short to be a quotation by itself."""
    parts = split_at_ellipses(quote)
    return len(parts) > 1 and not all(map(is_long_enough, parts))


def find_passage(quote: str, excerpt: Excerpt, *, whole: bool) -> Span | None:
    """The passage from the first part to the last, in the source; None if the parts do not chain.

    Parts stand in the order quoted, do not overlap, lie at most 200 characters apart, and are each
    long enough. Of several passages the one that ends first.

    Args:
        quote: A quotation with at least one ellipsis; without one nothing is found.
        excerpt: The one chunk that must hold all parts.
        whole: Look only at parts that start and end on bounds of the source.
    """
    parts = split_at_ellipses(quote)
    if len(parts) == 1 or has_short_part(quote):
        return None
    chains: list[Span] = []
    for number, part in enumerate(parts):
        places = _places(part, excerpt, leads=number == 0, whole=whole)
        chains = places if number == 0 else _extend(chains, places)
        if not chains:
            return None
    return chains[0]


def _places(part: str, excerpt: Excerpt, *, leads: bool, whole: bool) -> list[Span]:
    found = chain(exact_places(part, excerpt), typographic_places(part, excerpt, leads=leads))
    return sorted(span for span in set(found) if not (whole and tears(excerpt.source, span)))


def _extend(chains: list[Span], places: list[Span]) -> list[Span]:
    """Passages so far, each place joined to the nearest passage that ends before it."""
    extended: list[Span] = []
    for place in places:
        before = [item for item in chains if 0 <= place.start - item.end <= MAX_GAP]
        if before:
            nearest = max(before, key=lambda item: (item.end, item.start))
            extended.append(Span(nearest.start, place.end))
    return extended
