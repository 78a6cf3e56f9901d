"""One client for every provider: what it sends, when it tries again, and what it never says."""

from __future__ import annotations

import base64
import gc
import gzip
import logging
import ssl
import threading
import time
import traceback
from datetime import UTC, datetime

import httpx
import pytest
from model_server import EMBEDDING_MODEL, Fault, ModelServer, gzip_bomb

from rag_core.adapters.http_replies import seconds_of, words_of
from rag_core.adapters.json_client import JsonClient, StatusError
from rag_core.errors import ProviderError, UsageError
from rag_core.types.profiles import HttpSettings

NOW = datetime(2026, 12, 1, 9, 30, tzinfo=UTC)
KEY = "sk-very-secret-0123"
TEXT = "Only the works council may approve the closure of the Hagen site."
BODY = {"model": EMBEDDING_MODEL, "input": [TEXT], "encoding_format": "float"}


@pytest.fixture
def server():
    with ModelServer() as running:
        yield running


@pytest.fixture
def pauses():
    return []


@pytest.fixture
def connect(server, pauses):
    """Makes clients of the server under any form of its address; closed with the test."""
    clients = []

    def make(form="{url}/v1", *, api_key=None, **limits):
        settings = {"timeout_s": 10.0, "attempts": 4, "max_wait_s": 5.0} | limits
        client = JsonClient(
            form.format(url=server.url, host=server.url.removeprefix("http://")),
            what="test model",
            settings=HttpSettings.model_validate(settings),
            api_key=api_key,
            sleep=pauses.append,
            random=lambda: 0.5,
            now=lambda: NOW,
        )
        clients.append(client)
        return client

    yield make
    for client in clients:
        client.close()


def failure_of(client, body=BODY) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        client.post("/embeddings", body)
    return caught.value


# --- What is sent ---------------------------------------------------------------------------------


def test_a_post_sends_json_and_returns_the_parsed_reply(connect, server):
    reply = connect().post("/embeddings", BODY)
    assert [item["index"] for item in reply["data"]] == [0]
    (request,) = server.requests
    assert (request.path, request.body) == ("/v1/embeddings", BODY)
    assert request.headers["Content-Type"] == "application/json"
    assert "Authorization" not in request.headers


def test_a_get_sends_no_body(connect, server):
    assert connect().get("/models")["object"] == "list"
    assert server.requests[0].body is None


@pytest.mark.parametrize("form", ["{url}/v1", "{url}/v1/"])
def test_a_trailing_slash_makes_no_difference(connect, server, form):
    client = connect(form)
    client.get("/models")
    assert client.endpoint == f"{server.url}/v1"
    assert server.paths() == ["/v1/models"]


def test_credentials_of_an_address_are_sent_as_basic_auth_and_shown_nowhere(connect, server):
    client = connect("http://tea%40m:pa%2Fss@{host}/v1")
    client.get("/models")
    sent = base64.b64encode(b"tea@m:pa/ss").decode()
    assert server.requests[0].headers["Authorization"] == f"Basic {sent}"
    assert client.endpoint == f"{server.url}/v1"
    assert repr(client) == f"JsonClient('{server.url}/v1', what='test model')"


def test_a_query_goes_with_each_request_and_is_shown_nowhere(connect, server, caplog):
    client = connect("{url}/v1/?api-key=query-secret")
    with caplog.at_level(logging.DEBUG):
        client.get("/models")
    assert server.paths() == ["/v1/models?api-key=query-secret"]
    assert client.endpoint == f"{server.url}/v1"
    assert f"{server.url}/v1/models" in caplog.text
    assert "query-secret" not in caplog.text + repr(client)


def test_a_client_is_usable_again_after_it_was_closed(connect):
    client = connect()
    first = client.post("/embeddings", BODY)
    client.close()
    client.close()
    assert client.post("/embeddings", BODY) == first


