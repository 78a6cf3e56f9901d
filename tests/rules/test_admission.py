"""Admission, and the retrieval rule of the reference implementation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.rules.admission import admit
from rag_core.rules.dense import rank_by_cosine
from rag_core.rules.fusion import DEPTH, fuse
from rag_core.rules.lexical import LexicalIndex, rank_by_overlap, shared_terms
from rag_core.types.ids import ChunkId
from rag_core.types.retrieval import Admission, Candidate, RankedHit, Ranking

A, B, C, D, E = (ChunkId(f"{letter}#0") for letter in "ABCDE")


def ranking(name: str, *hits: tuple[ChunkId, float]) -> Ranking:
    return Ranking(
        name, tuple(RankedHit(each, rank, score) for rank, (each, score) in enumerate(hits, 1))
    )


DENSE = ranking("dense", (A, 0.9), (B, 0.8), (C, 0.7), (D, 0.6), (E, 0.59))
LEXICAL = ranking("lexical", (E, 900.0), (C, 500.0), (A, 400.0), (D, 300.0))
SHARED = {A: 1, B: 0, C: 2, D: 1, E: 4}


def decide(**settings):
    return admit(fuse((DENSE, LEXICAL), depth=DEPTH), DENSE, LEXICAL, SHARED, **settings)


def test_each_fused_hit_becomes_a_candidate_with_all_that_was_looked_at():
    assert decide(min_cosine=0.6, limit=2) == (
        Candidate(A, 1, 1 / 61 + 1 / 63, 0.9, 1, 3, 400, 1, Admission.ADMITTED),
        Candidate(C, 2, 1 / 63 + 1 / 62, 0.7, 3, 2, 500, 2, Admission.ADMITTED),
        Candidate(E, 3, 1 / 65 + 1 / 61, 0.59, 5, 1, 900, 4, Admission.BELOW_MIN_COSINE),
        Candidate(D, 4, 1 / 64 + 1 / 64, 0.6, 4, 4, 300, 1, Admission.OVER_LIMIT),
        Candidate(B, 5, 1 / 62, 0.8, 2, None, None, 0, Admission.NO_SHARED_TERM),
    )


def test_a_cosine_at_the_threshold_is_admitted():
    assert [each.admission for each in decide(min_cosine=0.6, limit=3)].count(
        Admission.ADMITTED
    ) == 3


def test_a_hit_that_fails_both_conditions_is_below_the_cosine():
    (only,) = admit(
        ranking("fused", (A, 1 / 61)), ranking("dense", (A, 0.1)), ranking("lexical"), {A: 0},
        min_cosine=0.2, limit=3,
    )  # fmt: skip
    assert only.admission is Admission.BELOW_MIN_COSINE


def test_without_a_cosine_threshold_the_shared_term_still_counts():
    admissions = {each.chunk_id: each.admission for each in decide(min_cosine=-1.0, limit=3)}
    assert admissions == {
        A: Admission.ADMITTED,
        E: Admission.ADMITTED,
        C: Admission.ADMITTED,
        D: Admission.OVER_LIMIT,
        B: Admission.NO_SHARED_TERM,
    }


def test_a_rank_beyond_the_fused_depth_is_absent_but_its_scores_are_known():
    fused = fuse((DENSE, LEXICAL), depth=2)
    candidates = admit(fused, DENSE, LEXICAL, SHARED, min_cosine=0.0, limit=3, depth=2)
    looked_at = {
        each.chunk_id: (each.dense_rank, each.cosine, each.lexical_rank, each.lexical_score)
        for each in candidates
    }
    assert looked_at == {
        A: (1, 0.9, None, 400),
        B: (2, 0.8, None, None),
        C: (None, 0.7, 2, 500),
        E: (None, 0.59, 1, 900),
    }


def test_no_hits_give_no_candidates():
    assert admit(ranking("fused"), DENSE, LEXICAL, {}, min_cosine=0.6, limit=3) == ()


@pytest.mark.parametrize(
    ("dense", "shared"),
    [
        pytest.param(ranking("dense"), {A: 1}, id="no cosine"),
        pytest.param(ranking("dense", (A, 0.9)), {}, id="no count of terms"),
    ],
)
def test_a_gap_in_what_is_known_of_a_hit_is_an_error_and_never_a_zero(dense, shared):
    with pytest.raises(
        ValueError, match=r"^admission: no cosine or no shared terms are known of A#0$"
    ):
        admit(
            ranking("fused", (A, 1.0)), dense, ranking("lexical"), shared, min_cosine=0.6, limit=3
        )


@pytest.mark.parametrize(
    ("min_cosine", "limit"), [(-1.1, 3), (1.1, 3), (float("nan"), 3), (0.6, 0)]
)
def test_settings_out_of_range_are_an_error(min_cosine, limit):
    with pytest.raises(ValueError, match=r"^admission: want limit >= 1"):
        decide(min_cosine=min_cosine, limit=limit)


# --- the reference rule: RetrievalPolicy.Rank, in float64 ----------------------------------------


def reference_rank(
    question: set[str], chunks: dict[ChunkId, tuple[float, set[str]]], min_cosine: float = 0.60
) -> list[tuple[ChunkId, float]]:
    """The reference implementation's rule, written down once more from its listing."""
    by_cosine = sorted(chunks, key=lambda each: (-chunks[each][0], each))
    overlap = {each: len(chunks[each][1] & question) for each in by_cosine}
    by_overlap = sorted(
        (each for each in by_cosine if overlap[each]), key=lambda e: (-overlap[e], e)
    )
    lexical = {each: rank for rank, each in enumerate(by_overlap, 1)}
    scores = {
        each: 1.0 / (60 + i + 1) + (1.0 / (60 + lexical[each]) if each in lexical else 0)
        for i, each in enumerate(by_cosine)
    }
    kept = [each for each in by_cosine if chunks[each][0] >= min_cosine and each in lexical]
    return [(each, scores[each]) for each in sorted(kept, key=lambda e: (-scores[e], e))[:3]]


