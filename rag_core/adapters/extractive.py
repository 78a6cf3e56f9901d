"""The proposer without a language model: it quotes the best scored sentences as they stand."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rag_core.rules.prompts import RETRIEVE_KNOWLEDGE
from rag_core.rules.selection import quotations
from rag_core.types.messages import ToolCall
from rag_core.types.proposals import MAX_EVIDENCE, ChatReply, ToolStep

if TYPE_CHECKING:
    from rag_core.types.proposals import ChatRequest
    from rag_core.types.questions import Question


class ExtractiveChat:
    """Implements `Chat`. It has no threshold of its own: abstention has already decided.

    Args:
        sentences: Most sentences of a proposal, 1 to 3.
        max_chars: Most characters that the gate publishes in all (`publish_chars`).

    Raises:
        ValueError: If `sentences` is out of range.
    """

    def __init__(self, *, sentences: int, max_chars: int = 1000) -> None:
        if not 1 <= sentences <= MAX_EVIDENCE:
            raise ValueError(f"extractive proposer: want 1 to {MAX_EVIDENCE}, got {sentences}")
        self._sentences = sentences
        self._max_chars = max_chars

    def call_tool(self, question: Question) -> ToolStep:
        """One call of `retrieve_knowledge`: like any other proposer it has no other way to text."""
        del question  # what to retrieve is the host's decision
        return ToolStep((ToolCall("call-1", RETRIEVE_KNOWLEDGE.name, "{}"),))

    def propose(self, request: ChatRequest) -> ChatReply:
        """A proposal as JSON text; every quotation is a slice of its chunk.

        Without sentences it declines. A repair gets the same reply: there is nothing to mend.
        """
        knowledge = request.knowledge
        texts = {excerpt.chunk_id: excerpt.source.text for excerpt in knowledge.excerpts}
        evidence = [
            {"source_id": chunk_id, "quote": texts[chunk_id][span.start : span.end]}
            for chunk_id, span in quotations(
                knowledge.sentences,
                knowledge.excerpts,
                limit=self._sentences,
                max_chars=self._max_chars,
            )
        ]
        proposal = {"can_answer": bool(evidence), "evidence": evidence}
        return ChatReply(json.dumps(proposal, ensure_ascii=False))