def test_a_client_that_nobody_closes_leaves_no_open_socket(server):
    JsonClient(server.url, what="test model", settings=HttpSettings()).get("/v1/models")
    gc.collect()  # an open socket would be a warning here, and warnings are errors


def test_a_number_that_json_does_not_have_is_not_sent(connect, server):
    with pytest.raises(ValueError, match="not JSON compliant"):
        connect().post("/embeddings", {"input": float("nan")})
    assert server.requests == []


def test_one_connection_serves_many_requests(connect, server, monkeypatch):
    opened = []
    accept = server._server.process_request

    def count(*args):
        opened.append(args)
        accept(*args)

    monkeypatch.setattr(server._server, "process_request", count)
    client = connect()
    for _ in range(3):
        client.get("/models")
    assert len(opened) == 1


# --- What is refused before anything is sent ------------------------------------------------------


@pytest.mark.parametrize(
    "key",
    [
        pytest.param("", id="empty"),
        pytest.param("kéy-0123", id="beyond ascii"),
        pytest.param("key-0123\nX-Other: 1", id="with a line break"),
        pytest.param("key 0123", id="with a space"),
    ],
)
def test_a_key_that_fits_into_no_header_is_refused_and_not_repeated(connect, key):
    with pytest.raises(UsageError, match="api_key") as caught:
        connect(api_key=key)
    assert not key or key not in str(caught.value)


def test_a_key_beside_credentials_is_refused_because_one_would_replace_the_other(connect):
    with pytest.raises(UsageError, match="expected one of them") as caught:
        connect("http://team:password@{host}/v1", api_key=KEY)
    assert "password" not in str(caught.value)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    "endpoint",
    [
        "",
        "host",
        "ftp://host",
        "http://",
        "http://u:pw-1@host:port",
        "http://u:pw-1@a..b",
        "http://u:pw-1@.h",
        "http://u:pw-1@xn--a",
        f"http://u:pw-1@{'a' * 64}",
        f"http://u:pw-1@{'a.' * 127}a",
        "http://u:pw-1@h%00",
        "http://u:pw-1@h/\udc80",
        "http://u:pw-1@h:0",
        "http://u:pw-1@h:65536",
    ],
)
def test_an_address_that_is_none_is_refused_and_not_repeated(endpoint):
    with pytest.raises(UsageError, match="no http or https address") as caught:
        JsonClient(endpoint, what="test model", settings=HttpSettings())
    assert "pw-1" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("endpoint", "shown"),
    [
        pytest.param("http://host.:80/v1", "http://host./v1", id="a dot at the end"),
        pytest.param("http://rag_ollama-1:65535", "http://rag_ollama-1:65535", id="a container"),
        pytest.param("http://[fe80::1]/", "http://[fe80::1]", id="IPv6"),
        pytest.param(f"http://{'a' * 63}", f"http://{'a' * 63}", id="the longest label"),
        pytest.param("http://h/a%2Fb/v1", "http://h/a%2Fb/v1", id="an escaped slash"),
    ],
)
def test_an_address_that_is_one_is_shown_as_given(endpoint, shown):
    assert JsonClient(endpoint, what="test model", settings=HttpSettings()).endpoint == shown


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "ALL_PROXY"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_this_machine_is_reached_without_a_proxy(connect, server, monkeypatch, variable, host):
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv(variable, "http://127.0.0.1:9")
    port = server.url.rpartition(":")[2]
    assert connect(f"http://{host}:{port}/v1", attempts=1).get("/models")["object"] == "list"


