"""Terms: what question and chunk must share."""

from __future__ import annotations

import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.rules.terms import question_terms, terms

PARTS = (
    *("GX-200", "v3.9.0", "3.9.x", "follow-up", "Don’t", "l’article", "Straße", "the", "a.b", "x"),
    *(" ", "-", ".", "_", "10²", "e\u0301", "\xad", "日本"),
)
TEXTS = st.one_of(st.lists(st.sampled_from(PARTS)).map("".join), st.text())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("Reporting exports", ("report", "export"), id="casefolded and stemmed"),
        pytest.param("export, EXPORT; Exports", ("export",) * 3, id="repeated as they stand"),
        pytest.param(
            "Where can I export CSV?", ("export", "csv"), id="words that ask are no terms"
        ),
        pytest.param("How do I do it, and why?", (), id="a question of nothing else has none"),
        pytest.param("Don't. Don’t. I'm. I’m", (), id="contractions with either apostrophe"),
        pytest.param("the company's, company’s", ("compani", "compani"), id="possessives"),
        pytest.param("go to AI at 5 pm", ("5",), id="short words go, digits stay"),
        pytest.param("e.g. tea, i.e. hot, etc.", ("tea", "hot"), id="Latin abbreviations"),
        pytest.param("GX-200", ("200", "gx-200"), id="a code: the part that is a term, and whole"),
        pytest.param("gx‑200 GX‐200", ("200", "gx-200") * 2, id="whatever the hyphen"),
        pytest.param("follow-up", ("follow", "follow-up"), id="a compound and its parts"),
        pytest.param("follow-ups", ("follow", "up", "follow-up"), id="stemmed as well"),
        pytest.param("up-to-date", ("date", "up-to-d"), id="a compound around stop words"),
        pytest.param("how-to, do-it", (), id="a compound of nothing but stop words"),
        pytest.param("10–20 a - b c--d", ("10", "20"), id="dashes join nothing"),
        pytest.param("v3.9.0", ("3.9.0", "v3.9.0"), id="a version with v, both spellings"),
        pytest.param("V3.9", ("3.9", "v3.9"), id="of two numbers too"),
        pytest.param("3.9.0", ("3.9.0",), id="a version without"),
        pytest.param("v2 vat", ("v2", "vat"), id="a word with v is no version"),
        pytest.param("3.9.x", ("3.9", "3.9.x"), id="a version with a letter"),
        pytest.param("3.9.0-rc1", ("3.9.0", "rc1", "3.9.0-rc1"), id="a pre-release"),
        pytest.param("2.0.0-beta1.2", ("2.0.0", "beta1.2", "2.0.0-beta1.2"), id="of two numbers"),
        pytest.param(
            "in 2024.Then 5. Six", ("2024", "5", "six"), id="a full stop joins no sentences"
        ),
        pytest.param("2026-10-24", ("2026", "10", "24", "2026-10-24"), id="a date"),
        pytest.param("1-2-3-4-5-6-7", tuple("1234567"), id="a chain too long for a compound"),
        pytest.param("3,5 kg and 10² ½", ("3,5", "10"), id="numbers keep separators, exponents go"),
        pytest.param(
            "co\xadoperate cooperate", ("cooper", "cooper"), id="a soft hyphen is nothing"
        ),
        pytest.param("cafe\u0301 café", ("café", "café"), id="read in NFC"),
        pytest.param("max_size", ("max_siz",), id="an underscore is inside a word"),
        pytest.param("", (), id="nothing"),
    ],
)
def test_an_english_text_has_these_terms(text, expected):
    assert terms(text, "en") == expected


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        pytest.param(
            "Können Belege nachgereicht werden?", "de", ("beleg", "nachgereicht"), id="German"
        ),
        pytest.param("Straße STRASSE", "de", ("strass", "strass"), id="sharp s"),
        pytest.param("Qu'est-ce que l’article?", "fr", ("articl",), id="French elisions"),
        pytest.param("aujourd'hui l'an", "fr", ("aujourd'hui",), id="no elision inside a word"),
        pytest.param("los recibos", "es", ("los", "recib"), id="a stemmer without a list"),
        pytest.param("the Receipts", "xx", ("the", "receipts"), id="neither: words as they are"),
        pytest.param("Receipts", "EN", ("receipt",), id="a tag in capitals"),
        pytest.param("Отчёты", "ru", ("отчет",), id="Cyrillic"),
    ],
)
def test_a_language_brings_its_own_stemmer_and_list(text, language, expected):
    assert terms(text, language) == expected


def test_a_question_is_read_in_each_of_its_languages():
    assert question_terms("Was kosten die Receipts?", ("en", "de")) == {
        *("kosten", "die", "receipt"),  # English
        *("kost", "receipt"),  # German, where "die" is a stop word
    }


def test_a_question_without_languages_has_no_terms():
    assert question_terms("export", ()) == frozenset()


@given(TEXTS, st.sampled_from(["en", "de", "fr", "xx"]))
def test_terms_do_not_depend_on_composition_or_case_of_words(text, language):
    assert terms(unicodedata.normalize("NFD", text), language) == terms(text, language)


@given(TEXTS, st.sampled_from(["en", "de", "fr", "xx"]))
def test_any_text_is_a_valid_question(text, language):
    assert question_terms(text, (language,)) == frozenset(terms(text, language))
    assert "" not in terms(text, language)


@given(st.lists(TEXTS, max_size=4))
def test_the_terms_of_paragraphs_are_those_of_each_in_turn(texts):
    apart = tuple(term for text in texts for term in terms(text, "en"))
    assert terms("\n\n".join(texts), "en") == apart


def test_threads_read_the_same_terms_as_one():
    words = [
        f"reporting{number} receipts exports-{number} nationality conditional"
        for number in range(500)
    ]
    expected = [terms(text, "en") for text in words]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda text: terms(text, "en"), words * 4)) == expected * 4


@pytest.mark.timeout(60)  # where the work were not bounded, it would not end
def test_a_megabyte_gives_all_its_terms():
    text = "Receipts of the GX-200 are due within 30 days, see v3.9.0. " * 17_000
    assert len(terms(text, "en")) == 17_000 * 10
