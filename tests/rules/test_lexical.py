"""BM25 in whole numbers, checked against a decimal oracle of 60 digits."""

from __future__ import annotations

import random
from decimal import ROUND_HALF_EVEN, Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.rules.lexical import LexicalIndex, rank_by_bm25, rank_by_overlap, shared_terms
from rag_core.types.ids import ChunkId

ENTRIES = (
    (ChunkId("A#0"), ("export", "csv", "report", "export")),
    (ChunkId("A#10"), ("receipt", "day")),
    (ChunkId("A#2"), ("receipt", "day")),
    (ChunkId("B#0"), ("receipt", "receipt", "receipt", "limit", "day", "amount")),
    (ChunkId("C#0"), ()),
)
INDEX = LexicalIndex.of(ENTRIES)

CORPORA = st.lists(st.lists(st.sampled_from("abcdef"), max_size=12), max_size=8).map(
    lambda chunks: [(ChunkId(f"D#{part}"), tuple(chunk)) for part, chunk in enumerate(chunks)]
)


def exact_weight(tf: int, length: int, df: int, n: int, total: int) -> int:
    """The weight by DESIGN's formula in 60 decimal digits."""
    with localcontext() as context:
        context.prec = 60
        k1, b = Decimal("1.2"), Decimal("0.75")
        idf = (1 + (n - df + Decimal("0.5")) / (df + Decimal("0.5"))).ln()
        norm = k1 * (1 - b + b * length * n / total)
        return int((2**20 * idf * tf / (tf + norm)).to_integral_value(ROUND_HALF_EVEN))


def hits(ranking) -> list[tuple[str, int, float]]:
    return [(hit.chunk_id, hit.rank, hit.score) for hit in ranking.hits]


def test_statistics_count_chunks_and_repeated_terms():
    assert INDEX.n == 5
    assert INDEX.avgdl == 14 / 5
    assert INDEX.df == {
        "export": 1,
        "csv": 1,
        "report": 1,
        "receipt": 3,
        "day": 3,
        "limit": 1,
        "amount": 1,
    }
    assert INDEX.lengths == {"A#0": 4, "A#10": 2, "A#2": 2, "B#0": 6, "C#0": 0}


@pytest.mark.parametrize(
    ("term", "idf"),
    [
        pytest.param("export", 1.3862943611198906, id="ln 4: in one chunk of five"),
        pytest.param("receipt", 0.5389965007326871, id="ln 12/7: in three"),
        pytest.param("absent", 2.4849066497880004, id="ln 12: in none"),
    ],
)
def test_idf_is_the_natural_logarithm_of_design(term, idf):
    assert INDEX.idf(term) == idf


def test_a_ranking_holds_whole_weights_best_first_and_ties_by_ordinal_id():
    ranking = rank_by_bm25({"receipt", "day"}, INDEX)
    assert ranking.name == "lexical"
    assert hits(ranking) == [
        ("A#10", 1, float(2 * exact_weight(1, 2, 3, 5, 14))),
        ("A#2", 2, float(2 * exact_weight(1, 2, 3, 5, 14))),
        ("B#0", 3, float(exact_weight(3, 6, 3, 5, 14) + exact_weight(1, 6, 3, 5, 14))),
    ]


def test_the_weights_of_this_corpus_are_known_numbers():
    assert hits(rank_by_bm25({"receipt"}, INDEX)) == [
        ("B#0", 1, 324283.0),
        ("A#10", 2, 290901.0),
        ("A#2", 3, 290901.0),
    ]
    assert hits(rank_by_bm25({"export"}, INDEX)) == [("A#0", 1, 810792.0)]


@pytest.mark.parametrize(
    "question", [frozenset(), frozenset({"absent"})], ids=["no terms", "no known term"]
)
def test_a_question_that_meets_nothing_ranks_nothing(question):
    assert rank_by_bm25(question, INDEX).hits == ()
    assert rank_by_overlap(question, INDEX).hits == ()


def test_a_term_asked_twice_counts_once():
    assert rank_by_bm25(("day", "day"), INDEX) == rank_by_bm25(("day",), INDEX)
    assert rank_by_overlap(("day", "day"), INDEX) == rank_by_overlap(("day",), INDEX)


