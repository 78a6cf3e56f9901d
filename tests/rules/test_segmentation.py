"""Graphemes, words and sentences, with the libraries that the ids name."""

from __future__ import annotations

from importlib.metadata import version
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.rules.segmentation import (
    SEGMENTATION_ID,
    SPLITTER_ID,
    grapheme_bounds,
    is_word_bound,
    sentence_spans,
    sentences_in,
    word_ranges,
    word_spans,
)
from rag_core.types.corpus import Span

PARTS = [
    *(
        "Hello. ",
        "World",
        "2. ",
        "Approx. ",
        "5 kg",
        "e.g. ",
        "don't ",
        "Max. ",
        "!",
        '"',
        "(",
        ") ",
    ),
    *(
        "\n",
        "\n\n",
        "- ",
        "# ",
        "key: ",
        "| ",
        "```\n",
        "\t",
        " ",
        "\u00a0",
        "。",
        "日本語",
        "ไทย",
        "नमस्ते",
    ),
    *(
        "\u0301",
        "\u200d",
        "\U0001f1e9",
        "\U0001f1ea",
        "\U0001f469",
        "\U0001f3fd",
        "\u1100",
        "\u1161",
    ),
    *("\xad", "…", "3.9.0", "a_b", "GX-200", "א״א", "Z. B. ", "\r\n", "½", "²"),
]
TEXTS = st.one_of(
    st.lists(st.sampled_from(PARTS)).map("".join), st.text(st.characters(codec="utf-8"))
)


def pieces(text: str, spans) -> list[str]:
    return [text[span.start : span.end] for span in spans]


def test_the_ids_name_the_installed_libraries():
    assert f"regex-{version('regex')}" == SEGMENTATION_ID
    assert f"sentencex-{version('sentencex')}+blocks-v1" == SPLITTER_ID


# --- graphemes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        pytest.param("", (0,), id="nothing"),
        pytest.param("ab", (0, 1, 2), id="letters"),
        pytest.param("a\r\nb", (0, 1, 3, 4), id="CR LF stay together"),
        pytest.param("e\u0301x", (0, 2, 3), id="a letter keeps its mark"),
        pytest.param("\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", (0, 2, 4), id="two flags"),
        pytest.param("\U0001f469\u200d\U0001f469\u200d\U0001f467!", (0, 5, 6), id="a family"),
        pytest.param("\U0001f44d\U0001f3fd", (0, 2), id="a skin tone"),
        pytest.param(
            "\u1100\u1161\u11a8\u1100", (0, 3, 4), id="a Hangul syllable of three letters"
        ),
        pytest.param("\u0915\u094d\u0937", (0, 3), id="a Devanagari conjunct (GB9c)"),
    ],
)
def test_grapheme_bounds_follow_uax_29(text, bounds):
    assert grapheme_bounds(text) == bounds


@given(TEXTS)
def test_grapheme_bounds_ascend_from_start_to_end(text):
    bounds = grapheme_bounds(text)
    assert (bounds[0], bounds[-1]) == (0, len(text))
    assert all(left < right for left, right in pairwise(bounds))


