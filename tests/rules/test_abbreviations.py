"""Abbreviations after which a sentence goes on."""

from __future__ import annotations

import pytest

from rag_core.rules.abbreviations import ends_open


@pytest.mark.parametrize(
    ("left", "right", "language"),
    [
        pytest.param("It weighs approx. ", "Five kg.", "en", id="approx. before anything"),
        pytest.param("Then i.e. ", "This.", "en", id="i.e. before anything"),
        pytest.param("Then I. e. ", "This.", "en", id="spaced and in capitals"),
        pytest.param("Max. ", "5 kg", "en", id="max. before a number"),
        pytest.param("See No. ", "(5)", "en", id="no. before a bracketed number"),
        pytest.param("Min. ", "€ 5", "en", id="min. before an amount"),
        pytest.param("Inkl. ", "Versand", "de", id="German inkl."),
        pytest.param("Das gilt z. B. ", "Hunde", "de", id="German z. B."),
        pytest.param("z.B.\n", "Hunde", "de", id="German z.B. before a line end"),
        pytest.param("Gem. ", "Art. 5", "de", id="German gem."),
        pytest.param("M. ", "Dupont", "fr", id="French M."),
        pytest.param("P. ex. ", "Paris", "fr", id="French p. ex."),
        pytest.param("Max. ", "5", "sv", id="another language follows English"),
    ],
)
def test_a_full_stop_after_an_abbreviation_ends_nothing(left, right, language):
    assert ends_open(left, right, language)


@pytest.mark.parametrize(
    ("left", "right", "language"),
    [
        pytest.param("Is it allowed? No. ", "The rule says so.", "en", id="no. as an answer"),
        pytest.param("I met Max. ", "He left.", "en", id="Max as a name"),
        pytest.param("They met in Rome. ", "5 left.", "en", id="a word that is no abbreviation"),
        pytest.param("The climax. ", "5 left.", "en", id="an abbreviation inside a word"),
        pytest.param("Inkl. ", "Versand", "en", id="German in an English text"),
        pytest.param("approx ", "Five", "en", id="without a full stop"),
        pytest.param("", "5", "en", id="nothing before"),
    ],
)
def test_other_full_stops_end_a_sentence(left, right, language):
    assert not ends_open(left, right, language)
