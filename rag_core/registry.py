"""The one list of providers: which adapter stands behind which name in a profile.

Registering a provider here is all that it takes; the conformance suites run over these lists.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rag_core.adapters.extractive import ExtractiveChat
from rag_core.adapters.json_client import JsonClient
from rag_core.adapters.minilm import MiniLmEmbedder
from rag_core.adapters.ollama_chat import OllamaChat
from rag_core.adapters.ollama_embedder import OllamaEmbedder
from rag_core.adapters.openai_chat import OpenAiChat
from rag_core.adapters.openai_embedder import OpenAiEmbedder
from rag_core.adapters.prompted_chat import PromptedChat
from rag_core.adapters.references import ollama_endpoint, openai_endpoint, resolve

if TYPE_CHECKING:
    from rag_core.types.ports import Chat, ChatModel, Embedder
    from rag_core.types.profiles import ChatSettings, EmbeddingSettings, Profile

ReadBlock = Callable[[str], str]
"""Loads the Prefect Secret block of a name; flows bring it, nothing in here knows Prefect."""

Connect = Callable[["EmbeddingSettings | ChatSettings", Callable[[str], str]], JsonClient]
"""A client for a section of the profile; the second argument brings its address into form."""

EMBEDDERS: Final[Mapping[str, Callable[[EmbeddingSettings, Connect], Embedder]]] = {
    "embedded": lambda settings, _: MiniLmEmbedder(settings),
    "ollama": lambda settings, connect: OllamaEmbedder(
        settings, connect(settings, ollama_endpoint)
    ),
    "openai-compatible": lambda settings, connect: OpenAiEmbedder(
        settings, connect(settings, openai_endpoint)
    ),
}

CHAT_MODELS: Final[Mapping[str, Callable[[ChatSettings, Connect], ChatModel]]] = {
    "ollama": lambda settings, connect: OllamaChat(settings, connect(settings, ollama_endpoint)),
    "openai-compatible": lambda settings, connect: OpenAiChat(
        settings, connect(settings, openai_endpoint)
    ),
}


@dataclass
class Providers:
    """Makes the models of profiles, and holds their connections until they are closed."""

    read_block: ReadBlock | None = None
    clients: list[JsonClient] = field(default_factory=list)

    def embedder(self, profile: Profile) -> Embedder:
        """The profile's embedder; no model is loaded and nothing is sent yet.

        Raises:
            UsageError: If an address or key that the profile names is not there.
        """
        return EMBEDDERS[profile.embedding.provider](profile.embedding, self._connect)

    def chat_model(self, profile: Profile) -> ChatModel | None:
        """The profile's chat model; None where it proposes without one.

        Raises:
            UsageError: If an address or key that the profile names is not there.
        """
        make = CHAT_MODELS.get(profile.chat.provider)
        return None if make is None else make(profile.chat, self._connect)

    def chat(self, profile: Profile) -> Chat:
        """The profile's proposer: the extractive one, or its chat model under prompts.

        Raises:
            UsageError: If an address or key that the profile names is not there.
        """
        model = self.chat_model(profile)
        if model is not None:
            return PromptedChat(model, style=profile.chat.style)
        most = profile.gate.publish_chars
        return ExtractiveChat(sentences=profile.chat.sentences, max_chars=most)

    def close(self) -> None:
        """Close all connections; a later request opens its own again."""
        for client in self.clients:
            client.close()

    def _connect(
        self, settings: EmbeddingSettings | ChatSettings, endpoint: Callable[[str], str]
    ) -> JsonClient:
        named, key = settings.endpoint, settings.api_key
        if named is None:  # the profile's own rules exclude it
            raise ValueError(f"provider {settings.provider!r}: want an endpoint, got none")
        client = JsonClient(
            endpoint(resolve(named, read_block=self.read_block)),
            what=f"{settings.provider} {settings.model}",
            settings=settings.http,
            api_key=None if key is None else resolve(key, read_block=self.read_block),
        )
        self.clients.append(client)
        return client
