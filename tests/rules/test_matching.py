"""Where a quotation is found, where it is not, and what a miss costs."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from builders import make_excerpt, make_source
from rag_core.rules.length import is_long_enough
from rag_core.rules.matching import Match, find_quote, has_control_character, nearest_miss
from rag_core.rules.places import folded_form
from rag_core.rules.segmentation import word_spans
from rag_core.types.corpus import Span
from rag_core.types.verdicts import MatchKind

FEE = "Note first. The fee is 5 % of the price, and the user’s “claim” is due – always."


def found(quote: str, text: str, *, matching="typographic", sentences=None) -> str | None:
    """The stretch of the text that the quotation matched."""
    excerpt = make_excerpt(make_source(text, sentences=sentences))
    match = find_quote(quote, excerpt, matching=matching)
    return text[match.span.start : match.span.end] if match else None


def kind_of(quote: str, text: str) -> MatchKind | None:
    match = find_quote(quote, make_excerpt(text), matching="typographic")
    return match.kind if match else None


def test_a_verbatim_quotation_matches_exactly():
    assert kind_of("The fee is 5 % of the price", FEE) is MatchKind.EXACT


def test_a_verbatim_quotation_is_exact_before_it_is_typographic():
    text = 'the “fee” is due; the "fee" is due'
    match = find_quote('the "fee" is due', make_excerpt(text), matching="typographic")
    assert match == Match(Span(18, 34), MatchKind.EXACT)


def test_white_space_around_a_quotation_is_trimmed():
    assert found(" \n The fee is 5 %\t", FEE, matching="exact") == "The fee is 5 %"


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        pytest.param('the user\'s "claim" is due - always', FEE, id="quotation marks and dashes"),
        pytest.param("the ofﬁce ﬁle", "in the office file", id="ligatures in the quotation"),
        pytest.param("the office file", "in the oﬃce ﬁle", id="ligatures in the source"),
        pytest.param("for information only", "for infor\u00admation only", id="soft hyphen"),
        pytest.param("pay 1 000 euros", "pay 1\u00a0000 euros", id="no-break space in a number"),
        pytest.param("two lines of text", "two\nlines  of\ttext", id="line break and tab"),
        pytest.param("two\r\nlines".replace("\r", ""), "two lines", id="line break in the quote"),
        pytest.param(unicodedata.normalize("NFD", "größere Räume"), "größere Räume", id="NFD"),
    ],
)
def test_typographic_damage_matches(quote: str, text: str):
    assert kind_of(quote, text) is MatchKind.TYPOGRAPHIC
    assert found(quote, text, matching="exact") is None


def test_the_match_is_the_source_own_text():
    text = "Save in the oﬃce “now”  please."
    assert found('the office "now" please', text) == "the oﬃce “now”  please"


def test_offsets_count_from_the_start_of_the_source():
    source = make_source("One sentence here. Another “sentence” there.")
    excerpt = make_excerpt(source, Span(19, 44))
    match = find_quote('Another "sentence"', excerpt, matching="typographic")
    assert match == Match(Span(19, 37), MatchKind.TYPOGRAPHIC)


def test_a_quotation_outside_the_chunk_is_not_found():
    excerpt = make_excerpt(make_source("One sentence here. Another one there."), Span(19, 37))
    assert find_quote("One sentence here.", excerpt, matching="typographic") is None


@pytest.mark.parametrize("matching", ["exact", "typographic"])
@pytest.mark.parametrize(
    "quote", ["", "  \n", "\u00ad", " \u00ad\u00ad ", "\u00ad \u00ad"], ids=ascii
)
def test_an_empty_form_never_matches(quote: str, matching):
    assert found(quote, "some text of the source", matching=matching) is None


def test_half_a_ligature_is_no_match():
    assert found("the o", "the oﬀ switch") == "the o"
    assert found("the of", "the oﬀ switch") is None
    assert found("f switch", "the oﬀ switch") is None


def test_the_first_place_on_word_bounds_is_taken():
    text = "unable to work alone, able to work alone"
    match = find_quote("able to work alone", make_excerpt(text), matching="typographic")
    assert match == Match(Span(22, 40), MatchKind.EXACT)


def test_a_typographic_place_on_word_bounds_beats_an_exact_one_inside_a_word():
    text = 'unable to “work” alone or able to "work" alone'
    match = find_quote("able to “work” alone", make_excerpt(text), matching="typographic")
    assert match == Match(Span(26, 46), MatchKind.TYPOGRAPHIC)


def test_without_a_place_on_word_bounds_the_first_is_reported_as_torn():
    match = find_quote("able to work", make_excerpt("unable to work"), matching="exact")
    assert match == Match(Span(2, 14), MatchKind.EXACT, whole=False)


def test_a_chunk_bound_does_not_hide_a_torn_word():
    excerpt = make_excerpt(make_source("unable to work alone"), Span(2, 20))
    match = find_quote("able to work alone", excerpt, matching="typographic")
    assert match == Match(Span(2, 20), MatchKind.EXACT, whole=False)


# --- The one exception to "case stays" -----------------------------------------------------------

_TWO = (Span(0, 11), Span(12, 80))


def test_a_sentence_start_may_be_quoted_in_lower_case():
    assert found("the fee is 5 %", FEE, sentences=_TWO) == "The fee is 5 %"


@pytest.mark.parametrize(
    "word",
    ["A", "An", "The", "In", "On", "If", "It", "No", "Not", "All", "Any", "For", "To", "Of", "By",
     "My", "Why", "May", "As", "At", "Is", "Fee", "Tax", "Seal", "Es", "Für", "Übt", "Il", "Été",
     "Не", "Для", "Το"],
)  # fmt: skip
def test_a_short_word_that_starts_a_sentence_may_be_quoted_in_lower_case(word: str):
    text = f"{word} seal is blue here."
    quote = f"{word.lower()} seal is blue"
    assert found(quote, text) == f"{word} seal is blue"


def test_a_sentence_start_behind_markup_may_be_quoted_in_lower_case():
    assert found("the fee is due", "- **The fee is due**") == "The fee is due"


def test_a_quotation_may_start_with_a_capital():
    assert found("Fee is 5 % of the price", FEE) == "fee is 5 % of the price"


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        pytest.param("turkey must be kept cold", "All Turkey must be kept cold", id="mid-sentence"),
        pytest.param("us citizens need a visa", "US citizens need a visa", id="capitals"),
        pytest.param("US citizens need a visa", "us citizens need a visa", id="quoted capitals"),
        pytest.param("mg is a light metal", "Mg is a light metal", id="a unit"),
        pytest.param("Mg of salt per litre", "mg of salt per litre", id="a quoted unit"),
        pytest.param("mol is not used", "Mol is not used", id="a unit with a vowel"),
        pytest.param("Mol is not used", "mol is not used", id="a quoted unit with a vowel"),
        pytest.param("kat is not used", "Kat is not used", id="katal"),
        pytest.param("bar is not used", "Bar is not used", id="bar"),
        pytest.param("cal is not used", "Cal is not used", id="calorie"),
        pytest.param("kcal is not used", "Kcal is not used", id="kilocalorie"),
        pytest.param("mmol is not used", "Mmol is not used", id="millimole and megamole"),
        pytest.param("lm is not used", "Lm is not used", id="lumen"),
        pytest.param("lx is not used", "Lx is not used", id="lux"),
        pytest.param("sv is not used", "Sv is not used", id="sievert"),
        pytest.param("gy is not used", "Gy is not used", id="gray"),
        pytest.param("rad is not used", "Rad is not used", id="radian"),
        pytest.param("hz is not used", "Hz is not used", id="hertz"),
        pytest.param("pa is not used", "Pa is not used", id="pascal"),
        pytest.param("ohm is not used", "Ohm is not used", id="ohm"),
        pytest.param("rpm is not used", "Rpm is not used", id="a word without a vowel"),
        pytest.param("гц не указан", "Гц не указан", id="a Cyrillic unit"),
        pytest.param("v is the voltage here", "V is the voltage here", id="a single letter"),
        pytest.param("iPhone users must pay", "IPhone users must pay", id="inner capitals"),
        pytest.param("the Fee is due now", "The fee is due now", id="another word"),
        pytest.param("The fee is Due now", "The fee is due now", id="a word inside"),
        pytest.param("5 The fee is due now", "5 the fee is due now", id="behind a digit"),
        pytest.param("Ss is due on Monday", "ß is due on Monday", id="a letter that grows"),
    ],
)
def test_other_case_never_matches(quote: str, text: str):
    assert found(quote, text) is None


def test_case_stays_under_exact_matching():
    assert found("the fee is 5 %", FEE, matching="exact", sentences=_TWO) is None


# --- Ellipses ------------------------------------------------------------------------------------

HEAD = "The device is approved for use in dry rooms"
TAIL = "and must be cleaned once a week by staff"
MIDDLE = ", which the operator confirms in writing, "


def passage(gap: str) -> str:
    return f"{HEAD}{gap}{TAIL}."


@pytest.mark.parametrize("mark", ["…", "[…]", " … ", " […] ", "[ … ]"])
def test_an_ellipsis_joins_ordered_parts_of_one_chunk(mark: str):
    text = passage(MIDDLE)
    assert found(f"{HEAD}{mark}{TAIL}", text) == f"{HEAD}{MIDDLE}{TAIL}"
    assert kind_of(f"{HEAD}{mark}{TAIL}", text) is MatchKind.ELLIPSIS


def test_parts_may_differ_in_typography():
    text = passage(" – “really” so – ").replace("dry rooms", "dry\u00a0rooms")
    assert kind_of(f"{HEAD} … {TAIL}", text) is MatchKind.ELLIPSIS


def test_an_ellipsis_of_the_source_is_matched_as_it_stands():
    assert kind_of("Wait a while … then go on.", "Wait a while … then go on.") is MatchKind.EXACT


def test_200_characters_may_be_left_out():
    assert found(f"{HEAD} … {TAIL}", passage(f" {'x' * 198} ")) is not None


def test_201_characters_may_not_be_left_out():
    assert found(f"{HEAD} … {TAIL}", passage(f" {'x' * 199} ")) is None


@pytest.mark.parametrize(
    "quote",
    [
        pytest.param(f"{TAIL} … {HEAD}", id="out of order"),
        pytest.param(f"{HEAD} … {HEAD}", id="the same part twice"),
        pytest.param(f"{HEAD} … {HEAD[11:]}", id="overlapping parts"),
        pytest.param(f"{HEAD} … once a week", id="a part that is too short"),
        pytest.param(f"The device … {TAIL}", id="a first part that is too short"),
        pytest.param(f"… {HEAD}", id="nothing before the ellipsis"),
        pytest.param(f"{HEAD} …", id="nothing behind the ellipsis"),
        pytest.param(f"{HEAD} … … {TAIL}", id="nothing between two ellipses"),
        pytest.param(f"{HEAD} … and must be cleaned twice a week by staff", id="a changed part"),
        pytest.param(f"{HEAD} ... {TAIL}", id="three dots"),
        pytest.param(f"{HEAD} [...] {TAIL}", id="three dots in brackets"),
        pytest.param(f"{HEAD} (…) {TAIL}", id="another bracket"),
        pytest.param(f"{HEAD} [that is] {TAIL}", id="an inserted word"),
        pytest.param(f"{HEAD} … And must be cleaned once a week by staff", id="another capital"),
    ],
)
def test_other_joints_are_refused(quote: str):
    assert found(quote, passage(MIDDLE)) is None


def test_ellipses_do_not_join_under_exact_matching():
    assert found(f"{HEAD} … {TAIL}", passage(MIDDLE), matching="exact") is None


def test_a_part_that_tears_a_word_tears_the_quotation():
    text = f"{HEAD}, but staff are unable to operate it alone at all."
    quote = f"{HEAD} … able to operate it alone at all"
    match = find_quote(quote, make_excerpt(text), matching="typographic")
    assert match is not None
    assert not match.whole


def test_the_nearest_earlier_part_starts_the_passage():
    text = f"{HEAD}. {HEAD}. {TAIL}."
    match = find_quote(f"{HEAD} … {TAIL}", make_excerpt(text), matching="typographic")
    assert match is not None
    assert match.span == Span(len(HEAD) + 2, len(text) - 1)


# --- Length --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("quote", "enough"),
    [
        pytest.param("the fee is 5 percent", True, id="20 characters and 5 words"),
        pytest.param("the fee is 5 percen", False, id="19 characters"),
        pytest.param("  the fee is 5 percen  ", False, id="19 characters after trimming"),
        pytest.param("the fee  is 5 percen", False, id="19 characters and a second space"),
        pytest.param("the fee is 5 per\u00adcen", False, id="19 characters and a soft hyphen"),
        pytest.param("the oﬃce is at hom", False, id="18 characters and a ligature of three"),
        pytest.param("administrative regulations", False, id="2 words"),
        pytest.param("administrative regulations stand", False, id="3 words"),
        pytest.param("unconstitutionally – – – !", False, id="dashes are no words"),
        pytest.param("Возврат возможен в течение", True, id="Cyrillic words"),
        pytest.param("يجوز الاسترداد خلال ثلاثين", True, id="Arabic words"),
        pytest.param("退款须在三十天内办理", True, id="10 ideographs"),
        pytest.param("退款须在三十天内办", False, id="9 ideographs"),
        pytest.param("払い戻しは三十日以内に", True, id="kana and ideographs"),
        pytest.param("คืนเงินได้ภายในสามสิบวัน", True, id="Thai"),
        pytest.param("환불은 삼십일 이내", False, id="Hangul has spaces"),
        pytest.param("the fee 退款須", False, id="a few ideographs among Latin letters"),
        pytest.param("", False, id="nothing"),
    ],
)
def test_a_quotation_has_20_characters_and_4_words(quote: str, enough: bool):
    assert is_long_enough(quote) is enough


# --- Control characters, cost, nearest miss ------------------------------------------------------


@pytest.mark.parametrize(
    "char", [*"\x00\x07\x08\x1b\x1c\x1d\x1e\x1f\x7f\x80\x84", "\ud800"], ids=ascii
)
def test_a_control_character_is_never_found(char: str):
    quote = f"The fee is{char} 5 %"
    assert has_control_character(quote)
    assert found(quote, FEE) is None
    assert found(f"The fee is 5 %{char}", FEE) is None


_BLANKS = ["\t", "\n", "\v", "\f", "\r", "\r\n", "\x85", "\u2028", "\u3000"]


@pytest.mark.parametrize("blank", _BLANKS, ids=ascii)
def test_white_space_of_any_kind_matches_a_space(blank: str):
    quote = f"The fee is{blank}5 % of{blank}{blank}the price{blank}"
    assert not has_control_character(quote)
    assert found(quote, FEE) == "The fee is 5 % of the price"
    assert found(quote, FEE, matching="exact") is None


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        pytest.param("the fee is not due " * 500_000, FEE, id="ten megabytes"),
        pytest.param("a a a a b " * 450 + "c", "a a a a b " * 100, id="monotonous text"),
        pytest.param("a a a a b a a a a b a … " * 190, "a a a a b " * 100, id="many ellipses"),
        pytest.param("\u00ad" * 4_900, "a\u00ad" * 500, id="soft hyphens"),
        pytest.param("– " * 2_400, "– " * 500, id="dashes"),
    ],
)
@pytest.mark.timeout(60)  # where the work were not bounded, it would not end
def test_a_hostile_quotation_is_not_found_and_not_searched_for_ever(quote: str, text: str):
    excerpt = make_excerpt(text)
    assert find_quote(quote, excerpt, matching="typographic") is None
    nearest_miss(quote, excerpt)


def test_the_folded_form_of_a_chunk_is_made_once():
    text = "A chunk that only this test has, with “marks”."
    before = folded_form.cache_info()
    for quote in ("an invented sentence of six words", "another sentence that it lacks"):
        assert found(quote, text) is None
    after = folded_form.cache_info()
    assert after.misses == before.misses + 1
    assert after.hits > before.hits


def test_the_nearest_miss_is_whole_words_of_the_chunk():
    miss = nearest_miss("The fee is 6 % of the price", make_excerpt(FEE))
    assert "5 % of the price" in miss
    assert miss in FEE
    assert len(miss) <= 40


def test_nothing_resembles_a_quotation_of_other_letters():
    assert nearest_miss("退款须在三十天内办理", make_excerpt("abc")) == ""


# --- Properties ----------------------------------------------------------------------------------

_WORDS = st.lists(
    st.sampled_from(
        ["the", "The", "fee", "is", "not", "5", "10²", "−5", "1,5", "%", "“claim”", "user’s",
         "oﬃce",
         "infor\u00admation", "–", "well-known", "café", "費用", "Возврат", "±3", "GX-200", "."]
    ),
    min_size=6, max_size=30,
).map(" ".join)  # fmt: skip


@given(_WORDS, st.data())
def test_a_slice_on_word_bounds_is_found_as_it_stands(text: str, data: st.DataObject):
    words = word_spans(text)
    assume(words)
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first, len(words) - 1))
    quote = text[words[first].start : words[last].end]
    for matching in ("exact", "typographic"):
        match = find_quote(quote, make_excerpt(text), matching=matching)
        assert match is not None
        assert text[match.span.start : match.span.end] == quote


@given(_WORDS, st.data())
def test_another_letter_or_digit_is_found_nowhere(text: str, data: st.DataObject):
    places = [index for index, char in enumerate(text) if char.isalnum()]
    place = data.draw(st.sampled_from(places[1:] or places))
    other = data.draw(st.sampled_from("zZ7Ω零").filter(lambda char: char != text[place]))
    quote = text[:place] + other + text[place + 1 :]
    assert find_quote(quote, make_excerpt(text), matching="typographic") is None


@given(_WORDS, st.data())
def test_another_case_inside_is_found_nowhere(text: str, data: st.DataObject):
    places = [index for index, char in enumerate(text) if char.swapcase().swapcase() == char]
    places = [index for index in places if text[index].swapcase() != text[index]]
    assume(len(places) > 1)
    place = data.draw(st.sampled_from(places[1:]))
    quote = text[:place] + text[place].swapcase() + text[place + 1 :]
    assert find_quote(quote, make_excerpt(text), matching="typographic") is None


@given(_WORDS, st.data())
def test_a_character_left_out_is_found_nowhere(text: str, data: st.DataObject):
    places = [
        place
        for place in range(1, len(text) - 1)
        if not text[place].isspace() and text[place] != "\u00ad"
    ]
    assume(places)
    place = data.draw(st.sampled_from(places))
    quote = text[:place] + text[place + 1 :]
    assume(len(quote.split()) == len(text.split()))
    assert find_quote(quote, make_excerpt(text), matching="typographic") is None


@given(_WORDS, st.sampled_from(["not", "never", "0", "-", "−", "±", "<", ",", "€"]), st.data())
def test_an_inserted_mark_or_word_is_found_nowhere(text: str, mark: str, data: st.DataObject):
    place = data.draw(st.integers(1, len(text) - 1))
    quote = text[:place] + mark + text[place:]
    assert find_quote(quote, make_excerpt(text), matching="typographic") is None


def test_of_several_places_the_one_that_is_a_sentence_of_its_own_is_taken():
    myth = "Myth: The refund is paid within thirty days."
    fact = "The refund is paid within thirty days."
    text = f"{myth}\n\n{fact}"
    source = make_source(text, sentences=(Span(0, len(myth)), Span(len(myth) + 2, len(text))))
    match = find_quote(fact, make_excerpt(source), matching="exact")
    assert match is not None
    assert match.span == Span(len(myth) + 2, len(text))


def test_where_no_place_is_a_sentence_the_first_whole_one_is_taken():
    text = "Xblue seal here and now; blue seal here and now; blue seal here and now too."
    source = make_source(text)
    match = find_quote("blue seal here and now", make_excerpt(source), matching="exact")
    assert match is not None
    assert match.span.start == text.index("; blue") + 2
