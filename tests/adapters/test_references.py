"""Addresses and keys by name: what may be written, and what an error never repeats."""

from __future__ import annotations

import pytest

from rag_core.adapters.references import ollama_endpoint, openai_endpoint, resolve
from rag_core.errors import UsageError


def test_a_plain_address_is_itself():
    assert resolve("http://host:1/v1") == "http://host:1/v1"


def test_an_environment_variable_is_read_by_its_name(monkeypatch):
    monkeypatch.setenv("MODELS_KEY", " value \n")
    assert resolve("env:MODELS_KEY") == "value"


@pytest.mark.parametrize("value", [None, "", "  "], ids=["unset", "empty", "blank"])
def test_a_variable_without_a_value_is_named(monkeypatch, value):
    monkeypatch.delenv("MODELS_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("MODELS_KEY", value)
    with pytest.raises(UsageError, match="the environment variable MODELS_KEY is not set"):
        resolve("env:MODELS_KEY")


def test_a_block_is_read_by_who_can():
    assert resolve("block:models", read_block=lambda name: f"value of {name}") == "value of models"


def test_a_block_where_nobody_reads_any_says_what_to_do():
    with pytest.raises(UsageError, match=r"by flows only. Name an environment variable"):
        resolve("block:models")


@pytest.mark.parametrize(
    ("value", "address"),
    [
        pytest.param("127.0.0.1:11434", "http://127.0.0.1:11434", id="host and port"),
        pytest.param("models.local", "http://models.local:11434", id="host alone"),
        pytest.param("0.0.0.0", "http://127.0.0.1:11434", id="all addresses"),  # noqa: S104
        pytest.param("http://host:8080/", "http://host:8080", id="an address"),
        pytest.param("https://host", "https://host", id="a port of its scheme"),
        pytest.param("[::1]:11434", "http://[::1]:11434", id="IPv6"),
    ],
)
def test_ollama_takes_what_its_own_variable_takes(value, address):
    assert ollama_endpoint(value) == address


def test_an_openai_address_keeps_its_path_and_query():
    assert openai_endpoint("https://host/v1/?version=2") == "https://host/v1/?version=2"


@pytest.mark.parametrize("endpoint", [openai_endpoint, ollama_endpoint])
@pytest.mark.parametrize(
    "value",
    [
        pytest.param("ftp://me:secret@host", id="another scheme"),
        pytest.param("http://", id="no host"),
        pytest.param("http://me:secret@[::1", id="half an address"),
        pytest.param("http://host:secret", id="a port that is no number"),
        pytest.param("http://ho st/secret", id="a space"),
        pytest.param("", id="nothing"),
    ],
)
def test_what_is_no_address_is_refused_and_not_repeated(endpoint, value):
    with pytest.raises(UsageError, match="endpoint: the profile's address") as caught:
        endpoint(value)
    assert "secret" not in str(caught.value)
