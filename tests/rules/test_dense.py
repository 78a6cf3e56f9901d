"""Exact cosine, bit for bit equal to a plain loop (promise 9)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rag_core.rules import dense
from rag_core.rules.dense import cosine, rank_by_cosine
from rag_core.types.ids import ChunkId

COORDINATES = st.floats(width=32, allow_nan=False, allow_infinity=False)


def plain_cosine(left, right) -> float:
    """The reference's loop: three running sums in double precision."""
    dot = a = b = 0.0
    for x, y in zip(left.tolist(), right.tolist(), strict=True):
        dot += x * y
        a += x * x
        b += y * y
    return max(-1.0, min(1.0, dot / math.sqrt(a * b)))


def vector(*coordinates: float):
    return np.array(coordinates, dtype=np.float32)


def matrices(rows: st.SearchStrategy[int], columns: st.SearchStrategy[int]):
    return st.tuples(rows, columns).flatmap(
        lambda shape: arrays(np.float32, shape, elements=COORDINATES).filter(
            lambda matrix: bool(matrix.any(axis=1).all())
        )
    )


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        pytest.param(vector(1, 0), vector(3, 0), 1.0, id="same direction"),
        pytest.param(vector(1, 0), vector(-2, 0), -1.0, id="opposite"),
        pytest.param(vector(1, 0), vector(0, 5), 0.0, id="orthogonal"),
        pytest.param(vector(3, 4), vector(4, 3), 0.96, id="24 / 25"),
        pytest.param(vector(1e-38, 0), vector(1e-38, 1e-38), 0.7071067811865475, id="tiny"),
        pytest.param(vector(3e38, 0), vector(3e38, 3e38), 0.7071067811865475, id="huge"),
        pytest.param(vector(1e-45), vector(3e38), 1.0, id="denormal against huge"),
    ],
)
def test_cosine_has_known_values(left, right, expected):
    assert cosine(left, right) == expected


def test_a_quotient_that_rounding_lifts_above_one_is_clamped():
    left, right = vector(0.1, 0.8, 0.1), vector(0.6, 4.8, 0.6)
    dot, a, b = (
        sum(x * y for x, y in zip(one.tolist(), other.tolist(), strict=True))
        for one, other in ((left, right), (left, left), (right, right))
    )
    assert dot / math.sqrt(a * b) == 1 + 2**-52
    assert (cosine(left, right), cosine(left, -right)) == (1.0, -1.0)


@given(matrices(st.just(2), st.integers(1, 40)))
def test_cosine_equals_the_plain_loop_bit_for_bit(matrix):
    assert cosine(matrix[0], matrix[1]).hex() == plain_cosine(matrix[0], matrix[1]).hex()


@pytest.mark.parametrize("dimension", [1, 7, 8, 129, 384, 768])
def test_a_ranking_equals_the_plain_loop_bit_for_bit(dimension):
    generator = np.random.default_rng(dimension)
    query, *rows = generator.standard_normal((60, dimension)).astype(np.float32)
    ids = [ChunkId(f"D#{part}") for part in range(len(rows))]
    ranking = rank_by_cosine(query, ids, np.array(rows))
    expected = sorted(
        (-plain_cosine(query, row), chunk_id) for row, chunk_id in zip(rows, ids, strict=True)
    )
    assert ranking.name == "dense"
    assert [(hit.chunk_id, hit.rank, hit.score.hex()) for hit in ranking.hits] == [
        (chunk_id, rank, (-score).hex()) for rank, (score, chunk_id) in enumerate(expected, 1)
    ]


def test_sums_run_from_left_to_right():
    # 2**54 + 1 is 2**54 in float64, so the first 1 is lost and the last one stays.
    left = vector(2.0**27, 1, -(2.0**27), 1)
    right = vector(2.0**27, 1, 2.0**27, 1)
    assert cosine(left, right) == 1 / math.sqrt((2.0**55) * (2.0**55))


def test_ties_stand_in_ordinal_order_of_chunk_id():
    ids = [ChunkId(name) for name in ("A#2", "B#0", "A#10", "A#1")]
    ranking = rank_by_cosine(
        vector(1, 0), ids, np.array([[1, 0], [2, 0], [3, 0], [0, 1]], np.float32)
    )
    assert [(hit.chunk_id, hit.rank, hit.score) for hit in ranking.hits] == [
        ("A#10", 1, 1.0),
        ("A#2", 2, 1.0),
        ("B#0", 3, 1.0),
        ("A#1", 4, 0.0),
    ]


@pytest.mark.parametrize("rows", [1, 2, 5, 50])
def test_the_size_of_a_block_does_not_matter(rows, monkeypatch):
    vectors = np.random.default_rng(5).standard_normal((23, 8)).astype(np.float32)
    ids = [ChunkId(f"D#{part}") for part in range(23)]
    whole = rank_by_cosine(vectors[0], ids, vectors)
    monkeypatch.setattr(dense, "_BLOCK_VALUES", rows * 8)
    assert rank_by_cosine(vectors[0], ids, vectors) == whole


def test_no_eligible_chunk_gives_an_empty_ranking():
    assert rank_by_cosine(vector(1, 0), [], np.empty((0, 2), np.float32)).hits == ()


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        pytest.param(vector(1), vector(1, 2), "equal dimensions, got 1 and 2", id="dimensions"),
        pytest.param(vector(NAN), vector(1), "left vector: want finite", id="NaN"),
        pytest.param(vector(1), vector(INF), "right vector: want finite", id="infinity"),
        pytest.param(vector(0, 0), vector(1, 2), "left vector: .* got 2 zeros", id="zero"),
        pytest.param(
            vector(1, 2), vector(-0.0, 0), "right vector: .* got 2 zeros", id="minus zero"
        ),
        pytest.param(vector(), vector(), "left vector: .* got 0 zeros", id="no coordinates"),
        pytest.param(np.ones((1, 2), np.float32), vector(1, 2), r"want one vector", id="a matrix"),
    ],
)
def test_a_vector_without_a_cosine_is_an_error(left, right, message):
    with pytest.raises(ValueError, match=message):
        cosine(left, right)


@pytest.mark.parametrize(
    ("query", "ids", "vectors", "message"),
    [
        pytest.param(vector(0, 0), ["A#0"], [[1, 2]], "^query: .* got 2 zeros", id="zero query"),
        pytest.param(
            vector(1, 2), ["A#0"], [[1, 2, 3]], "dimensions, got 2 and 3", id="dimensions"
        ),
        pytest.param(
            vector(1), ["A#0"], [[1], [2]], r"want 1 rows, .* got shape \(2, 1\)", id="rows"
        ),
        pytest.param(vector(1), ["A#0"], [1], r"want 1 rows, .* got shape \(1,\)", id="no matrix"),
        pytest.param(vector(1), ["A#0", "A#0"], [[1], [2]], "a chunk id comes twice", id="twice"),
        pytest.param(
            vector(1), ["A#0", "B#0"], [[1], [0]], "^vector of B#0: .* zeros", id="zero row"
        ),
        pytest.param(
            vector(1), ["A#0", "B#0"], [[NAN], [0]], "^vector of A#0: .* finite", id="NaN row"
        ),
    ],
)
def test_an_index_that_cannot_be_ranked_is_an_error_that_names_the_chunk(
    query, ids, vectors, message
):
    with pytest.raises(ValueError, match=message):
        rank_by_cosine(query, ids, np.array(vectors, np.float32))