@pytest.mark.parametrize("before", ["", "a", "\U0001f1e6\u0301", "\u0600"])
@pytest.mark.parametrize("flags", [63, 64, 65, 66, 127, 128, 129, 193])
def test_a_long_run_of_flags_pairs_up_as_a_short_one_does(before, flags):
    text = before + "\U0001f1e6" * flags + "b"
    pairs = [right - left for left, right in pairwise(grapheme_bounds(text))][-flags // 2 - 2 :]
    assert pairs[-1] == 1
    assert set(pairs[-flags // 2 : -2]) == {2}
    assert pairs[-2] == (1 if flags % 2 else 2)


# --- words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("Don't stop.", ["Don't", "stop"], id="an apostrophe is inside a word"),
        pytest.param("can’t", ["can’t"], id="a curly one too"),
        pytest.param("v3.9.0, GX-200", ["v3.9.0", "GX", "200"], id="versions and hyphens"),
        pytest.param("3,5 % of 1.000", ["3,5", "of", "1.000"], id="numbers keep their separators"),
        pytest.param("10² ½ !?", ["10"], id="signs and exponents alone are no words"),
        pytest.param("日本", ["日", "本"], id="ideographs are words of one"),
        pytest.param("Привет, мир", ["Привет", "мир"], id="Cyrillic"),
        pytest.param("שלום עולם", ["שלום", "עולם"], id="Hebrew"),
        pytest.param("नमस्ते जी", ["नमस्ते", "जी"], id="Devanagari"),
        pytest.param("", [], id="nothing"),
    ],
)
def test_words_follow_uax_29_and_hold_a_letter_or_digit(text, words):
    assert pieces(text, word_spans(text)) == words


def test_the_word_bounds_of_a_text_lie_outside_its_words():
    text = "unable,  don't\U0001f469\u200d\U0001f467"
    found = [offset for offset in range(len(text) + 1) if is_word_bound(text, offset)]
    assert found == [0, 6, 7, 8, 9, 14, 17]


@pytest.mark.parametrize("offset", [-1, 3])
def test_a_word_bound_outside_the_text_is_an_error(offset):
    with pytest.raises(
        ValueError, match=rf"^word bound: want an offset within 0\.\.2, got {offset}$"
    ):
        is_word_bound("ab", offset)


@given(TEXTS)
def test_an_offset_inside_a_word_is_never_a_bound_and_its_ends_always_are(text):
    for start, end in word_ranges(text):
        assert is_word_bound(text, start)
        assert is_word_bound(text, end)
        assert not any(is_word_bound(text, offset) for offset in range(start + 1, end))


@pytest.mark.timeout(60)  # where the work were not bounded, it would not end
def test_word_bounds_far_inside_a_long_text_are_found():
    text = "some words to ask about, " * 40_000
    assert sum(is_word_bound(text, 500_000 + offset) for offset in range(25_000)) == 11_000


# --- sentences ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        pytest.param("One here. Two there.", "en", ["One here.", "Two there."], id="two"),
        pytest.param(
            "A line\nwrapped. Next", "en", ["A line\nwrapped.", "Next"], id="hard-wrapped"
        ),
        pytest.param("Approx. 5 kg. Next one.", "en", ["Approx. 5 kg.", "Next one."], id="approx."),
        pytest.param("Max. 5 kg. Then stop.", "en", ["Max. 5 kg.", "Then stop."], id="max."),
        pytest.param(
            "No. The rule is so.", "en", ["No.", "The rule is so."], id="no. as an answer"
        ),
        pytest.param("See art. 5 of it. Go.", "en", ["See art. 5 of it.", "Go."], id="art."),
        pytest.param(
            "Go on. 2. Do it now.", "en", ["Go on.", "2. Do it now."], id="inner numbering"
        ),
        pytest.param("2. Do it now. Ok then.", "en", ["2. Do it now.", "Ok then."], id="numbering"),
        pytest.param("It costs 5. 6.", "en", ["It costs 5. 6."], id="a last fragment goes back"),
        pytest.param(
            "Version 3.9.0 is out. Ok.", "en", ["Version 3.9.0 is out.", "Ok."], id="version"
        ),
        pytest.param(
            "Das gilt z. B. Hunden. Ja.", "de", ["Das gilt z. B. Hunden.", "Ja."], id="z. B."
        ),
        pytest.param("Inkl. Versand. Ende.", "de", ["Inkl. Versand.", "Ende."], id="German inkl."),
        pytest.param("Am 3. Mai kam er. Gut.", "de", ["Am 3. Mai kam er.", "Gut."], id="ordinal"),
        pytest.param("M. Dupont vient. Bien.", "fr", ["M. Dupont vient.", "Bien."], id="French M."),
        pytest.param(
            "これは文です。次の文です。", "ja", ["これは文です。", "次の文です。"], id="Japanese"
        ),
        pytest.param("One. Two.", None, ["One.", "Two."], id="undeclared follows English"),
        pytest.param("Approx. 5 kg.", "xx", ["Approx. 5 kg."], id="unknown follows English"),
        pytest.param(
            "# Rules\nPay.\n- first item\n- second. Third",
            "en",
            ["# Rules", "Pay.", "- first item", "- second.", "Third"],
            id="never across blocks",
        ),
        pytest.param("  \n\n ", "en", [], id="white space holds none"),
        pytest.param("", "en", [], id="nothing holds none"),
    ],
)
def test_a_text_falls_into_its_sentences(text, language, expected):
    assert pieces(text, sentence_spans(text, language)) == expected


@given(TEXTS, st.sampled_from([None, "en", "de", "fr", "ja", "xx"]))
def test_sentences_are_ordered_trimmed_and_cover_all_but_white_space(text, language):
    spans = sentence_spans(text, language)
    assert all(left.end <= right.start for left, right in pairwise(spans))
    assert all(piece and piece == piece.strip() for piece in pieces(text, spans))
    between = [Span(0, 0), *spans, Span(len(text), len(text))]
    gaps = "".join(text[left.end : right.start] for left, right in pairwise(between))
    assert gaps.strip() == ""


@pytest.mark.parametrize(
    ("span", "parts"),
    [
        pytest.param(Span(0, 40), ["One is here.", "The second sentence."], id="whole ones"),
        pytest.param(Span(2, 29), ["is here.", "The second"], id="cut inside words"),
        pytest.param(Span(4, 23), ["is here.", "The second"], id="cut at words"),
        pytest.param(Span(4, 22), ["is here.", "The"], id="a word that does not fit goes"),
        pytest.param(Span(12, 15), [], id="nothing is left between"),
        pytest.param(Span(17, 20), [], id="inside a word"),
        pytest.param(Span(5, 5), [], id="an empty span"),
    ],
)
def test_sentences_in_a_chunk_are_trimmed_inwards_to_word_bounds(span, parts):
    text = "One is here. The second sentence."
    #       0123456789012345678901234567890123
    assert pieces(text, sentences_in(span, sentence_spans(text, "en"), text)) == parts


@given(TEXTS, st.data())
def test_sentences_in_a_chunk_lie_in_it_and_in_their_sentence(text, data):
    start = data.draw(st.integers(0, len(text)))
    span = Span(start, data.draw(st.integers(start, len(text))))
    sentences = sentence_spans(text, "en")
    parts = sentences_in(span, sentences, text)
    assert all(left.end <= right.start for left, right in pairwise(parts))
    for part in parts:
        assert span.start <= part.start < part.end <= span.end
        assert any(one.start <= part.start and part.end <= one.end for one in sentences)
        assert is_word_bound(text, part.start) or any(one.start == part.start for one in sentences)
        assert is_word_bound(text, part.end) or any(one.end == part.end for one in sentences)


@pytest.mark.parametrize(
    "unit",
    [
        "\U0001f1e6",
        "\u0301",
        "a\u0301",
        "word ",
        "2. ",
        "Max. 5 ",
        ". ",
        "\u0915\u094d",
        "a\n",
        "\xad",
    ],
)
@pytest.mark.timeout(60)  # where the work were not bounded, it would not end
def test_a_hostile_text_is_segmented_to_its_end(unit):
    text = unit * (200_000 // len(unit))
    grapheme_bounds(text)
    word_spans(text)
    sentence_spans(text, "en")
