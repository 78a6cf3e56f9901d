"""A real small model proposes, and the gate judges: what it invents is refused, always.

It sits behind the embedded model's retrieval. What it was measured to say stands at the end of the
run.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import pytest

from rag_core.rules.gate import judge
from rag_core.types.proposals import AnswerProposal, Evidence, Variant
from rag_core.types.verdicts import Outcome, Reason

pytestmark = pytest.mark.models

QUESTIONS = (
    "What colour is the seal of the pump?",
    "How long are backups kept?",
    "Where do visitors park their cars?",
    "In which class are train tickets booked?",
    "When does the canteen serve lunch?",
    "What does a new badge cost?",
)
OF_THE_QUOTATION = {
    Reason.UNKNOWN_SOURCE,
    Reason.QUOTE_TOO_SHORT,
    Reason.QUOTE_CUTS_WORD,
    Reason.QUOTE_IN_OTHER_SOURCE,
    Reason.QUOTE_NOT_FOUND,
}


@dataclass(frozen=True)
class Session:
    """All questions in one style, on one runtime and one client, and every exchange behind them."""

    answers: tuple
    heard: tuple

    @property
    def reasons(self):
        return {reason for item in self.answers for reason in item.verdict.reasons}


@pytest.fixture(scope="module")
def chat_desk(desk_at, chat_server):
    """Opens a runtime whose proposer is the server's model; all of them share one index.

    Quotations are matched exactly, so that exact means the same here as in the gate.
    """

    def open_desk(*, min_cosine: float = 0.35, **keys: object):
        return desk_at(
            "chat",
            chat=chat_server.section(**{"max_tokens": 200, **keys}),
            abstention={"threshold": "off"},
            gate={"matching": "exact"},
            retrieval={"min_cosine": min_cosine},
        )

    desk = open_desk()
    desk.ingest()
    return open_desk


@pytest.fixture(scope="module")
def hold_session(chat_desk, measured):
    def hold(style: str) -> Session:
        desk = chat_desk(style=style)
        session = Session(desk.ask(*QUESTIONS), tuple(desk.heard))
        measured.extend(session.heard)
        return session

    return hold


@pytest.fixture(scope="module")
def quoted(hold_session):
    return hold_session("quotes")


@pytest.fixture(scope="module")
def picked(hold_session):
    return hold_session("handles")


@pytest.fixture(params=["quotes", "handles"])
def session(request):
    """Each style's session in turn."""
    return request.getfixturevalue({"quotes": "quoted", "handles": "picked"}[request.param])


def assert_cut_from_the_source(verdict, excerpts) -> None:
    for text in verdict.published:
        (source,) = {item.source for item in excerpts if item.chunk_id == text.chunk_id}
        assert source.text[text.span.start : text.span.end] == text.text


# --- Both styles ----------------------------------------------------------------------------------


def test_every_question_is_answered_or_refused_and_none_fails(session):
    assert {item.verdict.outcome for item in session.answers} <= {Outcome.ANSWERED, Outcome.REFUSED}


def test_every_reply_that_was_not_cut_is_a_proposal_because_the_server_enforces_the_schema(session):
    whole = [item for item in session.heard if not item.reply.cut]
    assert whole
    assert [item.reply.text for item in whole if item.proposal is None] == []


def test_whatever_is_published_stands_in_its_source_at_its_offsets(session):
    for item in session.answers:
        assert_cut_from_the_source(item.verdict, item.retrieval.excerpts)


def test_tokens_and_calls_of_every_exchange_are_in_the_record(session):
    records = [item.record for item in session.answers]
    assert sum(record.calls.chat_calls for record in records) == len(session.heard)
    assert sum(record.output_tokens for record in records) == sum(
        item.reply.output_tokens for item in session.heard
    )
    assert all(record.input_tokens > 100 for record in records)


# --- Quotations written out -----------------------------------------------------------------------


def test_a_proposal_with_an_inexact_quotation_is_refused(quoted):
    assert quoted.reasons & OF_THE_QUOTATION
    for item in quoted.answers:
        last = [one for one in quoted.heard if one.request.question == item.question][-1]
        if not all(last.exact):
            assert item.verdict.outcome is Outcome.REFUSED, last.reply.text


