"""Replies are read in the style that was asked for."""

from __future__ import annotations

import pytest

from builders import make_excerpt
from rag_core.rules.replies import read_reply, schema_of
from rag_core.types.proposals import (
    AnswerProposal,
    ChatReply,
    Evidence,
    MalformedReply,
    ProposalStyle,
)

TEXT = "The seal is blue and never removed."
EXCERPTS = (make_excerpt(TEXT),)
PROPOSAL = AnswerProposal(True, (Evidence("DOC#0", TEXT),))
REPLIES = {
    ProposalStyle.QUOTES: f'{{"can_answer": true, "evidence": [{{"source_id": "DOC#0", "quote": "{TEXT}"}}]}}',  # noqa: E501
    ProposalStyle.HANDLES: '{"can_answer": true, "evidence": ["1.1"]}',
}


@pytest.mark.parametrize("style", ProposalStyle)
def test_both_styles_come_to_the_same_proposal(style):
    assert read_reply(ChatReply(REPLIES[style]), style=style, excerpts=EXCERPTS) == PROPOSAL


@pytest.mark.parametrize("style", ProposalStyle)
def test_a_reply_in_the_other_style_is_malformed(style):
    (other,) = set(ProposalStyle) - {style}
    read = read_reply(ChatReply(REPLIES[other]), style=style, excerpts=EXCERPTS)
    assert isinstance(read, MalformedReply)


@pytest.mark.parametrize("style", ProposalStyle)
def test_a_reply_that_was_cut_is_malformed_even_where_it_reads_well(style):
    read = read_reply(ChatReply(REPLIES[style], cut=True), style=style, excerpts=EXCERPTS)
    assert read == MalformedReply("the reply was cut at the output limit; quote less")


def test_each_style_has_a_schema_of_its_own():
    written = schema_of(ProposalStyle.QUOTES, EXCERPTS)["properties"]["evidence"]["items"]
    assert written["properties"]["source_id"]["enum"] == ["DOC#0"]
    assert written["properties"]["quote"] == {"type": "string"}
    enumerated = schema_of(ProposalStyle.HANDLES, EXCERPTS)["properties"]["evidence"]["items"]
    assert enumerated["enum"] == ["1.1"]
