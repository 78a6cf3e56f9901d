"""Where a full stop after an abbreviation does not end a sentence.

sentencex knows most abbreviations of a language; these lists hold those after which release 1.0.32
was seen to break. Short on purpose: each entry can also end a sentence, so those that often do
(`max.`, `no.`, `sec.`) count only before a number, and `etc.` and `usw.` are left to sentencex,
which never breaks before a small letter.
"""

from __future__ import annotations

import regex

_DEFAULT_LANGUAGE = "en"

# Abbreviations that ask for more, whatever follows. A space after an inner full stop is optional.
_BEFORE_ANYTHING = {
    "en": "approx|ca|e.g|i.e|viz|cf|incl|excl|resp",
    "de": "approx|bzw|ca|d.h|d.i|evtl|exkl|gem|ggf|i.d.R|inkl|lt|o.g|sog|u.a|vgl|z.B|z.T|zzgl",
    "fr": "approx|c.-à-d|ca|cf|env|M|MM|Mme|Mlle|p.ex",
}

_BEFORE_NUMBER = {
    "en": "app|art|arts|ch|cl|est|fig|figs|max|min|no|nos|p|para|paras|pp|sec|secs|tel|ver|vol",
    "de": "Abb|Abs|Anh|Anl|Art|Bd|Kap|max|min|mind|Nr|Nrn|Pos|Rn|Rz|S|Sek|Std|Tab|Tel|Ver|Ziff",
    "fr": "al|ann|art|chap|fig|max|min|n|no|p|par|pp|sect|tél|vol",
}

_NUMBER = regex.compile(r"[^\w\s]{0,2}\s?\d")


def _ending(words: str) -> regex.Pattern[str]:
    spelled = words.replace(".", r"\.\s?")
    return regex.compile(rf"(?<![\p{{L}}\p{{N}}])(?:{spelled})\.\s*\Z", regex.IGNORECASE)


_ANYTHING_ENDINGS = {language: _ending(words) for language, words in _BEFORE_ANYTHING.items()}
_NUMBER_ENDINGS = {language: _ending(words) for language, words in _BEFORE_NUMBER.items()}
_TAIL = 24  # longer than any entry with its spaces, so that a long sentence is not searched whole


def ends_open(left: str, right: str, language: str) -> bool:
    """Whether `left` ends in an abbreviation after which `right` goes on with the sentence.

    A language without a list follows the English one.
    """
    known = language if language in _BEFORE_ANYTHING else _DEFAULT_LANGUAGE
    tail = left[-_TAIL:]
    if _ANYTHING_ENDINGS[known].search(tail):
        return True
    return _NUMBER.match(right) is not None and _NUMBER_ENDINGS[known].search(tail) is not None