def test_an_inexact_quotation_is_refused_whichever_excerpt_it_cites(quoted, chat_desk):
    settings = chat_desk().runtime.profile.gate
    tried = []
    for item in quoted.answers:
        found = item.retrieval
        invented = {
            entry.quote
            for one in quoted.heard
            if one.request.question == item.question and one.proposal
            for entry in one.proposal.evidence
            if not any(entry.quote.strip() in excerpt.text for excerpt in found.excerpts)
        }
        for quote, excerpt in itertools.product(sorted(invented), found.excerpts):
            proposal = AnswerProposal(True, (Evidence(excerpt.chunk_id, quote),))
            verdict = judge(
                proposal, found.excerpts, eligibility=found.eligibility, settings=settings
            )
            tried.append((quote, verdict.outcome, verdict.reasons))
    assert Reason.QUOTE_NOT_FOUND in {reasons[0] for _, _, reasons in tried if reasons}
    assert [one for one in tried if one[1] is not Outcome.REFUSED] == []


# --- Sentences picked by their number -------------------------------------------------------------


def test_picked_sentences_are_exact_and_pass_the_gate(picked):
    assert all(all(exchange.exact) for exchange in picked.heard)
    assert Outcome.ANSWERED in {item.verdict.outcome for item in picked.answers}
    assert not picked.reasons & OF_THE_QUOTATION


def test_another_style_touches_no_vector(chat_desk):
    done = chat_desk(style="handles").ingest()
    assert (done.outcome, done.record.requests) == ("unchanged", 0)


# --- Variants -------------------------------------------------------------------------------------


def test_the_three_variants_share_one_retrieval_and_none_fails(chat_desk):
    desk = chat_desk(style="handles")
    found = desk.ask_in(tuple(Variant), QUESTIONS[0])
    calls = {variant: item.record.calls for variant, item in found.items()}
    tool_called = bool(desk.listener.tool_steps[0].calls)
    assert {item.retrieval for item in found.values()} == {found[Variant.DIRECT].retrieval}
    assert [calls[variant].context_calls for variant in Variant] == [0, 0, 1]
    assert [calls[variant].tool_calls for variant in Variant] == [0, int(tool_called), 0]
    for variant in (Variant.DIRECT, Variant.CONTEXT):
        assert found[variant].verdict.outcome in {Outcome.ANSWERED, Outcome.REFUSED}
        assert calls[variant].chat_calls >= 1
    # This server takes `tool_choice` and does not enforce it, so the model may or may not call.
    tool = found[Variant.TOOL].verdict
    if tool_called:
        assert tool.outcome in {Outcome.ANSWERED, Outcome.REFUSED}
    else:
        assert (tool.outcome, tool.reasons) == (Outcome.REFUSED, (Reason.TOOL_NOT_CALLED,))


# --- Limits ---------------------------------------------------------------------------------------


def test_a_reply_cut_at_its_limit_is_repaired_once_and_then_malformed(chat_desk):
    desk = chat_desk(style="quotes", max_tokens=32)
    malformed = 0
    for answered in desk.ask(*QUESTIONS[:2]):
        cut = [one.reply.cut for one in desk.heard if one.request.question == answered.question]
        assert cut[0]
        assert (answered.record.calls.chat_calls, answered.record.calls.repair_calls) == (2, 1)
        assert answered.verdict.outcome is Outcome.REFUSED
        # The second reply may be short enough, and decline.
        assert (answered.verdict.reasons == (Reason.MALFORMED_PROPOSAL,)) == cut[1]
        malformed += cut[1]
    assert malformed


def test_a_prompt_beyond_the_context_of_the_server_fails_and_is_no_missing_evidence(chat_desk):
    desk = chat_desk(style="quotes", min_cosine=-1.0)
    (answered,) = desk.ask(desk.question(QUESTIONS[0], background="pump " * 1_990))
    assert answered.verdict.outcome is Outcome.FAILED
    assert answered.verdict.reasons == (Reason.PROVIDER,)
    assert desk.heard == []


def test_a_question_on_a_used_runtime_is_asked_as_on_a_new_one(picked, chat_desk):
    desk = chat_desk(style="handles")
    (again,) = desk.ask(QUESTIONS[-1])
    (asked,) = (one for one in picked.heard if one.request.question == again.question)
    assert desk.heard[0].reply == asked.reply
    assert again.verdict == picked.answers[-1].verdict


def test_a_check_of_the_installation_finds_the_model_ready(chat_desk):
    (check,) = (item for item in chat_desk().runtime.health() if item.name == "chat model")
    assert check.ok, check.found
