"""A chat model as a proposer: prompts in, its raw reply out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_core.rules.prompts import RETRIEVE_KNOWLEDGE, proposal_messages, tool_step_messages
from rag_core.rules.replies import schema_of
from rag_core.types.proposals import ChatReply, ToolStep

if TYPE_CHECKING:
    from rag_core.types.ports import ChatModel
    from rag_core.types.proposals import ChatRequest, ProposalStyle
    from rag_core.types.questions import Question


class PromptedChat:
    """Implements `Chat` over any `ChatModel`; keeps nothing between questions.

    Args:
        model: The provider's model.
        style: Whether it writes quotations or picks numbered sentences.
    """

    def __init__(self, model: ChatModel, *, style: ProposalStyle) -> None:
        self._model = model
        self._style = style

    def call_tool(self, question: Question) -> ToolStep:
        """The model's calls of `retrieve_knowledge`; calls of tools that do not exist are none."""
        done = self._model.complete(tool_step_messages(question), tools=(RETRIEVE_KNOWLEDGE,))
        calls = tuple(call for call in done.tool_calls if call.name == RETRIEVE_KNOWLEDGE.name)
        return ToolStep(calls, done.text, done.input_tokens, done.output_tokens)

    def propose(self, request: ChatRequest) -> ChatReply:
        """The model's reply to the prompt, asked for as JSON of the style's schema."""
        done = self._model.complete(
            proposal_messages(request, style=self._style),
            schema=schema_of(self._style, request.knowledge.excerpts),
        )
        return ChatReply(done.text, done.cut, done.input_tokens, done.output_tokens)
