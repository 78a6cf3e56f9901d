"""Promise 8: every vector is finite, not zero, of one dimension; counts agree."""

from __future__ import annotations

import numpy as np
import pytest

from rag_core.errors import ProviderError
from rag_core.rules.vectors import check_vectors


def good(rows: int = 3, columns: int = 2) -> np.ndarray:
    return np.ones((rows, columns), dtype=np.float32)


def spoiled(row: int, column: int, value: float) -> np.ndarray:
    vectors = good()
    vectors[row, column] = value
    return vectors


def test_good_vectors_pass_and_stay_as_they_are():
    vectors = good()
    check_vectors(vectors, count=3, dimension=2, what="model")
    assert (vectors == good()).all()


def test_no_texts_need_no_vectors():
    check_vectors(good(rows=0), count=0, dimension=2, what="model")


def test_the_smallest_float_is_not_zero():
    vectors = np.array([[np.float32(1e-45), 0]], dtype=np.float32)
    check_vectors(vectors, count=1, dimension=2, what="model")


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        pytest.param(good(rows=2), r"shape \(2, 2\), expected \(3, 2\)", id="a vector too few"),
        pytest.param(good(rows=4), r"shape \(4, 2\), expected \(3, 2\)", id="a vector too many"),
        pytest.param(good(columns=3), r"shape \(3, 3\), expected \(3, 2\)", id="other dimension"),
        pytest.param(good().reshape(-1), r"shape \(6,\)", id="not a matrix"),
        pytest.param(good().astype(np.float64), "float64, expected float32", id="other type"),
        pytest.param(spoiled(1, 0, np.nan), "vector 2 of 3: found a coordinate", id="NaN"),
        pytest.param(spoiled(2, 1, np.inf), "vector 3 of 3: found a coordinate", id="infinity"),
        pytest.param(spoiled(0, 1, -np.inf), "vector 1 of 3: found", id="negative infinity"),
    ],
)
def test_a_broken_rule_names_found_and_expected(vectors, message):
    with pytest.raises(ProviderError, match=message):
        check_vectors(vectors, count=3, dimension=2, what="model")


def test_a_zero_vector_is_refused_not_filled():
    vectors = good()
    vectors[1] = 0
    with pytest.raises(ProviderError, match=r"chunks: vector 2 of 3 \(B#0\): found a zero vector"):
        check_vectors(vectors, count=3, dimension=2, what="chunks", names=("A#0", "B#0", "C#0"))
    assert not vectors[1].any()


def test_a_negative_zero_vector_is_a_zero_vector():
    vectors = np.full((1, 2), -0.0, dtype=np.float32)
    with pytest.raises(ProviderError, match="zero vector"):
        check_vectors(vectors, count=1, dimension=2, what="model")
