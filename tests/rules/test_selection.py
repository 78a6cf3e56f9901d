"""Which sentences are quoted, and how short ones grow until the gate takes them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import make_excerpt, make_source
from rag_core.rules.length import is_long_enough
from rag_core.rules.segmentation import sentence_spans
from rag_core.rules.selection import quotable_span, quotations, rank_score, select_sentences
from rag_core.types.corpus import Heading, Span
from rag_core.types.ids import ChunkId
from rag_core.types.index import SourceText
from rag_core.types.retrieval import Excerpt, ScoredSentence


def sentence(
    chunk_id: str, score: float, *, at: int = 0, length: int = 40, hit: int = 0
) -> ScoredSentence:
    span = Span(at, at + length)
    return ScoredSentence(ChunkId(chunk_id), span, "x" * length, hit, score, 0.0)


def chosen(*sentences: ScoredSentence, limit: int = 3) -> list[tuple[str, int]]:
    return [(s.chunk_id, s.span.start) for s in select_sentences(sentences, limit=limit)]


def source_of(text: str, *headings: str) -> SourceText:
    marks = tuple(Heading(text.index(line), 2, line) for line in headings)
    return replace(make_source(text, sentences=sentence_spans(text, "en")), headings=marks)


def extended(text: str, part: str, *headings: str, chunk: Span | None = None) -> str:
    """What is quoted for this part of a text."""
    excerpt = make_excerpt(source_of(text, *headings), chunk)
    start = text.index(part)
    span = quotable_span(excerpt, Span(start, start + len(part)))
    return text[span.start : span.end]


# --- Choice ---------------------------------------------------------------------------------------


def test_each_place_among_the_hits_costs_five_hundredths():
    assert rank_score(sentence("A#0", 0.75, hit=2)) == pytest.approx(0.65, abs=1e-12)
    assert chosen(sentence("A#0", 0.70, hit=2), sentence("B#0", 0.65, hit=0)) == [
        ("B#0", 0),
        ("A#0", 0),
    ]


def test_the_best_come_first_up_to_the_limit():
    sentences = [sentence("A#0", score, at=at) for at, score in ((0, 0.7), (50, 0.9), (100, 0.8))]
    assert chosen(*sentences) == [("A#0", 50), ("A#0", 100), ("A#0", 0)]
    assert chosen(*sentences, limit=2) == [("A#0", 50), ("A#0", 100)]
    assert chosen(*sentences, limit=1) == [("A#0", 50)]


def test_ties_go_by_ordinal_chunk_id_then_place():
    sentences = [
        sentence("A#2", 0.5, at=100),
        sentence("A#10", 0.5, at=250),
        sentence("A#10", 0.5, at=200),
    ]
    assert chosen(*sentences) == [("A#10", 200), ("A#10", 250), ("A#2", 100)]


@given(st.permutations([sentence(f"A#{i}", 0.5 + i % 3 / 10, at=50 * i) for i in range(7)]))
def test_the_choice_does_not_depend_on_the_order_given(sentences):
    assert chosen(*sentences) == [("A#2", 100), ("A#5", 250), ("A#1", 50)]


@pytest.mark.parametrize(
    ("chunk_id", "score", "kept"),
    [
        pytest.param("B#0", 0.61, True, id="another source within 0.2 of the best"),
        pytest.param("B#0", 0.59, False, id="another source further below"),
        pytest.param("A#1", 0.31, True, id="the best one's source within 0.5"),
        pytest.param("A#1", 0.29, False, id="the best one's source further below"),
    ],
)
def test_a_weak_sentence_does_not_pad_the_answer(chunk_id, score, kept):
    best, weak = sentence("A#0", 0.8), sentence(chunk_id, score, at=100)
    assert chosen(best, weak) == [("A#0", 0), (chunk_id, 100)][: 1 + kept]


def test_a_weak_sentence_leaves_room_for_the_next_of_the_best_source():
    sentences = (sentence("A#0", 0.8), sentence("B#0", 0.5), sentence("A#0", 0.4, at=100))
    assert chosen(*sentences, limit=2) == [("A#0", 0), ("A#0", 100)]


def test_overlapping_spans_of_one_source_are_chosen_once():
    halves = (sentence("A#0", 0.8, at=0), sentence("A#1", 0.7, at=20))
    assert chosen(*halves) == [("A#0", 0)]
    assert chosen(halves[0], sentence("B#1", 0.7, at=20)) == [("A#0", 0), ("B#1", 20)]
    assert chosen(halves[0], sentence("A#1", 0.7, at=40)) == [("A#0", 0), ("A#1", 40)]


def test_no_sentences_are_no_choice():
    assert chosen() == []


def test_a_limit_below_one_is_an_error():
    with pytest.raises(ValueError, match="at least 1, got 0"):
        select_sentences((), limit=0)


# --- Length ---------------------------------------------------------------------------------------

RULES = """\
Meals are paid on every trip.

You may also claim:

- tea
- coffee at noon

## Limits

5 euros.

