"""Reciprocal rank fusion."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.rules.fusion import DEPTH, fuse
from rag_core.types.ids import ChunkId
from rag_core.types.retrieval import RankedHit, Ranking


def ranking(*ids: str, name: str = "dense") -> Ranking:
    return Ranking(
        name, tuple(RankedHit(ChunkId(each), rank, 0.0) for rank, each in enumerate(ids, 1))
    )


def scores(fused: Ranking) -> list[tuple[str, int, float]]:
    return [(hit.chunk_id, hit.rank, hit.score) for hit in fused.hits]


RANKINGS = st.lists(
    st.lists(st.sampled_from("ABCDEFGH"), unique=True).map(lambda ids: ranking(*ids)), max_size=5
)


def test_the_first_of_two_lists_scores_two_sixty_firsts():
    assert scores(fuse((ranking("A#0"), ranking("A#0")), depth=DEPTH)) == [("A#0", 1, 2 / 61)]


def test_a_list_without_a_hit_adds_nothing():
    fused = fuse((ranking("A#0", "B#0"), ranking("B#0")), depth=DEPTH)
    assert fused.name == "fused"
    assert scores(fused) == [("B#0", 1, 1 / 62 + 1 / 61), ("A#0", 2, 1 / 61)]


def test_a_hit_of_both_lists_outranks_the_first_of_either():
    fused = fuse((ranking("A", "B", "C"), ranking("D", "E", "C")), depth=DEPTH)
    assert scores(fused) == [
        ("C", 1, 2 / 63),
        ("A", 2, 1 / 61),
        ("D", 3, 1 / 61),
        ("B", 4, 1 / 62),
        ("E", 5, 1 / 62),
    ]


def test_ties_stand_in_ordinal_order_of_chunk_id():
    fused = fuse((ranking("A#2", "A#10"), ranking("A#10", "A#2")), depth=DEPTH)
    assert [hit.chunk_id for hit in fused.hits] == ["A#10", "A#2"]


def test_ranks_beyond_the_depth_are_absent():
    fused = fuse((ranking("A", "B", "C"), ranking("C", "B", "A")), depth=1)
    assert scores(fused) == [("A", 1, 1 / 61), ("C", 2, 1 / 61)]


def test_design_reads_the_first_200_of_each_list():
    ids = [f"A#{part:03}" for part in range(201)]
    assert [hit.chunk_id for hit in fuse((ranking(*ids),), depth=DEPTH).hits] == ids[:200]


def test_another_constant_changes_the_share_of_a_rank():
    assert scores(fuse((ranking("A", "B"),), depth=2, constant=0)) == [("A", 1, 1.0), ("B", 2, 0.5)]


@pytest.mark.parametrize("rankings", [(), (ranking(),)], ids=["no lists", "an empty list"])
def test_nothing_fuses_to_nothing(rankings):
    assert fuse(rankings, depth=DEPTH).hits == ()


@given(RANKINGS, st.randoms(use_true_random=False), st.integers(1, 9))
def test_the_order_of_the_lists_does_not_matter_bit_for_bit(rankings, shuffler, depth):
    shuffled = list(rankings)
    shuffler.shuffle(shuffled)
    assert fuse(shuffled, depth=depth) == fuse(rankings, depth=depth)


@given(RANKINGS)
def test_every_hit_is_ranked_once_best_first(rankings):
    fused = scores(fuse(rankings, depth=DEPTH))
    assert {chunk_id for chunk_id, _, _ in fused} == {
        hit.chunk_id for each in rankings for hit in each.hits
    }
    assert [rank for _, rank, _ in fused] == list(range(1, len(fused) + 1))
    assert fused == sorted(fused, key=lambda hit: (-hit[2], hit[0]))


@pytest.mark.parametrize(
    ("hits", "message"),
    [
        pytest.param([("A", 0)], "^dense: want rank 1 at A, got 0$", id="a rank from 0"),
        pytest.param([("A", 1), ("B", 3)], "^dense: want rank 2 at B, got 3$", id="a gap"),
        pytest.param([("A", 1), ("A", 2)], "^dense: a chunk comes twice$", id="a chunk twice"),
    ],
)
def test_a_list_that_is_no_ranking_is_an_error(hits, message):
    broken = Ranking("dense", tuple(RankedHit(ChunkId(each), rank, 0.0) for each, rank in hits))
    with pytest.raises(ValueError, match=message):
        fuse((broken,), depth=DEPTH)


@pytest.mark.parametrize(("depth", "constant"), [(0, 60), (1, -1)])
def test_a_depth_or_constant_out_of_range_is_an_error(depth, constant):
    with pytest.raises(ValueError, match=r"^fusion: want depth >= 1 and constant >= 0"):
        fuse((ranking("A"),), depth=depth, constant=constant)
