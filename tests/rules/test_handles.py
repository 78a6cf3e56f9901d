"""Proposals by handles: numbered sentences, their schema, and how a reply is read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import make_excerpt, make_source
from rag_core.rules.gate import judge
from rag_core.rules.handles import handle_schema, numbered_sentences, parse_handles
from rag_core.rules.segmentation import sentence_spans
from rag_core.types.corpus import Span
from rag_core.types.profiles import GateSettings
from rag_core.types.proposals import AnswerProposal, Evidence, MalformedReply
from rag_core.types.questions import EligibilityRule
from rag_core.types.retrieval import Excerpt
from rag_core.types.verdicts import Outcome

SEAL = "The seal is blue and never removed. Inspect it every month without fail."
PIE = "An apple pie needs cold butter."


def excerpt_of(text: str, *, id: str, span: Span | None = None) -> Excerpt:  # noqa: A002
    return make_excerpt(make_source(text, id=id, sentences=sentence_spans(text, "en")), span)


EXCERPTS = (excerpt_of(SEAL, id="SEAL"), excerpt_of(PIE, id="PIE"))
SENTENCES = numbered_sentences(EXCERPTS)


def reply(*handles: object, can_answer: object = True) -> str:
    return json.dumps({"can_answer": can_answer, "evidence": list(handles)})


def test_sentences_are_numbered_by_excerpt_and_place():
    assert [(item.handle, item.shown) for item in SENTENCES] == [
        ("1.1", "The seal is blue and never removed."),
        ("1.2", "Inspect it every month without fail."),
        ("2.1", "An apple pie needs cold butter."),
    ]


def test_a_picked_sentence_quotes_itself_from_its_chunk():
    assert parse_handles(reply("2.1"), SENTENCES) == AnswerProposal(True, (Evidence("PIE#0", PIE),))


def test_a_short_list_item_is_shown_alone_and_quoted_with_its_lead_in():
    text = "Bring the following papers:\n\n- passport"
    (_, item) = numbered_sentences((excerpt_of(text, id="LIST"),))
    assert item.shown == "- passport"
    assert item.evidence == Evidence("LIST#0", text)


def test_what_two_excerpts_of_a_source_share_is_shown_once():
    source = make_source(SEAL, id="SEAL", sentences=sentence_spans(SEAL, "en"))
    both = (make_excerpt(source, part=0), make_excerpt(source, Span(36, len(SEAL)), part=1))
    assert [item.handle for item in numbered_sentences(both)] == ["1.1", "1.2"]


def test_the_schema_enumerates_the_handles_that_were_shown():
    items = handle_schema(SENTENCES)["properties"]["evidence"]["items"]
    assert items == {"type": "string", "enum": ["1.1", "1.2", "2.1"]}


def test_without_a_quotable_sentence_the_schema_allows_no_evidence():
    sentences = numbered_sentences((excerpt_of("Too short.", id="A"),))
    assert sentences == ()
    evidence = handle_schema(sentences)["properties"]["evidence"]
    assert (evidence["maxItems"], evidence["items"]) == (0, {"type": "string"})


def test_a_handle_twice_counts_once():
    twice = parse_handles(reply("1.1", "1.1"), SENTENCES)
    assert twice == parse_handles(reply("1.1"), SENTENCES)


def test_a_declined_reply_keeps_its_evidence_for_the_gate_to_ignore():
    read = parse_handles(reply("1.1", can_answer=False), SENTENCES)
    assert isinstance(read, AnswerProposal)
    assert not read.can_answer


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(reply("3.1"), "evidence.0: no sentence has the number '3.1'", id="not shown"),
        pytest.param(
            reply("1.1", "1.1 "), "evidence.1: no sentence has the number '1.1 '", id="a space more"
        ),
        pytest.param(
            reply("1.1", "1.2", "2.1", "1.1"),
            "evidence: List should have at most 3 items after validation, not 4",
            id="four",
        ),
        pytest.param(reply(1.1), "evidence.0: Input should be a valid string", id="a number"),
        pytest.param(
            reply(can_answer="yes"), "can_answer: Input should be a valid boolean", id="no boolean"
        ),
        pytest.param(
            '{"can_answer": true, "evidence": [{"source_id": "SEAL#0", "quote": "The seal"}]}',
            "evidence.0: Input should be a valid string",
            id="the other style",
        ),
        pytest.param(
            "1.1", "the reply: Input should be a valid dictionary or instance of _HandleProposal",
            id="a bare handle",
        ),
    ],
)  # fmt: skip
def test_a_reply_that_breaks_the_schema_is_malformed(text, problem):
    assert parse_handles(text, SENTENCES) == MalformedReply(problem)


TEXTS = st.lists(
    st.sampled_from(
        [
            "The seal is blue and never removed.",
            "Pay within 30 days.",
            "- item",
            "No.",
            "7 °C",
            "\n",
        ]
    ),
    min_size=1,
    max_size=8,
).map(" ".join)


@given(TEXTS, st.data())
def test_every_handle_stands_for_a_quotation_that_the_gate_accepts(text, data):
    excerpts = (excerpt_of(text, id="DOC"),)
    sentences = numbered_sentences(excerpts)
    if not sentences:
        return
    chosen = data.draw(st.sampled_from(sentences))
    verdict = judge(
        parse_handles(reply(chosen.handle), sentences),
        excerpts,
        eligibility=EligibilityRule(
            excerpts[0].source.governance.valid_from, frozenset({"public"}), None
        ),
        settings=GateSettings(
            matching="exact", publish="quote", publish_chars=1000, context_chars=0
        ),
    )
    assert verdict.outcome is Outcome.ANSWERED


def test_what_a_chunk_bound_left_of_a_sentence_is_not_offered_beside_whole_ones():
    text = "Tickets are not refunded on any day. The travel desk answers within two hours."
    source = make_source(text, id="T", sentences=sentence_spans(text, "en"))
    cut = make_excerpt(source, Span(0, text.index(" answers")))
    assert [item.shown for item in numbered_sentences((cut,))] == [
        "Tickets are not refunded on any day."
    ]


def test_an_excerpt_without_a_whole_sentence_offers_what_it_has():
    text = "The travel desk answers every question about trains within two hours."
    source = make_source(text, id="T", sentences=sentence_spans(text, "en"))
    (item,) = numbered_sentences((make_excerpt(source, Span(0, 50)),))
    assert item.shown == "The travel desk answers every question about"
