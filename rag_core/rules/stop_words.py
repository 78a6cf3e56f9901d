"""Stop words per language: words too common to be a reason for anything.

Reads the packaged lists through `importlib.resources`, each once per process: the only files that
the rules read, and constants in all but name. `rag_core/data/stopwords/NOTICE.txt` says where they
come from.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

LANGUAGES = ("de", "en", "fr")
"""Languages with a list."""


@cache
def stop_words(language: str) -> frozenset[str]:
    """The stop words of a language, casefolded, with straight apostrophes; empty if it has no list.

    Args:
        language: A BCP 47 primary tag such as `en`.
    """
    if language not in LANGUAGES:
        return frozenset()
    path = files("rag_core").joinpath("data", "stopwords", f"{language}.txt")
    lines = path.read_text(encoding="utf-8").splitlines()
    return frozenset(line.strip().casefold() for line in lines if line and line[0] != "#")
