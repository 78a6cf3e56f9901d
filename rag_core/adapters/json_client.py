"""JSON over HTTP to one provider: deadlines, retries, limits, and nothing secret in any message.

A request that got no answer in time is not sent again, because it may still be running there.
What never reached the server, or what the server asks to repeat, is tried again with full jitter
(Brooker, "Exponential Backoff and Jitter", AWS Architecture Blog, 2015), or after the pause that
its Retry-After names.
"""

from __future__ import annotations

import json
import random as standard_random
import ssl
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from rag_core.adapters.http_addresses import (
    check_key,
    long_enough,
    open_client,
    take_apart,
)
from rag_core.adapters.http_replies import (
    UnusableReplyError,
    named_status,
    next_step,
    parse_json,
    read_body,
    seconds_of,
    words_of,
)
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


class StatusError(ProviderError):
    """A provider answered with a status that is no success."""

    def __init__(self, message: str, *, status: int, said: str) -> None:
        super().__init__(message)
        self.status = status
        self.said = said
        """The server's own message, bounded and printable, without keys; empty if it has none."""


@dataclass(frozen=True, slots=True)
class _Call:
    """One request; `body` is what it sends, for a check of what the server says about it."""

    method: str
    path: str
    body: Mapping[str, Any] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class _Failure:
    """A try that failed, whether another one makes sense, and the pause that was asked for."""

    error: ProviderError
    again: bool = False
    pause_s: float | None = None


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

    Raises:
        UsageError: If the address is none, the key fits into no header, or there are two of them.
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
        self._address = take_apart(endpoint, what=what)
        check_key(api_key, self._address, what=what)
        self.what = what
        self._secrets = (api_key or "", *self._address.secrets)
        self._hidden = (*long_enough(api_key or ""), *self._address.hidden)
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
        """The parsed reply of a GET of `endpoint` + `path`, with our secrets blotted out of it.

        Raises:
            StatusError: If the last status was no success.
            ProviderError: If there was no reply, or it is no JSON.
        """
        return self._request(_Call("GET", path))

    def post(self, path: str, body: Mapping[str, Any]) -> Any:  # noqa: ANN401 - as `get`
        """The parsed reply of a POST of `body` as JSON; raises as `get`."""
        return self._request(_Call("POST", path, body))

    def close(self) -> None:
        """Close the connections; the next request opens its own."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _request(self, call: _Call) -> Any:  # noqa: ANN401 - as `get`
        tried = 0
        while True:
            tried += 1
            with self._slots:
                done = self._try(call)
            if not isinstance(done, _Failure):
                return done
            twice = isinstance(done.error, StatusError) and done.error.status == FAULT and tried > 1
            if not done.again or tried >= self._settings.attempts or twice:
                raise done.error
            longest = min(self._settings.max_wait_s, BACKOFF_S * 2.0 ** (tried - 1))
            self._sleep(longest * self._random() if done.pause_s is None else done.pause_s)

    def _try(self, call: _Call) -> Any | _Failure:  # noqa: ANN401 - as `get`
        """One try in a thread of its own: neither headers nor a body that drip outlast it."""
        future: Future[Any] = Future()
        until = time.monotonic() + self._settings.timeout_s

        def run() -> None:
            try:
                future.set_result(self._send(call, until))
            except BaseException as error:  # noqa: BLE001 - raised again by the waiting caller
                future.set_exception(error)

        threading.Thread(target=run, daemon=True).start()
        try:
            return future.result(timeout=self._settings.timeout_s)
        except TimeoutError:
            return self._hung(call)

    def _send(self, call: _Call, until: float) -> Any | _Failure:  # noqa: ANN401 - as `get`
        import httpx

        max_mb = self._settings.max_reply_mb
        wire = self._wire(call)
        try:
            with self._opened().stream(**wire) as response:
                content = read_body(response, max_mb=max_mb, until=until)
            if not response.is_success:
                return self._refused(response, content, call)
            return parse_json(content, secrets=self._hidden)
        except UnusableReplyError as problem:
            return self._failed(call, str(problem), problem.step)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            below = _tls_problem(error)
            if isinstance(below, ssl.SSLCertVerificationError):
                return self._failed(call, "its certificate was not accepted", _CERTIFICATE)
            if below is not None:
                return self._failed(
                    call, "speaks no TLS that is accepted", _CERTIFICATE, again=True
                )
            return self._failed(call, "cannot be reached", _IS_IT_RUNNING, again=True)
        except (httpx.TimeoutException, TimeoutError):
            return self._hung(call)
        except httpx.TransportError as error:
            found = f"broke the connection off ({type(error).__name__})"
            return self._failed(call, found, _IS_IT_RUNNING, again=True)
        except (ImportError, ValueError, OSError, httpx.InvalidURL) as error:
            # Their words may hold a proxy's password.
            found = f"cannot be asked from here ({type(error).__name__})"
            return self._failed(call, found, _ENVIRONMENT)

    def _wire(self, call: _Call) -> dict[str, Any]:
        """The request as httpx takes it."""
        path, mark, query = self._address.base.raw_path.partition(b"?")
        path = path.rstrip(b"/") + call.path.encode("ascii")  # an escaped slash stays escaped
        headers = {
            "Accept": "application/json",
            "Accept-Encoding": "gzip",
            "Content-Type": "application/json",
        }
        if self._api_key is not None:
            headers["Authorization"] = f"Bearer {self._api_key}"
        # Escaped, so that every text can be sent, lone surrogates too.
        text = None if call.body is None else json.dumps(call.body, allow_nan=False)
        return {
            "method": call.method,
            "url": self._address.base.copy_with(raw_path=path + mark + query),
            "headers": headers,
            "auth": self._address.auth,
            "content": None if text is None else text.encode("ascii"),
        }

    def _refused(self, response: httpx.Response, content: bytes, call: _Call) -> _Failure:
        status, most = response.status_code, self._settings.max_wait_s
        said = words_of(content, secrets=self._secrets, body=call.body)
        again = status in REPEATABLE or status == FAULT
        pause = seconds_of(response.headers.get("Retry-After"), self._now()) if again else None
        step = next_step(status)
        if pause is not None and pause > most:
            again = False
            step = (
                f"it asks to wait {pause:.0f} s, and http.max_wait_s is {most:g}: try later, or "
                "raise it in the profile"
            )
        told = f"{named_status(status)}: {said}" if said else named_status(status)
        message = f"{self._place(call)}: found {told}, expected 200. Next: {step}"
        return _Failure(StatusError(message, status=status, said=said), again, pause)

    def _hung(self, call: _Call) -> _Failure:
        found = f"gave no whole reply within {self._settings.timeout_s:g} s"
        step = "raise http.timeout_s in the profile if the model is just slow"
        return self._failed(call, found, step)

    def _failed(self, call: _Call, found: str, step: str, *, again: bool = False) -> _Failure:
        return _Failure(ProviderError(f"{self._place(call)}: {found}. Next: {step}"), again)

    def _place(self, call: _Call) -> str:
        return f"{self.what} at {self.endpoint}{call.path}"

    def _opened(self) -> httpx.Client:
        with self._lock:
            if self._client is None:
                self._client = open_client(self._address, self._settings)
                weakref.finalize(self, self._client.close)  # for who forgets to close
            return self._client


def _tls_problem(error: BaseException) -> ssl.SSLError | None:
    """What failed in TLS below an error; None if that is not where it failed."""
    below: BaseException | None = error
    while below is not None and not isinstance(below, ssl.SSLError):
        below = below.__cause__ or below.__context__
    return below


_IS_IT_RUNNING: Final = "is the server running? rag doctor checks it"
_CERTIFICATE: Final = (
    "check that the address is right and speaks TLS, and name the file of your own certificate "
    "authority in SSL_CERT_FILE if it has one"
)
_ENVIRONMENT: Final = (
    "correct the proxy or certificate settings of the environment (HTTP_PROXY, HTTPS_PROXY, "
    "ALL_PROXY, NO_PROXY, SSL_CERT_FILE), or the address in the profile"
)
