"""The three variants: how the excerpts reach the proposer, and who is counted for it."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from corpora import PUMP_QUESTION, PUMP_SENTENCE, pump_bench, pump_proposal
from fakes import ScriptedChat, no_chat

from rag_core.adapters.extractive import ExtractiveChat
from rag_core.adapters.prompted_chat import PromptedChat
from rag_core.types.messages import ChatMessage, Completion, Role, ToolCall
from rag_core.types.proposals import ChatReply, ChatRequest, ProposalStyle, ToolStep, Variant
from rag_core.types.questions import Question
from rag_core.types.records import CallCounts
from rag_core.types.verdicts import Outcome, Reason


@pytest.fixture
def bench(tmp_path):
    return pump_bench(tmp_path)


def row_of(run):
    return run.answers[0].record


@dataclass
class ScriptedModel:
    """A chat model that says what it is told, and keeps what it was asked."""

    turns: list[Completion]
    asked: list[tuple[ChatMessage, ...]] = field(default_factory=list)
    tools: list[tuple[str, ...]] = field(default_factory=list)
    schemas: list[object] = field(default_factory=list)
    name: str = "scripted"

    def complete(self, messages, *, schema=None, tools=()):
        self.asked.append(tuple(messages))
        self.tools.append(tuple(tool.name for tool in tools))
        self.schemas.append(schema)
        return self.turns[len(self.asked) - 1]

    def check(self) -> str:
        return "ready"


@pytest.mark.parametrize(
    ("variant", "calls"),
    [
        pytest.param(
            Variant.DIRECT, CallCounts(host_calls=1, chat_calls=1, embedding_calls=3), id="direct"
        ),
        pytest.param(
            Variant.TOOL,
            CallCounts(host_calls=1, chat_calls=2, tool_calls=1, embedding_calls=3),
            id="tool",
        ),
        pytest.param(
            Variant.CONTEXT,
            CallCounts(host_calls=1, chat_calls=1, context_calls=1, embedding_calls=3),
            id="context",
        ),
    ],
)
def test_every_variant_answers_alike_and_counts_its_own_calls(bench, variant, calls):
    run = bench.answer(PUMP_QUESTION, variant=variant)
    assert [str(text) for text in run.answers[0].verdict.published] == [f"[SEAL#0] {PUMP_SENTENCE}"]
    assert row_of(run).calls == calls
    assert row_of(run).variant == variant.value


def test_the_profile_chooses_the_variant_unless_the_caller_does(bench):
    chat = bench.profile.chat.model_copy(update={"variant": Variant.CONTEXT})
    bench.profile = bench.profile.model_copy(update={"chat": chat})
    assert row_of(bench.answer(PUMP_QUESTION)).variant == "context"
    assert row_of(bench.answer(PUMP_QUESTION, variant=Variant.TOOL)).variant == "tool"


def test_the_first_step_of_tool_is_given_the_question_and_no_excerpt(bench):
    chat = ScriptedChat([pump_proposal()])
    bench.answer(PUMP_QUESTION, make_chat=lambda: chat, variant=Variant.TOOL)
    assert [step.text for step in chat.tool_steps] == [PUMP_QUESTION]
    (request,) = chat.asked
    assert [call.name for call in request.tool_calls] == ["retrieve_knowledge"]
    assert [excerpt.chunk_id for excerpt in request.knowledge.excerpts] == ["SEAL#0"]


def test_a_model_that_does_not_call_the_tool_is_refused_with_a_reason_of_its_own(bench):
    chat = ScriptedChat([], calls=0)
    run = bench.answer(PUMP_QUESTION, make_chat=lambda: chat, variant=Variant.TOOL)
    assert run.answers[0].verdict.reasons == (Reason.TOOL_NOT_CALLED,)
    assert run.answers[0].verdict.detail == (
        "Insufficient evidence: the proposer did not call the tool that returns the excerpts."
    )
    assert row_of(run).calls == CallCounts(host_calls=1, chat_calls=1, embedding_calls=3)


def test_each_call_of_the_tool_is_counted_and_returns_the_same_excerpts(bench):
    chat = ScriptedChat([pump_proposal()], calls=3)
    run = bench.answer(PUMP_QUESTION, make_chat=lambda: chat, variant=Variant.TOOL)
    assert row_of(run).calls.tool_calls == 3
    assert row_of(run).calls.host_calls == 1
    assert run.answers[0].verdict.outcome is Outcome.ANSWERED


def test_a_repair_asks_again_without_a_second_tool_call(bench):
    chat = ScriptedChat(["no JSON", pump_proposal()])
    run = bench.answer(PUMP_QUESTION, make_chat=lambda: chat, variant=Variant.TOOL)
    calls = row_of(run).calls
    assert (calls.chat_calls, calls.tool_calls, calls.repair_calls) == (3, 1, 1)
    assert (row_of(run).input_tokens, row_of(run).output_tokens) == (27, 13)


@pytest.mark.parametrize("variant", Variant)
def test_no_variant_makes_a_chat_client_without_an_admissible_hit(bench, variant):
    run = bench.answer("Who repairs the roof?", make_chat=no_chat, variant=variant)
    assert run.answers[0].verdict.reasons == (Reason.NO_ADMISSIBLE_HIT,)
    assert row_of(run).calls.chat_calls == row_of(run).calls.context_calls == 0


@pytest.mark.parametrize("variant", Variant)
def test_no_variant_weakens_the_gate(bench, variant):
    chat = ScriptedChat([pump_proposal(("SEAL#0", "The seal of the pump is red and removed."))])
    run = bench.answer(PUMP_QUESTION, make_chat=lambda: chat, variant=variant)
    assert run.answers[0].verdict.reasons == (Reason.QUOTE_NOT_FOUND,)


class WithoutKnowledge:
    """An extractive proposer that calls the tool, but whose knowledge is withheld."""

    def call_tool(self, question: Question) -> ToolStep:
        return ToolStep(())

    def propose(self, request: ChatRequest) -> ChatReply:
        raise AssertionError("nothing may be proposed without knowledge")


def test_without_the_tools_result_nothing_is_proposed(bench):
    run = bench.answer(PUMP_QUESTION, make_chat=WithoutKnowledge, variant=Variant.TOOL)
    assert run.answers[0].verdict.reasons == (Reason.TOOL_NOT_CALLED,)


def test_the_extractive_proposer_calls_the_tool_like_any_other(bench):
    step = ExtractiveChat(sentences=1).call_tool(bench.question(PUMP_QUESTION))
    assert step.calls == (ToolCall("call-1", "retrieve_knowledge", "{}"),)


def test_a_prompted_model_gets_the_tool_in_its_first_step_and_the_schema_in_its_second(bench):
    call = ToolCall("abc", "retrieve_knowledge", '{"query": "anything"}')
    model = ScriptedModel([Completion("", (call,)), Completion(pump_proposal())])
    run = bench.answer(
        PUMP_QUESTION,
        make_chat=lambda: PromptedChat(model, style=ProposalStyle.QUOTES),
        variant=Variant.TOOL,
    )
    assert run.answers[0].verdict.outcome is Outcome.ANSWERED
    assert model.tools == [("retrieve_knowledge",), ()]
    assert [schema is not None for schema in model.schemas] == [False, True]
    first, second = model.asked
    assert all(PUMP_SENTENCE not in turn.text for turn in first)
    assert [turn.role for turn in second] == [Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.TOOL]


def test_a_call_of_a_tool_that_does_not_exist_is_no_call(bench):
    model = ScriptedModel([Completion("", (ToolCall("1", "web_search", "{}"),))])
    run = bench.answer(
        PUMP_QUESTION,
        make_chat=lambda: PromptedChat(model, style=ProposalStyle.QUOTES),
        variant=Variant.TOOL,
    )
    assert run.answers[0].verdict.reasons == (Reason.TOOL_NOT_CALLED,)


def test_two_questions_share_no_conversation(bench):
    model = ScriptedModel([Completion(pump_proposal()), Completion(pump_proposal())])
    chat = PromptedChat(model, style=ProposalStyle.QUOTES)
    for _ in range(2):
        run = bench.answer(PUMP_QUESTION, make_chat=lambda: chat)
        assert run.answers[0].verdict.outcome is Outcome.ANSWERED
    assert model.asked[0] == model.asked[1]


def test_handles_and_quotes_publish_the_same_sentence(bench):
    chat = bench.profile.chat.model_copy(update={"style": ProposalStyle.HANDLES})
    model = ScriptedModel([Completion('{"can_answer": true, "evidence": ["1.1"]}')])
    bench.profile = bench.profile.model_copy(update={"chat": chat})
    run = bench.answer(
        PUMP_QUESTION, make_chat=lambda: PromptedChat(model, style=ProposalStyle.HANDLES)
    )
    assert [str(text) for text in run.answers[0].verdict.published] == [f"[SEAL#0] {PUMP_SENTENCE}"]
    assert row_of(run).proposal_style == "handles"


def test_a_reply_that_was_cut_is_repaired_once_and_then_malformed(bench):
    model = ScriptedModel([Completion('{"can_answer": tr', cut=True)] * 2)
    run = bench.answer(
        PUMP_QUESTION, make_chat=lambda: PromptedChat(model, style=ProposalStyle.QUOTES)
    )
    assert run.answers[0].verdict.reasons == (Reason.MALFORMED_PROPOSAL,)
    assert row_of(run).calls.repair_calls == 1


def test_a_chat_model_without_abstention_costs_no_sentence_embedding(bench):
    chat = bench.profile.chat.model_copy(update={"provider": "ollama", "model": "granite4:3b"})
    bench.profile = bench.profile.model_copy(update={"chat": chat})
    run = bench.answer(PUMP_QUESTION, make_chat=lambda: ScriptedChat([pump_proposal()]))
    # The canary and the question; no request for the sentences that nobody reads.
    assert row_of(run).calls.embedding_calls == 2
    assert (row_of(run).chat_provider, row_of(run).chat_model) == ("ollama", "granite4:3b")


def test_the_extractive_proposer_has_no_model_whatever_a_base_profile_names(bench):
    chat = bench.profile.chat.model_copy(update={"model": "granite4:3b"})
    bench.profile = bench.profile.model_copy(update={"chat": chat})
    row = row_of(bench.answer(PUMP_QUESTION))
    assert (row.chat_provider, row.chat_model) == ("extractive", None)
