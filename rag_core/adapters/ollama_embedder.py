"""Vectors from an Ollama server, by its own API: there it refuses a text instead of cutting it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rag_core.adapters.embedding_replies import embed_by
from rag_core.adapters.ollama_models import context_length, foreign_reply, installed_model
from rag_core.types.index import EmbeddingContract

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_core.adapters.json_client import JsonClient
    from rag_core.types.chunks import FloatMatrix
    from rag_core.types.profiles import EmbeddingSettings

PATH = "/api/embed"


class OllamaEmbedder:
    """Implements `Embedder`. Nothing is sent before the first use.

    Args:
        settings: The profile's embedding section.
        client: Of the server that it names.
    """

    def __init__(self, settings: EmbeddingSettings, client: JsonClient) -> None:
        self._settings = settings
        self._client = client
        self._what = f"ollama {settings.model}"
        # What the server told, if it was asked. Threads that start together may ask twice: none
        # waits for the request of another, which may hang.
        self._digest: str | None = None
        self._told_context: tuple[int | None] | None = None

    @property
    def contract(self) -> EmbeddingContract:
        """The space of the vectors, with the model's digest as the server reports it.

        Raises:
            ProviderError: If the server cannot be asked or lacks the model.
        """
        settings = self._settings
        digest = self._digest
        if digest is None:
            digest = self._digest = installed_model(self._client, settings.model).digest
        return EmbeddingContract(
            provider=settings.provider,
            endpoint=self._client.endpoint,
            model=settings.model,
            model_digest=digest,
            dimension=settings.dimension,
            document_template=settings.document_template,
            query_template=settings.query_template,
        )

    @property
    def concurrency(self) -> int:
        """As the profile says."""
        return self._settings.http.concurrency

    def forget(self) -> None:
        """Ask the server again, at the next use, for the model's digest and context."""
        self._digest = None
        self._told_context = None

    def windows(self, texts: Sequence[str]) -> tuple[int, ...]:
        """Always 1: a text is read whole, or the request fails."""
        return tuple(1 for _ in texts)

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """One vector per text in order, as `Embedder` says."""
        return embed_by(
            self._ask,
            texts,
            what=self._what,
            dimension=self._settings.dimension,
            context_tokens=self._context(),
        )

    def _ask(self, texts: Sequence[str]) -> tuple[list[Any], int]:
        body: dict[str, Any] = {
            "model": self._settings.model,
            "input": list(texts),
            "truncate": False,
        }
        context = self._context()
        if context is not None:
            body["options"] = {"num_ctx": context}
        reply = self._client.post(PATH, body)
        rows = reply.get("embeddings") if isinstance(reply, dict) else None
        tokens = reply.get("prompt_eval_count") if isinstance(reply, dict) else None
        if not isinstance(rows, list):
            raise foreign_reply(self._client, PATH, "a list of embeddings")
        if type(tokens) is not int or tokens < 1:
            raise foreign_reply(self._client, PATH, "a count of tokens (prompt_eval_count)")
        return rows, tokens

    def _context(self) -> int | None:
        if self._settings.context_tokens is not None:
            return self._settings.context_tokens
        told = self._told_context
        if told is None:
            told = self._told_context = (context_length(self._client, self._settings.model),)
        return told[0]
