"""Words that announce a condition, an exception or a negation, per language.

The lists hold words that limit a rule. Common words that rarely do (such as "when", "wenn auch",
"quand") are left out on purpose: a flag that is always set tells nobody anything.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rag_core.types.corpus import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

_ENGLISH: Final = (
    r"if",
    r"unless",
    r"except(?:s|ed|ing|ion|ions|ional|ionally)?",
    r"exclud(?:e|es|ed|ing)",
    r"exclusions?",
    r"exempt(?:s|ed|ion|ions)?",
    r"only (?:if|when|where|after|with|for)",
    r"provided (?:that|always|it|they|you|he|she|we|no|this|these|your)",
    r"providing that",
    r"(?:so|as) long as",
    r"on condition that",
    r"subject to",
    r"apart from",
    r"other than",
    r"with the exception of",
    r"however",
    r"but",
    r"although",
    r"though",
    r"nevertheless",
    r"notwithstanding",
    r"otherwise",
    r"without",
    r"no(?!\. ?\d)",
    r"not",
    r"cannot",
    r"\w+n['’]t",
    r"never",
    r"no longer",
    r"none",
    r"nobody",
    r"nothing",
    r"neither",
    r"nor",
)
_GERMAN: Final = (
    r"wenn",
    r"falls",
    r"sofern",
    r"soweit",
    r"solange",
    r"es sei denn",
    r"außer",
    r"außerhalb",
    r"ausgenommen(?:e[nmrs]?)?",
    r"ausgeschlossen(?:e[nmrs]?)?",
    r"ausnahme(?:n|fall|fälle|fällen)?",
    r"ausnahmsweise",
    r"nur (?:wenn|falls|bei|für|mit|nach|unter)",
    r"vorausgesetzt",
    r"voraussetzung(?:en)?",
    r"unter der bedingung",
    r"vorbehaltlich",
    r"vorbehalten",
    r"jedoch",
    r"aber",
    r"allerdings",
    r"dennoch",
    r"andernfalls",
    r"sonst",
    r"abweichend",
    r"obwohl",
    r"ohne",
    r"nicht",
    r"kein(?:e[nmrs]?)?",
    r"keinesfalls",
    r"nie(?:mals|mand|manden|mandem)?",
    r"nichts",
    r"weder",
)
_FRENCH: Final = (
    r"s['’]ils?",
    r"si",
    r"sauf",
    r"excepté(?:e|s|es)?",
    r"exceptions?",
    r"exclu(?:e|s|es|ant|sion|sions)?",
    r"hormis",
    r"à moins (?:que|de|qu['’]\w+)",
    r"à condition (?:que|de|qu['’]\w+)",
    r"pourvu qu(?:e|['’]\w+)",
    r"(?:uniquement|seulement) (?:si|pour|avec|après)",
    r"sous réserve",
    r"en dehors de",
    r"toutefois",
    r"cependant",
    r"néanmoins",
    r"mais",
    r"sinon",
    r"bien que",
    r"sans",
    r"ne",
    r"n['’]\w+",
    r"pas",
    r"non",
    r"jamais",
    r"aucune?",
    r"rien",
    r"personne ne",
    r"ni",
)


def _pattern(cues: tuple[str, ...]) -> re.Pattern[str]:
    # Longest first, so that "only if" is found as a whole; a blank stands for any white space.
    ordered = "|".join(sorted(cues, key=len, reverse=True)).replace(" ", r"\s+")
    return re.compile(rf"(?<!\w)(?:{ordered})(?!\w)", re.IGNORECASE)


_PATTERNS: Final = {
    "en": _pattern(_ENGLISH),
    "de": _pattern(_GERMAN),
    "fr": _pattern(_FRENCH),
}
LANGUAGES: Final = tuple(_PATTERNS)
"""Primary language tags that have a cue list."""


def has_cues(language: str | None) -> bool:
    """Whether there is a cue list for a tag such as `en` or `en-GB`; none if undeclared."""
    return _primary(language) in _PATTERNS


def cue_spans(text: str, region: Span, *, language: str | None) -> Iterator[Span]:
    """The cues inside a region of the text, in order; none for a language without a list."""
    pattern = _PATTERNS.get(_primary(language))
    if pattern is not None:
        for match in pattern.finditer(text, region.start, region.end):
            yield Span(match.start(), match.end())


def _primary(language: str | None) -> str:
    return (language or "").replace("_", "-").partition("-")[0].lower()
