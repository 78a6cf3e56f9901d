"""Product codes in a question, the product side of eligibility, and facts as sentences."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

import regex

from rag_core.errors import UsageError
from rag_core.types.corpus import Span
from rag_core.types.questions import EligibilityRule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rag_core.types.corpus import Fact, ProductSheet
    from rag_core.types.questions import Question

PATTERN_TIMEOUT_S = 1.0
"""A guard against patterns that backtrack without end; honest ones need microseconds."""
FACT_LANGUAGE = "en"
"""Facts render as English sentences whatever language the values are in."""

# A token is a run of letters, digits and underscores joined by single hyphens, and a decimal
# point between digits belongs to it: `GX-200-B`, `XGX-200` and `GX-200.5` are not `GX-200`.
_WORD_STARTS = r"(?<![\p{L}\p{M}\p{N}_])(?<![\p{L}\p{M}\p{N}_]-)(?!(?<=\p{N}\.)\p{N})"
_WORD_ENDS = r"(?![\p{L}\p{M}\p{N}_])(?!-[\p{L}\p{M}\p{N}_])(?!(?<=\p{N})\.\p{N})"
# Hyphens as word processors write them; a soft hyphen is no character of the word at all.
_TYPED = str.maketrans({"\u2010": "-", "\u2011": "-", "\u00ad": None})


@dataclass(frozen=True, slots=True)
class ProductMention:
    """Products that a text names: codes in order of appearance, each once."""

    known: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    """Whole tokens of the product pattern that are no known code."""


def product_codes_in(text: str, *, known: Iterable[str], pattern: str | None) -> ProductMention:
    """The known codes and the unknown tokens of `pattern` in a text; case counts.

    Args:
        text: A question in any spelling of hyphens.
        known: Codes with a sheet or listed in `corpus.yaml`.
        pattern: The corpus' `product_pattern`; None finds known codes only.

    Raises:
        UsageError: If the pattern takes longer than `PATTERN_TIMEOUT_S` on this text.
    """
    plain = _plain(text)
    codes = frozenset(known)
    # Longest first, so that of two codes at one place the longer is read.
    literal = "|".join(regex.escape(code) for code in sorted(codes, key=lambda c: (-len(c), c)))
    named = _tokens(literal, plain) if codes else ()
    shaped = _tokens(pattern, plain) if pattern is not None else ()
    return ProductMention(
        known=named, unknown=tuple(token for token in shaped if token not in codes)
    )


def eligibility_rule(
    question: Question, *, known: Iterable[str], pattern: str | None
) -> tuple[EligibilityRule, tuple[str, ...]]:
    """The rule for a question, and the products it names that are unknown.

    An explicit product wins over those in the text; several in the text are their union. With
    any unknown product the caller refuses (`unknown_product`) before a model is asked.

    Raises:
        UsageError: If the pattern takes longer than `PATTERN_TIMEOUT_S` on this question.
    """
    codes = frozenset(known)
    mention = product_codes_in(question.text, known=codes, pattern=pattern)
    unknown = mention.unknown
    products = frozenset(mention.known) or None
    if question.product is not None:
        explicit = _plain(question.product)
        products = frozenset({explicit})
        if explicit not in codes:
            unknown = tuple(dict.fromkeys((explicit, *unknown)))
    rule = EligibilityRule(question.as_of, frozenset(question.scopes), products)
    return rule, unknown


def render_facts(sheet: ProductSheet) -> str:
    """The sheet's text: one sentence per fact, one per line, in the order of the sheet."""
    return "\n".join(_sentence(sheet.code, fact) for fact in sheet.facts)


def fact_spans(text: str) -> tuple[Span, ...]:
    """The sentence spans of a text from `render_facts`: its lines."""
    spans: list[Span] = []
    start = 0
    for line in text.split("\n"):
        spans.append(Span(start, start + len(line)))
        start += len(line) + 1
    return tuple(spans)


def _plain(text: str) -> str:
    """The text as codes are written: NFC, with plain hyphens."""
    return unicodedata.normalize("NFC", text).translate(_TYPED)


def _sentence(code: str, fact: Fact) -> str:
    unit = f" {fact.unit}" if fact.unit is not None else ""
    note = f" ({fact.note})" if fact.note is not None else ""
    return f"{code}: the {fact.name} is {fact.value}{unit}{note}."


def _tokens(pattern: str, text: str) -> tuple[str, ...]:
    """Distinct whole tokens that the pattern matches, in order of appearance."""
    whole = regex.compile(f"{_WORD_STARTS}(?:{pattern}){_WORD_ENDS}")
    try:
        found = [match.group() for match in whole.finditer(text, timeout=PATTERN_TIMEOUT_S)]
    except TimeoutError as error:
        raise UsageError(
            f"product_pattern {pattern!r}: took longer than {PATTERN_TIMEOUT_S:g} s on a text of "
            f"{len(text)} characters; simplify it in corpus.yaml and run: rag ingest"
        ) from error
    return tuple(dict.fromkeys(found))
