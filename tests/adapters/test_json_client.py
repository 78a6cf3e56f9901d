"""What the HTTP client shows and sends; its behaviour under faults is in tests/conformance."""

from __future__ import annotations

import base64
import gc
import logging

import pytest
from model_server import Fault, ModelServer

from rag_core.adapters.json_client import JsonClient, StatusError
from rag_core.errors import ProviderError
from rag_core.types.profiles import HttpSettings


@pytest.fixture
def server():
    with ModelServer() as running:
        yield running


def client_of(endpoint: str, **options: object) -> JsonClient:
    settings = HttpSettings(attempts=1, timeout_s=5.0)
    return JsonClient(endpoint, what="test", settings=settings, **options)  # type: ignore[arg-type]


def test_credentials_in_an_address_are_sent_and_never_shown(server):
    client = client_of(server.url.replace("http://", "http://me:s3cret@"))
    client.get("/v1/models")
    sent = server.requests[0].headers["Authorization"]
    assert base64.b64decode(sent.removeprefix("Basic ")).decode() == "me:s3cret"
    assert client.endpoint == server.url
    assert "s3cret" not in repr(client)


def test_a_query_in_an_address_is_sent_with_each_request_and_never_shown(server, caplog):
    client = client_of(f"{server.url}/v1/?token=s3cret")
    with caplog.at_level(logging.DEBUG):
        client.get("/models")
    assert server.requests[0].path == "/v1/models?token=s3cret"
    assert client.endpoint == f"{server.url}/v1"
    assert "HTTP Request: GET" in caplog.text
    assert "s3cret" not in "".join(r.getMessage() for r in caplog.records if r.name == "httpx")


def test_an_error_has_the_status_and_the_servers_words(server):
    server.faults.append(Fault(status=418, body=b'{"error": {"message": "I am\\u0007 a teapot."}}'))
    with pytest.raises(StatusError) as caught:
        client_of(server.url).get("/v1/models")
    assert (caught.value.status, caught.value.said) == (418, "I am? a teapot")


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"[]", b'{"error": 5}', b'{"error": {"message": null}}', b"\xff", b"7"],
)
def test_an_error_body_of_any_form_is_no_second_error(server, body):
    server.faults.append(Fault(status=404, body=body))
    with pytest.raises(StatusError, match="404 Not Found"):
        client_of(server.url).get("/v1/models")


def test_long_words_of_a_server_are_cut(server):
    server.faults.append(Fault(status=404, body=b'{"error": "' + b"x" * 5_000 + b'"}'))
    with pytest.raises(StatusError) as caught:
        client_of(server.url).get("/v1/models")
    assert len(caught.value.said) == 300


def test_after_close_the_next_request_opens_a_connection_of_its_own(server):
    client = client_of(server.url)
    client.get("/v1/models")
    client.close()
    client.close()
    assert client.get("/v1/models")["object"] == "list"
    client.close()


def test_a_client_that_nobody_closes_leaves_no_open_socket(server):
    client_of(server.url).get("/v1/models")
    gc.collect()  # an open socket would be a warning here, and warnings are errors


def test_a_number_that_json_does_not_have_is_not_sent(server):
    with pytest.raises(ValueError, match="not JSON compliant"):
        client_of(server.url).post("/v1/embeddings", {"input": float("nan")})
    assert server.requests == []


def test_a_name_that_does_not_resolve_says_what_to_check():
    with pytest.raises(ProviderError, match=r"cannot be reached.*rag doctor"):
        client_of("http://host.invalid").get("/")
