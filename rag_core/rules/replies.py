"""From a chat reply to a proposal, in the style that was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rag_core.rules.handles import handle_schema, numbered_sentences, parse_handles
from rag_core.rules.proposals import parse_reply, quote_schema
from rag_core.types.proposals import MalformedReply, ProposalStyle

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rag_core.types.proposals import AnswerProposal, ChatReply
    from rag_core.types.retrieval import Excerpt


def schema_of(style: ProposalStyle, excerpts: Sequence[Excerpt]) -> Mapping[str, Any]:
    """The JSON schema that a provider is asked to enforce; its reply is checked all the same."""
    match style:
        case ProposalStyle.QUOTES:
            return quote_schema(tuple(excerpt.chunk_id for excerpt in excerpts))
        case ProposalStyle.HANDLES:
            return handle_schema(numbered_sentences(excerpts))


def read_reply(
    reply: ChatReply, *, style: ProposalStyle, excerpts: Sequence[Excerpt]
) -> AnswerProposal | MalformedReply:
    """The proposal that a reply states, or why it states none; a reply that was cut states none."""
    if reply.cut:
        return MalformedReply("the reply was cut at the output limit; quote less")
    match style:
        case ProposalStyle.QUOTES:
            return parse_reply(reply.text)
        case ProposalStyle.HANDLES:
            return parse_handles(reply.text, numbered_sentences(excerpts))
