"""Several calls at once, results in order."""

from __future__ import annotations

import threading

import pytest

from rag_core.verbs.concurrently import results_in_order


@pytest.mark.parametrize("workers", [1, 2, 7, 30])
def test_results_come_in_the_order_of_the_items(workers):
    assert list(results_in_order(str, range(20), workers=workers)) == [str(n) for n in range(20)]


def test_no_more_calls_run_at_once_than_there_are_workers():
    running, most, guard = 0, 0, threading.Lock()
    together = threading.Barrier(3)

    def call(_: int) -> None:
        nonlocal running, most
        with guard:
            running += 1
            most = max(most, running)
        together.wait(timeout=10)  # passes only when three are here at once
        with guard:
            running -= 1

    list(results_in_order(call, range(9), workers=3))
    assert most == 3


def test_one_worker_calls_in_the_callers_thread():
    (name,) = results_in_order(lambda _: threading.current_thread(), [0], workers=1)
    assert name is threading.current_thread()


@pytest.mark.parametrize("workers", [1, 2])
def test_the_first_failure_in_order_is_raised_and_nothing_more_is_started(workers):
    started = []

    def call(item: int) -> int:
        started.append(item)
        if item == 1:
            raise OSError("item 1")
        return item

    results = results_in_order(call, range(100), workers=workers)
    assert next(results) == 0
    with pytest.raises(OSError, match="item 1"):
        list(results)
    assert max(started) <= workers


@pytest.mark.timeout(20)
def test_a_caller_that_goes_away_does_not_wait_for_a_call_that_hangs():
    release = threading.Event()

    def call(item: int) -> int:
        if item:
            release.wait(600)
        return item

    results = results_in_order(call, range(3), workers=2)
    assert next(results) == 0
    results.close()
    release.set()


def test_less_than_one_worker_is_an_error():
    with pytest.raises(ValueError, match="want at least 1 worker, got 0"):
        list(results_in_order(str, [1], workers=0))
