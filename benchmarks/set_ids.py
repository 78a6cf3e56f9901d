"""Ids of foreign data in the form that ours must have, one to one."""

from __future__ import annotations

import hashlib
import unicodedata

from rag_core.adapters.fields import identifier_or_none

ESCAPE = "@"


def governed_id(original: str) -> str:
    """The id itself where our rule takes it and it has no `@`, else a form of its own.

    Every character that the rule refuses, every one outside ASCII, and `@` itself become `@HEX-`
    (the code point), so that two ids never meet; what would get longer than 128 characters
    becomes its SHA-256.
    """
    nfc = unicodedata.normalize("NFC", original)
    if ESCAPE not in original and identifier_or_none(original) == original == nfc:
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
    return f"{'_' if first else ''}{ESCAPE}{ord(character):x}-"
