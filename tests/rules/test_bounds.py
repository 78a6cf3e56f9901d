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
    pytest.param("20 m|² in all", id="between a unit and its exponent"),
    pytest.param("20 m|⁻² in all", id="between a unit and its negative exponent"),
    pytest.param("20 m⁻|² in all", id="inside a negative exponent"),
    pytest.param("20 s|⁻¹ in all", id="before the sign of an exponent"),
    pytest.param("50 m|^2 in all", id="before a caret"),
    pytest.param("50 m^|2 in all", id="behind a caret"),
    pytest.param("CO|₂ in air", id="before an index"),
    pytest.param("H₂|O is added", id="behind an index"),
    pytest.param("the ¹⁴|C dating", id="behind a mass number"),
    pytest.param("½|kg of it", id="between a fraction and its unit"),
    pytest.param("5 °|C in it", id="inside a degree unit"),
    pytest.param("5 €|/seat", id="inside a price per unit"),
    pytest.param("A|$500 per seat", id="before the sign of a dollar with a letter"),
    pytest.param("US|$500 per seat", id="before the sign of a dollar with two letters"),
    pytest.param("$|US 500", id="behind the sign of a dollar with letters"),
    pytest.param("at -|.5 kg", id="between a sign and a decimal point"),
    pytest.param("at - |5 °C", id="behind a hyphen for a minus sign and a space"),
    pytest.param("at – |5 °C", id="behind an en dash for a minus sign and a space"),
    pytest.param("at -| 5 °C", id="before the space behind a sign"),
    pytest.param("(- |5 °C)", id="behind a spaced sign in a bracket"),
    pytest.param("at - |$5", id="behind a spaced sign before a currency"),
    pytest.param("code !|= 5", id="inside an unequal sign"),
    pytest.param("code !=| 5", id="behind an unequal sign"),
    pytest.param("code != |valid", id="behind an unequal sign before a word"),
    pytest.param("in 3.9|.x only", id="before the wildcard of a version"),
    pytest.param("in 3.9.|x only", id="inside the wildcard of a version"),
    pytest.param("in 3.9.|* only", id="before the star of a version"),
    pytest.param("in 3.9|.* only", id="before the point and star of a version"),
    pytest.param("is 10|**5 here", id="before the stars of a power"),
    pytest.param("is 10**|5 here", id="behind the stars of a power"),
    pytest.param("is +/- |2 mm", id="behind a spelled plus-minus"),
    pytest.param("is +|/- 2 mm", id="inside a spelled plus-minus"),
    pytest.param("is +/|- 2 mm", id="inside a spelled plus-minus, before its hyphen"),
    pytest.param("5 |1/2 hours", id="inside a mixed number"),
    pytest.param("Rs 1 |00 000", id="behind the lakh of an Indian group"),
    pytest.param("Rs 1 00 |000", id="inside an Indian group"),
    pytest.param("rated AA|- now", id="between a grade and its hyphen"),
    pytest.param("rated AA|– now", id="between a grade and its en dash"),
    pytest.param("rated B|− now", id="between a grade and its minus sign"),
    pytest.param("rated B|−, now", id="between a grade and its sign before a comma"),
    pytest.param("rated AA|+ now", id="between a grade and its plus sign"),
    pytest.param("rated A|* now", id="between a grade and its star"),
    pytest.param("* rated A|* now", id="between a grade and its star in a list item"),
    pytest.param("is −|x for", id="between a minus sign and a variable"),
    pytest.param("is ≠ |valid for", id="between an unequal sign and a word"),
    pytest.param("is ¬|valid for", id="between a negation sign and a word"),
    pytest.param("use --|force with", id="behind the hyphens of an option"),
    pytest.param("use -|-force with", id="between the hyphens of an option"),
    pytest.param("use -|x with", id="behind the hyphen of an option"),
    pytest.param("is -|(5) for", id="between a sign and a bracketed number"),
    pytest.param("is -(|5) for", id="inside a signed bracket"),
    pytest.param("is -|**5** for", id="between a sign and a marked number"),
    pytest.param("is -**|5** for", id="inside the markup of a signed number"),
    pytest.param("is > |**5** for", id="between a comparator and a marked number"),
    pytest.param("is > **|5** for", id="inside the markup of a compared number"),
    pytest.param("is > |(5) for", id="between a comparator and a bracketed number"),
    pytest.param("is > (|5) for", id="inside a compared bracket"),
    pytest.param("is **5**| % of", id="between a marked number and a percent sign"),
    pytest.param("un|**able** to", id="before markup inside a word"),
    pytest.param("un**|able** to", id="behind markup inside a word"),
    pytest.param("un\u200b|allowed", id="behind a zero-width space inside a word"),
    pytest.param("un|\u200ballowed", id="before a zero-width space inside a word"),
    pytest.param("un\ufeff|allowed", id="behind a zero-width no-break space inside a word"),
    pytest.param("1\u200b|000 units", id="behind a zero-width space inside a number"),
    pytest.param("at -\u2060 |5 °C", id="behind a sign and a word joiner"),
    pytest.param("un" + "\u200b" * 100 + "|allowed", id="behind many zero-width spaces"),
    pytest.param("- |5 days", id="behind a hyphen that may be a bullet or a sign"),
    pytest.param("of 2025\n- |5 days", id="behind such a hyphen below a number"),
    pytest.param("- |3.5 days", id="behind such a hyphen before a decimal"),
    pytest.param("- |1.000 €", id="behind such a hyphen before a thousand"),
    pytest.param("– |5 days", id="behind an en dash that may be a bullet or a sign"),
    pytest.param("+ |5 days", id="behind a plus that may be a bullet or a sign"),
    pytest.param("> |5 days", id="behind a quotation bar that may be a comparator"),
    pytest.param("Rule:\n>= |5 kg", id="behind a comparator at the start of a line"),
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
    pytest.param("* |5 days", id="a number behind a star bullet"),
    pytest.param("• |5 days", id="a number behind a bullet"),
    pytest.param("- |3.9.0 beta", id="a version behind a hyphen bullet"),
    pytest.param("- |2026-03-01 to", id="an ISO date behind a hyphen bullet"),
    pytest.param("- |01.03.2026 to", id="a date behind a hyphen bullet"),
    pytest.param("- |5th of May", id="an ordinal behind a hyphen bullet"),
    pytest.param("of 2025\n* |5 days", id="a number behind a star bullet below a number"),
    pytest.param("1. |5 days", id="a number behind a list number"),
    pytest.param("- |the days", id="a word behind a hyphen bullet"),
    pytest.param("-|The days", id="a word behind a tight hyphen bullet"),
    pytest.param("− |the days", id="a word behind a minus sign as bullet"),
    pytest.param("the fee – |which is", id="a word behind a spaced dash"),
    pytest.param("the fee –|which is", id="a word behind a dash with one space"),
    pytest.param("the fee|--which is", id="a word before two hyphens"),
    pytest.param("the fee --- |5 days", id="a number behind three hyphens"),
    pytest.param("the fee — |5 days", id="a number behind a spaced em dash"),
    pytest.param("pre- |5 days", id="a number behind a suspended hyphen"),
    pytest.param("5 € |(3 months)", id="a bracket behind a price"),
    pytest.param("the fee - |(5 days)", id="a bracket behind a spaced hyphen"),
    pytest.param("in C++ |(5 days)", id="a bracket behind a name with signs"),
    pytest.param("<b>|text</b>", id="a word behind a tag"),
    pytest.param("Settings > |Export", id="a word behind a menu bar"),
    pytest.param("the **fee|** is", id="a word before markup"),
    pytest.param("the **Class A|** is", id="a capital before closing markup"),
    pytest.param("the *price|* is", id="a word before a footnote star"),
    pytest.param("**is 5|.** Next", id="a number before a stop and markup"),
    pytest.param("is 5|.Next", id="a number before a stop without a space"),
    pytest.param("\u00b9|The fee", id="a word behind a footnote number"),
    pytest.param("the fee\u200b| is", id="a zero-width space before a space"),
    pytest.param("\u200b|the fee", id="a zero-width space at the start"),
    pytest.param("คืน\u200b|เงิน", id="a zero-width space between Thai words"),
    pytest.param("**费用|**为5元", id="ideographs around markup"),
    pytest.param("Acme|™ seals", id="a name before a trade mark"),
    pytest.param("①|申请人", id="a word behind a circled number"),
    pytest.param("costs |$500", id="before a currency sign"),
    pytest.param("weight |≤ 5 kg", id="a word before a comparator"),
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
    assert whole_parts(Span(20, 34), (Span(0, 34),), text) == (Span(25, 34),)
    assert text[25:34] == "at night."


