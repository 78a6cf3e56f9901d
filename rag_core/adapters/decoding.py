"""From bytes to normalised text; what cannot be read for certain is said, never guessed away."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import TYPE_CHECKING

from charset_normalizer import from_bytes

from rag_core.rules.normalization import normalize_text
from rag_core.types.corpus import Finding, Severity

if TYPE_CHECKING:
    from charset_normalizer import CharsetMatch, CharsetMatches

    from rag_core.types.corpus import SourceFile

COMMONEST = "cp1252"
"""Taken where several legacy encodings fit equally well; the web's own fallback (WHATWG)."""
# Without a byte order mark these fit almost any bytes (UTF-16) or no file of today (EBCDIC).
_NEVER_GUESSED = [
    "utf_16", "utf_16_be", "utf_16_le", "utf_7", "cp037", "cp273", "cp424", "cp500", "cp875",
    "cp1026", "cp1140",
]  # fmt: skip
_REMEDIES = {
    "control_character": "remove it, or save the file again as UTF-8 text",
    "oversized_grapheme": "remove the surplus marks",
}
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_UTF32_MARKS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)


@dataclass(frozen=True, slots=True)
class DecodedFile:
    """A file's text, normalised; None when a finding is an error."""

    text: str | None
    findings: tuple[Finding, ...] = ()


def decode_file(file: SourceFile) -> DecodedFile:
    """The file's normalised text, with a notice where its encoding had to be detected.

    UTF-8 with or without byte order mark and UTF-16 with one are read as such. Undecodable
    bytes, NUL, lone surrogates (also where they are encoded as UTF-8 would encode them), control
    characters and endless combining marks are errors.
    """
    raw, findings = _decode(file)
    if raw is None:
        return DecodedFile(None, findings)
    normalized = normalize_text(raw)
    if not normalized.problems:
        return DecodedFile(normalized.text, findings)
    first, more = normalized.problems[0], len(normalized.problems) - 1
    line = normalized.text.count("\n", 0, first.offset) + 1
    message = f"offset {first.offset}: {first.message}"
    if more:
        message += f", and {more} more in this file"
    error = Finding(
        Severity.ERROR,
        first.code,
        file.path,
        f"{message}; {_REMEDIES[first.code]}",
        line,
    )
    return DecodedFile(None, (*findings, error))


def _decode(file: SourceFile) -> tuple[str | None, tuple[Finding, ...]]:
    content = file.content
    if content.startswith(_UTF16_MARKS) and not content.startswith(_UTF32_MARKS):
        try:
            return content.decode("utf-16"), ()
        except UnicodeDecodeError as error:
            return None, (_undecodable(file, f"UTF-16 by its mark, but {_where(error)}"),)
    try:
        return content.decode("utf-8-sig"), ()
    except UnicodeDecodeError as error:
        surrogates = _with_surrogates(content)
        if surrogates is not None:
            return surrogates, ()
        if content.startswith(codecs.BOM_UTF8):
            return None, (_undecodable(file, f"UTF-8 by its mark, but {_where(error)}"),)
        return _detect(file, _where(error))


def _with_surrogates(content: bytes) -> str | None:
    """The text of bytes that are UTF-8 but for encoded surrogates, which normalisation names."""
    try:
        return content.decode("utf-8-sig", "surrogatepass")
    except UnicodeDecodeError:
        return None


def _detect(file: SourceFile, fault: str) -> tuple[str | None, tuple[Finding, ...]]:
    candidates = from_bytes(file.content, cp_exclusion=_NEVER_GUESSED)
    chosen, others = _choose(candidates)
    if chosen is None:
        return None, (_undecodable(file, f"no UTF-8 ({fault}), and no encoding fits"),)
    name = COMMONEST if COMMONEST in chosen.could_be_from_charset else chosen.encoding
    message = (
        f"read as {name} (confidence {1 - chosen.chaos:.0%}), because it is no UTF-8 ({fault})"
    )
    if others:
        message += f"; {', '.join(others)} would fit as well, giving other text"
    message += "; check the text, or save the file as UTF-8"
    return str(chosen), (Finding(Severity.NOTICE, "encoding_detected", file.path, message),)


def _choose(candidates: CharsetMatches) -> tuple[CharsetMatch | None, tuple[str, ...]]:
    """The best candidate, and the names of others that fit equally well with other text."""
    best = candidates.best()
    if best is None:
        return None, ()
    equal = [
        match
        for match in candidates
        if (match.chaos, match.coherence) == (best.chaos, best.coherence)
    ]
    chosen = next((match for match in equal if COMMONEST in match.could_be_from_charset), best)
    return chosen, tuple(match.encoding for match in equal if match is not chosen)


def _where(error: UnicodeDecodeError) -> str:
    return f"byte {error.start} is 0x{error.object[error.start]:02X}: {error.reason}"


def _undecodable(file: SourceFile, why: str) -> Finding:
    message = f"{why}; save the file as UTF-8"
    return Finding(Severity.ERROR, "undecodable", file.path, message)