def our_rank(
    question: set[str], chunks: dict[ChunkId, tuple[float, set[str]]]
) -> list[tuple[ChunkId, float]]:
    """The same settings through our rules: overlap, cosine of at least 0.60, RRF, best three."""
    best_first = sorted(chunks, key=lambda each: (-chunks[each][0], each))
    dense = ranking("dense", *((each, chunks[each][0]) for each in best_first))
    index = LexicalIndex.of((each, tuple(terms)) for each, (_, terms) in chunks.items())
    lexical = rank_by_overlap(question, index)
    fused = fuse((dense, lexical), depth=DEPTH)
    shared = {hit.chunk_id: shared_terms(question, hit.chunk_id, index) for hit in fused.hits}
    candidates = admit(fused, dense, lexical, shared, min_cosine=0.60, limit=3)
    return [(c.chunk_id, c.fused_score) for c in candidates if c.admission is Admission.ADMITTED]


QUESTION = {"export", "csv", "report"}
TABLE: dict[ChunkId, tuple[float, set[str]]] = {
    ChunkId("EXPORT#0"): (0.7675654, {"export", "csv", "report", "menu"}),
    ChunkId("EXPORT#1"): (0.71, {"export"}),
    ChunkId("IMPORT#0"): (0.74, {"import", "file"}),
    ChunkId("REPORT#0"): (0.60, {"report", "csv"}),
    ChunkId("REPORT#10"): (0.65, {"report"}),
    ChunkId("REPORT#2"): (0.65, {"report"}),
    ChunkId("TRAVEL#0"): (0.5999999, {"report", "csv", "export"}),
}


def test_the_reference_rule_gives_these_three_for_this_table():
    expected = [
        ("EXPORT#0", 1 / 61 + 1 / 61),
        ("REPORT#0", 1 / 66 + 1 / 63),
        ("EXPORT#1", 1 / 63 + 1 / 64),
    ]
    assert reference_rank(QUESTION, TABLE) == [expected[0], expected[2], expected[1]]
    assert our_rank(QUESTION, TABLE) == [expected[0], expected[2], expected[1]]


@given(
    st.dictionaries(
        st.sampled_from([ChunkId(f"{doc}#{part}") for doc in "ABC" for part in (0, 1, 2, 10)]),
        st.tuples(
            st.sampled_from([-0.2, 0.3, 0.59, 0.6, 0.61, 0.7, 0.9]),
            st.sets(st.sampled_from(["export", "csv", "report", "other"])),
        ),
    ),
    st.sets(st.sampled_from(["export", "csv", "report"])),
)
def test_our_rules_under_reference_settings_equal_the_reference_rule(chunks, question):
    assert our_rank(question, chunks) == reference_rank(question, chunks)


def test_known_vectors_pass_from_cosine_to_admission():
    ids = [A, B, C]
    vectors = np.array([[4, 3], [0, 1], [1, 0]], np.float32)
    dense = rank_by_cosine(np.array([1, 0], np.float32), ids, vectors)
    index = LexicalIndex.of([(A, ("export",)), (B, ("export", "csv")), (C, ("receipt",))])
    lexical = rank_by_overlap({"export", "csv"}, index)
    shared = {each: shared_terms({"export", "csv"}, each, index) for each in ids}
    fused = fuse((dense, lexical), depth=DEPTH)
    candidates = admit(fused, dense, lexical, shared, min_cosine=0.6, limit=3)
    assert [(c.chunk_id, c.cosine, c.shared_terms, c.admission) for c in candidates] == [
        (B, 0.0, 2, Admission.BELOW_MIN_COSINE),
        (A, 0.8, 1, Admission.ADMITTED),
        (C, 1.0, 0, Admission.NO_SHARED_TERM),
    ]
