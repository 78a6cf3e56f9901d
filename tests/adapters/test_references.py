"""Where an address or a key stands, and what an address may look like."""

from __future__ import annotations

import pytest

from rag_core.adapters.references import ollama_endpoint, openai_endpoint, resolve
from rag_core.errors import UsageError


def test_a_variable_is_read_without_the_space_around_it(monkeypatch):
    monkeypatch.setenv("RAG_TEST_KEY", " sk-0123\n")
    assert resolve("env:RAG_TEST_KEY") == "sk-0123"


@pytest.mark.parametrize("value", [None, "", "  \n"], ids=["unset", "empty", "blank"])
def test_a_variable_that_says_nothing_is_named(monkeypatch, value):
    monkeypatch.delenv("RAG_TEST_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("RAG_TEST_KEY", value)
    with pytest.raises(UsageError, match="environment variable RAG_TEST_KEY is not set"):
        resolve("env:RAG_TEST_KEY")


def test_a_block_is_read_by_who_knows_blocks():
    assert resolve("block:my-key", read_block=lambda name: f"{name}-value\n") == "my-key-value"


def test_a_block_without_a_value_is_named():
    with pytest.raises(UsageError, match="block:my-key: the block is empty"):
        resolve("block:my-key", read_block=lambda _: " ")


def test_a_block_where_nobody_knows_blocks_says_what_to_use():
    with pytest.raises(UsageError, match=r"block:my-key.*env:NAME"):
        resolve("block:my-key")


@pytest.mark.parametrize("text", ["http://127.0.0.1:11434", "https://host/v1", "plain"])
def test_anything_else_is_the_text_itself(text):
    assert resolve(text) == text


@pytest.mark.parametrize(
    ("value", "endpoint"),
    [
        pytest.param("127.0.0.1:8080", "http://127.0.0.1:8080", id="host and port"),
        pytest.param("gpu-box", "http://gpu-box:11434", id="a host alone"),
        pytest.param("gpu-box/ollama", "http://gpu-box:11434/ollama", id="a path behind it"),
        pytest.param("0.0.0.0", "http://127.0.0.1:11434", id="all addresses"),  # noqa: S104
        pytest.param("0.0.0.0:8080", "http://127.0.0.1:8080", id="all addresses and a port"),
        pytest.param("[::]", "http://[::1]:11434", id="all addresses of IPv6"),
        pytest.param("[fe80::1]:8080", "http://[fe80::1]:8080", id="IPv6"),
        pytest.param(":8080", "http://127.0.0.1:8080", id="a port alone"),
        pytest.param("u:p@box", "http://u:p@box:11434", id="credentials"),
        pytest.param("http://box", "http://box", id="a scheme brings its own port"),
        pytest.param("http://box:8080/", "http://box:8080", id="a trailing slash"),
        pytest.param("https://box/ollama", "https://box/ollama", id="https"),
    ],
)
def test_ollama_takes_what_its_own_variable_takes(value, endpoint):
    assert ollama_endpoint(value) == endpoint


@pytest.mark.parametrize("value", ["https://u:p@host/v1?key=x/", "https://host/v1/?version=2"])
def test_an_openai_address_keeps_credentials_path_and_query(value):
    assert openai_endpoint(value) == value


@pytest.mark.parametrize("read", [ollama_endpoint, openai_endpoint])
@pytest.mark.parametrize(
    "value",
    [
        pytest.param("ftp://pass-word@host", id="another scheme"),
        pytest.param("http://pass-word@", id="no host"),
        pytest.param("http://pass-word@host:port", id="no port"),
        pytest.param("http://pass-word@host:0", id="port 0"),
        pytest.param("http://pass-word@host:70000", id="a port beyond all"),
        pytest.param("http://pass-word@host\n/v1", id="a line break"),
        pytest.param("http://pass-word@[host", id="half a bracket"),
        pytest.param("http://ho st/pass-word", id="a space"),
    ],
)
def test_what_is_no_address_is_refused_and_not_repeated(read, value):
    with pytest.raises(UsageError, match="endpoint: the profile's address") as caught:
        read(value)
    assert "pass-word" not in str(caught.value)


def test_an_ollama_address_is_not_empty():
    with pytest.raises(UsageError, match="want host:11434"):
        ollama_endpoint("")


@pytest.mark.parametrize("value", ["", "/v1", "host", "host:80"])
def test_an_openai_address_needs_its_scheme(value):
    with pytest.raises(UsageError, match="https://host/v1"):
        openai_endpoint(value)
