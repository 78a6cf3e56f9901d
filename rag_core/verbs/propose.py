"""Asks a proposer for evidence, in one of three variants, with at most one repair.

The variants differ in how the excerpts reach the proposer. Which excerpts there are was decided
before, by retrieval, and what becomes of the proposal is decided afterwards, by the gate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rag_core.rules.replies import read_reply
from rag_core.types.proposals import (
    AnswerProposal,
    ChatRequest,
    Knowledge,
    MalformedReply,
    ProposalStyle,
    Repair,
    ToolNotCalled,
    Variant,
)

if TYPE_CHECKING:
    from rag_core.types.ports import Chat
    from rag_core.types.proposals import ChatReply, ToolStep
    from rag_core.types.retrieval import Retrieval


Reply = AnswerProposal | MalformedReply | ToolNotCalled
"""What a proposer said, read."""


@dataclass(slots=True)
class Tally:
    """How often each party was called for one answer, also where the answer failed half way."""

    chat_calls: int = 0
    """Requests to the proposer: the tool step and the repair are requests too."""
    repair_calls: int = 0
    tool_calls: int = 0
    context_calls: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None

    def add_tokens(self, exchange: ToolStep | ChatReply) -> None:
        """What the provider says that one exchange cost; nothing is added where it says nothing."""
        self.input_tokens = _sum(self.input_tokens, exchange.input_tokens)
        self.output_tokens = _sum(self.output_tokens, exchange.output_tokens)


class HeldKnowledge:
    """The excerpts of one retrieval, held by the host behind a tool and a context provider.

    Neither searches: both return what retrieval admitted, whoever asks and whatever for. Calls
    are counted, and nothing is remembered from question to question.
    """

    def __init__(self, retrieval: Retrieval, tally: Tally) -> None:
        self._knowledge = Knowledge(retrieval.excerpts, retrieval.sentences)
        self._tally = tally

    def direct(self) -> Knowledge:
        """For the prompt that the host writes itself."""
        return self._knowledge

    def retrieve_knowledge(self) -> Knowledge:
        """The tool of the variant `tool`."""
        self._tally.tool_calls += 1
        return self._knowledge

    def provide_context(self) -> Knowledge:
        """The hook of the variant `context`, called before the model is invoked."""
        self._tally.context_calls += 1
        return self._knowledge


def propose(
    retrieval: Retrieval,
    *,
    make_chat: Callable[[], Chat],
    variant: Variant,
    style: ProposalStyle,
    tally: Tally,
) -> Reply:
    """Ask a chat client for a proposal; a malformed reply gets one repair attempt.

    Args:
        retrieval: Whose excerpts may be quoted.
        make_chat: Makes the client, or returns the process's own.
        variant: How the excerpts reach it.
        style: How it names its evidence.
        tally: Counts each call as it is made.

    Raises:
        ProviderError: If the provider fails.
    """
    chat = make_chat()
    held = HeldKnowledge(retrieval, tally)
    match variant:
        case Variant.DIRECT:
            request = ChatRequest(retrieval.question, held.direct())
        case Variant.CONTEXT:
            request = ChatRequest(retrieval.question, held.provide_context(), variant)
        case Variant.TOOL:
            tally.chat_calls += 1
            step = chat.call_tool(retrieval.question)
            tally.add_tokens(step)
            results = [held.retrieve_knowledge() for _ in step.calls]
            if not results:
                return ToolNotCalled()
            request = ChatRequest(retrieval.question, results[0], variant, step.calls)
    read, said = _ask(chat, request, style, tally)
    if not isinstance(read, MalformedReply):
        return read
    tally.repair_calls += 1
    repair = Repair(reply=said, problem=read.problem)
    read, _ = _ask(chat, replace(request, repair=repair), style, tally)
    return read


def _ask(
    chat: Chat, request: ChatRequest, style: ProposalStyle, tally: Tally
) -> tuple[AnswerProposal | MalformedReply, str]:
    """One reply, read, and its words."""
    tally.chat_calls += 1
    reply = chat.propose(request)
    tally.add_tokens(reply)
    return read_reply(reply, style=style, excerpts=request.knowledge.excerpts), reply.text


def _sum(one: int | None, other: int | None) -> int | None:
    told = [count for count in (one, other) if count is not None]
    return sum(told) if told else None
