"""Several calls at once, with results in order; an interrupted caller waits for none of them."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

T = TypeVar("T")
R = TypeVar("R")


def results_in_order(call: Callable[[T], R], items: Iterable[T], *, workers: int) -> Generator[R]:
    """`call(item)` for each item in order, at most `workers` at once.

    One worker calls in this thread. More are daemon threads: when a call fails or the caller is
    interrupted, nothing new is started, and what hangs ends with the process.

    Raises:
        ValueError: If `workers` is below 1.
        Exception: What the first failing call, in order, raised.
    """
    if workers < 1:
        raise ValueError(f"concurrency: want at least 1 worker, got {workers}")
    if workers == 1:
        yield from map(call, items)
        return
    running: deque[Future[R]] = deque()
    for item in items:
        if len(running) == workers:
            yield running.popleft().result()
        running.append(_started(call, item))
    while running:
        yield running.popleft().result()


def _started(call: Callable[[T], R], item: T) -> Future[R]:
    future: Future[R] = Future()

    def run() -> None:
        try:
            future.set_result(call(item))
        except BaseException as error:  # noqa: BLE001 - raised again where the result is taken
            future.set_exception(error)

    Thread(target=run, daemon=True).start()
    return future
