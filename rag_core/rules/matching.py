"""Finding a quotation in a chunk. It is verbatim there, up to typography, or it is not found."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final, Literal

from rag_core.rules.bounds import is_sentences, tears, trim_inwards
from rag_core.rules.ellipsis import find_passage
from rag_core.rules.places import exact_places, typographic_places
from rag_core.types.corpus import Span
from rag_core.types.verdicts import MatchKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rag_core.types.retrieval import Excerpt

    Matching = Literal["exact", "typographic"]

MAX_QUOTE_CHARS: Final = 5_000
"""Far more than a chunk holds; what is longer is no quotation and is not even compared."""

_BLANKS: Final = "\t\n\v\f\r\x85"
"""Control characters that only divide words or lines. Python counts U+001C to U+001F as white space
as well; those are marks of data records, and no text has them."""

_COMPARED: Final = 600
"""How much of a failed quotation is compared for the nearest miss; bounds its cost."""


@dataclass(frozen=True, slots=True)
class Match:
    """Where a quotation stands in its source's text, and how it was found there."""

    span: Span
    kind: MatchKind
    whole: bool = True
    """Whether it, and each part around an ellipsis, starts and ends on bounds of the source."""


def find_quote(quote: str, excerpt: Excerpt, *, matching: Matching) -> Match | None:
    """The place of a quotation in the source, inside this chunk; None if it does not stand there.

    White space around the quotation is trimmed. Of several places the first is taken that is whole
    sentences, as a part of another sentence may say something else; then the first that starts and
    ends on bounds of the source, else the first. A control character is never found, unless it is
    white space.
    """
    wanted = quote.strip()
    if not wanted or len(wanted) > MAX_QUOTE_CHARS or has_control_character(quote):
        return None
    # Promise 3: a quotation stays inside one retrieved chunk.
    first: Match | None = None
    for match in _matches(wanted, excerpt, matching):
        if first is not None and first.whole and match.kind is not first.kind:
            break  # letter for letter comes before typography, wherever it stands
        if match.whole and is_sentences(excerpt.source, match.span):
            return match
        if first is None or (match.whole and not first.whole):
            first = match
    return first


def has_control_character(quote: str) -> bool:
    """Whether it holds a control character that is no white space, or a lone surrogate.

    White space of any kind folds to one space: a copy may have kept other line ends than ours.
    """
    return any(unicodedata.category(char) in ("Cc", "Cs") for char in quote if char not in _BLANKS)


def nearest_miss(quote: str, excerpt: Excerpt) -> str:
    """The stretch of the chunk that resembles the quotation most, in whole words; maybe empty.

    For a person who reads the log: it never becomes an answer. Only the first 600 characters of
    the quotation and of what the chunk holds around the longest common run are compared.
    """
    wanted = quote.strip()[:_COMPARED]
    matcher = SequenceMatcher(None, excerpt.text, wanted, autojunk=False)
    common = matcher.find_longest_match()
    if not common.size:
        return ""
    start = max(0, common.a - common.b)
    end = min(len(excerpt.text), start + len(wanted))
    offset = excerpt.span.start
    span = trim_inwards(
        excerpt.source.text,
        Span(offset + start, offset + end),
        keep=Span(offset + common.a, offset + min(common.a + common.size, end)),
    )
    return excerpt.source.text[span.start : span.end]


def _matches(wanted: str, excerpt: Excerpt, matching: Matching) -> Iterator[Match]:
    source = excerpt.source
    for span in exact_places(wanted, excerpt):
        yield Match(span, MatchKind.EXACT, not tears(source, span))
    if matching == "exact":
        return
    for span in typographic_places(wanted, excerpt, leads=True):
        yield Match(span, MatchKind.TYPOGRAPHIC, not tears(source, span))
    for whole in (True, False):
        passage = find_passage(wanted, excerpt, whole=whole)
        if passage is not None:
            yield Match(passage, MatchKind.ELLIPSIS, whole)
