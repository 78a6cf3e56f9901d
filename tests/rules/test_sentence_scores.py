"""Candidate sentences, their scores, and abstention."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import make_excerpt, make_source
from rag_core.rules.segmentation import sentence_spans
from rag_core.rules.sentence_scores import (
    CandidateSentence,
    abstains,
    candidate_sentences,
    score_sentences,
    term_overlap,
)
from rag_core.types.corpus import Span
from rag_core.types.ids import ChunkId
from rag_core.types.index import SourceText
from rag_core.types.retrieval import ScoredSentence

SEAL = "The seal is blue and never removed. Inspect it every month. Yes. Then sign the long list."
IDF = {"seal": 3.0, "blue": 1.0, "month": 2.0, "the": 0.0}


def idf(term: str) -> float:
    return IDF[term]


def source_of(text: str, *, id: str = "DOC", language: str = "en") -> SourceText:  # noqa: A002
    spans = sentence_spans(text, language)
    return make_source(text, id=id, sentences=spans, language=language)


def texts_of(*excerpts) -> list[str]:
    return [candidate.text for candidate in candidate_sentences(excerpts)]


def scored(cosine: float, overlap: float = 0.0) -> ScoredSentence:
    return ScoredSentence(ChunkId("DOC#0"), Span(0, 20), "x" * 20, 0, cosine, overlap)


# --- Candidates -----------------------------------------------------------------------------------


def test_sentences_under_20_characters_are_no_candidates():
    assert texts_of(make_excerpt(source_of(SEAL))) == [
        "The seal is blue and never removed.",
        "Inspect it every month.",
        "Then sign the long list.",
    ]


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        pytest.param(19, 1, id="19 characters are left out"),
        pytest.param(20, 2, id="20 characters count"),
    ],
)
def test_the_bound_is_20_characters(length, expected):
    text = "The seal is blue and never removed.\n\n" + "S" + "x" * (length - 2) + "."
    assert len(texts_of(make_excerpt(source_of(text)))) == expected


def test_a_candidate_says_its_chunk_its_place_and_its_hit():
    first = make_excerpt(source_of("An apple pie needs a lot of butter.", id="PIE"))
    second = make_excerpt(source_of(SEAL, id="SEAL"))
    assert candidate_sentences((first, second))[1] == CandidateSentence(
        ChunkId("SEAL#0"), Span(0, 35), "The seal is blue and never removed.", 1, clipped=False
    )


def test_a_sentence_that_the_chunk_cuts_is_marked_as_clipped():
    source = source_of("The seal is blue and never removed by anyone at all.")
    excerpt = make_excerpt(source, Span(0, 30))
    assert [item.clipped for item in candidate_sentences((excerpt,))] == [True]


def test_a_span_in_two_overlapping_chunks_counts_for_the_better_hit():
    source = source_of(SEAL)
    better = make_excerpt(source, Span(36, len(SEAL)), part=1)
    worse = make_excerpt(source, Span(0, 59), part=0)
    found = candidate_sentences((better, worse))
    assert [(item.text, item.chunk_id, item.hit_index) for item in found] == [
        ("Inspect it every month.", "DOC#1", 0),
        ("Then sign the long list.", "DOC#1", 0),
        ("The seal is blue and never removed.", "DOC#0", 1),
    ]


def test_equal_words_in_two_sources_stay_two_candidates():
    text = "The seal is blue and never removed."
    found = candidate_sentences(
        (make_excerpt(source_of(text, id="A")), make_excerpt(source_of(text, id="B")))
    )
    assert [item.chunk_id for item in found] == ["A#0", "B#0"]


def test_a_sentence_is_clipped_to_its_chunk_on_word_bounds():
    assert texts_of(make_excerpt(source_of(SEAL), Span(2, 33))) == ["seal is blue and never"]


def test_an_excerpt_of_short_rows_only_offers_them_extended():
    text = "Fee: 5 euros\n\nTerm: 2 days\n\nDesk: north"
    found = texts_of(make_excerpt(source_of(text)))
    assert found
    assert all(len(item) >= 20 and item in text for item in found)
    assert len(set(found)) == len(found)


def test_a_short_sentence_in_a_script_without_spaces_is_a_candidate():
    text = "封印は青色で外しません。"
    assert texts_of(make_excerpt(source_of(text, language="ja"))) == [text]


# --- Scores ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "sentence", "expected"),
    [
        pytest.param({"seal", "blue"}, {"seal", "blue"}, 1.0, id="all terms"),
        pytest.param({"seal", "blue"}, {"seal", "month"}, 0.75, id="weighted by idf"),
        pytest.param({"seal", "blue"}, {"month"}, 0.0, id="none shared"),
        pytest.param(set(), {"seal"}, 0.0, id="a question without terms"),
        pytest.param({"the"}, {"the"}, 0.0, id="terms without weight"),
    ],
)
def test_overlap_is_the_shared_share_of_the_questions_weight(question, sentence, expected):
    assert term_overlap(frozenset(question), frozenset(sentence), idf) == expected


weights = st.dictionaries(st.text(max_size=3), st.floats(0, 20), max_size=12)


@given(weights, st.data())
def test_overlap_lies_between_0_and_1_and_grows_with_the_sentence(weight, data):
    terms = st.frozensets(st.sampled_from(sorted(weight))) if weight else st.just(frozenset())
    question, some, more = data.draw(terms), data.draw(terms), data.draw(terms)
    share = term_overlap(question, some, weight.__getitem__)
    assert 0 <= share <= term_overlap(question, some | more, weight.__getitem__) <= 1


def test_scores_join_each_candidate_with_its_own_terms_and_cosine():
    candidates = candidate_sentences((make_excerpt(source_of(SEAL)),))
    result = score_sentences(
        candidates,
        question_terms=frozenset({"seal", "blue"}),
        terms=[frozenset({"seal", "blue"}), frozenset({"month"}), frozenset({"blue"})],
        cosines=[0.5, 0.25, 0.125],
        idf=idf,
    )
    assert [(item.span, item.text) for item in result] == [
        (item.span, item.text) for item in candidates
    ]
    assert [item.cosine for item in result] == [0.5, 0.25, 0.125]
    assert [item.overlap for item in result] == [1.0, 0.0, 0.25]
    assert [item.score for item in result] == [1.0, 0.25, 0.25]


@pytest.mark.parametrize(
    ("terms", "cosines"),
    [
        pytest.param(2, 3, id="terms are missing"),
        pytest.param(3, 4, id="a cosine too many"),
    ],
)
def test_one_set_of_terms_and_one_cosine_per_candidate(terms, cosines):
    candidates = candidate_sentences((make_excerpt(source_of(SEAL)),))
    with pytest.raises(ValueError, match=f"each of 3 sentences, got {terms} and {cosines}"):
        score_sentences(
            candidates,
            question_terms=frozenset(),
            terms=[frozenset()] * terms,
            cosines=[0.0] * cosines,
            idf=idf,
        )


# --- Abstention -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sentences", "threshold", "expected"),
    [
        pytest.param((scored(0.59),), 0.6, True, id="the best stays below"),
        pytest.param((scored(0.6),), 0.6, False, id="the threshold itself is enough"),
        pytest.param((scored(0.1), scored(0.4, 0.5)), 0.6, False, id="one good sentence suffices"),
        pytest.param((), 0.6, True, id="nothing to quote"),
        pytest.param((scored(-1.0),), None, False, id="no threshold, never"),
        pytest.param((), None, False, id="no threshold, not even without sentences"),
    ],
)
def test_abstention_looks_at_the_best_sentence(sentences, threshold, expected):
    assert abstains(sentences, threshold) is expected
