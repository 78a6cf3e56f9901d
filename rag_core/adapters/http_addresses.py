"""Where a provider stands: what is requested, what may be shown, and what must not be."""

from __future__ import annotations

import base64
import ipaddress
import logging
import re
from dataclasses import dataclass, field
from http.cookiejar import DefaultCookiePolicy
from typing import TYPE_CHECKING, Final

from rag_core.errors import UsageError

if TYPE_CHECKING:
    import httpx

    from rag_core.types.profiles import HttpSettings

CONNECT_S: Final = 10.0
"""Longest time for a connection; after that the request was never sent, and may be tried again."""

LEAST_SECRET_CHARS: Final = 6
"""A shorter value in a query is a setting, as in `?v=2`; credentials are secret at any length."""

MOST_HOST_CHARS: Final = 253
"""Longest name that DNS knows (RFC 1035), without the dot at its end."""

_LABEL: Final = re.compile(r"[A-Za-z0-9_-]{1,63}")
"""A part of a host's name; the underscore is no part of DNS names, but of those of containers."""

_VERSION: Final = re.compile(r"\d{4}-\d{2}-\d{2}(-preview)?")
"""A version of an API, which some take in the query; a date may stand in any document."""


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
    """What a server might repeat of it; blotted out of its error messages."""
    hidden: tuple[str, ...] = field(repr=False)
    """Those that are blotted out of every reply: neither user names nor what any text may hold."""

    @property
    def local(self) -> bool:
        """Whether it is this machine, which no proxy can reach for us."""
        host = self.base.host.rstrip(".")
        if host == "localhost":
            return True
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False


def take_apart(endpoint: str, *, what: str) -> Address:
    """The address of an endpoint.

    Raises:
        UsageError: If it is no http or https address; it is not repeated.
    """
    import httpx

    try:
        url = httpx.URL(endpoint)
        base = url.copy_with(userinfo=b"", fragment=None)
        sound = url.scheme in ("http", "https") and _names_a_host(url)
    except (httpx.InvalidURL, ValueError):  # its words may hold a password; idna raises its own
        sound = False
    if not sound:
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
    secrets = tuple(filter(None, (*credentials, sent, *queries)))
    hidden = (
        *credentials[1:],
        sent,
        *(value for value in queries if not _VERSION.fullmatch(value)),
    )
    return Address(base, shown, auth, secrets, long_enough(*hidden))


def long_enough(*secrets: str) -> tuple[str, ...]:
    """The secrets that a whole reply can be searched for; a shorter one would blot out words."""
    return tuple(secret for secret in secrets if len(secret) >= LEAST_SECRET_CHARS)


def open_client(address: Address, settings: HttpSettings) -> httpx.Client:
    """A client with the profile's limits; it keeps no cookies, and reaches this machine directly.

    Raises:
        ImportError: If the environment names a proxy for which a package is missing.
        ValueError: If the environment names what is no proxy; `httpx.InvalidURL` as well.
        OSError: If the certificates that the environment names cannot be read.
    """
    import httpx

    logging.getLogger("httpx").addFilter(without_query)
    whole = settings.timeout_s
    own_certificates = address.local and address.base.scheme == "https"
    client = httpx.Client(
        limits=httpx.Limits(max_keepalive_connections=settings.concurrency),
        timeout=httpx.Timeout(whole, connect=min(CONNECT_S, whole / 2)),
        trust_env=not address.local,  # no proxy; but the certificates of SSL_CERT_FILE
        verify=httpx.create_ssl_context() if own_certificates else True,
    )
    client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=()))
    return client


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


def _names_a_host(url: httpx.URL) -> bool:
    """Whether a name can be looked up, and a port exists; the resolver raises what it likes."""
    if url.port is not None and not 0 < url.port < 2**16:
        return False
    if ":" in url.host:
        return True  # httpx has read it as an address of IPv6
    name = url.raw_host.decode("ascii").removesuffix(".")
    return len(name) <= MOST_HOST_CHARS and all(map(_LABEL.fullmatch, name.split(".")))


def without_query(record: logging.LogRecord) -> bool:
    """A filter of httpx's log: takes the query out of addresses, because it may hold a key."""
    import httpx

    if isinstance(record.args, tuple):
        record.args = tuple(
            arg.copy_with(query=None) if isinstance(arg, httpx.URL) else arg for arg in record.args
        )
    return True
