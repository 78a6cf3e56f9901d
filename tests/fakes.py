"""Fakes for fault injection. Each obeys the production protocol and fails only on request."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np

from rag_core.errors import ProviderError
from rag_core.rules.prompts import RETRIEVE_KNOWLEDGE
from rag_core.types.index import EmbeddingContract
from rag_core.types.messages import ToolCall
from rag_core.types.proposals import ChatReply, ChatRequest, ToolStep
from rag_core.types.questions import Question


class StoppedClock:
    """A clock that moves only when told to."""

    def __init__(self, at: datetime = datetime(2026, 12, 1, 9, 30, tzinfo=UTC)) -> None:
        self.at = at
        self.elapsed_s = 0.0

    def now(self) -> datetime:
        return self.at

    def seconds(self) -> float:
        return self.elapsed_s


@dataclass
class KnownVectors:
    """An embedder with known vectors: by marker word, else drawn from the text's SHA-256.

    `vectors` maps a marker to its vector; the first marker (in sorted order) that a text holds
    decides. `fail_after` lets that many requests through and then raises `ProviderError`.
    """

    vectors: Mapping[str, Sequence[float]] = field(default_factory=dict)
    dimension: int = 8
    model: str = "known-vectors"
    provider: str = "test"
    window_chars: int | None = None
    """Characters that the model reads at once; None for a model that reads any text."""
    fail_after: int | None = None
    concurrency: int = 1
    spoil: Callable[[np.ndarray], np.ndarray] = lambda vectors: vectors
    requests: list[tuple[str, ...]] = field(default_factory=list)

    @property
    def contract(self) -> EmbeddingContract:
        return EmbeddingContract(
            provider=self.provider,
            endpoint=None,
            model=self.model,
            model_digest=None,
            dimension=self.dimension,
            document_template="{title}\n{text}",
            query_template="{text}",
        )

    def forget(self) -> None:
        pass

    def windows(self, texts: Sequence[str]) -> tuple[int, ...]:
        if self.window_chars is None:
            return tuple(1 for _ in texts)
        return tuple(-(-len(text) // self.window_chars) for text in texts)

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        if self.fail_after is not None and len(self.requests) >= self.fail_after:
            raise ProviderError("the embedder was told to fail")
        self.requests.append(tuple(texts))
        return self.spoil(np.array([self._vector(text) for text in texts], dtype=np.float32))

    def _vector(self, text: str) -> Sequence[float]:
        for marker in sorted(self.vectors):
            if marker in text:
                return self.vectors[marker]
        seed = int.from_bytes(hashlib.sha256(f"{self.model} {text}".encode()).digest()[:8])
        return list(np.random.default_rng(seed).standard_normal(self.dimension))


@dataclass
class ScriptedChat:
    """A chat that replies from a script, and keeps what it was asked."""

    replies: list[str]
    asked: list[ChatRequest] = field(default_factory=list)
    calls: int = 1
    """How often its tool step calls the tool."""
    tool_steps: list[Question] = field(default_factory=list)

    def call_tool(self, question: Question) -> ToolStep:
        self.tool_steps.append(question)
        name = RETRIEVE_KNOWLEDGE.name
        calls = tuple(ToolCall(f"call-{n}", name, "{}") for n in range(self.calls))
        return ToolStep(calls, input_tokens=7, output_tokens=3)

    def propose(self, request: ChatRequest) -> ChatReply:
        self.asked.append(request)
        text = self.replies[len(self.asked) - 1]
        return ChatReply(text, input_tokens=10, output_tokens=5)


def no_chat() -> ScriptedChat:
    """A factory for questions that must be refused before any chat client is made."""
    raise AssertionError("a chat client was constructed")
