"""Which words announce a condition, an exception or a negation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.rules.cues import LANGUAGES, cue_spans, has_cues
from rag_core.types.corpus import Span


def cues_of(text: str, language: str | None = "en") -> list[str]:
    spans = cue_spans(text, Span(0, len(text)), language=language)
    return [text[span.start : span.end] for span in spans]


@pytest.mark.parametrize(
    ("language", "text", "cues"),
    [
        pytest.param("en", "Unless the seal is broken.", ["Unless"], id="en unless"),
        pytest.param("en", "All rooms, except the lab.", ["except"], id="en except"),
        pytest.param("en", "See the exceptions below.", ["exceptions"], id="en exceptions"),
        pytest.param("en", "It is paid only\nif approved.", ["only\nif"], id="en only if"),
        pytest.param("en", "Paid provided that it fits.", ["provided that"], id="en provided that"),
        pytest.param("en", "However, the lab differs.", ["However"], id="en however"),
        pytest.param("en", "It does not apply.", ["not"], id="en not"),
        pytest.param("en", "It doesn’t and can't apply.", ["doesn’t", "can't"], id="en n't"),
        pytest.param("en", "It is never paid, but kept.", ["never", "but"], id="en never, but"),
        pytest.param("en", "All fees excluding tax.", ["excluding"], id="en excluding"),
        pytest.param("en", "If lost, ask for it.", ["If"], id="en if"),
        pytest.param("en", "No refund is due.", ["No"], id="en no"),
        pytest.param("de", "Es sei denn, es regnet.", ["Es sei denn"], id="de es sei denn"),
        pytest.param("de", "Gilt nicht, außer im Labor.", ["nicht", "außer"], id="de nicht, außer"),
        pytest.param("de", "Keine Ausnahmen ohne Antrag.", ["Keine", "Ausnahmen", "ohne"],
                     id="de keine Ausnahmen"),
        pytest.param("de", "Sofern möglich, jedoch später.", ["Sofern", "jedoch"], id="de sofern"),
        pytest.param("fr", "Sauf le lundi.", ["Sauf"], id="fr sauf"),
        pytest.param("fr", "Il n’est pas dû.", ["n’est", "pas"], id="fr ne … pas"),
        pytest.param("fr", "À moins qu’il pleuve.", ["À moins qu’il"], id="fr à moins que"),
        pytest.param("fr", "À condition de payer, mais tôt.", ["À condition de", "mais"],
                     id="fr à condition"),
    ],
)  # fmt: skip
def test_a_limit_is_announced(language: str, text: str, cues: list[str]):
    assert cues_of(text, language) == cues


@pytest.mark.parametrize(
    ("language", "text"),
    [
        pytest.param("en", "The notice names the knot and the button.", id="en inside words"),
        pytest.param("en", "The service is provided by the vendor.", id="en provided by"),
        pytest.param("en", "See No. 5 of the list.", id="en number sign"),
        pytest.param("en", "The fee is 5 % of the price.", id="en plain"),
        pytest.param("de", "Die Niere und der Kellner sind gesund.", id="de inside words"),
        pytest.param("de", "Die Gebühr beträgt 5 % des Preises.", id="de plain"),
        pytest.param("fr", "Le passage est une annexe de la maison.", id="fr inside words"),
        pytest.param("fr", "Les frais sont de 5 % du prix.", id="fr plain"),
    ],
)
def test_a_plain_rule_announces_nothing(language: str, text: str):
    assert cues_of(text, language) == []


@pytest.mark.parametrize("tag", ["en", "EN", "en-GB", "en_US", "de-AT", "fr-CA"])
def test_a_region_does_not_hide_the_language(tag: str):
    assert has_cues(tag)


@pytest.mark.parametrize("tag", [None, "", "it", "english", "e"])
def test_other_languages_have_no_cues(tag: str | None):
    assert not has_cues(tag)
    assert cues_of("unless not never", tag) == []


def test_there_are_lists_for_three_languages():
    assert LANGUAGES == ("en", "de", "fr")


@given(st.text("not but if\n.", max_size=30), st.data())
def test_cues_lie_in_their_region(text: str, data: st.DataObject):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    for cue in cue_spans(text, Span(start, end), language="en"):
        assert start <= cue.start < cue.end <= end
