"""Names that resemble a misspelled one, for the next step of an error message."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_MATCHES = 3
"""More would not help a reader to choose."""
SIMILARITY = 0.6
"""The default ratio of `difflib`: one slip in a short word, a few in a long one."""
LONGEST_WORD = 128
"""`difflib` is quadratic, and nothing longer is a name here."""


def close_matches(word: str, options: Iterable[str]) -> tuple[str, ...]:
    """The options that resemble `word`, best first, at most three; case does not count.

    Only options that the caller may see belong here: naming one tells that it exists.
    """
    by_folded: dict[str, list[str]] = {}
    for option in sorted(set(options)):
        by_folded.setdefault(option.casefold(), []).append(option)
    found = get_close_matches(
        word[:LONGEST_WORD].casefold(), by_folded, n=MOST_MATCHES, cutoff=SIMILARITY
    )
    return tuple(option for folded in found for option in by_folded[folded])[:MOST_MATCHES]


def close_matches_hint(word: str, options: Iterable[str]) -> str:
    """The close matches as the end of a message, `; close matches: a, b`; empty without any."""
    found = close_matches(word, options)
    return f"; close matches: {', '.join(found)}" if found else ""
