"""Whether two pieces of a text belong together: parts of one number, unit, formula, price or grade.

UAX #29 separates a number from its sign, exponent, currency or unit mark, and a letter from its
exponent, index or grade. Where a mark may be a sign or mere punctuation it is held to be a sign: a
refused quotation costs an answer, a lost sign makes a wrong one.
"""

from __future__ import annotations

import unicodedata
from typing import Final

import regex

from rag_core.rules.folding import HYPHENS
from rag_core.rules.signs import (
    JOINERS,
    MARKUP,
    MINUS,
    SIGN_DASHES,
    UNIT_MARKS,
    is_bracket,
    is_currency,
    is_dash,
    is_raised,
    is_relation,
    is_sign,
    starts_bracketed_number,
    starts_number,
)

_PART_OF_NUMBER: Final = ".,/\\%\u2030\u2031#&@\u00a7\u00b7\u2032\u2033\u2034\u066a\u066b\u066c"
"""Punctuation that touches a number because it belongs to it; other punctuation only stands by."""
_STOPS: Final = ".,:\u060c\u2014\u2015"
"""After a number these end a clause, unless another number follows at once."""
_INCHES: Final = "\"'\u2019"
"""After a number these may be feet and inches."""
_LINE_MARKS: Final = "+>=~"
"""On the line below a number these start a list item, quotation or rule of their own."""
_OPERATORS: Final = regex.compile(r"(?:[!<>=~]=|=<|<>|\+/[-\u2013\u2212])$")
"""Operators of several characters; the last of them alone would be none, or another."""
_CAPITALS: Final = regex.compile(r"(?<![\w*])[A-Z]{1,3}$")
"""What may be a grade: `A`, `BBB`."""
_FOOTNOTE: Final = regex.compile(r"(?:^|\s)[\u00b9\u00b2\u00b3\u2070-\u2079]+$")
_WORD: Final = regex.compile(r"\p{L}{3}")
_WILDCARD: Final = regex.compile(r"\.(?:\p{Ll}|\p{L}(?!\p{L}))")
_OPENS: Final = regex.compile(r"(?<![\w*])\*+(?=[^\s*])")
_CLOSES: Final = regex.compile(r"(?<=[^\s*])\*+(?![\w*])")
_GROUP_END: Final = regex.compile(r"(?<![\d.,])\d{1,3}$")
_GROUP_START: Final = regex.compile(r"(?:\d{2}[^\S\n])*\d{3}(?!\d)|\d+[/\u2044]\d")
"""`000` and `00 000`, or the fraction of `5 1/2`."""


def joins_tight(before: str, after: str) -> bool:
    """Whether the end of one text and the start of the other are parts of one expression.

    Args:
        before: What stands up to the place, not empty; ends with what shows there.
        after: What follows at once, not empty.
    """
    return (
        _is_compound(before, after)
        or _is_formula(before, after)
        or _is_marked_word(before, after)
        or _is_signed_word(before, after)
        or _is_tight_number(before, after)
    )


def joins_over_space(before: str, after: str, *, same_line: bool) -> bool:
    """The same where white space stands between the two texts.

    A mark at the start of a line counts as a sign as well: `- 5 °C` may be an item or a frost. Only
    `*` and bullets like `•` are never signs.
    """
    left, right = before[-1], after[0]
    if same_line and (_is_range(before, after) or _is_grouped(before, after)):
        return True
    if left.isnumeric() and (is_sign(right) or right in UNIT_MARKS):
        return same_line or right not in _LINE_MARKS
    if starts_number(after):
        return is_sign(left) or _ends_in_dash_sign(before)
    if starts_bracketed_number(after):
        return is_relation(left) or _is_comparator(before)
    if right.isnumeric() or not right.isalnum():
        return False
    if is_relation(left):
        return left != MINUS or not _starts_line(before)
    return same_line and _OPERATORS.search(before) is not None


def joins_star(before: str, after: str) -> bool:
    """Whether the star that `after` starts with is part of a grade or wildcard: `A*`, `3.9.*`."""
    if after[1:2].isalnum() or _in_emphasis(before):
        return False
    return _CAPITALS.search(before) is not None or before[-2:-1].isnumeric() and before[-1] == "."


def _is_compound(before: str, after: str) -> bool:
    left, right = before[-1], after[0]
    if right in JOINERS:
        return _is_solid(left) and after[1:].lstrip(MARKUP)[:1].isalnum()
    if left in JOINERS:
        return right.isalnum() and _is_solid(before[:-1].rstrip(MARKUP)[-1:])
    return right in "+#" and left.isalpha()  # C++, C#


def _is_solid(char: str) -> bool:
    return char.isalnum() or bool(char) and (char in UNIT_MARKS or is_currency(char))


