"""Where a quotation may start and end in its source."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import make_source
from rag_core.rules.bounds import cuts, tears, trim_inwards, whole_parts
from rag_core.types.corpus import Span

# "|" marks the offset in question.
_TORN = [
    pytest.param("un|able", id="inside a word"),
    pytest.param("un\u00ad|able", id="behind a soft hyphen"),
    pytest.param("do|n't", id="inside a contraction"),
    pytest.param("cafe|\u0301", id="before a combining mark"),
    pytest.param("non-|refundable", id="behind a hyphen inside a word"),
    pytest.param("non|-refundable", id="before a hyphen inside a word"),
    pytest.param("non‑|refundable", id="behind a no-break hyphen"),
    pytest.param("and/|or", id="behind a slash"),
    pytest.param("GX-|200", id="inside a product code"),
    pytest.param("GX|-200", id="before the number of a product code"),
    pytest.param("written in C|++", id="before the sign of a name"),
    pytest.param("at -|5 °C", id="behind a sign"),
    pytest.param("at −|5 °C", id="behind a minus sign"),
    pytest.param("at − |5 °C", id="behind a minus sign and a space"),
    pytest.param("at ± |5 °C", id="behind a plus-minus and a space"),
    pytest.param("at ≥\u00a0|5 °C", id="behind a comparator and a no-break space"),
    pytest.param("at <|= 5", id="inside a comparator"),
    pytest.param("pay -|$5", id="between sign and currency"),
    pytest.param("pay $|5", id="behind a currency sign"),
    pytest.param("pay € |5", id="behind a currency sign and a space"),
    pytest.param("1|,5 kg", id="before a decimal comma"),
    pytest.param("1,|5 kg", id="behind a decimal comma"),
    pytest.param("at .|5 kg", id="behind a leading decimal point"),
    pytest.param("1/|2 of it", id="inside a fraction"),
    pytest.param("1 |½ of it", id="inside a mixed fraction"),
    pytest.param("1|½ of it", id="before a fraction sign"),
    pytest.param("1 |000 units", id="inside a number with spaces"),
    pytest.param("10|² m", id="before an exponent"),
    pytest.param("5|% of it", id="before a percent sign"),
    pytest.param("5 |% of it", id="before a space and a percent sign"),
    pytest.param("5|°C", id="before a degree sign"),
    pytest.param("5 |€ each", id="before a space and a currency sign"),
    pytest.param("5|–10 days", id="before the dash of a range"),
    pytest.param("5–|10 days", id="behind the dash of a range"),
    pytest.param("5 |– 10 days", id="before the spaced dash of a range"),
    pytest.param("5 – |10 days", id="behind the spaced dash of a range"),
    pytest.param("5|-day trip", id="before the hyphen of a compound"),
    pytest.param("at 10|:30 sharp", id="before the colon of a time"),
    pytest.param("at 10:|30 sharp", id="behind the colon of a time"),
    pytest.param("a 5|′ tube", id="before a prime"),
    pytest.param("load > |5 kg", id="behind a comparator inside a line"),
    pytest.param("if 5 |> 3 then", id="before a comparator inside a line"),
    pytest.param('a 5|" tube', id="before an inch mark"),
]

_HELD = [
    pytest.param("|the fee", id="at the start"),
    pytest.param("the fee|", id="at the end"),
    pytest.param("the| fee", id="before a space"),
    pytest.param("the |fee", id="behind a space"),
    pytest.param("the fee|.", id="before a full stop"),
    pytest.param("“|the fee”", id="behind a quotation mark"),
    pytest.param("the fee|” is", id="before a quotation mark"),
    pytest.param("the ‘fee|’ is", id="before a single quotation mark"),
    pytest.param("the ‘|fee’ is", id="behind a single quotation mark"),
    pytest.param("one—|two", id="behind an em dash"),
    pytest.param("one|, two", id="before a comma"),
    pytest.param("(|5 days)", id="a number behind a bracket"),
    pytest.param("(5 days, 6|)", id="a number before a bracket"),
    pytest.param("**|5 days**", id="a number behind markup"),
    pytest.param("is 5|.", id="a number before a full stop"),
    pytest.param("is 5|, and", id="a number before a comma"),
    pytest.param("is 5|: the", id="a number before a colon"),
    pytest.param("since 1990|[3] it", id="a number before a footnote"),
    pytest.param("- |5 days", id="a number behind a bullet"),
    pytest.param("of 2025\n- |5 days", id="a number behind a bullet below a number"),
    pytest.param("+ |5 days", id="a number behind a plus bullet"),
    pytest.param("> |5 days", id="a number behind a quotation bar"),
    pytest.param("is 5|\n> see", id="a number above a quotation bar"),
    pytest.param("in 2024 |500 people", id="two numbers that are no group"),
    pytest.param("费用为|5元", id="a number between ideographs"),
    pytest.param("结束。|5月", id="a number behind an ideographic stop"),
]


@pytest.mark.parametrize("marked", _TORN)
def test_a_quotation_may_not_start_or_end_here(marked: str):
    offset = marked.index("|")
    assert cuts(marked.replace("|", ""), offset)


@pytest.mark.parametrize("marked", _HELD)
def test_a_quotation_may_start_or_end_here(marked: str):
    offset = marked.index("|")
    assert not cuts(marked.replace("|", ""), offset)


def test_a_number_in_the_next_table_cell_is_whole():
    assert not cuts("| 4 | 5 |", 6)


def test_a_sentence_of_the_source_is_never_torn():
    source = make_source("Sum = 5 kg.", sentences=(Span(0, 5), Span(6, 11)))
    assert cuts(source.text, 6)
    assert not tears(source, Span(6, 11))


def test_a_word_is_torn_even_where_a_sentence_ends():
    source = make_source("unable", sentences=(Span(0, 2), Span(2, 6)))
    assert tears(source, Span(2, 6))


def test_a_sentence_cut_by_a_chunk_loses_the_torn_number():
    text = "It must stay above −5 °C at night."
    assert whole_parts(Span(20, 34), (Span(0, 34),), text) == (Span(23, 34),)
    assert text[23:34] == "C at night."


def test_trimming_keeps_what_must_stay():
    text = "unable to work"
    assert trim_inwards(text, Span(2, 14), keep=Span(2, 9)) == Span(2, 14)
    assert trim_inwards(text, Span(2, 14)) == Span(7, 14)


@given(st.text("ab 1-−5€.,²\n", max_size=20), st.data())
def test_trimmed_spans_are_uncut_and_inside(text: str, data: st.DataObject):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    trimmed = trim_inwards(text, Span(start, end))
    assert start <= trimmed.start <= trimmed.end <= end
    if len(trimmed):
        assert not cuts(text, trimmed.start)
        assert not cuts(text, trimmed.end)
