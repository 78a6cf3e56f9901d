"""Ids of foreign data in the form that ours must have, one to one."""

from __future__ import annotations

import hashlib
import re
import unicodedata

from rag_core.adapters.fields import identifier_or_none

_ESCAPE = re.compile(r"@u[0-9a-f]+\.")


def governed_id(original: str) -> str:
    """The id itself where our rule takes it, else a form of its own that no other id gets.

    In that form every character but ASCII letters, digits and `_.-` becomes `@uHEX.`, its code
    point. A sound id that looks so already is escaped too; what would get longer than 128
    characters becomes its SHA-256.
    """
    sound = identifier_or_none(original) == original == unicodedata.normalize("NFC", original)
    if sound and not _ESCAPE.search(original):
        return original
    escaped = "".join(_escaped(c, first=i == 0) for i, c in enumerate(original))
    if identifier_or_none(escaped) == escaped:
        return escaped
    return f"sha256-{hashlib.sha256(original.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _escaped(character: str, *, first: bool) -> str:
    # Outside ASCII a letter could be composed with its neighbour when NFC is formed. An id starts
    # with a letter, digit or `_`; as `_` announces an escape there, it is escaped there itself.
    letter = character.isascii() and character.isalnum()
    if letter or (character in "_.-" and not first):
        return character
    return f"{'_' if first else ''}@u{ord(character):x}."
