"""Whether two pieces of a text belong together: parts of one number, unit, formula, price or grade.

UAX #29 separates a number from its sign, exponent, currency or unit mark, and a letter from its
exponent, index or grade. Where a mark may be a sign or mere punctuation it is held to be a sign: a
refused quotation costs an answer, a lost sign makes a wrong one.
"""

from __future__ import annotations

from typing import Final

import regex

from rag_core.rules.folding import HYPHENS
from rag_core.rules.number_parts import is_grouped, is_range, touches_number
from rag_core.rules.signs import (
    JOINERS,
    MARKUP,
    MINUS,
    SIGN_DASHES,
    UNIT_MARKS,
    ends_in_capitals,
    is_currency,
    is_dash,
    is_raised,
    is_relation,
    is_sign,
    starts_bracketed_number,
    starts_number,
)

_LINE_MARKS: Final = "+>=~"
"""On the line below a number these start a list item, quotation or rule of their own."""
_OPERATORS: Final = regex.compile(r"(?:[!<>=~]=|=<|<>|\+/[-\u2013\u2212])$")
"""Operators of several characters; the last of them alone would be none, or another."""
_PLUS_MINUS: Final = regex.compile(r"\+\|/[-\u2013\u2212]|\+/\|[-\u2013\u2212]")
"""The inside of `+/-`; the bar marks the place."""
_UNSIGNED: Final = regex.compile(r"\d+(?:st|nd|rd|th)\b|\d+(?:[./-]\d+){2}")
"""Ordinals, dates and version numbers have no sign: a dash before them is a bullet or a dash."""
_FOOTNOTE: Final = regex.compile(r"(?:^|\s)[\u00b9\u00b2\u00b3\u2070-\u2079]+$")
_WORD: Final = regex.compile(r"\p{L}{3}")


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
        or touches_number(before, after)
    )


def joins_over_space(before: str, after: str, *, same_line: bool) -> bool:
    """The same where white space stands between the two texts.

    A mark at the start of a line counts as a sign as well: `- 5 °C` may be an item or a frost. Only
    `*` and bullets like `•` are never signs.
    """
    left, right = before[-1], after[0]
    if same_line and (is_range(before, after) or is_grouped(before, after)):
        return True
    if left.isnumeric() and (is_sign(right) or right in UNIT_MARKS):
        return same_line or right not in _LINE_MARKS
    if starts_number(after):
        return is_sign(left) or (_ends_in_dash_sign(before) and not _UNSIGNED.match(after))
    if starts_bracketed_number(after):
        return is_relation(left) or _is_comparator(before)
    if right.isnumeric() or not right.isalnum():
        return False
    if is_relation(left):
        return left != MINUS or not _starts_line(before)
    return same_line and _OPERATORS.search(before) is not None


def _is_compound(before: str, after: str) -> bool:
    left, right = before[-1], after[0]
    if right in JOINERS:
        return _is_solid(left) and after[1:].lstrip(MARKUP)[:1].isalnum()
    if left in JOINERS:
        return right.isalnum() and _is_solid(before[:-1].rstrip(MARKUP)[-1:])
    return right in "+#" and left.isalpha()  # C++, C#


def _is_solid(char: str) -> bool:
    return char.isalnum() or (bool(char) and (char in UNIT_MARKS or is_currency(char)))


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
    if _PLUS_MINUS.search(f"{before[-2:]}|{after[:2]}"):
        return True
    if (is_currency(right) and left.isalpha()) or (is_currency(left) and right.isalpha()):
        return True  # A$500, US$
    return left == "°" and right.isalpha()


def _is_marked_word(before: str, after: str) -> bool:
    """Whether a sign stands directly behind a letter: `B−`, `AA-`, `pre-`."""
    left, right = before[-1], after[0]
    if right == MINUS or (right in HYPHENS and not is_dash(after[1:2] or " ")):
        return left.isalpha()
    grade = right in SIGN_DASHES and ends_in_capitals(before)
    return grade and not after[1:2].isalnum()


def _is_signed_word(before: str, after: str) -> bool:
    """Whether a sign stands directly before a word or bracket: `−x`, `--force`, `-(5)`."""
    left, right = before[-1], after[0]
    if is_relation(left) and (right.isalnum() or right in "([{"):
        return True
    if _OPERATORS.search(before) and right.isalpha():
        return True
    if starts_bracketed_number(after) and _signs_bracket(before):
        return True
    return _signs_inside_bracket(before, after) or _is_option(before, after)


def _signs_inside_bracket(before: str, after: str) -> bool:
    """Whether a sign stands before the bracket that a number opens: `-(5)`, `> (5)`."""
    bare = before.rstrip("([{" + MARKUP)
    outer = bare.rstrip()
    if bare == before or not outer or not starts_number(after):
        return False
    if bare == outer:
        return _signs_bracket(bare)
    return is_relation(outer[-1]) or _is_comparator(outer)


def _is_option(before: str, after: str) -> bool:
    """Whether hyphens stand directly before a word and behind none: `--force`, `-x`.

    A single one at the start of a line makes a list item.
    """
    word = after.lstrip(HYPHENS)
    if before[-1] not in HYPHENS or not word[:1].isalpha():
        return False
    head = before.rstrip(HYPHENS)
    if head[-1:].isalnum():
        return False
    hyphens = len(before) - len(head) + len(after) - len(word)
    return hyphens > 1 or not _starts_line(before)


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
    return before[-1] in SIGN_DASHES and not (other.isalnum() or (bool(other) and is_dash(other)))


def _starts_line(before: str) -> bool:
    """Whether nothing but its last character and white space stands in its last line."""
    return not before.rpartition("\n")[2][:-1].strip()
