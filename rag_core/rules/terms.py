"""Meaningful terms of a text: what the lexical branch counts and admission asks for.

The rule is DESIGN section 5: a term is a casefolded UAX #29 word with a letter or digit, of at
least 3 characters or holding a digit, no stop word, stemmed; versions and hyphen compounds are
terms as a whole too.
"""

from __future__ import annotations

import threading
import unicodedata
from typing import TYPE_CHECKING

import regex
import Stemmer

from rag_core.rules.segmentation import word_ranges
from rag_core.rules.stop_words import stop_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MIN_LENGTH = 3

# ISO 639-1 tags to the names that Snowball gives its algorithms.
_STEMMERS = {
    "ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek",
    "en": "english", "es": "spanish", "et": "estonian", "eu": "basque", "fi": "finnish",
    "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian",
    "id": "indonesian", "it": "italian", "lt": "lithuanian", "nb": "norwegian", "ne": "nepali",
    "nl": "dutch", "nn": "norwegian", "no": "norwegian", "pt": "portuguese", "ro": "romanian",
    "ru": "russian", "sr": "serbian", "sv": "swedish", "ta": "tamil", "tr": "turkish",
    "yi": "yiddish",
}  # fmt: skip

# One spelling for what type cannot tell apart: apostrophes, hyphens; soft hyphens are no character.
_SPELLING = str.maketrans({"’": "'", "ʼ": "'", "‐": "-", "‑": "-", "\xad": None})
_ELISION = regex.compile(r"\A(?:[cdjlmnst]|(?:jus|lors|puis|quoi)?qu)'(?=\p{L})")
_VERSION = regex.compile(r"v(?=\d+\.\d)")
_DIGIT = regex.compile(r"\p{Nd}")
_COMPOUND_PARTS = 6  # more hyphens than a date, a name or a compound has are a list or a rule


def terms(text: str, language: str) -> tuple[str, ...]:
    """The terms of a text in reading order, repeated as often as they stand there.

    A compound follows its parts: `GX-200` gives `200` and `gx-200`. A version with a leading v
    gives both spellings: `v3.9.0` gives `3.9.0` and `v3.9.0`.

    Args:
        text: Any text; it is read in NFC.
        language: A BCP 47 primary tag; a language without a stemmer or a list goes without.
    """
    reader = _Reader(language.lower())
    found: list[str] = []
    for words in _compounds(unicodedata.normalize("NFC", text).translate(_SPELLING)):
        for word in words:
            found.extend(reader.read(word))
        if len(words) > 1:
            found.extend(reader.read_compound(words))
    return tuple(found)


def question_terms(text: str, languages: Iterable[str]) -> frozenset[str]:
    """The distinct terms of a question, read in each of the languages it may be asked in."""
    return frozenset(term for language in languages for term in terms(text, language))


def _compounds(text: str) -> Iterator[tuple[str, ...]]:
    """Words with the separators that join them: `('gx', '-', '200')`, or `('word',)`."""
    joined: list[str] = []
    last = -1
    for start, end in word_ranges(text):
        word = text[start:end]
        if joined and start == last + 1 and _joins(joined, text[last], word):
            joined += (text[last], word)
        else:
            if joined:
                yield tuple(joined)
            joined = [word]
        last = end
    if joined:
        yield tuple(joined)


def _joins(joined: list[str], separator: str, word: str) -> bool:
    if separator == "-":
        return True
    # A full stop joins only inside a version ("3.9.x", "2.0.0-rc.1"), never two sentences.
    goes_on = word in {"x", "X"} or _DIGIT.match(word) is not None
    return separator == "." and goes_on and _DIGIT.search(joined[-1]) is not None


class _Reader:
    """Turns words of one language into terms, remembering what it read."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._stop_words = stop_words(language)
        self._known: dict[str, tuple[str, ...]] = {}

    def read(self, word: str) -> tuple[str, ...]:
        """The spellings of one word as terms; none if it is too short or a stop word."""
        known = self._known.get(word)
        if known is None:
            folded = self._folded(word)
            stopped = folded in self._stop_words
            known = () if stopped or _too_short(folded) else self._spellings(folded)
            self._known[word] = known
        return known

    def read_compound(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """The spellings of a whole compound; none if it is long or nothing but stop words."""
        parts = [self._folded(word) for word in words[::2]]
        if len(parts) > _COMPOUND_PARTS or self._stop_words.issuperset(parts):
            return ()
        separators = (*words[1::2], "")
        whole = "".join(map("".join, zip(parts, separators, strict=True)))
        return () if _too_short(whole) else self._spellings(whole)

    def _folded(self, word: str) -> str:
        folded = unicodedata.normalize("NFC", word.casefold())
        return _ELISION.sub("", folded, count=1) if self._language == "fr" else folded

    def _spellings(self, folded: str) -> tuple[str, ...]:
        term = _stem(folded, self._language)
        return (term[1:], term) if _VERSION.match(term) else (term,)


def _too_short(folded: str) -> bool:
    return len(folded) < MIN_LENGTH and _DIGIT.search(folded) is None


class _Stemmers(threading.local):
    """One set of stemmers per thread: PyStemmer's must not be used by two at once."""

    def __init__(self) -> None:
        self.by_language: dict[str, Stemmer.Stemmer] = {}


_stemmers = _Stemmers()


def _stem(word: str, language: str) -> str:
    if language not in _STEMMERS:
        return word
    stemmers = _stemmers.by_language
    if language not in stemmers:
        stemmers[language] = Stemmer.Stemmer(_STEMMERS[language])
    stemmed: str = stemmers[language].stemWord(word)
    return stemmed
