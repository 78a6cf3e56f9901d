"""Where a provider stands: what is requested, what may be shown, and what must not be."""

from __future__ import annotations

import base64
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rag_core.errors import UsageError

if TYPE_CHECKING:
    import httpx

LEAST_SECRET_CHARS: Final = 6
"""A shorter value in a query is a setting, as in `?v=2`; credentials are secret at any length."""


@dataclass(frozen=True, slots=True)
class Address:
    """An endpoint taken apart."""

    base: httpx.URL = field(repr=False)
    """Without credentials; its query goes with each request."""
    shown: str
    """Without credentials, query or trailing slash: what contracts and messages show."""
    auth: tuple[str, str] | None = field(repr=False)
    """User and password, for basic auth."""
    secrets: tuple[str, ...] = field(repr=False)
    """What a server might repeat of it."""


def take_apart(endpoint: str, *, what: str) -> Address:
    """The address of an endpoint.

    Raises:
        UsageError: If it is no http or https address; it is not repeated.
    """
    import httpx

    try:
        url = httpx.URL(endpoint)
        base = url.copy_with(userinfo=b"", fragment=None)
    except httpx.InvalidURL:  # its words may hold a password
        url = None
    if url is None or url.scheme not in ("http", "https") or not url.host:
        raise UsageError(
            f"{what}: the endpoint is no http or https address. Correct it in the profile, or in "
            "the variable or block that it names"
        )
    auth = (url.username, url.password) if url.userinfo else None
    pair = ":".join(auth or ())
    credentials = (*(auth or ()), pair, url.userinfo.decode("ascii"))
    sent = base64.b64encode(pair.encode()).decode()
    asked = (url.query.decode("ascii"), *(value for _, value in url.params.multi_items()))
    queries = tuple(value for value in asked if len(value) >= LEAST_SECRET_CHARS)
    shown = str(base.copy_with(query=None)).rstrip("/?")
    return Address(base, shown, auth, tuple(filter(None, (*credentials, sent, *queries))))


def check_key(api_key: str | None, address: Address, *, what: str) -> None:
    """Return nothing if a header can carry the key, and nothing else claims the same header.

    Raises:
        UsageError: If not; the key is not repeated.
    """
    if api_key is None:
        return
    if not api_key or not all("!" <= char <= "~" for char in api_key):
        raise UsageError(
            f"{what} at {address.shown}: the key is empty, or holds a character that fits into no "
            "header. Correct the variable or block that api_key names"
        )
    if address.auth is not None:
        raise UsageError(
            f"{what} at {address.shown}: found a key and credentials in the address, expected one "
            "of them. Take api_key out of the profile, or the credentials out of the address"
        )


def without_query(record: logging.LogRecord) -> bool:
    """A filter of httpx's log: takes the query out of addresses, because it may hold a key."""
    import httpx

    if isinstance(record.args, tuple):
        record.args = tuple(
            arg.copy_with(query=None) if isinstance(arg, httpx.URL) else arg for arg in record.args
        )
    return True