Ask the desk for every other case."""


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        pytest.param(
            "Meals are paid on every trip.",
            "Meals are paid on every trip.",
            id="a long sentence stays as it is",
        ),
        pytest.param("- tea", "You may also claim:\n\n- tea", id="a list item gets its lead-in"),
        pytest.param(
            "- coffee at noon",
            "You may also claim:\n\n- tea\n- coffee at noon",
            id="a later item gets it too, with what lies between",
        ),
        pytest.param(
            "5 euros.",
            "## Limits\n\n5 euros.\n\nAsk the desk for every other case.",
            id="nothing is taken from above the heading",
        ),
        pytest.param(
            "## Limits",
            "## Limits\n\n5 euros.\n\nAsk the desk for every other case.",
            id="a heading grows downwards",
        ),
    ],
)
def test_a_short_sentence_grows_until_the_gate_takes_it(part, expected):
    assert extended(RULES, part, "## Limits") == expected


def test_without_a_lead_in_the_sentence_before_is_taken():
    text = "Is the seal ever removed? No. Never mind the other seals of the pump."
    assert extended(text, "No.") == "Is the seal ever removed? No."


def test_at_the_start_of_a_chunk_the_sentence_after_is_taken():
    text = "No. The seal is never removed."
    assert extended(text, "No.") == text


def test_growth_stays_inside_the_chunk():
    text = "Is the seal ever removed? No. Never mind the other seals of the pump."
    assert extended(text, "No.", chunk=Span(26, len(text))) == text[26:]


def test_a_lead_in_may_end_with_a_full_width_colon():
    text = "可以报销：\n\n- 出差期间的咖啡费用\n- 茶叶"
    assert extended(text, "- 茶叶") == text


def test_a_lead_in_far_above_is_not_taken():
    filler = "\n".join(f"- item number {i} of a long list" for i in range(12))
    text = f"You may claim:\n\n{filler}\n- tea"
    assert extended(text, "- tea") == "- item number 11 of a long list\n- tea"


def test_a_chunk_that_is_too_short_in_all_is_given_whole():
    assert extended("Fee: 5 euros", "Fee: 5 euros") == "Fee: 5 euros"


words = st.sampled_from(
    [
        "No.",
        "Yes.",
        "The seal is blue and never removed.",
        "Fee:",
        "- tea",
        "5 euros",
        "封印は青色。",
    ]
)


@given(st.lists(words, min_size=1, max_size=8), st.sampled_from([" ", "\n", "\n\n"]), st.data())
def test_a_grown_span_holds_its_sentence_lies_in_the_chunk_and_is_long_if_it_can(
    parts, joint, data
):
    source = source_of(joint.join(parts))
    excerpt = make_excerpt(source)
    for span in source.sentences:
        grown = quotable_span(excerpt, span)
        assert 0 <= grown.start <= span.start <= span.end <= grown.end <= len(source.text)
        quote = source.text[grown.start : grown.end]
        assert is_long_enough(quote) or not is_long_enough(source.text)
        assert is_long_enough(quote) or quote == source.text


# --- Quotations -----------------------------------------------------------------------------------

LONG_TEXT = "The seal is blue and never removed. Inspect it once every month. Yes. No."


def scored(excerpt: Excerpt, part: str, score: float) -> ScoredSentence:
    start = excerpt.source.text.index(part)
    return ScoredSentence(excerpt.chunk_id, Span(start, start + len(part)), part, 0, score, 0.0)


def quoted(excerpt: Excerpt, *sentences: ScoredSentence, limit: int = 3, chars: int = 1000):
    found = quotations(sentences, (excerpt,), limit=limit, max_chars=chars)
    return [excerpt.source.text[span.start : span.end] for _, span in found]


def test_quotations_come_best_first():
    excerpt = make_excerpt(source_of(LONG_TEXT))
    seal = scored(excerpt, "The seal is blue and never removed.", 0.6)
    month = scored(excerpt, "Inspect it once every month.", 0.8)
    assert quoted(excerpt, seal, month) == [month.text, seal.text]
    assert quoted(excerpt) == []


def test_what_goes_over_the_published_characters_is_left_out():
    excerpt = make_excerpt(source_of(LONG_TEXT))
    seal = scored(excerpt, "The seal is blue and never removed.", 0.6)
    month = scored(excerpt, "Inspect it once every month.", 0.8)
    assert quoted(excerpt, seal, month, chars=63) == [month.text, seal.text]
    assert quoted(excerpt, seal, month, chars=62) == [month.text]
    assert quoted(excerpt, seal, month, chars=20) == [month.text]


def test_two_short_sentences_that_grow_into_one_span_are_quoted_once():
    excerpt = make_excerpt(source_of("Fee: yes. Desk: no. Pay at once."))
    sentences = [scored(excerpt, part, 0.5) for part in ("Fee: yes.", "Desk: no.")]
    first = quotable_span(excerpt, sentences[0].span)
    assert quotable_span(excerpt, sentences[1].span) == first
    assert len(quoted(excerpt, *sentences)) == 1


def test_a_sentence_that_stays_too_short_does_not_spoil_the_others():
    good = make_excerpt(source_of(LONG_TEXT))
    short = make_excerpt("Fee: 5 euros", id="FEE")
    best = ScoredSentence(short.chunk_id, Span(0, 12), "Fee: 5 euros", 0, 0.9, 0.0)
    other = scored(good, "Inspect it once every month.", 0.8)
    found = quotations((best, other), (short, good), limit=3, max_chars=1000)
    assert found == ((good.chunk_id, other.span),)
    assert quotations((best,), (short, good), limit=3, max_chars=1000) == (
        (short.chunk_id, best.span),
    )
