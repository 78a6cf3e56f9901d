"""One server for each test, and clients that note their pauses instead of sleeping."""

from __future__ import annotations

import signal
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from model_server import CHAT_MODEL, DIMENSION, EMBEDDING_MODEL, ModelServer

from rag_core.adapters.json_client import JsonClient
from rag_core.types.profiles import ChatSettings, EmbeddingSettings, HttpSettings

NOW = datetime(2026, 12, 1, 9, 30, tzinfo=UTC)


@pytest.fixture(autouse=True)
def interruptible():
    """A process that was started in the background ignores SIGINT; these tests send it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def server():
    with ModelServer() as running:
        yield running


@pytest.fixture
def pauses() -> list[float]:
    """The pauses of all clients of the test, in seconds."""
    return []


@pytest.fixture
def connect(server, pauses):
    """Makes clients of the server; they are closed with the test."""
    clients = []

    def make(provider: str, *, api_key: str | None = None, **limits: Any) -> JsonClient:
        path = "/v1" if provider == "openai-compatible" else ""
        client = JsonClient(
            server.url + path,
            what=f"{provider} test",
            settings=http_settings(**limits),
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


def http_settings(**limits: Any) -> HttpSettings:
    return HttpSettings.model_validate(
        {"timeout_s": 10.0, "attempts": 3, "max_wait_s": 5.0, "concurrency": 4} | limits
    )


def embedding_settings(provider: str, **changes: Any) -> EmbeddingSettings:
    values: dict[str, Any] = {
        "provider": provider,
        "endpoint": "http://127.0.0.1:1",
        "model": EMBEDDING_MODEL,
        "dimension": DIMENSION,
        "document_template": "{title}\n{text}",
        "query_template": "{text}",
    }
    return EmbeddingSettings.model_validate(values | changes)


def chat_settings(provider: str, **changes: Any) -> ChatSettings:
    values: dict[str, Any] = {
        "provider": provider,
        "endpoint": "http://127.0.0.1:1",
        "model": CHAT_MODEL,
        "max_tokens": 256,
        "context_tokens": 4096,
    }
    return ChatSettings.model_validate(values | changes)


@pytest.fixture
def make_settings() -> dict[str, Callable[..., Any]]:
    """Settings by section, for the provider under test."""
    return {"embedding": embedding_settings, "chat": chat_settings}