@pytest.mark.parametrize(
    ("variable", "value", "named"),
    [
        pytest.param("ALL_PROXY", "ftp://u:pass-word@proxy", "ValueError", id="no proxy"),
        pytest.param("ALL_PROXY", "http://pass-word:port", "InvalidURL", id="no address"),
        pytest.param("SSL_CERT_FILE", "/pass-word", "FileNotFoundError", id="no file"),
    ],
)
def test_settings_of_the_environment_that_cannot_be_used_are_named_without_their_values(
    connect, monkeypatch, variable, value, named
):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv(variable, value)
    error = failure_of(connect("http://host.invalid/v1"))
    assert f"cannot be asked from here ({named}). Next: correct the proxy" in str(error)
    assert variable in str(error)
    assert "pass-word" not in "".join(traceback.format_exception(error))


def test_a_proxy_that_needs_a_missing_package_is_an_error_with_a_next_step(connect, monkeypatch):
    def lack(*_):
        raise ImportError("socksio is not there for socks5://u:pass-word@proxy")

    monkeypatch.setattr("rag_core.adapters.json_client.open_client", lack)
    error = failure_of(connect())
    assert "cannot be asked from here (ImportError). Next: correct the proxy" in str(error)
    assert "pass-word" not in "".join(traceback.format_exception(error))


@pytest.mark.parametrize(
    ("problem", "found"),
    [
        pytest.param(
            ssl.SSLCertVerificationError(1, "x"), "its certificate was not accepted", id="cert"
        ),
        pytest.param(ssl.SSLError(1, "x"), "speaks no TLS that is accepted", id="no TLS"),
    ],
)
def test_a_failure_of_tls_is_told_as_what_it_is(connect, monkeypatch, problem, found):
    def refuse(*_, **__):
        raise httpx.ConnectError("x") from problem

    monkeypatch.setattr(httpx.Client, "stream", refuse)
    error = failure_of(connect())
    assert f"{found}. Next: check that the address is right and speaks TLS" in str(error)
    assert "running" not in str(error)


def test_an_escaped_slash_of_an_address_is_requested_as_given(connect, server):
    with pytest.raises(ProviderError):
        connect("{url}/a%2Fb/v1?key=query-secret").get("/models")
    assert server.paths() == ["/a%2Fb/v1/models?key=query-secret"]


def test_a_cookie_is_not_sent_back(connect, server):
    server.faults.append(Fault(body=b"{}", headers={"Set-Cookie": "session=1; Path=/"}))
    client = connect()
    client.get("/models")
    client.get("/models")
    assert "Cookie" not in server.requests[-1].headers


# --- Tries ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("faults", "found", "requests"),
    [
        pytest.param([503] * 4, "503 Service Unavailable", 4, id="all tries"),
        pytest.param([500] * 4, "500 Internal Server Error", 2, id="a fault, twice in all"),
        pytest.param([503, 500], "500 Internal Server Error", 2, id="a fault on a second try"),
        pytest.param([501], "501 Not Implemented", 1, id="what will not change"),
        pytest.param([299 + 1], "300 Multiple Choices", 1, id="a choice"),
        pytest.param([304], "304 Not Modified", 1, id="not modified"),
        pytest.param([799], "found 799: told to fail", 1, id="no status at all"),
    ],
)
def test_a_status_decides_whether_it_is_tried_again(connect, server, faults, found, requests):
    server.faults.extend(Fault(status=status) for status in faults)
    error = failure_of(connect())
    assert found in str(error)
    assert len(server.requests) == requests
    assert isinstance(error, StatusError)
    assert error.status == faults[-1 if requests > 1 and faults[0] != 500 else 0]


def test_pauses_grow_up_to_the_ceiling_of_the_profile(connect, server, pauses):
    server.faults.extend([Fault(status=503)] * 9)
    failure_of(connect(attempts=6, max_wait_s=3.0))
    assert pauses == [0.25, 0.5, 1.0, 1.5, 1.5]


def test_a_pause_that_was_asked_for_is_kept_to_the_second(connect, server, pauses):
    server.faults.append(Fault(status=429, headers={"Retry-After": "5"}))
    connect().post("/embeddings", BODY)
    assert pauses == [5.0]


