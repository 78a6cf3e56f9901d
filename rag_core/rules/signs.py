"""Characters and short patterns that belong to a number, unit, formula, price or grade."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Final

import regex

from rag_core.rules.folding import DASHES, HYPHENS

MINUS: Final = "\u2212"
UNIT_MARKS: Final = "%\u2030\u2031°\u2103\u2109"
JOINERS: Final = HYPHENS + "\u2013/\u2044&'\u2019"
"""Between two letters or digits these make one expression of them."""
SIGN_DASHES: Final = HYPHENS + "\u2012\u2013"
"""Before a number these may be written for a minus sign; longer dashes never are."""
MARKUP: Final = "*_`"
"""Invisible where the text is rendered: what stands on both sides stands together there."""

_GAP: Final = regex.compile(r"[\s*_`\p{Default_Ignorable_Code_Point}]")
_NO_RELATION: Final = "\u2217\u2218\u2219\u22c4\u22c5\u22c6"
"""Mathematical operators that typesetters use as bullets and stars."""
_OTHER_RELATIONS: Final = "\u00ac\u00b1\u00d7\u00f7"
"""Signs of Latin-1 that do what the block of mathematical operators does."""
_NUMBER: Final = regex.compile(r"(?:\p{Lu}{0,3}\p{Sc}\s?|[.,])?\p{N}")
_CAPITALS: Final = regex.compile(r"(?<![\w*])[A-Z]{1,3}$")
_BRACKETED_NUMBER: Final = regex.compile(rf"[(\[{{]+[{MARKUP}]*[.,]?\p{{N}}")


@lru_cache(maxsize=4096)
def is_gap(char: str) -> bool:
    """Whether it shows nothing: white space, markup, or a default-ignorable code point."""
    return _GAP.match(char) is not None


def is_sign(char: str) -> bool:
    """Whether it is a currency or a mathematical sign; the bar of a table is none."""
    return char != "|" and unicodedata.category(char) in ("Sc", "Sm")


def is_currency(char: str) -> bool:
    """Whether it is a currency sign."""
    return unicodedata.category(char) == "Sc"


def is_relation(char: str) -> bool:
    """Whether it changes whatever follows, a letter as well: `≠`, `¬`, `−`, `±`, `≤`."""
    if char in _OTHER_RELATIONS:
        return True
    block = "\u2200" <= char <= "\u22ff" or "\u2a00" <= char <= "\u2aff"
    return block and char not in _NO_RELATION


def is_dash(char: str) -> bool:
    """Whether it is a hyphen or a dash; the minus sign is none."""
    return char != "" and (char in HYPHENS or char in DASHES)


def is_bracket(char: str) -> bool:
    """Whether it is a bracket or a quotation mark that opens or closes."""
    return unicodedata.category(char) in ("Ps", "Pe", "Pi", "Pf")


@lru_cache(maxsize=4096)
def is_raised(char: str) -> bool:
    """Whether it is an exponent, an index or a fraction: `²`, `⁻`, `₂`, `½`; never `™` or `①`."""
    kind = unicodedata.decomposition(char).partition(" ")[0]
    return kind in ("<super>", "<sub>", "<fraction>") and unicodedata.category(char) != "So"


def starts_number(text: str) -> bool:
    """Whether a number comes next, with its currency sign or decimal point if it has one."""
    return _NUMBER.match(text) is not None


def starts_bracketed_number(text: str) -> bool:
    """Whether a number comes next in brackets."""
    return _BRACKETED_NUMBER.match(text) is not None


def ends_in_capitals(text: str) -> bool:
    """Whether it ends in what may be a grade, such as `A` or `BBB`."""
    return _CAPITALS.search(text) is not None
