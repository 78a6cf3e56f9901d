"""Normalisation: one stored form for every way of writing the same text."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.rules.normalization import LONGEST_MARK_RUN, TextProblem, normalize_text

TEXTS = st.text(
    alphabet=st.one_of(
        st.sampled_from("\r\n\f\v\x85\u2028\u2029\ufeff\t e\u0301\u0327\u1100\u1161\u11a8Å\0"),
        st.characters(),
    )
)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        pytest.param("a\r\nb", "a\nb", id="CRLF is one line end"),
        pytest.param("a\rb", "a\nb", id="CR is a line end"),
        pytest.param("a\n\rb", "a\n\nb", id="LF CR are two line ends"),
        pytest.param("a\fb", "a\nb", id="a form feed is a line end"),
        pytest.param("a\vb", "a\nb", id="a vertical tab is a line end"),
        pytest.param("a\x85b", "a\nb", id="NEL is a line end"),
        pytest.param("a\u2028b\u2029c", "a\nb\nc", id="LS and PS are line ends"),
        pytest.param("a\tb", "a\tb", id="a tab stays"),
        pytest.param("  a  \n\n", "  a  \n\n", id="nothing is trimmed"),
        pytest.param("\ufeffa", "a", id="a byte order mark goes"),
        pytest.param("\ufeff\ufeffa", "a", id="repeated byte order marks go"),
        pytest.param("a\ufeffb", "a\ufeffb", id="a later U+FEFF is content"),
        pytest.param("cafe\u0301", "caf\u00e9", id="letter and mark are composed"),
        pytest.param("\ufeffe\u0301", "\u00e9", id="composed after the mark is gone"),
        pytest.param("\r\u0301", "\n\u0301", id="a mark after a line end stays there"),
        pytest.param("\u212b", "\u00c5", id="the Angstrom sign is the letter"),
        pytest.param("10\u00b2 \ufb01", "10\u00b2 \ufb01", id="exponents and ligatures stay"),
        pytest.param("", "", id="empty stays empty"),
    ],
)
def test_a_text_has_one_stored_form(raw, text):
    assert normalize_text(raw).text == text
    assert normalize_text(raw).problems == ()


@pytest.mark.parametrize(
    ("raw", "problems"),
    [
        pytest.param("ab\0c", [(2, "NUL character U+0000")], id="NUL"),
        pytest.param("a\ud83d", [(1, "lone surrogate U+D83D")], id="high surrogate"),
        pytest.param(
            "\ud83d\ude00",
            [(0, "lone surrogate U+D83D"), (1, "lone surrogate U+DE00")],
            id="an undecoded pair is two lone surrogates",
        ),
        pytest.param("a\x1b[0m", [(1, "control character U+001B")], id="escape"),
        pytest.param("a\x7f", [(1, "control character U+007F")], id="delete"),
        pytest.param("\x9f", [(0, "control character U+009F")], id="C1"),
        pytest.param("\x1c", [(0, "control character U+001C")], id="file separator"),
        pytest.param("\ufeffa\r\ne\u0301\0", [(3, "NUL character U+0000")], id="after folding"),
    ],
)
def test_a_character_that_no_text_may_hold_is_named_at_its_offset_in_the_stored_text(raw, problems):
    assert normalize_text(raw).problems == tuple(unprintable(*each) for each in problems)


def test_every_control_character_is_a_problem_or_a_line_end_or_tab():
    unprintable = [c for c in map(chr, range(0x110000)) if unicodedata.category(c) in {"Cc", "Cs"}]
    kept = [ord(each) for each in unprintable if not normalize_text(each).problems]
    assert kept == [0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x85]


def unprintable(offset, message):
    return TextProblem(offset, message, "control_character")


def too_many(marks, offset):
    message = f"{marks} combining marks in a row, at most 30 are read"
    return TextProblem(offset, message, "oversized_grapheme")


@pytest.mark.parametrize(
    ("raw", "problems"),
    [
        pytest.param("a" + "\u0323" * 30, [], id="30 are read"),
        pytest.param("a" + "\u0323" * 31, [(31, 1)], id="31 are too many"),
        pytest.param("\u0323" * 31, [(31, 0)], id="at the start of the text"),
        pytest.param("\u00e9" + "\u0301" * 29, [], id="the mark of a composed letter, 30"),
        pytest.param("\u00e9" + "\u0301" * 30, [(31, 1)], id="the mark of a composed letter, 31"),
        pytest.param("\u1f82" + "\u0301" * 28, [(31, 1)], id="the three marks of one letter"),
        pytest.param("a" + "\u0344" * 15, [], id="marks of two, 30"),
        pytest.param("a" + "\u0344" * 16, [(32, 1)], id="marks of two, 32"),
        pytest.param("\u0f40" + "\u0f73" * 16, [(32, 1)], id="Tibetan signs of two marks"),
        pytest.param("a" + "\u0336\ufe0f" * 100, [], id="a selector between them ends the run"),
        pytest.param("a\u0336" * 1000, [], id="letters between them end the run"),
        pytest.param("a" + "\u0301" * 31 + "b" + "\u0301" * 40, [(31, 1), (40, 33)], id="two runs"),
        pytest.param("\ufeffa\r\n" + "\u0301" * 31, [(31, 2)], id="offset in the stored lines"),
    ],
)
def test_more_than_30_combining_marks_in_a_row_are_a_problem_at_their_offset(raw, problems):
    assert normalize_text(raw).problems == tuple(too_many(*each) for each in problems)


def test_a_text_with_endless_combining_marks_is_never_composed():
    raw = "e\u0301 a" + "\u0301\u0323" * 400_000
    assert normalize_text(raw) == (normalize_text(normalize_text(raw).text))
    assert normalize_text(raw).text == raw
    assert normalize_text(raw).problems == (too_many(800_000, 4),)


def test_a_text_of_many_short_runs_is_composed():
    raw = ("e" + "\u0301" * LONGEST_MARK_RUN) * 1000
    assert normalize_text(raw).text == ("\u00e9" + "\u0301" * 29) * 1000


def test_problems_of_both_kinds_come_in_order_of_offset():
    assert normalize_text("\0" + "a" + "\u0301" * 31 + "\x1b").problems == (
        unprintable(0, "NUL character U+0000"),
        too_many(31, 2),
        unprintable(33, "control character U+001B"),
    )


def test_every_character_that_decomposes_into_marks_only_counts_as_mark():
    marks = [
        char
        for char in map(chr, range(0x110000))
        if unicodedata.combining(unicodedata.normalize("NFD", char)[0])
    ]
    assert [hex(ord(char)) for char in marks if not normalize_text(char * 31).problems] == []


@given(st.text("ae\u00e9\u1f82\u0344\u0f73\u0301\u0323").map(lambda text: text * 20))
def test_nfc_and_nfd_have_as_many_problems(text):
    composed, decomposed = (
        normalize_text(unicodedata.normalize(form, text)).problems for form in ("NFC", "NFD")
    )
    assert [each.message for each in composed] == [each.message for each in decomposed]


@given(TEXTS)
def test_normalising_twice_equals_once(raw):
    once = normalize_text(raw)
    assert normalize_text(once.text) == once


@given(TEXTS)
def test_a_stored_text_is_in_nfc_and_knows_one_line_end(raw):
    text = normalize_text(raw).text
    assert unicodedata.is_normalized("NFC", text)
    assert not set(text) & set("\r\f\v\x85\u2028\u2029")


@given(st.text(st.characters(exclude_characters="\r\ufeff")), st.sampled_from(["\n", "\r\n", "\r"]))
def test_line_ends_composition_and_byte_order_mark_do_not_matter(text, line_end):
    variant = "\ufeff" + unicodedata.normalize("NFD", text).replace("\n", line_end)
    assert normalize_text(variant) == normalize_text(text)