def test_a_term_too_common_to_weigh_anything_is_no_hit():
    # ln(1 + 0.5 / 800000.5) * 2**20 / 2.2 is below one half.
    index = LexicalIndex(
        n=800_000, avgdl=1.0, lengths={ChunkId("A#0"): 1},
        postings={"day": {ChunkId("A#0"): 1}}, df={"day": 800_000},
    )  # fmt: skip
    assert rank_by_bm25({"day"}, index).hits == ()


def test_overlap_counts_distinct_shared_terms():
    ranking = rank_by_overlap({"receipt", "day", "export", "limit"}, INDEX)
    assert ranking.name == "lexical"
    assert hits(ranking) == [("B#0", 1, 3.0), ("A#10", 2, 2.0), ("A#2", 3, 2.0), ("A#0", 4, 1.0)]


def test_shared_terms_count_distinct_ones():
    asked = ("receipt", "day", "day", "export")
    assert [shared_terms(asked, chunk_id, INDEX) for chunk_id, _ in ENTRIES] == [1, 2, 2, 2, 0]


def test_shared_terms_of_a_chunk_that_is_not_eligible_are_an_error():
    with pytest.raises(ValueError, match=r"^lexical index: no chunk X#0 among 5$"):
        shared_terms(("day",), ChunkId("X#0"), INDEX)


def test_a_chunk_that_comes_twice_is_an_error():
    with pytest.raises(ValueError, match=r"^lexical index: chunk A#0 comes twice$"):
        LexicalIndex.of([(ChunkId("A#0"), ()), (ChunkId("A#0"), ("day",))])


@pytest.mark.parametrize("entries", [[], [(ChunkId("A#0"), ())]], ids=["no chunks", "no terms"])
def test_an_index_without_terms_ranks_nothing(entries):
    index = LexicalIndex.of(entries)
    assert index.avgdl == 0.0
    assert rank_by_bm25({"day"}, index).hits == ()


def test_only_the_given_chunks_enter_the_statistics():
    fewer = LexicalIndex.of(ENTRIES[:2])
    assert (fewer.n, fewer.df.get("limit")) == (2, None)
    assert fewer.idf("receipt") == 0.6931471805599453  # ln 2: in one chunk of two


@given(CORPORA, st.frozensets(st.sampled_from("abcdefg")))
def test_weights_equal_the_exact_formula(corpus, asked):
    index = LexicalIndex.of(corpus)
    total = sum(len(words) for _, words in corpus)
    expected = {}
    for chunk_id, words in corpus:
        shared = [term for term in asked if term in words]
        expected[chunk_id] = sum(
            exact_weight(words.count(term), len(words), index.df[term], len(corpus), total)
            for term in shared
        )
    found = {hit.chunk_id: hit.score for hit in rank_by_bm25(asked, index).hits}
    assert found == {chunk_id: weight for chunk_id, weight in expected.items() if weight > 0}


@given(CORPORA, st.lists(st.sampled_from("abcdefg")), st.randoms(use_true_random=False))
def test_neither_order_of_chunks_nor_of_terms_matters(corpus, asked, shuffler: random.Random):
    shuffled, turned = list(corpus), list(asked)
    shuffler.shuffle(shuffled)
    shuffler.shuffle(turned)
    for rank in (rank_by_bm25, rank_by_overlap):
        assert rank(turned, LexicalIndex.of(shuffled)) == rank(asked, LexicalIndex.of(corpus))


@given(CORPORA, st.frozensets(st.sampled_from("abcdefg")))
def test_a_hit_is_what_shares_a_term(corpus, asked):
    index = LexicalIndex.of(corpus)
    shared = {chunk_id: shared_terms(asked, chunk_id, index) for chunk_id, _ in corpus}
    overlap = {hit.chunk_id: hit.score for hit in rank_by_overlap(asked, index).hits}
    assert overlap == {chunk_id: count for chunk_id, count in shared.items() if count}
    assert {hit.chunk_id for hit in rank_by_bm25(asked, index).hits} == set(overlap)
