"""What an answer shows: whole sentences of the source, merged, bounded, with their context."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import make_excerpt, make_governance, make_source
from rag_core.rules.matching import find_quote
from rag_core.rules.publishing import Accepted, Publication, publish
from rag_core.types.corpus import Heading, Span
from rag_core.types.profiles import GateSettings
from rag_core.types.verdicts import Flag, MatchKind

A = "The seal must be blue in every room."
B = "Staff check it once a week."
C = "The check is written into the log."
D = "The log is kept for ten years."
TEXT = f"{A} {B} {C} {D}"


def settings(
    *, publish: str = "sentence", publish_chars: int = 1000, context_chars: int = 600
) -> GateSettings:
    return GateSettings.model_validate(
        {
            "matching": "typographic",
            "publish": publish,
            "publish_chars": publish_chars,
            "context_chars": context_chars,
        }
    )


def source_of(text: str = TEXT, *, id: str = "DOC", language: str | None = "en"):  # noqa: A002
    """A source whose sentences end at a full stop."""
    spans = tuple(Span(m.start(), m.end()) for m in re.finditer(r"\S[^.]*\.", text))
    return make_source(text, id=id, language=language, sentences=spans)


def accept(quote: str, excerpt) -> Accepted:
    match = find_quote(quote, excerpt, matching="typographic")
    assert match is not None
    return Accepted(excerpt, match)


def published(*accepted: Accepted, **changes) -> Publication:
    publication = publish(accepted, settings=settings(**changes))
    assert publication is not None
    return publication


def texts(publication: Publication) -> list[str]:
    return [text.text for text in publication.texts]


# --- Whole sentences -----------------------------------------------------------------------------


def test_a_quotation_is_extended_to_its_whole_sentence():
    item = accept("approved for outdoor use", make_excerpt(
        source_of("This paint is not approved for outdoor use in winter."))
    )  # fmt: skip
    assert texts(published(item)) == ["This paint is not approved for outdoor use in winter."]


def test_a_quotation_across_two_sentences_is_extended_to_both():
    item = accept("in every room. Staff check", make_excerpt(source_of()))
    assert texts(published(item)) == [f"{A} {B}"]


def test_a_sentence_that_touches_the_quotation_is_not_published():
    text = "退款须在三十天内办理。换货须在十天内办理。保修期为两年。"
    spans = (Span(0, 11), Span(11, 21), Span(21, 28))
    item = accept("换货须在十天内办理。", make_excerpt(make_source(text, sentences=spans)))
    assert texts(published(item)) == ["换货须在十天内办理。"]


def test_under_publish_quote_only_the_quotation_is_shown():
    item = accept("must be blue in every", make_excerpt(source_of()))
    publication = published(item, publish="quote")
    assert texts(publication) == ["must be blue in every"]
    assert publication.flags == ()


def test_the_text_shown_is_the_source_own_slice():
    source = source_of("Press “Save” in the oﬃce.")
    item = accept('Press "Save" in the office.', make_excerpt(source))
    (text,) = published(item).texts
    assert text.text == "Press “Save” in the oﬃce." == source.text[text.span.start : text.span.end]
    assert text.match is MatchKind.TYPOGRAPHIC


def test_an_ellipsis_publishes_the_whole_passage():
    item = accept(f"{A[:-1]} … {C[:-1]}", make_excerpt(source_of()))
    (text,) = published(item, publish="quote").texts
    assert text.text == f"{A} {B} {C[:-1]}"
    assert text.match is MatchKind.ELLIPSIS


def test_every_field_comes_from_the_source():
    source = make_source(
        TEXT,
        title="Seals",
        governance=make_governance(
            scope="internal", valid_from=date(2025, 2, 1), valid_until=date(2026, 1, 31)
        ),
    )
    (text,) = published(accept("must be blue in every", make_excerpt(source, part=7))).texts
    assert str(text) == f"[DOC#7] {TEXT}"
    assert (text.source_id, text.title, text.path, text.url) == ("DOC", "Seals", "DOC.md", None)
    assert (text.scope, text.valid_from) == ("internal", date(2025, 2, 1))
    assert text.valid_until == date(2026, 1, 31)
    assert (text.source_digest, text.file_digest) == (source.digest, source.file_digest)
    assert (text.span, text.quote_span) == (Span(0, len(TEXT)), Span(9, 30))


# --- Sentences that a chunk cuts -----------------------------------------------------------------


def test_the_headings_are_those_above_the_text_and_not_above_the_chunk():
    text = "# Ideas\n\nThis may change.\n\n# Rules\n\nThe seal is blue and never removed."
    rule = text.index("The seal")
    source = replace(
        make_source(text, sentences=(Span(9, 25), Span(rule, len(text)))),
        headings=(Heading(0, 1, "Ideas"), Heading(text.index("# Rules"), 1, "Rules")),
    )
    publication = published(accept("The seal is blue and never removed.", make_excerpt(source)))
    assert publication.texts[0].heading_path == ("Rules",)


def test_a_cut_sentence_is_shown_as_its_part_and_completed_in_the_context():
    excerpt = make_excerpt(source_of(), Span(0, len(A) + 13))  # … Staff check i|t
    publication = published(accept("The seal must be blue in every room. Staff", excerpt))
    assert texts(publication) == [f"{A} Staff check"]
    assert publication.flags == (Flag.SENTENCE_CUT,)
    assert publication.texts[0].context == f"… it once a week. {C} {D}"


def test_a_sentence_cut_at_its_start_is_trimmed_to_a_word():
    excerpt = make_excerpt(source_of(), Span(6, len(A)))  # The se|al must …
    publication = published(accept("must be blue in every", excerpt))
    assert texts(publication) == ["must be blue in every room."]
    assert publication.flags == (Flag.SENTENCE_CUT,)
    assert publication.texts[0].context.startswith("The seal … ")


def test_the_missing_part_is_shown_in_full_whatever_its_length():
    long = f"The seal must be blue in every room {'and every hall ' * 60}of the house."
    excerpt = make_excerpt(source_of(long), Span(0, 60))
    (text,) = published(accept("The seal must be blue", excerpt), context_chars=20).texts
    assert f"{text.text} {text.context.removeprefix('… ')}" == long


def test_a_number_torn_by_the_chunk_bound_is_not_shown_without_its_sign():
    text = "The temperature stays above −5 degrees in every cold room."
    excerpt = make_excerpt(source_of(text), Span(text.index("5"), len(text)))
    publication = published(accept("degrees in every cold room", excerpt))
    assert texts(publication) == ["degrees in every cold room."]
    assert Flag.SENTENCE_CUT in publication.flags


def test_an_exponent_behind_the_chunk_bound_takes_its_number_with_it():
    text = "The heated area of each house may at most be 20 m² in all."
    source = make_source(text)
    item = accept("area of each house", make_excerpt(source, Span(0, text.index("²"))))
    (shown,) = published(item).texts
    assert shown.text == "The heated area of each house may at most be"
    assert shown.context == "… 20 m² in all."


@pytest.mark.parametrize(
    "number",
    ["20 m²", "20 m⁻²", "50 m^2", "A$500", "US$500", "- 5 °C", "– 5 °C", "!= 5", "3.9.x", "10**5",
     "+/- 2", "5 1/2", "1 00 000", "AA-", "B−", "A*", "−x", "≠ x", "¬x", "--force", "-(5",
     "-**5", "> **5", "H₂O", "20 %", "1,5"],
)  # fmt: skip
def test_no_chunk_bound_publishes_a_part_of(number: str):
    text = f"The log of each house must say {number} in it, and be kept for ten years."
    source = make_source(text)
    start, quote = text.index(number), Span(4, 21)
    for bound in range(start + 1, start + len(number)):
        item = accept("log of each house", make_excerpt(source, Span(0, bound)))
        assert item.match.span == quote
        (shown,) = published(item).texts
        assert shown.span.end <= start, shown.text


def test_a_quotation_that_loses_its_extension_is_still_untorn():
    text = f"The area may at most be 20 m² and {'more ' * 40}is free."
    excerpt = make_excerpt(make_source(text))
    torn = find_quote("The area may at most be 20 m", excerpt, matching="typographic")
    assert torn is not None
    assert not torn.whole
    publication = published(accept("area may at most be 20 m²", excerpt), publish_chars=100)
    assert texts(publication) == ["area may at most be 20 m²"]
    assert publication.flags == (Flag.NOT_EXTENDED,)


def test_a_sentence_that_two_chunks_hold_together_is_not_cut():
    source = source_of()
    first = make_excerpt(source, Span(0, len(A) + 15), part=0)
    second = make_excerpt(source, Span(len(A) + 1, len(TEXT)), part=1)
    publication = published(
        accept("in every room. Staff check it", first), accept("check it once a week", second)
    )
    assert texts(publication) == [f"{A} {B}"]
    assert publication.flags == ()


# --- Merging -------------------------------------------------------------------------------------


def test_overlapping_texts_merge_and_keep_the_first_chunk_id():
    source = source_of()
    first = make_excerpt(source, Span(0, len(A) + len(B) + 1), part=0)
    second = make_excerpt(source, Span(len(A) + 1, len(TEXT)), part=1)
    publication = published(
        accept("check it once a week. The check", second), accept("every room. Staff check", first)
    )
    assert [str(text) for text in publication.texts] == [f"[DOC#0] {A} {B} {C}"]


def test_one_quotation_twice_is_one_text():
    item = accept("must be blue in every", make_excerpt(source_of()))
    assert texts(published(item, item)) == [A]


def test_a_merged_text_says_the_loosest_match():
    excerpt = make_excerpt(source_of("Press “Save” in the office now."))
    items = (accept("in the office now", excerpt), accept('Press "Save" in', excerpt))
    (text,) = published(*items).texts
    assert (text.match, text.quote_span) == (MatchKind.TYPOGRAPHIC, Span(0, 30))


def test_neighbouring_sentences_stay_two_texts():
    excerpt = make_excerpt(source_of())
    items = (accept("Staff check it", excerpt), accept("must be blue", excerpt))
    assert texts(published(*items)) == [B, A]


def test_equal_paragraphs_of_two_sources_stay_two_texts():
    items = [
        accept("must be blue in every", make_excerpt(source_of(id=name))) for name in ("Y", "X")
    ]
    assert [str(text) for text in published(*items).texts] == [f"[Y#0] {A}", f"[X#0] {A}"]


# --- The limit -----------------------------------------------------------------------------------


def test_over_the_limit_the_last_text_loses_its_extension_first():
    excerpt = make_excerpt(source_of())
    items = (accept("must be blue", excerpt), accept("kept for ten", excerpt))
    publication = published(*items, publish_chars=len(A) + 12)
    assert texts(publication) == [A, "kept for ten"]
    assert publication.flags == (Flag.NOT_EXTENDED,)


def test_exactly_the_limit_is_within_it():
    excerpt = make_excerpt(source_of())
    items = (accept("must be blue", excerpt), accept("kept for ten", excerpt))
    publication = published(*items, publish_chars=len(A) + len(D))
    assert texts(publication) == [A, D]
    assert publication.flags == ()


def test_over_the_limit_all_texts_may_lose_their_extension():
    excerpt = make_excerpt(source_of())
    items = (accept("must be blue", excerpt), accept("kept for ten", excerpt))
    assert texts(published(*items, publish_chars=24)) == ["must be blue", "kept for ten"]


def test_quotations_over_the_limit_are_not_published():
    excerpt = make_excerpt(source_of())
    items = (accept("must be blue", excerpt), accept("kept for ten", excerpt))
    assert publish(items, settings=settings(publish_chars=23)) is None


def test_a_merged_text_counts_once():
    item = accept("must be blue in every", make_excerpt(source_of()))
    assert texts(published(item, item, item, publish_chars=len(A))) == [A]


# --- Context -------------------------------------------------------------------------------------


def test_context_is_the_sentences_before_and_after():
    (text,) = published(accept("check it once a week", make_excerpt(source_of()))).texts
    assert text.context == f"{A} … {C} {D}"


def test_context_holds_whole_sentences_within_its_limit():
    excerpt = make_excerpt(source_of())
    sizes = {
        chars: published(accept("check it once", excerpt), context_chars=chars).texts[0].context
        for chars in (0, len(C) + 1, len(C) + 2, len(A) + len(C) + 3)
    }
    assert list(sizes.values()) == ["", "", f"… {C}", f"{A} … {C}"]


def test_context_of_the_last_sentence_stands_before_it():
    (text,) = published(accept("kept for ten years", make_excerpt(source_of()))).texts
    assert text.context == f"{A} {B} {C} …"


def test_context_reaches_beyond_the_chunk():
    excerpt = make_excerpt(source_of(), Span(0, len(A)))
    assert published(accept("must be blue", excerpt)).texts[0].context == f"… {B} {C} {D}"


def test_under_publish_quote_the_rest_of_the_sentence_is_context():
    excerpt = make_excerpt(source_of())
    (text,) = published(accept("must be blue", excerpt), publish="quote", context_chars=50).texts
    assert text.context == "The seal … in every room."


# --- Conditions, exceptions, negations -----------------------------------------------------------


def flags_of(text: str, quote: str, *, language: str | None = "en", **changes):
    source = source_of(text, language=language)
    return published(accept(quote, make_excerpt(source)), **changes).flags


def test_an_exception_in_the_next_sentence_is_flagged():
    text = f"{A} Red seals are fine, unless they leak. {D}"
    assert flags_of(text, "must be blue") == (Flag.EXCEPTION_NEARBY,)


def test_an_exception_two_sentences_later_is_not_flagged():
    assert flags_of(f"{A} {B} Unless they leak.", "must be blue") == ()


def test_an_exception_before_the_text_is_not_flagged():
    assert flags_of(f"Unless they leak. {A}", "must be blue") == ()


def test_a_negation_inside_the_published_sentence_is_no_flag():
    text = f"This paint is not approved for outdoor use. {B}"
    assert flags_of(text, "approved for outdoor use") == ()


def test_a_negation_left_out_of_the_quotation_is_flagged():
    text = f"This paint is not approved for outdoor use. {B}"
    assert flags_of(text, "approved for outdoor use", publish="quote") == (Flag.EXCEPTION_NEARBY,)


def test_an_exception_that_another_text_shows_is_no_flag():
    text = f"{A} Red seals are fine, unless they leak. {D}"
    excerpt = make_excerpt(source_of(text))
    items = (accept("must be blue", excerpt), accept("fine, unless they", excerpt))
    assert published(*items).flags == ()


def test_an_exception_behind_the_chunk_bound_is_flagged():
    text = f"{A} Staff check it, unless it is red."
    excerpt = make_excerpt(source_of(text), Span(0, len(A)))
    assert published(accept("must be blue", excerpt)).flags == (Flag.EXCEPTION_NEARBY,)


def test_german_and_french_exceptions_are_flagged():
    for language, text in (
        ("de", "Die Dichtung ist immer blau. Ausgenommen ist das Labor."),
        ("fr", "Le joint est toujours bleu. Sauf dans le laboratoire."),
    ):
        assert flags_of(text, text[4:20], language=language) == (Flag.EXCEPTION_NEARBY,)


def test_other_and_undeclared_languages_cannot_be_checked():
    for language in ("it", None):
        assert flags_of(f"{A} Unless they leak.", "must be blue", language=language) == (
            Flag.EXCEPTION_CHECK_UNAVAILABLE,
        )


# --- Properties ----------------------------------------------------------------------------------

_SENTENCE = st.lists(
    st.sampled_from(["the", "fee", "is", "not", "−5", "1,5", "%", "“due”", "oﬃce", "non-EU"]),
    min_size=4,
    max_size=9,
).map(lambda words: " ".join(words) + ".")


@given(st.lists(_SENTENCE, min_size=1, max_size=6), st.data())
def test_a_published_text_is_a_slice_that_contains_its_quotation(
    sentences: list[str], data: st.DataObject
):
    source = source_of(" ".join(sentences))
    length = len(source.text)
    start = data.draw(st.integers(0, length - 1), label="chunk start")
    end = data.draw(st.integers(start + 1, length), label="chunk end")
    excerpt = make_excerpt(source, Span(start, end))
    accepted = []
    for _ in range(data.draw(st.integers(1, 3))):
        first = data.draw(st.integers(0, end - start - 1))
        quote = excerpt.text[first : data.draw(st.integers(first + 1, end - start))]
        if quote.strip():
            accepted.append(accept(quote, excerpt))
    if not accepted:
        return
    mode = data.draw(st.sampled_from(["sentence", "quote"]))
    limit = data.draw(st.integers(20, 300))
    publication = publish(accepted, settings=settings(publish=mode, publish_chars=limit))
    if publication is None:
        return
    assert sum(len(text.text) for text in publication.texts) <= limit
    for text in publication.texts:
        assert text.text == source.text[text.span.start : text.span.end]
        assert start <= text.span.start <= text.quote_span.start
        assert text.quote_span.end <= text.span.end <= end
        assert text.context == "" or "…" in text.context
    for item in accepted:
        assert any(
            text.quote_span.start <= item.match.span.start
            and item.match.span.end <= text.quote_span.end
            for text in publication.texts
        )
    for one in publication.texts:
        for other in publication.texts:
            assert (
                one is other or one.span.end <= other.span.start or other.span.end <= one.span.start
            )
