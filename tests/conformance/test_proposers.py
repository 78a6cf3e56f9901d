"""What every proposer keeps, whoever stands behind it: the extractive rule, or any chat model."""

from __future__ import annotations

import json
from datetime import date

import pytest
from model_server import Turn

from builders import make_excerpt, make_source
from rag_core.adapters.extractive import ExtractiveChat
from rag_core.adapters.prompted_chat import PromptedChat
from rag_core.registry import CHAT_MODELS
from rag_core.rules.prompts import RETRIEVE_KNOWLEDGE
from rag_core.rules.replies import read_reply
from rag_core.rules.segmentation import sentence_spans
from rag_core.rules.sentence_scores import candidate_sentences, score_sentences
from rag_core.types.proposals import (
    AnswerProposal,
    ChatRequest,
    Evidence,
    Knowledge,
    MalformedReply,
    ProposalStyle,
    Repair,
    Variant,
)
from rag_core.types.questions import Question

TEXT = "The seal of the pump is blue. It is never removed by a customer."
QUOTE = "The seal of the pump is blue."
QUESTION = Question("What colour is the seal?", date(2026, 12, 1), ("public",))
EXCERPT = make_excerpt(make_source(TEXT, id="SEAL", sentences=sentence_spans(TEXT, "en")))
PROPOSED = AnswerProposal(True, (Evidence("SEAL#0", QUOTE),))
WRITTEN = {
    ProposalStyle.QUOTES: {
        "can_answer": True,
        "evidence": [{"source_id": "SEAL#0", "quote": QUOTE}],
    },
    ProposalStyle.HANDLES: {"can_answer": True, "evidence": ["1.1"]},
}
PROPOSERS = (
    ("extractive", ProposalStyle.QUOTES),
    *((name, style) for name in sorted(CHAT_MODELS) for style in ProposalStyle),
)


@pytest.fixture(params=PROPOSERS, ids=lambda pair: f"{pair[0]}, {pair[1]}")
def proposer(request, connect, make_settings, server):
    """A proposer with its style; the server behind it writes the proposal in that style."""
    name, style = request.param
    if name == "extractive":
        return ExtractiveChat(sentences=1), style
    server.script.append(Turn(json.dumps(WRITTEN[style])))
    model = CHAT_MODELS[name](make_settings["chat"](name), lambda *_: connect(name))
    return PromptedChat(model, style=style), style


def knowledge() -> Knowledge:
    candidates = candidate_sentences((EXCERPT,))
    scored = score_sentences(
        candidates,
        question_terms=frozenset(),
        terms=[frozenset()] * len(candidates),
        cosines=[0.9, 0.2],
        idf=lambda _: 1.0,
    )
    return Knowledge((EXCERPT,), scored)


def read(reply, style):
    return read_reply(reply, style=style, excerpts=(EXCERPT,))


@pytest.mark.parametrize("variant", [Variant.DIRECT, Variant.CONTEXT])
def test_a_reply_reads_as_a_proposal_of_this_excerpt(proposer, variant):
    chat, style = proposer
    assert read(chat.propose(ChatRequest(QUESTION, knowledge(), variant)), style) == PROPOSED


def test_a_proposal_after_a_tool_call_is_the_same(proposer, server):
    chat, style = proposer
    server.script.appendleft(Turn(tools=((RETRIEVE_KNOWLEDGE.name, "{}"),)))
    step = chat.call_tool(QUESTION)
    assert [call.name for call in step.calls] == [RETRIEVE_KNOWLEDGE.name]
    request = ChatRequest(QUESTION, knowledge(), Variant.TOOL, step.calls)
    assert read(chat.propose(request), style) == PROPOSED


def test_the_tool_step_sends_no_word_of_an_excerpt(proposer, server):
    chat, _ = proposer
    chat.call_tool(QUESTION)
    for request in server.requests:
        assert QUESTION.text in str(request.body)
        assert "blue" not in str(request.body)


def test_a_second_question_is_proposed_for_as_the_first(proposer, server):
    chat, style = proposer
    request = ChatRequest(QUESTION, knowledge())
    first, second = chat.propose(request), chat.propose(request)
    assert first == second
    assert read(second, style) == PROPOSED
    bodies = [request.body for request in server.requests]
    assert bodies[:1] == bodies[1:]


def test_a_repair_is_a_request_like_any_other(proposer):
    chat, style = proposer
    repair = Repair(reply="Blue!\ud800", problem="the reply is not one JSON object")
    reply = chat.propose(ChatRequest(QUESTION, knowledge(), repair=repair))
    assert read(reply, style) == PROPOSED


# --- Chat models alone ----------------------------------------------------------------------------


@pytest.fixture(params=sorted(CHAT_MODELS))
def prompted(request, connect, make_settings):
    name = request.param
    model = CHAT_MODELS[name](make_settings["chat"](name), lambda *_: connect(name))
    return PromptedChat(model, style=ProposalStyle.QUOTES)


def test_a_call_of_a_tool_that_does_not_exist_is_no_call(prompted, server):
    server.script.append(Turn(tools=(("delete_everything", "{}"),)))
    assert prompted.call_tool(QUESTION).calls == ()


def test_a_call_written_as_prose_is_no_call(prompted, server):
    server.script.append(Turn('{"name": "retrieve_knowledge", "arguments": {}}'))
    step = prompted.call_tool(QUESTION)
    assert (step.calls, step.input_tokens, step.output_tokens) == ((), 40, 7)


def test_a_reply_cut_at_the_limit_is_malformed_even_where_it_is_whole_json(prompted, server):
    written = json.dumps(WRITTEN[ProposalStyle.QUOTES])
    server.script.append(Turn(written, cut=True))
    reply = prompted.propose(ChatRequest(QUESTION, knowledge()))
    assert (reply.text, reply.cut) == (written, True)
    assert isinstance(read(reply, ProposalStyle.QUOTES), MalformedReply)
