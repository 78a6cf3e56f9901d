"""The packaged stop word lists."""

from __future__ import annotations

import unicodedata
from importlib.resources import files

import pytest

from rag_core.rules.stop_words import LANGUAGES, stop_words

ASKING = {
    "en": "how where what who when why which whom whose can do does did may must should will would "
    "is are was were have has i you we they don't i'm what's can't won't",
    "de": "wie wo was wer wann warum welche welcher wem wen wessen kann können darf dürfen muss "
    "müssen soll sollen ist sind habe haben ich sie wir",
    "fr": "comment où que qui quand pourquoi quel quelle quels quelles combien peut peux dois doit "
    "est sont avons avez je vous nous les",
}
MEANING = {
    "en": "bill call area system fire mine interest amount show name find detail",
    "de": "tag jahr zeit teil beispiel mensch",
    "fr": "personne valeur nom sujet force parole",
}


def test_there_is_a_list_for_each_named_language_and_no_other():
    folder = files("rag_core").joinpath("data", "stopwords")
    assert sorted(each.name for each in folder.iterdir()) == [
        "NOTICE.txt",
        *(f"{tag}.txt" for tag in LANGUAGES),
    ]


@pytest.mark.parametrize("language", LANGUAGES)
def test_words_that_ask_are_stop_words(language):
    assert set(ASKING[language].split()) - stop_words(language) == set()


@pytest.mark.parametrize("language", LANGUAGES)
def test_words_that_mean_something_are_not(language):
    assert set(MEANING[language].split()) & stop_words(language) == set()


@pytest.mark.parametrize(("language", "count"), [("de", 307), ("en", 229), ("fr", 216)])
def test_a_list_is_short_and_in_the_form_that_terms_compare(language, count):
    words = stop_words(language)
    assert len(words) == count
    for word in words:
        assert word == unicodedata.normalize("NFC", word).casefold()
        assert not set(word) & set(" #’")


@pytest.mark.parametrize("language", ["xx", "", "EN", "../en"])
def test_a_language_without_a_list_has_no_stop_words(language):
    assert stop_words(language) == frozenset()
