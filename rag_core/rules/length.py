"""Whether a quotation is long enough to be evidence; a single word never is."""

from __future__ import annotations

import unicodedata
from typing import Final

import regex

from rag_core.rules.folding import fold
from rag_core.rules.segmentation import word_spans

MIN_CHARS: Final = 20
"""The reference's minimum (DESIGN section 6)."""
MIN_WORDS: Final = 4
MIN_CHARS_UNSPACED: Final = 10
"""In scripts that put no spaces between words, where UAX #29 finds no words to count."""

_COUNTED: Final = 400
"""Enough characters to decide; the rest of a monstrous quotation costs nothing."""
_UNSPACED: Final = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]"
)


def is_long_enough(quote: str) -> bool:
    """Whether the trimmed quotation has at least 20 characters and 4 words (UAX #29).

    Where most letters belong to a script without spaces, 10 characters suffice and words are not
    counted. Characters are counted as written and as folded, whichever are fewer: padding with
    white space or soft hyphens counts for nothing.
    """
    written = quote.strip()[:_COUNTED]
    folded = fold(unicodedata.normalize("NFC", written)).chars.strip()
    characters = min(len(written), len(folded))
    if _is_unspaced(folded):
        return characters >= MIN_CHARS_UNSPACED
    return characters >= MIN_CHARS and len(word_spans(folded)) >= MIN_WORDS


def _is_unspaced(text: str) -> bool:
    letters = sum(char.isalpha() for char in text)
    return 2 * len(_UNSPACED.findall(text)) > letters
