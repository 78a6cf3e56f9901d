"""Typographic folding with a map back to the text: what a copy may change, and nothing else.

Folded: curly and straight quotation marks, dashes between letters or spaces, ligatures, soft
hyphens, white space of any kind. Everything else stands for itself. Whatever could change a
number stays too: a mark that is a quotation mark or a dash elsewhere is literal beside a digit.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rag_core.types.corpus import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

SOFT_HYPHEN: Final = "\u00ad"
HYPHENS: Final = "-\u2010\u2011"
"""Hyphen-minus, hyphen, no-break hyphen: one mark inside a word."""
DASHES: Final = "\u2012\u2013\u2014\u2015"
"""Figure dash, en dash, em dash, horizontal bar. The minus sign U+2212 is no dash."""

_DASH: Final = "\u2013"
_MARKS: Final = {
    "\u2018": "'",
    "\u2019": "'",
    "\u201a": "'",
    "\u201b": "'",
    "\u201c": '"',
    "\u201d": '"',
    "\u201e": '"',
    "\u201f": '"',
}
_LOW_SINGLE: Final = "\u201a"  # looks like a decimal comma
_LIGATURES: Final = {
    "\ufb00": "ff",
    "\ufb01": "fi",
    "\ufb02": "fl",
    "\ufb03": "ffi",
    "\ufb04": "ffl",
    "\ufb05": "st",
    "\ufb06": "st",
}
_REACH: Final = 8
"""How many marks a look aside passes over; keeps folding linear on hostile text."""


@dataclass(frozen=True, slots=True)
class Folded:
    """A folded text: `chars[i]` stands for `spans[i]` of the original.

    Spans are never empty and ascend. A dropped soft hyphen belongs to no span; the letters of an
    expanded ligature share one.
    """

    chars: str
    spans: tuple[Span, ...]


def fold(text: str) -> Folded:
    """The folded form of a text in NFC; a pure function of the text, linear in its length."""
    chars: list[str] = []
    spans: list[Span] = []
    for index, char in enumerate(text):
        if char.isspace():
            if chars and chars[-1] == " ":  # one space for the run, dropped soft hyphens included
                spans[-1] = Span(spans[-1].start, index + 1)
                continue
            folded = " "
        else:
            folded = char if char.isascii() and char != "-" else _fold_char(text, index)
        for part in folded:
            chars.append(part)
            spans.append(Span(index, index + 1))
    return Folded("".join(chars), tuple(spans))


def _fold_char(text: str, index: int) -> str:
    """What a character that is no white space becomes: nothing, itself, or its plain form."""
    char = text[index]
    if char in _LIGATURES:
        return _LIGATURES[char]
    if char == SOFT_HYPHEN:
        beside_number = _beside(text, index, -1).isnumeric() or _beside(text, index, 1).isnumeric()
        return char if beside_number else ""
    if char in _MARKS:
        return _fold_mark(text, index)
    if char in HYPHENS or char in DASHES:
        return _fold_dash(text, index)
    return char


def _fold_mark(text: str, index: int) -> str:
    char = text[index]
    # After a digit it may be a prime, a foot, an inch or a separator of thousands.
    if _beside(text, index, -1).isnumeric():
        return char
    if char == _LOW_SINGLE and _beside(text, index, 1).isnumeric():
        return char
    return _MARKS[char]


def _fold_dash(text: str, index: int) -> str:
    char = text[index]
    before, after = _beside(text, index, -1), _beside(text, index, 1)
    if before.isnumeric() or _number_follows(text, index):
        return char  # a sign, a range, a subtraction or part of a code
    loose = _is_loose(before) and _is_loose(after)
    if loose:
        return _DASH
    if not ((_is_loose(before) or is_letter(before)) and (_is_loose(after) or is_letter(after))):
        return char
    return "-" if char in HYPHENS else _DASH


def _is_loose(char: str) -> bool:
    return not char or char.isspace()


def is_letter(char: str) -> bool:
    """Whether the character belongs to the letters of a word, combining marks included."""
    return char.isalpha() or unicodedata.category(char).startswith("M")


def _beside(text: str, index: int, step: int) -> str:
    """The next character in a direction that is no soft hyphen; empty at the edge of the text."""
    place = index + step
    for _ in range(_REACH):
        if not 0 <= place < len(text):
            return ""
        if text[place] != SOFT_HYPHEN:
            return text[place]
        place += step
    return SOFT_HYPHEN


def _number_follows(text: str, index: int) -> bool:
    """Whether a number comes next, behind white space and symbols such as a currency sign."""
    for passed, char in enumerate(_solid_after(text, index)):
        if char.isnumeric():
            return True
        if is_letter(char) or passed == _REACH:
            return False
    return False


def _solid_after(text: str, index: int) -> Iterator[str]:
    for place in range(index + 1, len(text)):
        if not (text[place].isspace() or text[place] == SOFT_HYPHEN):
            yield text[place]
