"""The proposer without a language model, through the reader and the gate that judge any other."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import make_excerpt, make_source
from rag_core.adapters.extractive import ExtractiveChat
from rag_core.rules.gate import judge
from rag_core.rules.proposals import parse_reply
from rag_core.rules.segmentation import sentence_spans
from rag_core.rules.sentence_scores import candidate_sentences, score_sentences
from rag_core.types.corpus import Span
from rag_core.types.profiles import GateSettings
from rag_core.types.proposals import AnswerProposal, ChatRequest, Evidence, Knowledge, Repair
from rag_core.types.questions import EligibilityRule, Question
from rag_core.types.retrieval import Excerpt
from rag_core.types.verdicts import Outcome

TEXT = "The seal is blue and never removed.\nInspect it “every” month – 2 °C or less. Sign here."
RULE = EligibilityRule(date(2026, 1, 1), frozenset({"public"}), None)
GATE = GateSettings(matching="exact", publish="sentence", publish_chars=1000, context_chars=0)


def excerpt_of(text: str, *, id: str = "DOC", span: Span | None = None) -> Excerpt:  # noqa: A002
    return make_excerpt(make_source(text, id=id, sentences=sentence_spans(text, "en")), span)


def request_for(*excerpts: Excerpt, cosines: tuple[float, ...] | None = None) -> ChatRequest:
    candidates = candidate_sentences(excerpts)
    sentences = score_sentences(
        candidates,
        question_terms=frozenset(),
        terms=[frozenset()] * len(candidates),
        cosines=cosines or [0.5] * len(candidates),
        idf=lambda _: 1.0,
    )
    question = Question("Is the seal removed?", date(2026, 1, 1), ("public",))
    return ChatRequest(question, Knowledge(excerpts, sentences))


def proposal_for(
    request: ChatRequest, *, sentences: int = 3, max_chars: int = 1000
) -> AnswerProposal:
    chat = ExtractiveChat(sentences=sentences, max_chars=max_chars)
    proposal = parse_reply(chat.propose(request).text)
    assert isinstance(proposal, AnswerProposal)
    return proposal


def test_it_quotes_the_best_sentence_as_it_stands():
    request = request_for(excerpt_of(TEXT), cosines=(0.2, 0.9))
    quote = "Inspect it “every” month – 2 °C or less."
    assert proposal_for(request, sentences=1) == AnswerProposal(True, (Evidence("DOC#0", quote),))


def test_it_cites_the_chunk_that_each_sentence_stands_in():
    request = request_for(
        excerpt_of("An apple pie needs butter.", id="PIE"),
        excerpt_of("The seal is blue and never removed.", id="SEAL"),
        cosines=(0.5, 0.6),
    )
    assert proposal_for(request) == AnswerProposal(
        True,
        (
            Evidence("SEAL#0", "The seal is blue and never removed."),
            Evidence("PIE#0", "An apple pie needs butter."),
        ),
    )


def test_without_sentences_it_declines():
    question = Question("Why?", date(2026, 1, 1), ("public",))
    request = ChatRequest(question, Knowledge((excerpt_of(TEXT),), ()))
    assert proposal_for(request) == AnswerProposal(False, ())


def test_it_has_no_threshold_of_its_own():
    request = request_for(excerpt_of("The seal is blue and never removed."), cosines=(-1.0,))
    assert proposal_for(request).can_answer


def test_it_keeps_to_the_published_characters():
    request = request_for(excerpt_of(TEXT), cosines=(0.9, 0.8))
    assert len(proposal_for(request, max_chars=75).evidence) == 2
    assert len(proposal_for(request, max_chars=74).evidence) == 1


def test_it_says_nothing_of_tokens_and_repeats_itself():
    request = request_for(excerpt_of(TEXT))
    reply = ExtractiveChat(sentences=3).propose(request)
    repaired = replace(request, repair=Repair(reply.text, "no JSON"))
    assert (reply.input_tokens, reply.output_tokens) == (None, None)
    assert ExtractiveChat(sentences=3).propose(repaired) == reply


@pytest.mark.parametrize("sentences", [0, 4])
def test_it_proposes_one_to_three_sentences(sentences):
    with pytest.raises(ValueError, match=f"want 1 to 3, got {sentences}"):
        ExtractiveChat(sentences=sentences)


pieces = st.sampled_from(
    [
        "The seal is blue and never removed.",
        "Claims under 5 % – up to € 20 – are “small”.",
        "Yes.",
        "You may claim:",
        "- tea",
        "- a non-refundable ticket of up to -5 °C",
        "See § 3.2 of the rules… then sign.",
        "| Fee | 10² |",
        "Ask Dr. Müller, e.g. by phone, at 9.30 a.m.",
    ]
)


@given(
    st.lists(pieces, min_size=1, max_size=12),
    st.sampled_from([" ", "\n", "\n\n"]),
    st.integers(0, 20),
    st.integers(120, 400),
)
def test_the_gate_takes_whatever_it_proposes_from_a_chunk_of_some_length(
    parts, joint, start, length
):
    text = joint.join(["The first sentence of this text is long enough to be quoted.", *parts])
    excerpt = excerpt_of(text, span=Span(start, min(len(text), start + length)))
    proposal = proposal_for(request_for(excerpt))
    assert all(entry.quote in excerpt.text for entry in proposal.evidence)
    verdict = judge(proposal, (excerpt,), eligibility=RULE, settings=GATE)
    assert verdict.outcome is Outcome.ANSWERED, verdict
