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


@dataclass(frozen=True, slots=True)
class Proposed:
    """What a proposer said, read, and how often each party was called for it."""

    reply: AnswerProposal | MalformedReply | ToolNotCalled
    chat_calls: int
    """Requests to the proposer: the tool step and the repair are requests too."""
    repair_calls: int = 0
    tool_calls: int = 0
    context_calls: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None


class HeldKnowledge:
    """The excerpts of one retrieval, held by the host behind a tool and a context provider.

    Neither searches: both return what retrieval admitted, whoever asks and whatever for. Calls
    are counted, and nothing is remembered from question to question.
    """

    def __init__(self, retrieval: Retrieval) -> None:
        self._knowledge = Knowledge(retrieval.excerpts, retrieval.sentences)
        self.tool_calls = 0
        self.context_calls = 0

    def direct(self) -> Knowledge:
        """For the prompt that the host writes itself."""
        return self._knowledge

    def retrieve_knowledge(self) -> Knowledge:
        """The tool of the variant `tool`."""
        self.tool_calls += 1
        return self._knowledge

    def provide_context(self) -> Knowledge:
        """The hook of the variant `context`, called before the model is invoked."""
        self.context_calls += 1
        return self._knowledge


def propose(
    retrieval: Retrieval,
    *,
    make_chat: Callable[[], Chat],
    variant: Variant,
    style: ProposalStyle,
) -> Proposed:
    """Ask a new chat client for a proposal; a malformed reply gets one repair attempt.

    Raises:
        ProviderError: If the provider fails.
    """
    chat = make_chat()
    held = HeldKnowledge(retrieval)
    step: ToolStep | None = None
    match variant:
        case Variant.DIRECT:
            request = ChatRequest(retrieval.question, held.direct())
        case Variant.CONTEXT:
            request = ChatRequest(retrieval.question, held.provide_context(), variant)
        case Variant.TOOL:
            step = chat.call_tool(retrieval.question)
            results = [held.retrieve_knowledge() for _ in step.calls]
            if not results:
                return _counted(ToolNotCalled(), held, (step,))
            request = ChatRequest(retrieval.question, results[0], variant, step.calls)
    first = chat.propose(request)
    read = read_reply(first, style=style, excerpts=retrieval.excerpts)
    if not isinstance(read, MalformedReply):
        return _counted(read, held, (step, first))
    repair = Repair(reply=first.text, problem=read.problem)
    second = chat.propose(replace(request, repair=repair))
    read = read_reply(second, style=style, excerpts=retrieval.excerpts)
    return replace(_counted(read, held, (step, first, second)), repair_calls=1)


def _counted(
    reply: AnswerProposal | MalformedReply | ToolNotCalled,
    held: HeldKnowledge,
    exchanges: tuple[ToolStep | ChatReply | None, ...],
) -> Proposed:
    made = [exchange for exchange in exchanges if exchange is not None]
    return Proposed(
        reply=reply,
        chat_calls=len(made),
        tool_calls=held.tool_calls,
        context_calls=held.context_calls,
        input_tokens=_sum([exchange.input_tokens for exchange in made]),
        output_tokens=_sum([exchange.output_tokens for exchange in made]),
    )


def _sum(counts: list[int | None]) -> int | None:
    """The sum of what the provider told; None if it told nothing."""
    told = [count for count in counts if count is not None]
    return sum(told) if told else None
