"""Where an unbroken quotation stands in a chunk: letter for letter, or up to typography."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final

from rag_core.rules.folding import Folded, fold
from rag_core.types.corpus import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rag_core.types.retrieval import Excerpt

MAX_PLACES: Final = 64
"""Most places of one quotation that are looked at; only monotonous text has more."""

_LONGEST_WORD: Final = 80
"""How much of a text is read to see its first word."""

_WORD: Final = re.compile(r"[^\W\d_]+")
_UNITS: Final = re.compile(
    r"[gkmnp]a|ah|au|eq|ev|gy|ha|mi|oz|va|yd|yr|mil|mio"
    r"|[cdghkmnp]?(?:atm|bar|bit|bps|byte|cal|dyn|eq|erg|ev|gal|gon|gy|kat|mol|ohm|pa|psi|rad|rem"
    r"|sv|ton|torr|va)",
    re.IGNORECASE,
)
"""Units that could be read as words. Case counts in them: `Mmol` is a billion times `mmol`."""
_VOWELS: Final = frozenset("aeiouyæøœıаеёиоуыэюяієαεηιουω")
"""Latin, Cyrillic and Greek, without accents; a word without one is an abbreviation or a unit."""


# A miss must not cost seconds: the folded form of a chunk is made once, not once per quotation.
folded_form = lru_cache(maxsize=64)(fold)


def exact_places(quote: str, excerpt: Excerpt) -> Iterator[Span]:
    """Spans in the source where the chunk holds the quotation letter for letter, in order."""
    for start in islice(_find_all(quote, excerpt.text), MAX_PLACES):
        at = excerpt.span.start + start
        yield Span(at, at + len(quote))


def typographic_places(quote: str, excerpt: Excerpt, *, leads: bool) -> Iterator[Span]:
    """Spans in the source whose folded form is the quotation's, in order; none if it is empty.

    Args:
        quote: In any normal form.
        excerpt: The chunk to look in.
        leads: Whether the quotation starts here, and may differ in the case of its first letter.
    """
    needle = fold(unicodedata.normalize("NFC", quote)).chars.strip()
    if not needle:
        return
    hay = folded_form(excerpt.text)
    for start in islice(_find_all(needle, hay.chars), MAX_PLACES):
        if _splits_no_character(hay, start, start + len(needle)):
            yield _source_span(hay, start, start + len(needle), excerpt)
    letter = _first_letter(needle) if leads else None
    if letter is None:
        return
    swapped = needle[:letter] + needle[letter].swapcase() + needle[letter + 1 :]
    for start in islice(_find_all(swapped, hay.chars), MAX_PLACES):
        if _splits_no_character(hay, start, start + len(swapped)):
            at = excerpt.span.start + hay.spans[start + letter].start
            if _may_differ_in_case(needle[letter:], at, excerpt):
                yield _source_span(hay, start, start + len(swapped), excerpt)


def _find_all(needle: str, hay: str) -> Iterator[int]:
    start = hay.find(needle)
    while start >= 0:
        yield start
        start = hay.find(needle, start + 1)


def _splits_no_character(folded: Folded, start: int, end: int) -> bool:
    """Whether neither end lies between the letters of one ligature."""
    spans = folded.spans
    starts_well = start == 0 or spans[start - 1] != spans[start]
    return starts_well and (end == len(spans) or spans[end - 1] != spans[end])


def _source_span(folded: Folded, start: int, end: int, excerpt: Excerpt) -> Span:
    offset = excerpt.span.start
    return Span(offset + folded.spans[start].start, offset + folded.spans[end - 1].end)


def _first_letter(needle: str) -> int | None:
    """Where a quotation's first letter stands, if no digit comes before it and it has two cases."""
    for index, char in enumerate(needle):
        if char.isalnum():
            other = char.swapcase()
            return index if len(other) == 1 and other != char == other.swapcase() else None
    return None


def _may_differ_in_case(quoted: str, at: int, excerpt: Excerpt) -> bool:
    """The one exception to "case stays": a title-case word where a sentence starts.

    Either the source's word is title case and starts a sentence there, or the quotation's is and
    starts the quotation.
    """
    text = excerpt.source.text
    if text[at].isupper():
        return _is_title_case(text[at:]) and _starts_sentence(at, excerpt)
    return _is_title_case(quoted)


def _is_title_case(text: str) -> bool:
    """Whether the first word is plain title case; a unit or a single letter but "A" is not."""
    match = _WORD.match(text[:_LONGEST_WORD])
    word = match.group() if match else ""
    if len(word) < 2:  # noqa: PLR2004 - "A" starts sentences, "V" or "K" are units
        return word == "A"
    return word[0].isupper() and word[1:].islower() and not _may_be_unit(word)


def _may_be_unit(word: str) -> bool:
    """Whether it is a unit, or a word without a vowel: `Mol`, `Hz`, `Lm`, `Kg`."""
    letters = unicodedata.normalize("NFD", word.lower())
    return _UNITS.fullmatch(word) is not None or not _VOWELS.intersection(letters)


def _starts_sentence(at: int, excerpt: Excerpt) -> bool:
    """Whether a sentence of the source has its first letter or digit at `at`."""
    text = excerpt.source.text
    return any(
        sentence.start <= at < sentence.end
        and not any(char.isalnum() for char in text[sentence.start : at])
        for sentence in excerpt.source.sentences
    )
