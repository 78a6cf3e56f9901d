"""Graphemes, words and sentences of a text, by one pinned library each.

Graphemes and words follow UAX #29 as `regex` implements it; sentences are what `sentencex` finds
inside each logical block of the text. All offsets are code points.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING

import regex
import sentencex

from rag_core.rules.abbreviations import ends_open
from rag_core.rules.blocks import block_ranges
from rag_core.types.corpus import Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SEGMENTATION_ID = "regex-2026.11.19"
"""Decides graphemes and words."""

SPLITTER_ID = "sentencex-1.0.32+blocks-v1"
"""Decides sentences: the library, our blocks, and how fragments and abbreviations are joined."""

TEXT_RULES_ID = f"{SPLITTER_ID} {SEGMENTATION_ID}"
"""Everything above that a manifest's contract names: another version cuts other chunks."""

_GRAPHEME = regex.compile(r"\X")
_WORD_BREAK = regex.compile(r"(?w)\b")  # w: UAX #29 boundaries instead of \w against \W
_WORD_OF_TWO_LETTERS = regex.compile(r"\p{L}\p{M}*\p{L}")
_LETTER_OR_DIGIT = regex.compile(r"[\p{L}\p{Nl}\p{Nd}]")  # no superscript or fraction alone

# regex counts all flag letters before each one of them, which is quadratic in a run of flags. After
# an even number of them there is always a bound (GB12, WB15), so long runs are cut there first.
_FLAG = "[\U0001f1e6-\U0001f1ff]"
_IGNORED = r"[\p{Word_Break=Extend}\p{Word_Break=Format}\p{Word_Break=ZWJ}]"
_FLAG_RUN = regex.compile(rf"(?:{_FLAG}{_IGNORED}*){{64}}")
_BARE_FLAG_RUN = regex.compile(rf"{_FLAG}{{64}}(?={_FLAG})")


def grapheme_bounds(text: str) -> tuple[int, ...]:
    """Every offset at which a grapheme begins or ends, 0 and `len(text)` included, ascending."""
    if text.isascii() and "\r" not in text:
        return tuple(range(len(text) + 1))  # CR LF is the only ASCII grapheme of two
    bounds = [0]
    for start, end in _pieces(text, _BARE_FLAG_RUN):
        bounds.extend(start + found.end() for found in _GRAPHEME.finditer(text[start:end]))
    return tuple(bounds)


def word_ranges(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each UAX #29 word that holds a letter or a digit, in order."""
    for start, end in _pieces(text, _FLAG_RUN):
        piece = text[start:end]
        for left, right in pairwise(found.start() for found in _WORD_BREAK.finditer(piece)):
            word = piece[left:right]
            if word[0].isalpha() or word[0].isdecimal() or _LETTER_OR_DIGIT.search(word):
                yield start + left, start + right


def word_spans(text: str) -> tuple[Span, ...]:
    """The UAX #29 words that hold a letter or a digit, in order."""
    return tuple(Span(start, end) for start, end in word_ranges(text))


def is_word_bound(text: str, offset: int) -> bool:
    """Whether a quotation may start or end here: no UAX #29 segment but white space is cut.

    Both ends of the text are bounds. Costs the same in a long text as in a short one: `regex` looks
    at the neighbouring letters and past marks and flags that belong to them, no further.

    Raises:
        ValueError: If the offset lies outside the text.
    """
    if not 0 <= offset <= len(text):
        raise ValueError(f"word bound: want an offset within 0..{len(text)}, got {offset}")
    if offset in {0, len(text)}:
        return True
    if text[offset - 1].isspace() and text[offset].isspace():
        return True
    return _WORD_BREAK.match(text, offset) is not None


def sentence_spans(text: str, language: str | None) -> tuple[Span, ...]:
    """The sentences of a text: ordered, disjoint, trimmed, together all but its white space.

    `language` is a BCP 47 primary tag; undeclared texts follow English rules.
    """
    tag = (language or "en").lower()
    spans = []
    for block_start, block_end in block_ranges(text):
        block = text[block_start:block_end]
        for start, end in pairwise(_sentence_cuts(block, tag)):
            spans.append(_trimmed(text, block_start + start, block_start + end))
    return tuple(span for span in spans if span)


def sentences_in(span: Span, sentences: Sequence[Span], text: str) -> tuple[Span, ...]:
    """The parts of `sentences` inside `span`, a chunk of `text`, in order.

    A sentence that the span cuts is clipped and then trimmed inwards to word bounds of the text and
    of white space; what is empty then is left out.
    """
    parts = []
    first = bisect_right(sentences, span.start, key=lambda sentence: sentence.end)
    for sentence in sentences[first:]:
        if sentence.start >= span.end:
            break
        start, end = max(sentence.start, span.start), min(sentence.end, span.end)
        while start < end and start > sentence.start and not is_word_bound(text, start):
            start += 1
        while start < end < sentence.end and not is_word_bound(text, end):
            end -= 1
        parts.append(_trimmed(text, start, end))
    return tuple(part for part in parts if part)


def _pieces(text: str, flag_run: regex.Pattern[str]) -> Iterator[tuple[int, int]]:
    """The text whole, or cut at bounds inside long runs of flags."""
    cuts = (found.end() for found in flag_run.finditer(text))
    return pairwise((0, *(cut for cut in cuts if cut < len(text)), len(text)))


def _sentence_cuts(block: str, language: str) -> list[int]:
    """Offsets between the sentences of a block, its start and end included.

    sentencex leaves numbering ("2."), stray signs and some abbreviations as sentences; a piece
    without a word of two letters joins the next one, or the last if it is the last or a bare sign.
    """
    found = sentencex.get_sentence_boundaries(language, block)
    cuts = [0, *(piece["start_index"] for piece in found[1:]), len(block)]
    kept = [0]
    open_left = True  # nothing before the first piece could be a sentence
    for left, right in pairwise(cuts):
        piece = block[left:right]
        has_word = _WORD_OF_TWO_LETTERS.search(piece) is not None
        stray = not has_word and (right == len(block) or not _LETTER_OR_DIGIT.search(piece))
        if not (open_left or stray or ends_open(block[kept[-1] : left], piece, language)):
            kept.append(left)
            open_left = True
        open_left = open_left and not has_word
    return [*kept, len(block)]


def _trimmed(text: str, start: int, end: int) -> Span:
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return Span(start, end)
