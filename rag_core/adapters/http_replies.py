"""Replies of providers, read without trust: bodies within limits, strict JSON, words, pauses."""

from __future__ import annotations

import json
import re
import time
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from rag_core.rules.close_matches import close_matches_hint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import httpx

SAID_CHARS: Final = 300
"""Most characters of a server's own message that are shown."""

ECHO_CHARS: Final = 16
"""A message that repeats so many characters of a text, or a shorter one whole, shows that text."""

LEAST_ECHO_CHARS: Final = 6
"""Anything shorter is a word that messages hold anyway."""

HINT_CHARS: Final = 200
"""Most characters of a server's own names that are shown as close to a misspelled one."""

NAMES_READ: Final = 1_000
"""Most names that are compared; a server that lists more may just be hostile."""

BLOT: Final = "***"
"""Stands where a secret stood."""

GZIP_ONLY: Final = 31
"""zlib's word for a gzip stream with the largest window."""

_TEXT_KEYS: Final = ("input", "content")
"""Where both APIs carry texts of documents and people; other fields are settings."""


class UnusableReplyError(Exception):
    """A reply that is not read on; the message says what was found, `step` what to do."""

    def __init__(self, found: str, step: str) -> None:
        super().__init__(found)
        self.step = step


def read_body(response: httpx.Response, *, max_mb: float, until: float) -> bytes:
    """The whole body, unpacked, as long as it keeps to size and time.

    What it unpacks to is bounded as well: nothing is unpacked beyond the limit.

    Raises:
        TimeoutError: If it is not there `until` then, of `time.monotonic()`.
        UnusableReplyError: If it is larger, or packed in another way than was asked for.
    """
    most = int(max_mb * 1_000_000)
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    if encoding not in ("", "identity", "gzip"):
        raise UnusableReplyError(_PACKED, _IS_IT_ONE)
    unpack = zlib.decompressobj(GZIP_ONLY) if encoding == "gzip" else None
    content = bytearray()
    for part in response.iter_raw():
        try:
            content += unpack.decompress(part, most - len(content) + 1) if unpack else part
        except zlib.error:
            raise UnusableReplyError(_PACKED, _IS_IT_ONE) from None
        if len(content) > most:
            found = f"sent more than {max_mb:g} MB"
            raise UnusableReplyError(found, "raise http.max_reply_mb if that is right")
        if time.monotonic() > until:
            raise TimeoutError
    if unpack is not None and not unpack.eof:
        raise UnusableReplyError(_PACKED, _IS_IT_ONE)
    return bytes(content)


def parse_json(content: bytes, *, secrets: Sequence[str] = ()) -> Any:  # noqa: ANN401 - any JSON
    """What the bytes say, with secrets blotted out of all texts and keys.

    Raises:
        UnusableReplyError: If they are no JSON in UTF-8. NaN and Infinity are none, and neither
            is what nests or counts without bound.
    """
    try:
        text = content.decode("utf-8")
        value = json.loads(text, parse_constant=_no_constant)
        # Without an escape, a text stands in the reply as it is; numbers need no second look.
        return _blotted(value, secrets) if "\\" in text or blot(text, secrets) != text else value
    except (ValueError, RecursionError):  # what stands in it is not repeated
        problem = UnusableReplyError("sent a reply that is no JSON", _IS_IT_ONE)
    raise problem


def words_of(content: bytes, *, secrets: Sequence[str], body: Mapping[str, Any] | None) -> str:
    """What an error reply says, in the two forms that providers use; empty if it says nothing.

    Secrets are blotted out. A message that repeats the texts of the request's `body` is left out.
    """
    try:
        value = json.loads(content.decode("utf-8"))
        value = value.get("error", value)
        said = value if isinstance(value, str) else value.get("message", "")
    except (ValueError, RecursionError, AttributeError):
        return ""
    words = " ".join(blot(said, secrets).split()) if isinstance(said, str) else ""
    words = blot(words, secrets)[:SAID_CHARS]
    if body is not None and any(_repeats(words, text) for text in _texts_of(body)):
        return "a message that repeats the text and is left out"
    return "".join(char if char.isprintable() else "?" for char in words).rstrip(". ")