@pytest.mark.parametrize(
    ("marked", "left"),
    [
        pytest.param("It may be 20 m|² in all.", "It may be", id="an exponent takes its number"),
        pytest.param("It holds at most 20| kg.", "It holds at most", id="a unit takes its number"),
        pytest.param("It holds air with CO|₂ in it.", "It holds air with", id="an index"),
        pytest.param("It may cost A|$500 a seat.", "It may cost", id="a currency"),
        pytest.param("It needs version 3.9|.x here.", "It needs version", id="a wildcard"),
        pytest.param("It is rated AA|- by now.", "It is rated", id="a grade"),
        pytest.param("It is in room 5|. It stays.", "It is in room 5", id="a whole number stays"),
    ],
)
def test_a_sentence_cut_by_a_chunk_ends_before_what_the_chunk_tears(marked: str, left: str):
    end = marked.index("|")
    text = marked.replace("|", "")
    (part,) = whole_parts(Span(0, end), (Span(0, len(text)),), text)
    assert text[part.start : part.end] == left


def test_trimming_keeps_what_must_stay():
    text = "unable to work"
    assert trim_inwards(text, Span(2, 14), keep=Span(2, 9)) == Span(2, 14)
    assert trim_inwards(text, Span(2, 14)) == Span(7, 14)


@given(st.text("abA 1-−5€.,²₂*+/=!>(^\u200b\n", max_size=20), st.data())
def test_trimmed_spans_are_uncut_and_inside(text: str, data: st.DataObject):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    trimmed = trim_inwards(text, Span(start, end))
    assert start <= trimmed.start <= trimmed.end <= end
    if len(trimmed):
        assert not cuts(text, trimmed.start)
        assert not cuts(text, trimmed.end)
