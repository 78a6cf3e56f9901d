"""What a proposer is asked and what it says. Nothing in here is trusted."""

from __future__ import annotations

from dataclasses import dataclass

from rag_core.types.questions import Question
from rag_core.types.retrieval import Excerpt, ScoredSentence

MAX_EVIDENCE = 3
"""Most entries of a proposal, and most texts of an answer."""


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
class Repair:
    """Asks once more: the reply that could not be read, and why."""

    reply: str
    problem: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """The input of one proposal."""

    question: Question
    excerpts: tuple[Excerpt, ...]
    sentences: tuple[ScoredSentence, ...]
    """Already scored; the extractive proposer chooses among them, chat models do not see them."""
    repair: Repair | None = None


@dataclass(frozen=True, slots=True)
class ChatReply:
    """The model's words, unread, with what the provider says they cost."""

    text: str
    input_tokens: int | None = None
    output_tokens: int | None = None