def test_a_pause_beyond_the_ceiling_fails_at_once_with_the_servers_status(connect, server, pauses):
    server.faults.append(Fault(status=429, headers={"Retry-After": "6"}))
    error = failure_of(connect())
    assert isinstance(error, StatusError)
    assert error.status == 429
    assert "Next: it asks to wait 6 s, and http.max_wait_s is 5" in str(error)
    assert (pauses, len(server.requests)) == ([], 1)


def test_a_server_that_is_not_there_is_tried_as_often_as_the_profile_says(connect, server, pauses):
    client = connect()
    server.__exit__()
    assert "cannot be reached. Next: is the server running?" in str(failure_of(client))
    assert len(pauses) == 3


def test_a_name_that_does_not_resolve_says_what_to_check(connect):
    error = failure_of(connect("http://host.invalid/v1", attempts=1))
    assert "http://host.invalid/v1/embeddings: cannot be reached" in str(error)
    assert "rag doctor" in str(error)


@pytest.mark.parametrize(
    ("retry_after", "seconds"),
    [
        pytest.param(None, None, id="absent"),
        pytest.param("7", 7.0, id="seconds"),
        pytest.param(" 7 ", 7.0, id="with spaces"),
        pytest.param("1.5", 1.5, id="a fraction"),
        pytest.param("-3", 0.0, id="a negative number"),
        pytest.param("9" * 400, float("inf"), id="without bound"),
        pytest.param("Tue, 01 Dec 2026 09:30:07 GMT", 7.0, id="a date"),
        pytest.param("Tue, 01 Dec 2026 10:30:07 +0100", 7.0, id="a date of another zone"),
        pytest.param("Tue, 01 Dec 2026 09:30:07", 7.0, id="a date without a zone"),
        pytest.param("Tue, 01 Dec 2026 09:29:00 GMT", 0.0, id="a date in the past"),
        pytest.param("Tue, 01 Dec 99999999999999999999 09:30:07 GMT", None, id="no year"),
        pytest.param("soon", None, id="a word"),
        pytest.param("1_0", None, id="Python's own digits"),
        pytest.param("٣", None, id="digits of another script"),
        pytest.param("", None, id="empty"),
    ],
)
def test_a_retry_after_is_read_in_both_of_its_forms(retry_after, seconds):
    assert seconds_of(retry_after, NOW) == seconds


# --- Time and size --------------------------------------------------------------------------------


def alive_tries() -> int:
    return sum("run" in thread.name and thread.daemon for thread in threading.enumerate())


