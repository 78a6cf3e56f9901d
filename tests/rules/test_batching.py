"""Embedding requests of at most 16 windows, and shards of 64 requests."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import digest_of
from rag_core.rules.batching import batch_inputs, shards_of
from rag_core.types.chunks import EmbeddingInput


def inputs_of(*windows: int) -> list[EmbeddingInput]:
    return [
        EmbeddingInput(digest_of(str(at)), f"text {at}", count) for at, count in enumerate(windows)
    ]


def sizes(*windows: int) -> list[int]:
    return [len(batch.inputs) for batch in batch_inputs(inputs_of(*windows))]


def test_33_inputs_are_3_requests():
    assert sizes(*[1] * 33) == [16, 16, 1]


@pytest.mark.parametrize(
    ("windows", "expected"),
    [
        pytest.param((), [], id="nothing missing, no request"),
        pytest.param((1,) * 16, [16], id="16 single windows fill one batch"),
        pytest.param((1,) * 17, [16, 1], id="the 17th opens the next"),
        pytest.param((8, 8, 1), [2, 1], id="each window counts"),
        pytest.param((10, 7), [1, 1], id="an input is never split"),
        pytest.param((1, 40, 1), [1, 1, 1], id="more than 16 windows go alone"),
        pytest.param((16, 1), [1, 1], id="16 windows leave no room"),
    ],
)
def test_batches_fill_up_to_16_windows(windows, expected):
    assert sizes(*windows) == expected


@given(st.lists(st.integers(1, 40)))
def test_batches_keep_every_input_in_order_and_the_bound(windows):
    inputs = inputs_of(*windows)
    batches = batch_inputs(inputs)
    assert [item for batch in batches for item in batch.inputs] == inputs
    for batch in batches:
        assert len(batch.inputs) == 1 or sum(item.windows for item in batch.inputs) <= 16


@given(st.lists(st.integers(1, 40), min_size=1))
def test_no_batch_could_have_taken_the_next_input(windows):
    batches = batch_inputs(inputs_of(*windows))
    for batch, following in pairwise(batches):
        total = sum(item.windows for item in batch.inputs)
        assert total + following.inputs[0].windows > 16


def test_64_batches_are_one_shard():
    batches = batch_inputs(inputs_of(*[16] * 130))
    groups = shards_of(batches)
    assert [len(group) for group in groups] == [64, 64, 2]
    assert [batch for group in groups for batch in group] == list(batches)


def test_no_batch_is_no_shard():
    assert shards_of(()) == ()


def test_a_shard_of_no_batches_is_refused():
    with pytest.raises(ValueError, match="at least 1, got 0"):
        shards_of((), size=0)
