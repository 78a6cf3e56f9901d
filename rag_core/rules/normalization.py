"""Text normalisation: one stored form for every way of writing the same text (DESIGN section 3)."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

_BYTE_ORDER_MARK = "\ufeff"

# Carriage return, form feed, vertical tab, NEL, LINE SEPARATOR and PARAGRAPH SEPARATOR.
_LINE_ENDS = re.compile("\r\n|[\r\f\v\x85\u2028\u2029]")

# Category Cc but tab and LF, and the surrogates, which are lone wherever a str holds them.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class TextProblem:
    """A character that no stored text may hold, at a code point offset of the normalised text."""

    offset: int
    message: str


@dataclass(frozen=True, slots=True)
class Normalized:
    """A text in NFC with LF line ends, and every character in it that stops an ingest."""

    text: str
    problems: tuple[TextProblem, ...]


def normalize_text(raw: str) -> Normalized:
    """The stored form of a decoded text; normalising twice equals normalising once.

    Leading byte order marks go (all of them, or a second pass would change the text again), every
    line end becomes LF, and the result is composed last, so that a mark that followed a removed
    character is composed as well. Nothing is trimmed, and nothing is repaired: NUL, other control
    characters and lone surrogates stay where they are and are named as problems.
    """
    lines = _LINE_ENDS.sub("\n", raw.lstrip(_BYTE_ORDER_MARK))
    text = unicodedata.normalize("NFC", lines)
    problems = tuple(
        TextProblem(found.start(), _problem(found[0])) for found in _UNPRINTABLE.finditer(text)
    )
    return Normalized(text, problems)


def _problem(character: str) -> str:
    code = f"U+{ord(character):04X}"
    if character == "\0":
        return f"NUL character {code}"
    if unicodedata.category(character) == "Cs":
        return f"lone surrogate {code}"
    return f"control character {code}"
