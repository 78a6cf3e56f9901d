"""What typography may change, and what it must leave alone."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.rules.folding import SOFT_HYPHEN, fold
from rag_core.types.corpus import Span

_LOOKS_ALIKE = [
    pytest.param("“Save” the file", '"Save" the file', id="curly quotes match straight ones"),
    pytest.param("„Speichern“ wählen", '"Speichern" wählen', id="low quotes match straight ones"),
    pytest.param("the user’s file", "the user's file", id="apostrophes match"),
    pytest.param("‘Save’ the file", "'Save' the file", id="single quotes match straight ones"),
    pytest.param("“24 months”", '"24 months”', id="an opening quote before a digit matches"),
    pytest.param("one – two", "one - two", id="spaced dashes match spaced hyphens"),
    pytest.param("one — two", "one – two", id="spaced dashes match each other"),
    pytest.param("one—two", "one–two", id="dashes between letters match each other"),
    pytest.param("well‑known", "well-known", id="no-break hyphen matches hyphen"),
    pytest.param("well‐known", "well-known", id="Unicode hyphen matches hyphen"),
    pytest.param("pre‑ and post", "pre- and post", id="a suspended hyphen matches"),
    pytest.param("की – वह", "की - वह", id="a dash after a combining mark matches"),
    pytest.param("oﬃce ﬁle ﬂat oﬀ baﬄe ﬆill ﬅill", "office file flat off baffle still still",
                 id="ligatures match their letters"),
    pytest.param("infor\u00admation", "information", id="a soft hyphen between letters is dropped"),
    pytest.param("a\u00a0b", "a b", id="no-break space matches space"),
    pytest.param("1\u202f000", "1 000", id="narrow space between digits matches space"),
    pytest.param("1\u2009000", "1\u00a0000", id="spaces between digits match each other"),
    pytest.param("a  \t b", "a b", id="repeated white space is one space"),
    pytest.param("a\nb", "a b", id="a line break matches a space"),
    pytest.param("a\r\nb", "a b", id="a line break of two characters matches a space"),
    pytest.param("a\rb", "a b", id="a carriage return matches a space"),
    pytest.param("a\vb", "a b", id="a vertical tab matches a space"),
    pytest.param("a\fb", "a b", id="a form feed matches a space"),
    pytest.param("a\x85b", "a b", id="a next line character matches a space"),
    pytest.param("a \u00ad b", "a b", id="a soft hyphen between spaces leaves one space"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), _LOOKS_ALIKE)
def test_typography_folds_to_one_form(one: str, other: str):
    assert fold(one).chars == fold(other).chars


_STAYS_APART = [
    pytest.param("5 %", "6 %", id="another digit"),
    pytest.param("at -5 °C", "at 5 °C", id="a lost sign"),
    pytest.param("at −5 °C", "at -5 °C", id="minus sign and hyphen"),
    pytest.param("at −5 °C", "at +5 °C", id="a flipped sign"),
    pytest.param("at –5 °C", "at -5 °C", id="a dash before a digit"),
    pytest.param("at – 5 °C", "at - 5 °C", id="a dash before a space and a digit"),
    pytest.param("at –\u00a05 °C", "at -\u00a05 °C", id="a dash before a no-break space and digit"),
    pytest.param("at –€5", "at -€5", id="a dash before a currency and a digit"),
    pytest.param("at – .5", "at - .5", id="a dash before a decimal point"),
    pytest.param("at –\u00ad5", "at -\u00ad5", id="a dash before a soft hyphen and a digit"),
    pytest.param("5–10 days", "5-10 days", id="a range"),
    pytest.param("5–day", "5-day", id="a dash after a digit"),
    pytest.param("COVID‑19", "COVID-19", id="a hyphen before a digit"),
    pytest.param("10²–x", "10²-x", id="a dash after an exponent"),
    pytest.param("x − y", "x - y", id="a minus sign between letters"),
    pytest.param("< 5", "> 5", id="a flipped comparator"),
    pytest.param("≤ 5", "< 5", id="a sharpened comparator"),
    pytest.param("≥ 5", ">= 5", id="a spelled comparator"),
    pytest.param("≮ 5", "< 5", id="a negated comparator"),
    pytest.param("5 €", "5 $", id="another currency"),
    pytest.param("5 £", "5 ₤", id="a look-alike currency"),
    pytest.param("10²", "102", id="an exponent"),
    pytest.param("10²", "10³", id="another exponent"),
    pytest.param("H₂O", "H2O", id="a subscript"),
    pytest.param("1,5", "15", id="a lost decimal comma"),
    pytest.param("1,5", "1.5", id="comma and point"),
    pytest.param("1,5", "1‚5", id="comma and low quotation mark"),
    pytest.param("1/2", "12", id="a lost fraction slash"),
    pytest.param("1⁄2", "1/2", id="fraction slash and slash"),
    pytest.param("½", "1/2", id="a fraction sign"),
    pytest.param("½", "¼", id="another fraction"),
    pytest.param("± 5", "5", id="a lost plus-minus"),
    pytest.param("±5", "+5", id="plus for plus-minus"),
    pytest.param("5′", "5″", id="another prime"),
    pytest.param("5′", "5'", id="a prime and an apostrophe"),
    pytest.param("5’", "5'", id="a mark after a digit"),
    pytest.param("5”", '5"', id="a double mark after a digit"),
    pytest.param("1’000", "1000", id="a lost separator"),
    pytest.param("1’000", "1'000", id="another separator"),
    pytest.param("1 000", "1000", id="a lost space between digits"),
    pytest.param("1\u00ad0", "10", id="a soft hyphen between digits"),
    pytest.param("1\u00ad\u00ad0", "10", id="two soft hyphens between digits"),
    pytest.param("1" + "\u00ad" * 40 + "0", "10", id="many soft hyphens between digits"),
    pytest.param("x\u00ad²", "x²", id="a soft hyphen before an exponent"),
    pytest.param("re-cover", "recover", id="a hyphen joined away"),
    pytest.param("re\u00ad-cover", "recover", id="a hyphen beside a soft hyphen joined away"),
    pytest.param("re-\ncover", "recover", id="a hyphen at a line break joined away"),
    pytest.param("well—known", "well-known", id="dash and hyphen inside a word"),
    pytest.param("pre- and post", "pre– and post", id="a suspended hyphen and a dash"),
    pytest.param("(a)–b", "(a)—b", id="dashes behind a bracket"),
    pytest.param("a–(b)", "a—(b)", id="dashes before a bracket"),
    pytest.param("x–5", "x—5", id="dashes between a letter and a digit"),
    pytest.param("x ‚5", "x '5", id="a low mark before a digit"),
    pytest.param("well - known", "well-known", id="spaces around a hyphen"),
    pytest.param("not able", "notable", id="a lost space"),
    pytest.param("notable", "not able", id="an inserted space"),
    pytest.param("a\u200bb", "ab", id="a zero-width space"),
    pytest.param("a\u200db", "ab", id="a zero-width joiner"),
    pytest.param("a\u202eb", "ab", id="a direction override"),
    pytest.param("5 MW", "5 mW", id="another unit"),
    pytest.param("5 µg", "5 mg", id="another prefix"),
    pytest.param("5 %", "5 ‰", id="another share"),
    pytest.param("May", "may", id="case"),
    pytest.param("cœur", "coeur", id="œ"),
    pytest.param("Ægir", "AEgir", id="æ"),
    pytest.param("Straße", "Strasse", id="ß"),
    pytest.param("é", "e", id="an accent"),
    pytest.param("раз", "paз", id="a Latin p for a Cyrillic r"),
    pytest.param("５", "5", id="a full-width digit"),
    pytest.param("…", "...", id="an ellipsis"),
    pytest.param("«a»", '"a"', id="guillemets"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), _STAYS_APART)
def test_what_carries_meaning_stays_apart(one: str, other: str):
    assert fold(unicodedata.normalize("NFC", one)).chars != fold(other).chars


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Возврат возможен", id="Cyrillic"),
        pytest.param("Η επιστροφή", id="Greek"),
        pytest.param("退款须在三十天内", id="Han"),
        pytest.param("払い戻しは三十日", id="kana"),
        pytest.param("환불은 삼십일", id="Hangul"),
        pytest.param("يجوز الاسترداد", id="Arabic"),
        pytest.param("ההחזר אפשרי", id="Hebrew"),
        pytest.param("คืนเงินได้ภายใน", id="Thai"),
        pytest.param("वापसी तीस दिनों", id="Devanagari"),
    ],
)
def test_letters_of_every_script_survive(text: str):
    normal = unicodedata.normalize("NFC", text)
    assert fold(normal).chars == normal


def test_every_folded_character_maps_to_its_place():
    folded = fold("“oﬀ”  x\u00ady")
    assert folded.chars == '"off" xy'
    assert folded.spans == (
        Span(0, 1), Span(1, 2), Span(2, 3), Span(2, 3), Span(3, 4),
        Span(4, 6), Span(6, 7), Span(8, 9),
    )  # fmt: skip


_ALPHABET = st.text(
    st.one_of(
        st.sampled_from("ab1٣²½ \n\t\u00a0\u00ad-‐‑–—−'’‘“”„‚\"′ﬁﬀ…[],./<>€%Яé中ก"),
        st.characters(exclude_categories=("Cs", "Cc")),
    ),
    max_size=40,
)


@given(_ALPHABET)
def test_spans_ascend_and_cover_all_but_soft_hyphens(text: str):
    folded = fold(text)
    assert len(folded.chars) == len(folded.spans)
    place = 0
    previous = None
    for span in folded.spans:
        if span != previous:
            assert set(text[place : span.start]) <= {SOFT_HYPHEN}
            assert span.end > span.start >= place
            place, previous = span.end, span
    assert set(text[place:]) <= {SOFT_HYPHEN}


@given(_ALPHABET)
def test_folding_twice_equals_folding_once(text: str):
    once = fold(text).chars
    assert fold(once).chars == once


@given(_ALPHABET)
def test_digits_and_letters_pass_through_in_order(text: str):
    expanded = text
    for ligature, letters in (("ﬁ", "fi"), ("ﬀ", "ff"), ("ﬂ", "fl"), ("ﬃ", "ffi"), ("ﬄ", "ffl"),
                              ("ﬅ", "st"), ("ﬆ", "st")):  # fmt: skip
        expanded = expanded.replace(ligature, letters)
    assert [c for c in fold(text).chars if c.isalnum()] == [c for c in expanded if c.isalnum()]


@given(_ALPHABET)
def test_white_space_is_never_dropped_or_inserted(text: str):
    bare = text.replace(SOFT_HYPHEN, "")
    assert [len(word) > 0 for word in fold(bare).chars.split(" ")] == [
        len(word) > 0 for word in " ".join(f"|{bare}|".split())[1:-1].split(" ")
    ]
