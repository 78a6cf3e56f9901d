"""What a proposer is asked and what it says. Nothing in here is trusted."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rag_core.types.messages import ToolCall
from rag_core.types.questions import Question
from rag_core.types.retrieval import Excerpt, ScoredSentence

MAX_EVIDENCE = 3
"""Most entries of a proposal, and most texts of an answer."""


class Variant(StrEnum):
    """How a proposer gets its excerpts; retrieval, selection and gate are the same for all."""

    DIRECT = "direct"
    """The host puts them into the prompt."""
    TOOL = "tool"
    """A first step sees the question alone and must call a tool for them."""
    CONTEXT = "context"
    """A context provider injects them before the model is invoked."""


class ProposalStyle(StrEnum):
    """How a proposer names its evidence; both come to the same `AnswerProposal`."""

    QUOTES = "quotes"
    """It writes each quotation out."""
    HANDLES = "handles"
    """It picks numbered sentences."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A claimed quotation: `source_id` should be a chunk id of this run, `quote` its words."""

    source_id: str
    quote: str


@dataclass(frozen=True, slots=True)
class AnswerProposal:
    """A well-formed proposal; the gate decides what it is worth."""

    can_answer: bool
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class MalformedReply:
    """A reply that is no proposal, and what is wrong with it."""

    problem: str


@dataclass(frozen=True, slots=True)
class ToolNotCalled:
    """The first step of the variant `tool` made no call, so there is nothing to propose from."""


@dataclass(frozen=True, slots=True)
class Repair:
    """Asks once more: the reply that could not be read, and why."""

    reply: str
    problem: str


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What a proposer gets to read: the excerpts that the host admitted for this question."""

    excerpts: tuple[Excerpt, ...]
    sentences: tuple[ScoredSentence, ...]
    """Already scored; the extractive proposer chooses among them, chat models do not see them."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """The input of one proposal."""

    question: Question
    knowledge: Knowledge
    variant: Variant = Variant.DIRECT
    tool_calls: tuple[ToolCall, ...] = ()
    """The calls whose result the knowledge is, under the variant `tool`."""
    repair: Repair | None = None


@dataclass(frozen=True, slots=True)
class ToolStep:
    """What the first step of the variant `tool` did, given the question and nothing else."""

    calls: tuple[ToolCall, ...]
    """Calls of `retrieve_knowledge`; empty if it made none."""
    text: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ChatReply:
    """The model's words, unread, with what the provider says they cost."""

    text: str
    cut: bool = False
    """The provider stopped at its output limit."""
    input_tokens: int | None = None
    output_tokens: int | None = None
