"""Vectors from any server that speaks OpenAI's `/v1/embeddings`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rag_core.adapters.embedding_replies import embed_by
from rag_core.errors import ProviderError
from rag_core.types.index import EmbeddingContract

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_core.adapters.json_client import JsonClient
    from rag_core.types.chunks import FloatMatrix
    from rag_core.types.profiles import EmbeddingSettings

PATH = "/embeddings"


class OpenAiEmbedder:
    """Implements `Embedder`. The API reports no digest, so that canaries alone know the model.

    Args:
        settings: The profile's embedding section.
        client: Of the server that it names; its address ends with the API's version.
    """

    def __init__(self, settings: EmbeddingSettings, client: JsonClient) -> None:
        self._settings = settings
        self._client = client
        self._what = f"openai-compatible {settings.model}"

    @property
    def contract(self) -> EmbeddingContract:
        """The space of the vectors; nothing is asked for it."""
        settings = self._settings
        return EmbeddingContract(
            provider=settings.provider,
            endpoint=self._client.endpoint,
            model=settings.model,
            model_digest=None,
            dimension=settings.dimension,
            document_template=settings.document_template,
            query_template=settings.query_template,
        )

    @property
    def concurrency(self) -> int:
        """As the profile says."""
        return self._settings.http.concurrency

    def forget(self) -> None:
        """Nothing is kept that this API could tell."""

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
            context_tokens=self._settings.context_tokens,
        )

    def _ask(self, texts: Sequence[str]) -> tuple[list[Any], int | None]:
        body = {
            "model": self._settings.model,
            "input": list(texts),
            "encoding_format": "float",
        }
        reply = self._client.post(PATH, body)
        data = reply.get("data") if isinstance(reply, dict) else None
        if not isinstance(data, list):
            raise self._broken("a reply without a list of data")
        rows: dict[int, Any] = {}
        for item in data:
            index = item.get("index") if isinstance(item, dict) else None
            # Vectors belong to the index that they carry, not to their place in the list.
            if type(index) is not int or index in rows or not 0 <= index < len(texts):
                shown = index if type(index) is int else f"of type {type(index).__name__}"
                raise self._broken(f"the index {shown} among {len(texts)} texts")
            rows[index] = item.get("embedding")
        if len(rows) != len(texts):
            raise self._broken(f"{len(rows)} vectors for {len(texts)} texts")
        usage = reply.get("usage")
        tokens = usage.get("prompt_tokens") if isinstance(usage, dict) else None
        counted = tokens if type(tokens) is int and tokens > 0 else None
        return [rows[index] for index in range(len(texts))], counted

    def _broken(self, found: str) -> ProviderError:
        return ProviderError(
            f"{self._what} at {self._client.endpoint}{PATH}: found {found}, expected one vector "
            "for each index from 0. Check that the address is that of an OpenAI-compatible API"
        )
