"""Where a text may be cut without tearing something apart: words, compounds and numbers.

UAX #29 keeps letters together and numbers with their separators. What it separates although it
belongs together is looked for in `junctions`. Cut there, "-5 °C" would read "5 °C", "20 m²" would
read "20 m", "non-refundable" would read "refundable". Markup and zero-width characters show
nothing: what stands on both sides of them stands together.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final

from rag_core.rules.junctions import joins_over_space, joins_tight
from rag_core.rules.number_parts import joins_star
from rag_core.rules.segmentation import is_word_bound, sentences_in
from rag_core.rules.signs import is_gap
from rag_core.types.corpus import Span

if TYPE_CHECKING:
    from rag_core.types.index import SourceText

_WINDOW: Final = 80
"""How far a look aside reaches; a number, its sign and the space between fit many times over."""


def cuts(text: str, offset: int) -> bool:
    """Whether a quotation that starts or ends at the offset tears a word or number apart."""
    if offset in (0, len(text)):
        return False
    if not is_word_bound(text, offset):
        return True
    head, tail = text[max(0, offset - _WINDOW) : offset], text[offset : offset + _WINDOW]
    if tail[0] == "*" and joins_star(head, tail):
        return True
    before, gap, after = _around(text, offset)
    spaced = any(char.isspace() for char in gap)
    if not before or not after:
        return not spaced and len(gap) >= _WINDOW  # hides what it stands between
    if spaced:
        return joins_over_space(before, after, same_line="\n" not in gap)
    if gap and not is_word_bound(before + after, len(before)):
        return True  # "un" and "able" around markup or a zero-width space
    return joins_tight(before, after)


def tears(source: SourceText, span: Span) -> bool:
    """Whether a quotation of this span starts or ends inside a word, compound or number.

    Where the source's own sentences start or end, only a word can be torn.
    """
    return any(
        cuts(source.text, offset)
        and not (_bounds_sentence(source.sentences, offset) and is_word_bound(source.text, offset))
        for offset in (span.start, span.end)
    )


def is_sentences(source: SourceText, span: Span) -> bool:
    """Whether the span starts where a sentence of the source starts, and ends where one ends."""
    starts = bisect_right(source.sentences, span.start, key=lambda item: item.start) - 1
    ends = bisect_right(source.sentences, span.end - 1, key=lambda item: item.start) - 1
    return (
        min(starts, ends) >= 0
        and source.sentences[starts].start == span.start
        and source.sentences[ends].end == span.end
    )


def trim_inwards(text: str, span: Span, keep: Span | None = None) -> Span:
    """The longest part of the span that is bounded by white space or its own bounds, uncut.

    A number at the end goes with the word that follows it, which may be its unit. Never shorter
    than `keep`, which lies inside the span; without it possibly empty.
    """
    last_start = keep.start if keep else span.end
    start = span.start
    while start < last_start and (text[start].isspace() or cuts(text, start)):
        start += 1
    first_end = max(keep.end if keep else start, start)
    end = span.end
    while end > first_end and (
        text[end - 1].isspace() or cuts(text, end) or _parts_number(text, end)
    ):
        end -= 1
    return Span(start, end)


def whole_parts(span: Span, sentences: tuple[Span, ...], text: str) -> tuple[Span, ...]:
    """The sentences of a chunk as `sentences_in` clips them, trimmed until no clipped end cuts."""
    return tuple(
        trimmed
        for part in sentences_in(span, sentences, text)
        if len(trimmed := _trim_clipped(text, part, sentences))
    )


def _trim_clipped(text: str, part: Span, sentences: tuple[Span, ...]) -> Span:
    """The part without a torn word or number at an end that is no end of its sentence."""
    owner = sentences[bisect_right(sentences, part.start, key=lambda item: item.start) - 1]
    trimmed = trim_inwards(text, part)
    start = part.start if part.start == owner.start else trimmed.start
    end = part.end if part.end == owner.end else trimmed.end
    return Span(start, max(start, end))


def _parts_number(text: str, offset: int) -> bool:
    """Whether a number ends here and a word follows in its line."""
    following = text[offset : offset + _WINDOW].lstrip(" \t\u00a0\u202f")
    return text[offset - 1].isnumeric() and following[:1].isalpha()


def _bounds_sentence(sentences: tuple[Span, ...], offset: int) -> bool:
    after = bisect_right(sentences, offset, key=lambda item: item.start)
    return any(offset in (item.start, item.end) for item in sentences[max(0, after - 2) : after])


def _around(text: str, offset: int) -> tuple[str, str, str]:
    """What shows before the offset, the run around it that shows nothing, and what shows after."""
    start = end = offset
    first, last = max(0, offset - _WINDOW), min(len(text), offset + _WINDOW)
    while start > first and is_gap(text[start - 1]):
        start -= 1
    while end < last and is_gap(text[end]):
        end += 1
    before = text[max(0, start - _WINDOW) : start] if start > first else ""
    after = text[end : end + _WINDOW] if end < last else ""
    return before, text[start:end], after
