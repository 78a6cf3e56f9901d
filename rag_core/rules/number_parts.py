"""What belongs to a number: separators, groups, fractions, ranges; the stars of `3.9.*`, `A*`."""

from __future__ import annotations

import unicodedata
from typing import Final

import regex

from rag_core.rules.signs import (
    SIGN_DASHES,
    ends_in_capitals,
    is_bracket,
    is_dash,
    is_sign,
    starts_number,
)

_PART_OF_NUMBER: Final = ".,/\\%\u2030\u2031#&@\u00a7\u00b7\u2032\u2033\u2034\u066a\u066b\u066c"
"""Punctuation that touches a number because it belongs to it; other punctuation only stands by."""
_STOPS: Final = ".,:\u060c\u2014\u2015"
"""After a number these end a clause, unless another number follows at once."""
_INCHES: Final = "\"'\u2019"
"""After a number these may be feet and inches."""
_WILDCARD: Final = regex.compile(r"\.(?:\p{Ll}|\p{L}(?!\p{L}))")
_OPENS: Final = regex.compile(r"(?<![\w*])\*+(?=[^\s*])")
_CLOSES: Final = regex.compile(r"(?<=[^\s*])\*+(?![\w*])")
_GROUP_END: Final = regex.compile(r"(?<![\d.,])\d{1,3}$")
_GROUP_START: Final = regex.compile(r"(?:\d{2}[^\S\n])*\d{3}(?!\d)|\d+[/\u2044]\d")
"""`000` and `00 000`, or the fraction of `5 1/2`."""


def touches_number(before: str, after: str) -> bool:
    """Whether a number touches something that belongs to it."""
    left, right = before[-1], after[0]
    if right.isnumeric():
        return not _may_precede(before)
    if starts_number(after) and (is_sign(left) or left in SIGN_DASHES):
        return True  # -.5
    if left.isnumeric():
        return not _may_follow(before, after)
    wildcard = left == "." and before[-2:-1].isnumeric()
    return wildcard and _WILDCARD.match("." + after) is not None


def is_grouped(before: str, after: str) -> bool:
    """Whether the place is inside `1 000 000`, `1 00 000`, `5 ½` or `5 1/2`."""
    if before[-1].isnumeric() and unicodedata.category(after[0]) == "No":
        return True
    return bool(_GROUP_END.search(before) and _GROUP_START.match(after))


def is_range(before: str, after: str) -> bool:
    """Whether the place is on one side of the dash of `3 - 5`."""
    if before[-1].isnumeric() and is_dash(after[0]):
        return after[1:].lstrip(" ")[:1].isnumeric()
    if is_dash(before[-1]) and after[0].isnumeric():
        return before[:-1].rstrip(" ")[-1:].isnumeric()
    return False


def joins_star(before: str, after: str) -> bool:
    """Whether the star that `after` starts with is part of a grade or wildcard: `A*`, `3.9.*`."""
    if after[1:2].isalnum() or _in_emphasis(before):
        return False
    wildcard = before[-1:] == "." and before[-2:-1].isnumeric() and after[1:2] != "*"
    return wildcard or ends_in_capitals(before)


def _may_precede(before: str) -> bool:
    """Whether the character before a number leaves the number what it is."""
    left = before[-1]
    if left.isalpha() or left == "|":
        return True
    if not _stands_by(left) and left not in "\u2014\u2015":
        return False
    return not before[-2:-1].isnumeric()


def _may_follow(before: str, after: str) -> bool:
    """Whether what comes after a number leaves the number what it is."""
    right = after[0]
    if right.isalpha() or right == "|":
        return True
    if right in _INCHES or not (right in _STOPS or _stands_by(right)):
        return False
    if _WILDCARD.match(after) or (after[:2] == ".*" and joins_star(before + ".", after[1:])):
        return False  # 3.9.x
    return not after[1:2].isnumeric() or is_bracket(right)


def _stands_by(char: str) -> bool:
    """Whether it is a bracket, a quotation mark or punctuation that no number contains."""
    other = unicodedata.category(char) in ("Pc", "Po") and char not in _PART_OF_NUMBER
    return other or is_bracket(char)


def _in_emphasis(before: str) -> bool:
    """Whether a star opened emphasis in this line that none has closed."""
    line = before.rpartition("\n")[2]
    return len(_OPENS.findall(line)) > len(_CLOSES.findall(line))
