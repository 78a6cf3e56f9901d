"""Text normalisation: one stored form for every way of writing the same text (DESIGN section 3)."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST_MARK_RUN = 30
"""Combining marks in a row, from the Stream-Safe Text Format (UAX #15 section 13).

No writing system needs as many, and composing takes time quadratic in the length of a run.
"""

_BYTE_ORDER_MARK = "\ufeff"

# Carriage return, form feed, vertical tab, NEL, LINE SEPARATOR and PARAGRAPH SEPARATOR.
_LINE_ENDS = re.compile("\r\n|[\r\f\v\x85\u2028\u2029]")

# Category Cc but tab and LF, and the surrogates, which are lone wherever a str holds them.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")

# Characters whose canonical decomposition is combining marks only: those of a combining class, and
# three Tibetan vowel signs that have none themselves.
_MARKS = r"[\P{ccc=0}\u0f73\u0f75\u0f81]"
# A mark is two at most when decomposed, and the character before the run brings three at most, so
# that no run that could be too long is missed. What is shorter is passed over in bounded steps.
_MARK_RUN = regex.compile(f"{_MARKS}{{{(LONGEST_MARK_RUN - 3) // 2},}}+")


@dataclass(frozen=True, slots=True)
class TextProblem:
    """What no stored text may hold, at a code point offset of the normalised text."""

    offset: int
    message: str
    code: str
    """The finding's code: `control_character`, or `oversized_grapheme` for a run of marks."""


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
    characters and lone surrogates stay where they are and are named as problems. A text with more
    than `LONGEST_MARK_RUN` combining marks in a row, counted as decomposed so that NFC and NFD
    agree, is not composed at all: its problems have the offsets of the text as written.
    """
    lines = _LINE_ENDS.sub("\n", raw.lstrip(_BYTE_ORDER_MARK))
    runs = tuple(_mark_runs(lines))
    text = lines if runs else unicodedata.normalize("NFC", lines)
    problems = sorted((*runs, *_unprintable(text)), key=lambda problem: problem.offset)
    return Normalized(text, tuple(problems))


def _unprintable(text: str) -> Iterator[TextProblem]:
    """A problem for each control character and lone surrogate."""
    code = "control_character"
    for found in _UNPRINTABLE.finditer(text):
        yield TextProblem(found.start(), _name(found[0]), code)


def _mark_runs(text: str) -> Iterator[TextProblem]:
    """A problem for each run of marks that is too long, found in linear time."""
    code = "oversized_grapheme"
    for found in _MARK_RUN.finditer(text):
        before = text[max(found.start() - 1, 0) : found.start()]
        marks = _closing_marks(before) + sum(map(_decomposed_length, found[0]))
        if marks > LONGEST_MARK_RUN:
            message = f"{marks} combining marks in a row, at most {LONGEST_MARK_RUN} are read"
            yield TextProblem(found.start(), message, code)


def _closing_marks(character: str) -> int:
    """How many combining marks end the decomposition of a character, or of nothing."""
    classes = [unicodedata.combining(each) for each in unicodedata.normalize("NFD", character)]
    return next((n for n, each in enumerate(reversed(classes)) if each == 0), len(classes))


def _decomposed_length(mark: str) -> int:
    return len(unicodedata.normalize("NFD", mark))


def _name(character: str) -> str:
    code = f"U+{ord(character):04X}"
    if character == "\0":
        return f"NUL character {code}"
    if unicodedata.category(character) == "Cs":
        return f"lone surrogate {code}"
    return f"control character {code}"
