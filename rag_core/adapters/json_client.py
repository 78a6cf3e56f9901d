"""JSON over HTTP to one provider: deadlines, retries, limits, and nothing secret in any message.

A request that got no answer in time is not sent again, because it may still be running there.
What never reached the server, or what the server asks to repeat, is tried again with full jitter
(Brooker, "Exponential Backoff and Jitter", AWS Architecture Blog, 2015), or after the pause that
its Retry-After names.
"""

from __future__ import annotations

import json
import logging
import random as standard_random
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final

from rag_core.errors import ProviderError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx

    from rag_core.types.profiles import HttpSettings

BACKOFF_S: Final = 0.5
"""Longest pause before the second try; it doubles with each further one."""

REPEATABLE: Final = frozenset({429, 502, 503, 504})
"""Busy or not there: asked to come again."""

FAULT: Final = 500
"""Tried once more: Ollama says it both while a model loads and for texts that it cannot embed."""

_SAID_CHARS: Final = 300


class StatusError(ProviderError):
    """A provider answered with a status that is no success."""

    def __init__(self, message: str, *, status: int, said: str) -> None:
        super().__init__(message)
        self.status = status
        self.said = said
        """The server's own message, bounded and printable, without keys; empty if it has none."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """A try that failed, and whether another one makes sense."""

    error: ProviderError
    again: bool
    retry_after: str | None = None


@dataclass(frozen=True, slots=True)
class _Address:
    """An endpoint taken apart: what is requested, and what may be shown."""

    base: httpx.URL
    shown: str
    auth: tuple[str, str] | None


class JsonClient:
    """Talks JSON to one provider; safe to share between threads, usable again after `close`.

    Args:
        endpoint: Base address; credentials in it are sent as basic auth, a query with each request.
        what: Provider and model, for messages.
        settings: The profile's limits.
        api_key: Sent as a bearer token.
        sleep: Pauses for a number of seconds.
        random: Draws from [0, 1), for the jitter of pauses.
        now: The current instant in UTC, against which a Retry-After date is held.
    """

    def __init__(
        self,
        endpoint: str,
        *,
        what: str,
        settings: HttpSettings,
        api_key: str | None = None,
        sleep: Callable[[float], None] = time.sleep,
        random: Callable[[], float] = standard_random.random,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._address = _taken_apart(endpoint)
        self.what = what
        self._settings = settings
        self._api_key = api_key
        self._sleep = sleep
        self._random = random
        self._now = now
        self._slots = threading.BoundedSemaphore(settings.concurrency)
        self._lock = threading.Lock()
        self._client: httpx.Client | None = None

    def __repr__(self) -> str:
        return f"JsonClient({self.endpoint!r}, what={self.what!r})"

    @property
    def endpoint(self) -> str:
        """The address without credentials, query or trailing slash."""
        return self._address.shown

    def get(self, path: str) -> Any:  # noqa: ANN401 - whatever JSON the server sends
        """The parsed reply of a GET of `endpoint` + `path`.

        Raises:
            StatusError: If the last status was no success.
            ProviderError: If there was no reply, or it is no JSON.
        """
        return self._request("GET", path, None)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:  # noqa: ANN401 - as `get`
        """The parsed reply of a POST of `body` as JSON; raises as `get`."""
        # Escaped, so that every text can be sent, lone surrogates too.
        return self._request("POST", path, json.dumps(body, allow_nan=False).encode("ascii"))

    def close(self) -> None:
        """Close the connections; the next request opens its own."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _request(self, method: str, path: str, body: bytes | None) -> Any:  # noqa: ANN401
        tried = 0
        while True:
            tried += 1
            with self._slots:
                done = self._try(method, path, body)
            if isinstance(done, bytes):
                return self._parsed(done, path)
            fault_again = isinstance(done.error, StatusError) and done.error.status == FAULT
            if not done.again or tried >= self._settings.attempts or (fault_again and tried > 1):
                raise done.error from None
            self._sleep(self._pause(done, tried))

    def _pause(self, failure: _Failure, tried: int) -> float:
        """Seconds before the next try.

        Raises:
            ProviderError: If the server asks for a longer pause than the profile allows.
        """
        most = self._settings.max_wait_s
        asked = _seconds_of(failure.retry_after, self._now())
        if asked is None:
            longest: float = min(most, BACKOFF_S * 2.0 ** (tried - 1))
            return longest * self._random()
        if asked > most:
            raise ProviderError(
                f"{failure.error} It asks to wait {asked:.0f} s, and http.max_wait_s is {most:g}: "
                "try later, or raise it in the profile"
            ) from None
        return asked

    def _try(self, method: str, path: str, body: bytes | None) -> bytes | _Failure:
        """One try in a thread of its own: neither headers nor a body that drip outlast it."""
        future: Future[bytes | _Failure] = Future()
        until = time.monotonic() + self._settings.timeout_s

        def run() -> None:
            try:
                future.set_result(self._send(method, path, body, until))
            except BaseException as error:  # noqa: BLE001 - raised again by the waiting caller
                future.set_exception(error)

        threading.Thread(target=run, daemon=True).start()
        try:
            return future.result(timeout=self._settings.timeout_s)
        except TimeoutError:
            return self._hung(path)

    def _send(self, method: str, path: str, body: bytes | None, until: float) -> bytes | _Failure:
        import httpx

        address = self._address
        url = address.base.copy_with(path=address.base.path.rstrip("/") + path)
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        auth = None if address.auth is None else httpx.BasicAuth(*address.auth)
        if self._api_key is not None:
            headers["Authorization"] = f"Bearer {self._api_key}"
        try:
            with self._opened().stream(
                method, url, content=body, headers=headers, auth=auth
            ) as response:
                content = self._read(response, until)
                if isinstance(content, bytes) and not response.is_success:
                    return self._refused(response, content, path)
                return content
        except httpx.ConnectTimeout:
            return self._failed(path, "cannot be reached", _IS_IT_RUNNING, again=True)
        except httpx.TimeoutException:
            return self._hung(path)
        except httpx.ConnectError:
            return self._failed(path, "cannot be reached", _IS_IT_RUNNING, again=True)
        except httpx.DecodingError:
            return self._failed(path, "sent a reply that cannot be decompressed", _IS_IT_ONE)
        except httpx.TransportError as error:
            found = f"broke the connection off ({type(error).__name__})"
            return self._failed(path, found, _IS_IT_RUNNING, again=True)

    def _read(self, response: httpx.Response, until: float) -> bytes | _Failure:
        """The decompressed body, as long as it keeps to size and time."""
        most = int(self._settings.max_reply_mb * 1_000_000)
        path = response.request.url.path
        content = bytearray()
        for part in response.iter_bytes(64 * 1024):
            content += part
            if len(content) > most:
                found = f"sent more than {self._settings.max_reply_mb:g} MB"
                return self._failed(path, found, "raise http.max_reply_mb if that is right")
            if time.monotonic() > until:
                return self._hung(path)
        return bytes(content)

    def _refused(self, response: httpx.Response, content: bytes, path: str) -> _Failure:
        status, said = response.status_code, self._words_of(content)
        reason = f"{status} {response.reason_phrase}".strip()
        told = f"{reason}: {said}" if said else reason
        step = _STEPS.get(status, "correct the profile if it names the wrong address or model")
        if response.is_redirect:
            step = "redirects are not followed: name the final address in the profile"
        message = f"{self.what} at {self.endpoint}{path}: found {told}, expected 200. Next: {step}"
        error = StatusError(message, status=status, said=said)
        again = status in REPEATABLE or status == FAULT
        return _Failure(error, again, response.headers.get("Retry-After"))

    def _hung(self, path: str) -> _Failure:
        found = f"gave no whole reply within {self._settings.timeout_s:g} s"
        step = "raise http.timeout_s in the profile if the model is just slow"
        return self._failed(path, found, step)

    def _failed(self, path: str, found: str, step: str, *, again: bool = False) -> _Failure:
        message = f"{self.what} at {self.endpoint}{path}: {found}. Next: {step}"
        return _Failure(ProviderError(message), again)

    def _parsed(self, content: bytes, path: str) -> Any:  # noqa: ANN401 - whatever JSON it is
        try:
            return json.loads(content.decode("utf-8"), parse_constant=_no_constant)
        except (ValueError, RecursionError):  # what stands in it is not repeated
            raise self._failed(path, "sent a reply that is no JSON", _IS_IT_ONE).error from None

    def _words_of(self, content: bytes) -> str:
        """What an error body says, in the two forms that providers use."""
        try:
            value = json.loads(content.decode("utf-8"))
            value = value.get("error", value)
            said = value if isinstance(value, str) else value.get("message", "")
        except (ValueError, RecursionError, AttributeError):
            return ""
        text = " ".join(str(said).split())
        for secret in (self._api_key, *(self._address.auth or ())):
            text = text.replace(secret, "***") if secret else text
        return "".join(c if c.isprintable() else "?" for c in text)[:_SAID_CHARS].rstrip(". ")

    def _opened(self) -> httpx.Client:
        with self._lock:
            if self._client is None:
                import httpx

                logging.getLogger("httpx").addFilter(_without_query)
                limits = httpx.Limits(max_keepalive_connections=self._settings.concurrency)
                timeout = httpx.Timeout(self._settings.timeout_s)
                self._client = httpx.Client(limits=limits, timeout=timeout)
                weakref.finalize(self, self._client.close)  # for who forgets to close
            return self._client


_IS_IT_RUNNING: Final = "is the server running? rag doctor checks it"
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


def _taken_apart(endpoint: str) -> _Address:
    import httpx

    url = httpx.URL(endpoint)
    auth = (url.username, url.password) if url.userinfo else None
    base = url.copy_with(userinfo=b"", fragment=None)
    shown = str(base.copy_with(query=None)).rstrip("/?")
    return _Address(base, shown, auth)


def _seconds_of(retry_after: str | None, now: datetime) -> float | None:
    """The pause that a Retry-After asks for, in seconds or as a date; None if it says nothing."""
    if retry_after is None:
        return None
    try:
        return max(0.0, float(int(retry_after)))
    except ValueError:
        pass
    try:
        when = parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    moment = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())


def _without_query(record: logging.LogRecord) -> bool:
    """Takes the query out of the addresses that httpx logs: it may hold a key."""
    import httpx

    if isinstance(record.args, tuple):
        record.args = tuple(
            arg.copy_with(query=None) if isinstance(arg, httpx.URL) else arg for arg in record.args
        )
    return True


def _no_constant(name: str) -> Any:  # noqa: ANN401 - json's hook; it never returns
    raise ValueError(f"{name} is no JSON number")
