"""Products in questions, and facts as sentences."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import make_governance
from rag_core.errors import UsageError
from rag_core.rules.products import (
    ProductMention,
    eligibility_rule,
    fact_spans,
    product_codes_in,
    render_facts,
)
from rag_core.types.corpus import Fact, ProductSheet
from rag_core.types.questions import Question

KNOWN = ("GX-100", "GX-200")
PATTERN = r"GX-\d+"


def asking(text, *, product=None, known=KNOWN, pattern=PATTERN):
    question = Question(text, date(2026, 1, 1), ("public",), product)
    rule, unknown = eligibility_rule(question, known=known, pattern=pattern)
    return rule.products, unknown


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("GX-200", id="alone"),
        pytest.param("Is the GX-200, in short, waterproof?", id="before a comma"),
        pytest.param("What is the GX-200's range?", id="with a possessive"),
        pytest.param("What is the GX-200’s range?", id="with a curly possessive"),
        pytest.param("the gauge (GX-200)", id="in brackets"),
        pytest.param("I own a GX-200.", id="at the end of a sentence"),
        pytest.param("GX-200/accessories", id="before a slash"),
        pytest.param("-GX-200", id="after a bullet without a space"),
        pytest.param("GX-200- und andere Geräte", id="before a suspended hyphen"),
        pytest.param("GX\u2011200", id="with a no-break hyphen"),
        pytest.param("GX\u2010200", id="with a typographic hyphen"),
        pytest.param("GX-\u00ad200", id="with a soft hyphen"),
        pytest.param("“GX-200”", id="in quotation marks"),
        pytest.param("GX-200\u3000は", id="before an ideographic space"),
    ],
)
def test_a_whole_token_names_the_product(text):
    expected = ProductMention(known=("GX-200",))
    assert product_codes_in(text, known=KNOWN, pattern=PATTERN) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("XGX-200", id="inside a longer code"),
        pytest.param("GX-200-B", id="before a hyphenated part"),
        pytest.param("non-GX-200", id="after a hyphenated part"),
        pytest.param("GX-200_b", id="before an underscore"),
        pytest.param("GX-200é", id="before a letter"),
        pytest.param("GX-200e\u0301", id="before a letter with a mark"),
        pytest.param("GX-200.5", id="before a decimal part"),
        pytest.param("gx-200", id="in other case"),
        pytest.param("GX - 200", id="with spaces"),
        pytest.param("?", id="no word at all"),
    ],
)
def test_a_part_of_a_token_names_nothing(text):
    assert product_codes_in(text, known=KNOWN, pattern=PATTERN) == ProductMention()


def test_a_longer_number_is_another_and_unknown_product():
    mention = product_codes_in("GX-2000", known=KNOWN, pattern=PATTERN)
    assert mention == ProductMention(unknown=("GX-2000",))


def test_known_codes_are_found_without_a_pattern():
    assert product_codes_in("GX-999 or GX-100?", known=KNOWN, pattern=None) == ProductMention(
        known=("GX-100",)
    )


def test_codes_come_once_in_order_of_appearance():
    mention = product_codes_in("GX-200, GX-9, GX-100, GX-200, GX-9", known=KNOWN, pattern=PATTERN)
    assert mention == ProductMention(known=("GX-200", "GX-100"), unknown=("GX-9",))


def test_of_two_known_codes_at_one_place_the_longer_is_read():
    mention = product_codes_in("the GX-200.b", known=("GX-200", "GX-200.b"), pattern=None)
    assert mention == ProductMention(known=("GX-200.b",))


def test_a_code_with_signs_of_regular_expressions_is_taken_literally():
    assert product_codes_in("axb a.b", known=("a.b",), pattern=None) == ProductMention(("a.b",))


def test_an_alternation_in_the_pattern_stays_bounded_on_both_sides():
    mention = product_codes_in("XGX-1 AB-2x AB-3", known=(), pattern=r"GX-\d+|AB-\d+")
    assert mention == ProductMention(unknown=("AB-3",))


def test_a_question_without_a_product_leaves_all_products_eligible():
    assert asking("Where can I park?") == (None, ())


def test_several_named_products_are_their_union():
    assert asking("GX-100 or GX-200?") == (frozenset(KNOWN), ())


def test_a_token_of_the_pattern_that_names_no_product_is_returned():
    assert asking("Does the GX-999 float?") == (None, ("GX-999",))


def test_an_explicit_product_wins_over_the_text():
    assert asking("Is the GX-100 lighter?", product="GX-200") == (frozenset({"GX-200"}), ())


def test_an_explicit_product_does_not_hide_an_unknown_token():
    assert asking("Is the GX-999 lighter?", product="GX-200")[1] == ("GX-999",)


def test_an_unknown_explicit_product_is_returned_first_and_once():
    assert asking("GX-7 or GX-999?", product="GX-999")[1] == ("GX-999", "GX-7")


def test_an_explicit_product_is_unknown_where_no_product_is_known():
    assert asking("Is it light?", product="GX-200", known=(), pattern=None)[1] == ("GX-200",)


def test_background_names_no_product():
    question = Question("Is it light?", date(2026, 1, 1), ("public",), None, "I own a GX-999.")
    rule, unknown = eligibility_rule(question, known=KNOWN, pattern=PATTERN)
    assert (rule.products, unknown) == (None, ())


def test_the_rule_carries_day_and_scopes_of_the_question():
    question = Question("Why?", date(2026, 1, 1), ("hr", "public"))
    rule, _ = eligibility_rule(question, known=(), pattern=None)
    assert (rule.as_of, rule.scopes) == (date(2026, 1, 1), frozenset({"hr", "public"}))


@pytest.mark.timeout(60)  # where the work were not bounded, it would not end
def test_a_pattern_that_backtracks_without_end_is_stopped():
    with pytest.raises(UsageError, match="product_pattern"):
        product_codes_in("a" * 200 + "!", known=(), pattern=r"(?:a|aa|a\w)+b")


@given(st.text())
def test_any_question_text_is_read_without_an_error(text):
    mention = product_codes_in(text, known=KNOWN, pattern=PATTERN)
    assert set(mention.known) <= set(KNOWN)
    assert not set(mention.unknown) & set(KNOWN)


@given(st.text(alphabet="GX-20 19.,", max_size=40))
def test_a_known_code_between_spaces_is_always_found(text):
    mention = product_codes_in(f"{text} GX-200 {text}", known=KNOWN, pattern=PATTERN)
    assert "GX-200" in mention.known


SHEET = ProductSheet(
    "GX-200",
    "Gauge",
    make_governance(product="GX-200"),
    (
        Fact("warranty", "24", "months", "from the date of delivery"),
        Fact("protection rating", "IP67"),
        Fact("weight", "620", "grams"),
        Fact("colour", "grey", None, "or black"),
    ),
)


def test_a_fact_renders_as_one_sentence_on_its_own_line():
    assert render_facts(SHEET).split("\n") == [
        "GX-200: the warranty is 24 months (from the date of delivery).",
        "GX-200: the protection rating is IP67.",
        "GX-200: the weight is 620 grams.",
        "GX-200: the colour is grey (or black).",
    ]


def test_the_sentence_spans_of_a_sheet_are_its_lines():
    text = render_facts(SHEET)
    assert [text[span.start : span.end] for span in fact_spans(text)] == text.split("\n")