def test_a_reply_that_drips_ends_the_try_and_its_thread(connect, server):
    before = alive_tries()
    server.faults.append(Fault(drip_s=0.02))
    assert "no whole reply within 0.3 s" in str(failure_of(connect(timeout_s=0.3)))
    until = time.monotonic() + 5
    while alive_tries() > before and time.monotonic() < until:
        time.sleep(0.02)
    assert alive_tries() == before


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        pytest.param(Fault(body=b" " * 10_001), "more than 0.01 MB", id="larger"),
        pytest.param(gzip_bomb(30_000_000), "more than 0.01 MB", id="larger when unpacked"),
        pytest.param(
            Fault(body=gzip.compress(gzip.compress(b"{}")), headers={"Content-Encoding": "gzip"}),
            "no JSON",
            id="packed twice",
        ),
        pytest.param(
            Fault(body=b"{}", headers={"Content-Encoding": "gzip, gzip"}),
            "cannot be decompressed",
            id="said to be packed twice",
        ),
        pytest.param(
            Fault(body=b"{}", headers={"Content-Encoding": "br"}),
            "cannot be decompressed",
            id="packed as nobody asked",
        ),
        pytest.param(
            Fault(body=gzip.compress(b"{}")[:-4], headers={"Content-Encoding": "gzip"}),
            "cannot be decompressed",
            id="packed and cut",
        ),
    ],
)
def test_a_body_that_keeps_to_no_limit_or_form_is_refused_once(connect, server, fault, found):
    server.faults.append(fault)
    assert found in str(failure_of(connect(max_reply_mb=0.01)))
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(Fault(body=b"{}" + b" " * 9_998), id="plain"),
        pytest.param(
            Fault(body=gzip.compress(b"{}" + b" " * 9_998), headers={"Content-Encoding": "gzip"}),
            id="packed",
        ),
    ],
)
def test_a_body_of_just_the_limit_is_read(connect, server, fault):
    server.faults.append(fault)
    assert connect(max_reply_mb=0.01).post("/embeddings", BODY) == {}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"[NaN]", id="NaN"),
        pytest.param(b"[-Infinity]", id="Infinity"),
        pytest.param(b"[" * 200_000, id="nested without bound"),
        pytest.param(b"[" + b"9" * 5_000 + b"]", id="counted without bound"),
        pytest.param(b'"\xff"', id="no UTF-8"),
        pytest.param(b"\xef\xbb\xbf{}", id="a byte order mark"),
        pytest.param(b"{} {}", id="two of them"),
        pytest.param(b"<html>secret page</html>", id="a page"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_what_is_no_json_is_an_error_that_does_not_repeat_it(connect, server, body):
    server.faults.append(Fault(body=body))
    error = failure_of(connect())
    assert "sent a reply that is no JSON. Next: check that the address" in str(error)
    assert "secret page" not in "".join(traceback.format_exception(error))


def test_no_more_requests_run_at_once_than_the_profile_allows(connect, server):
    server.slow_s = 0.1
    client = connect(concurrency=3)
    threads = [threading.Thread(target=client.post, args=("/embeddings", BODY)) for _ in range(9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert server.most_at_once == 3


# --- What is never said ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "echoed"),
    [
        pytest.param("{url}/v1", KEY, id="the key"),
        pytest.param("http://team:pass-word@{host}/v1", "pass-word", id="the password"),
        pytest.param("http://team:pa%2Fss@{host}/v1", "team:pa%2Fss", id="credentials as written"),
        pytest.param("http://team:pa%2Fss@{host}/v1", "dGVhbTpwYS9zcw==", id="credentials as sent"),
        pytest.param("{url}/v1?key=query-secret", "query-secret", id="the query's value"),
        pytest.param("{url}/v1?key=query-secret", "key=query-secret", id="the query"),
    ],
)
def test_a_secret_that_the_server_repeats_is_blotted_out_everywhere(
    connect, server, caplog, form, echoed
):
    body = f'{{"error": {{"message": "bad {echoed} given"}}}}'.encode()
    server.faults.append(Fault(status=401, body=body))
    with caplog.at_level(logging.DEBUG):
        error = failure_of(connect(form, api_key=KEY if echoed == KEY else None))
    assert "401 Unauthorized: bad *** given" in str(error)
    told = "".join(traceback.format_exception(error)) + caplog.text
    context = error.__cause__ or error.__context__
    assert echoed not in told + repr(vars(error)) + repr(context)


@pytest.mark.parametrize(
    ("form", "echoed"),
    [
        pytest.param("{url}/v1", KEY, id="the key"),
        pytest.param("{url}/v1", "sk%2Dvery%2dsecret-0123", id="the key percent-encoded"),
        pytest.param("{url}/v1", r"\u0073k-very-secret-0123", id="the key escaped"),
        pytest.param("http://team:pass-word@{host}/v1", "pass-word", id="the password"),
        pytest.param("http://team:pa%2Fss@{host}/v1", "dGVhbTpwYS9zcw==", id="credentials as sent"),
        pytest.param("http://team:pa%2Fss-word@{host}/v1", r"pa\/ss-word", id="a slash escaped"),
        pytest.param("{url}/v1?key=query-secret", "query-secret", id="the query's value"),
    ],
)
def test_a_secret_in_a_reply_of_success_is_blotted_out_of_texts_and_keys(
    connect, server, form, echoed
):
    body = f'{{"a": ["x {echoed} y", 7, null], "{echoed}": {{"b": "{echoed}"}}}}'.encode()
    server.faults.append(Fault(body=body))
    client = connect(form, api_key=KEY if form == "{url}/v1" else None)
    assert client.get("/models") == {"a": ["x *** y", 7, None], "***": {"b": "***"}}


@pytest.mark.parametrize(
    ("form", "key", "text"),
    [
        pytest.param("{url}/v1", "no", "no seal", id="a key that is a word"),
        pytest.param("http://research:p@{host}/v1", None, "research", id="a user's name"),
        pytest.param("{url}/v1?api-version=2024-02-01", None, "2024-02-01", id="a version"),
    ],
)
def test_what_any_text_may_hold_is_not_blotted_out_of_a_reply_of_success(
    connect, server, form, key, text
):
    server.faults.append(Fault(body=f'{{"text": "{text}"}}'.encode()))
    assert connect(form, api_key=key).get("/models") == {"text": text}


def test_a_percent_encoded_secret_is_blotted_out_of_an_error(connect, server):
    body = b'{"error": "bad sk%2dvery%2Dsecret%2D0123 given"}'
    server.faults.append(Fault(status=401, body=body))
    assert "401 Unauthorized: bad *** given" in str(failure_of(connect(api_key=KEY)))


@pytest.mark.parametrize("status", [400, 422, 500])
def test_a_message_that_repeats_the_text_is_left_out(connect, server, status):
    body = f'{{"error": {{"message": "invalid input: [\'{TEXT}\']"}}}}'.encode()
    server.faults.extend([Fault(status=status, body=body)] * 2)
    error = failure_of(connect())
    assert "works council" not in str(error) + repr(vars(error))
    assert "a message that repeats the text and is left out" in str(error)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        pytest.param("no such model: test-embedder", True, id="names the model"),
        pytest.param("float is no encoding_format", True, id="names a setting"),
        pytest.param("approve the closure of the site", False, id="a part of the text"),
        pytest.param("input was: How  long?", False, id="a short text whole"),
        pytest.param("A word that is not in there", True, id="none of its words"),
    ],
)
def test_only_messages_without_the_texts_of_a_request_are_shown(said, shown):
    content = f'{{"error": "{said}"}}'.encode()
    messages = [{"role": "user", "content": "How long?"}, {"role": "user", "content": "A"}]
    words = words_of(content, secrets=(), body={**BODY, "messages": messages})
    assert (words == said) is shown
    assert (words == "a message that repeats the text and is left out") is not shown


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b'{"error": "no such model."}', "no such model", id="Ollama's form"),
        pytest.param(b'{"error": {"message": "no"}}', "no", id="OpenAI's form"),
        pytest.param(b'{"message": "no"}', "no", id="a plain message"),
        pytest.param(b'{"error": "a\\u0007b\\u202ec\\nd"}', "a?b?c d", id="control characters"),
        pytest.param(b'{"error": "' + b"x" * 5_000 + b'"}', "x" * 300, id="without end"),
        pytest.param(b'{"error": null}', "", id="null"),
        pytest.param(b'{"error": {"code": 7}}', "", id="no message"),
        pytest.param(b'{"error": {"message": null}}', "", id="null for a message"),
        pytest.param(b'{"error": 5}', "", id="a number"),
        pytest.param(b"7", "", id="a number alone"),
        pytest.param(b"\xff", "", id="no UTF-8"),
        pytest.param(b"", "", id="nothing"),
        pytest.param(b"[]", "", id="a list"),
        pytest.param(b"<html>", "", id="a page"),
        pytest.param(b"[" * 200_000, "", id="nested without bound"),
    ],
)
def test_words_of_a_server_are_bounded_and_printable(content, words):
    assert words_of(content, secrets=("", "secret"), body=None) == words