def blot(text: str, secrets: Sequence[str]) -> str:
    """The text without the secrets, however many of their bytes are percent-encoded."""
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, BLOT)
        if "%" in text:  # the pattern is slow on what a reply with many vectors holds
            text = re.sub("".join(map(_any_form, secret)), BLOT, text)
    return text


def names_hint(word: str, names: Iterable[str]) -> str:
    """The names that resemble a word, for the end of a message: printable, bounded, or empty."""
    usable = [name for name in names if len(name) <= HINT_CHARS][:NAMES_READ]
    return ascii(close_matches_hint(word, usable)[:HINT_CHARS])[1:-1]


def named_status(status: int) -> str:
    """`503 Service Unavailable`; in our own words, because a server may say anything there."""
    return f"{status} {HTTPStatus(status).phrase}" if status in set(HTTPStatus) else str(status)


def next_step(status: int) -> str:
    """What a person can do about a status that is no success."""
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        return "redirects are not followed: name the final address in the profile"
    return _STEPS.get(status, "correct the profile if it names the wrong address or model")


def seconds_of(retry_after: str | None, now: datetime) -> float | None:
    """The pause that a Retry-After asks for, in seconds or as a date; None if it says nothing."""
    if retry_after is None:
        return None
    if re.fullmatch(r"[+-]?\d+(\.\d+)?", retry_after.strip(), re.ASCII):
        return max(0.0, float(retry_after))
    try:
        when = parsedate_to_datetime(retry_after)
        moment = when if when.tzinfo else when.replace(tzinfo=UTC)
        return max(0.0, (moment - now).total_seconds())
    except (ValueError, OverflowError):
        return None


_PACKED: Final = "sent a reply that cannot be decompressed"
_IS_IT_ONE: Final = "check that the address is that of the provider's API"
_STEPS: Final = {
    401: "check the key that the profile names",
    403: "check the key that the profile names, and what it may do",
    404: "check address and model in the profile",
    413: "the texts are too long for this server",
    429: "try later, or lower http.concurrency in the profile",
    500: "look at the server's log",
    502: "try later",
    503: "try later",
    504: "try later",
}


def _blotted(value: Any, secrets: Sequence[str]) -> Any:  # noqa: ANN401 - parsed JSON
    if isinstance(value, str):
        return blot(value, secrets)
    if isinstance(value, list):
        return [_blotted(item, secrets) for item in value]
    if isinstance(value, dict):
        return {blot(key, secrets): _blotted(item, secrets) for key, item in value.items()}
    return value


def _any_form(char: str) -> str:
    """A pattern for one character, as it is or percent-encoded in either case."""
    encoded = "".join(f"%{byte:02x}" for byte in char.encode("utf-8", "surrogatepass"))
    return f"(?:{re.escape(char)}|(?i:{encoded}))"


def _texts_of(value: object) -> Iterator[str]:
    """All texts below the keys that hold some."""
    if isinstance(value, Mapping):
        for key, below in value.items():
            if key in _TEXT_KEYS and isinstance(below, str):
                yield below
            elif key in _TEXT_KEYS and isinstance(below, list):
                yield from (item for item in below if isinstance(item, str))
                yield from _texts_of(below)
            else:
                yield from _texts_of(below)
    elif isinstance(value, list):
        for below in value:
            yield from _texts_of(below)


def _repeats(words: str, text: str) -> bool:
    text = " ".join(text.split())
    if len(text) < LEAST_ECHO_CHARS:
        return False
    if len(text) <= ECHO_CHARS:
        return re.search(rf"(?<!\w){re.escape(text)}(?!\w)", words) is not None
    starts = range(len(words) - ECHO_CHARS + 1)
    return any(words[start : start + ECHO_CHARS] in text for start in starts)


def _no_constant(name: str) -> Any:  # noqa: ANN401 - json's hook; it never returns
    raise ValueError(f"{name} is no JSON number")
