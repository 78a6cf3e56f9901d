"""Where a text may be cut without tearing something apart: words, compounds and numbers.

UAX #29 keeps letters together and numbers with their separators. It separates a number from its
sign, exponent, currency or unit mark, and the halves of a hyphen compound. Cut there, "-5 °C"
would read "5 °C", "10²" would read "10", "non-refundable" would read "refundable".
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from typing import TYPE_CHECKING, Final

from rag_core.rules.folding import DASHES, HYPHENS
from rag_core.rules.segmentation import is_word_bound, sentences_in
from rag_core.types.corpus import Span

if TYPE_CHECKING:
    from rag_core.types.index import SourceText

_JOINERS: Final = HYPHENS + "\u2013/\u2044&'\u2019"
"""Between two letters or digits these make one expression of them."""
_UNIT_MARKS: Final = "%\u2030\u2031°\u2103\u2109"
_PART_OF_NUMBER: Final = ".,/\\%\u2030\u2031#&@\u00a7\u00b7\u2032\u2033\u2034\u066a\u066b\u066c"
"""Punctuation that touches a number because it belongs to it; other punctuation only stands by."""
_STOPS: Final = ".,:\u060c\u2014\u2015"
"""After a number these end a clause, unless another number follows at once."""
_INCHES: Final = "\"'\u2019"
"""After a number these may be feet and inches."""
_BULLETS: Final = "+>=~"
"""Signs elsewhere, but marks of a list, quotation or heading at the start of a line."""
_WINDOW: Final = 80
"""How far a look aside reaches; a number, its sign and the space between fit many times over."""
_GROUP_END: Final = re.compile(r"(?<![\d.,])\d{1,3}$")
_GROUP_START: Final = re.compile(r"\d{3}(?!\d)")


def cuts(text: str, offset: int) -> bool:
    """Whether a quotation that starts or ends at the offset tears a word or number apart."""
    if offset in (0, len(text)):
        return False
    if not is_word_bound(text, offset):
        return True
    left, right = text[offset - 1], text[offset]
    if left.isspace() or right.isspace():
        return _cuts_spaced_number(text, offset)
    return _cuts_compound(text, offset) or _cuts_tight_number(text, offset)


def tears(source: SourceText, span: Span) -> bool:
    """Whether a quotation of this span starts or ends inside a word, compound or number.

    Where the source's own sentences start or end, only a word can be torn.
    """
    return any(
        cuts(source.text, offset)
        and not (_bounds_sentence(source.sentences, offset) and is_word_bound(source.text, offset))
        for offset in (span.start, span.end)
    )


def trim_inwards(text: str, span: Span, keep: Span | None = None) -> Span:
    """The longest part of the span that is bounded by white space or its own bounds, uncut.

    Never shorter than `keep`, which lies inside the span; without it possibly empty.
    """
    last_start = keep.start if keep else span.end
    start = span.start
    while start < last_start and (text[start].isspace() or cuts(text, start)):
        start += 1
    first_end = max(keep.end if keep else start, start)
    end = span.end
    while end > first_end and (text[end - 1].isspace() or cuts(text, end)):
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


def _bounds_sentence(sentences: tuple[Span, ...], offset: int) -> bool:
    after = bisect_right(sentences, offset, key=lambda item: item.start)
    return any(offset in (item.start, item.end) for item in sentences[max(0, after - 2) : after])


def _cuts_compound(text: str, offset: int) -> bool:
    left, right = text[offset - 1], text[offset]
    if right in _JOINERS:
        return left.isalnum() and text[offset + 1 : offset + 2].isalnum()
    if left in _JOINERS:
        return right.isalnum() and offset > 1 and text[offset - 2].isalnum()
    return right in "+#" and left.isalpha()  # C++, C#


def _cuts_tight_number(text: str, offset: int) -> bool:
    """Whether a number touches, across the offset, something that belongs to it."""
    left, right = text[offset - 1], text[offset]
    if _is_sign(right) and (_is_sign(left) or _is_dash(left)):
        return True  # "<" and "=", "-" and "$"
    if right.isnumeric():
        return not _may_precede(text, offset)
    if left.isnumeric():
        return not _may_follow(text, offset)
    return False


def _may_precede(text: str, offset: int) -> bool:
    """Whether the character before a number leaves the number what it is."""
    left = text[offset - 1]
    if left.isalpha() or left in "`|":
        return True
    if not _stands_by(left) and left not in "\u2014\u2015":
        return False
    return offset == 1 or not text[offset - 2].isnumeric()


def _may_follow(text: str, offset: int) -> bool:
    """Whether the character after a number leaves the number what it is."""
    right = text[offset]
    if right.isalpha() or right in "`|":
        return True
    if right in _INCHES or not (right in _STOPS or _stands_by(right)):
        return False
    return not text[offset + 1 : offset + 2].isnumeric() or _is_bracket(right)


def _stands_by(char: str) -> bool:
    """Whether it is a bracket, a quotation mark or punctuation that no number contains."""
    other = unicodedata.category(char) in ("Pc", "Po") and char not in _PART_OF_NUMBER
    return other or _is_bracket(char)


def _is_bracket(char: str) -> bool:
    return unicodedata.category(char) in ("Ps", "Pe", "Pi", "Pf")


def _cuts_spaced_number(text: str, offset: int) -> bool:
    """The same where white space stands between the number and its sign or unit mark."""
    before = text[max(0, offset - _WINDOW) : offset]
    after = text[offset : offset + _WINDOW]
    gap = before[len(before.rstrip()) :] + after[: len(after) - len(after.lstrip())]
    before, after = before.rstrip(), after.lstrip()
    if not before or not after:
        return False
    left, right = before[-1], after[0]
    if "\n" not in gap and (_is_range(before, after) or _is_grouped(before, after)):
        return True
    if right.isnumeric() and _is_sign(left):
        return not (left in _BULLETS and _starts_line(before))
    if left.isnumeric() and (_is_sign(right) or right in _UNIT_MARKS):
        return not (right in _BULLETS and "\n" in gap)
    return False


def _is_grouped(before: str, after: str) -> bool:
    """Whether the offset stands inside `1 000 000` or `5 ½`."""
    if before[-1].isnumeric() and unicodedata.category(after[0]) == "No":
        return True
    return bool(_GROUP_END.search(before) and _GROUP_START.match(after))


def _is_range(before: str, after: str) -> bool:
    """Whether the offset stands on one side of the dash of `3 - 5`."""
    if before[-1].isnumeric() and _is_dash(after[0]):
        return after[1:].lstrip(" ")[:1].isnumeric()
    if _is_dash(before[-1]) and after[0].isnumeric():
        return before[:-1].rstrip(" ")[-1:].isnumeric()
    return False


def _starts_line(before: str) -> bool:
    return not before.rpartition("\n")[2][:-1].strip()


def _is_sign(char: str) -> bool:
    return char != "|" and unicodedata.category(char) in ("Sc", "Sm")


def _is_dash(char: str) -> bool:
    return char in HYPHENS or char in DASHES