def _is_formula(before: str, after: str) -> bool:
    """Exponents and indices, operators of several characters, currencies and degrees."""
    left, right = before[-1], after[0]
    if is_raised(right):
        return left.isalnum() or is_raised(left) or left in ")]}"
    if is_raised(left) and right.isalnum():
        return not (_FOOTNOTE.search(before) and _WORD.match(after))
    if "^" in (left, right):
        return True
    if is_sign(right) and (is_sign(left) or is_dash(left) or left == "!"):
        return True  # "<" and "=", "-" and "$", "!" and "="
    if right == "/" and after[1:2] in ("-", "\u2013", MINUS) or before.endswith("+/"):
        return left in "+/"  # the inside of "+/-"
    if is_currency(right) and left.isalpha() or is_currency(left) and right.isalpha():
        return True  # A$500, US$
    return left == "°" and right.isalpha()


def _is_marked_word(before: str, after: str) -> bool:
    """Whether a sign stands directly behind a letter: `B−`, `AA-`, `pre-`."""
    left, right = before[-1], after[0]
    if right == MINUS or right in HYPHENS and not is_dash(after[1:2] or " "):
        return left.isalpha()
    grade = right in SIGN_DASHES and _CAPITALS.search(before) is not None
    return grade and not after[1:2].isalnum()


def _is_signed_word(before: str, after: str) -> bool:
    """Whether a sign stands directly before a word or bracket: `−x`, `¬valid`, `--force`, `-(5)`."""
    left, right = before[-1], after[0]
    if is_relation(left):
        return True
    if _OPERATORS.search(before) and right.isalpha():
        return True
    bare = before.rstrip("([{" + MARKUP)
    if bare != before and bare and starts_number(after):
        gap = before[len(bare) :]
        outer = bare.rstrip()
        if gap and bare == outer:
            return _signs_bracket(bare)
        return bool(outer) and (is_relation(outer[-1]) or _is_comparator(outer))
    if starts_bracketed_number(after):
        return _signs_bracket(before)
    if left not in HYPHENS or not (right.isalpha() or right in HYPHENS):
        return False
    run = before[len(before.rstrip(HYPHENS)) :] + after[: len(after) - len(after.lstrip(HYPHENS))]
    if not after.lstrip(HYPHENS)[:1].isalpha() or before.rstrip(HYPHENS)[-1:].isalnum():
        return False
    return len(run) > 1 or not _starts_line(before)  # "-Text" on a line is an item


def _signs_bracket(before: str) -> bool:
    """Whether the last character, directly before a bracket, is a sign of what it holds."""
    left = before[-1]
    if left in SIGN_DASHES:
        return left in HYPHENS or not before[-2:-1].isalnum()
    return is_sign(left) and not before.endswith("++")


def _is_comparator(before: str) -> bool:
    """Whether it ends in `<`, `>`, `=`, `+` or `~` that stands before something, not behind it."""
    return before[-1] in "<>=+~" and not (before[-2:-1].isalnum() or before.endswith("++"))


def _ends_in_dash_sign(before: str) -> bool:
    """Whether it ends in a dash that no word or dash precedes: before a number it may be a sign."""
    other = before[-2:-1]
    return before[-1] in SIGN_DASHES and not (other.isalnum() or bool(other) and is_dash(other))


def _is_tight_number(before: str, after: str) -> bool:
    """Whether a number touches something that belongs to it."""
    left, right = before[-1], after[0]
    if right.isnumeric():
        return not _may_precede(before)
    if left.isnumeric():
        return not _may_follow(before, after)
    wildcard = left == "." and before[-2:-1].isnumeric()
    return wildcard and _WILDCARD.match("." + after) is not None


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
    if _WILDCARD.match(after) or after[:2] == ".*" and joins_star(before + ".", after[1:]):
        return False  # 3.9.x
    return not after[1:2].isnumeric() or is_bracket(right)


def _stands_by(char: str) -> bool:
    """Whether it is a bracket, a quotation mark or punctuation that no number contains."""
    other = unicodedata.category(char) in ("Pc", "Po") and char not in _PART_OF_NUMBER
    return other or is_bracket(char)


def _is_grouped(before: str, after: str) -> bool:
    """Whether the place is inside `1 000 000`, `1 00 000`, `5 ½` or `5 1/2`."""
    if before[-1].isnumeric() and unicodedata.category(after[0]) == "No":
        return True
    return bool(_GROUP_END.search(before) and _GROUP_START.match(after))


def _is_range(before: str, after: str) -> bool:
    """Whether the place is on one side of the dash of `3 - 5`."""
    if before[-1].isnumeric() and is_dash(after[0]):
        return after[1:].lstrip(" ")[:1].isnumeric()
    if is_dash(before[-1]) and after[0].isnumeric():
        return before[:-1].rstrip(" ")[-1:].isnumeric()
    return False


def _starts_line(before: str) -> bool:
    """Whether nothing but its last character and white space stands in its last line."""
    return not before.rpartition("\n")[2][:-1].strip()


def _in_emphasis(before: str) -> bool:
    """Whether a star opened emphasis in this line that none has closed."""
    line = before.rpartition("\n")[2]
    return len(_OPENS.findall(line)) > len(_CLOSES.findall(line))
