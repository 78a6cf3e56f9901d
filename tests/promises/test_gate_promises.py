"""Promises 1, 2 and 3 at the gate, as the README names them."""

from __future__ import annotations

from datetime import date
from typing import Literal

import pytest

from builders import make_excerpt, make_governance, make_source
from rag_core.rules.gate import judge
from rag_core.types.corpus import Span
from rag_core.types.profiles import GateSettings
from rag_core.types.proposals import AnswerProposal, Evidence
from rag_core.types.questions import EligibilityRule
from rag_core.types.retrieval import Excerpt
from rag_core.types.verdicts import Outcome, Reason, Verdict

RECEIPTS = (
    "Nothing is reimbursed without a receipt. The rule holds for every amount, for every "
    "employee and for contractors who work on our behalf."
)
SENTENCES = (Span(0, 40), Span(41, len(RECEIPTS)))


def judged(
    source_id: str,
    quote: str,
    *excerpts: Excerpt,
    publish: Literal["sentence", "quote"] = "quote",
    scopes: frozenset[str] = frozenset({"internal"}),
) -> Verdict:
    return judge(
        AnswerProposal(True, (Evidence(source_id, quote),)),
        excerpts or (receipts(),),
        eligibility=EligibilityRule(date(2026, 6, 1), scopes, None),
        settings=GateSettings(
            matching="typographic", publish=publish, publish_chars=1000, context_chars=600
        ),
    )


def receipts() -> Excerpt:
    governance = make_governance(scope="internal")
    return make_excerpt(
        make_source(RECEIPTS, id="ACME-RECEIPTS", sentences=SENTENCES, governance=governance)
    )


def test_fabricated_citations_and_altered_quotes_are_rejected():
    true = "Nothing is reimbursed without a receipt."
    invented = judged("ACME-MADE-UP#0", true)
    altered = judged("ACME-RECEIPTS#0", "Everything is reimbursed without a receipt.")
    softened = judged("ACME-RECEIPTS#0", "Nothing is reimbursed without receipt.")
    short = judged("ACME-RECEIPTS#0", "a receipt")
    assert invented.reasons == (Reason.UNKNOWN_SOURCE,)
    assert altered.reasons == (Reason.QUOTE_NOT_FOUND,)
    assert softened.reasons == (Reason.QUOTE_NOT_FOUND,)
    assert short.reasons == (Reason.QUOTE_TOO_SHORT,)
    for verdict in (invented, altered, softened, short):
        assert verdict.outcome is Outcome.REFUSED
        assert verdict.published == ()
        assert verdict.detail.startswith("Insufficient evidence:")
    # The same words with their true source pass: it was not something else that refused them.
    assert judged("ACME-RECEIPTS#0", true).outcome is Outcome.ANSWERED


def test_valid_evidence_renders_only_the_exact_retrieved_quotation():
    verdict = judged("ACME-RECEIPTS#0", "reimbursed without a receipt")
    assert verdict.outcome is Outcome.ANSWERED
    assert [str(text) for text in verdict.published] == [
        "[ACME-RECEIPTS#0] reimbursed without a receipt"
    ]


def test_promise_1_the_model_own_copy_is_never_printed():
    text = "Press “Save” in the oﬃce – always."
    verdict = judged(
        "DOC#0",
        'Press "Save" in the office - always.',
        make_excerpt(make_source(text)),
        scopes=frozenset({"public"}),
    )
    (published,) = verdict.published
    assert published.text == text
    assert published.span == Span(0, len(text))


def test_promise_2_the_gate_checks_eligibility_with_the_caller_scopes():
    verdict = judged(
        "ACME-RECEIPTS#0", "Nothing is reimbursed without a receipt.", scopes=frozenset({"public"})
    )
    assert verdict.reasons == (Reason.INELIGIBLE_SOURCE,)


def test_promise_3_a_negation_in_front_of_the_quotation_is_published_with_it():
    text = "The coating is not approved for outdoor use."
    verdict = judged(
        "DOC#0",
        "approved for outdoor use",
        make_excerpt(make_source(text)),
        publish="sentence",
        scopes=frozenset({"public"}),
    )
    assert [str(item) for item in verdict.published] == [f"[DOC#0] {text}"]


def test_promise_3_a_quotation_from_inside_a_word_is_rejected():
    verdict = judged(
        "DOC#0",
        "able to operate the machine",
        make_excerpt("Trainees are unable to operate the machine."),
        scopes=frozenset({"public"}),
    )
    assert verdict.reasons == (Reason.QUOTE_CUTS_WORD,)


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        pytest.param("It may heat at most 20 m² here.", "It may heat at most 20 m", id="exponent"),
        pytest.param("Keep it at - 5 °C or well below it.", "5 °C or well below it.", id="sign"),
        pytest.param("It costs A$500 per seat and year.", "$500 per seat and year.", id="currency"),
        pytest.param("> 5 kg are charged at double rate.", "5 kg are charged at double rate.",
                     id="comparator"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("publish", ["sentence", "quote"])
def test_promise_3_a_quotation_that_tears_a_number_is_rejected(text, quote, publish):
    assert len(quote) < len(text)
    public = frozenset({"public"})
    excerpt = make_excerpt(make_source(text))
    whole = judged("DOC#0", text, excerpt, publish=publish, scopes=public)
    assert whole.outcome is Outcome.ANSWERED
    verdict = judged("DOC#0", quote, excerpt, publish=publish, scopes=public)
    assert verdict.reasons == (Reason.QUOTE_CUTS_WORD,)


def test_promise_3_white_space_of_any_kind_leaves_a_quotation_verbatim():
    for blank in ("\r\n", "\r", "\v", "\f", "\x85"):
        quote = f"reimbursed without{blank}a receipt"
        (published,) = judged("ACME-RECEIPTS#0", quote).published
        assert published.text == "reimbursed without a receipt"


def test_promise_3_a_quotation_joined_from_two_chunks_is_rejected():
    governance = make_governance(scope="internal")
    source = make_source(RECEIPTS, id="R", sentences=SENTENCES, governance=governance)
    chunks = (make_excerpt(source, Span(0, 40)), make_excerpt(source, Span(41, 148), part=1))
    verdict = judged("R#0", RECEIPTS[:75], *chunks)
    assert verdict.reasons == (Reason.QUOTE_NOT_FOUND,)
