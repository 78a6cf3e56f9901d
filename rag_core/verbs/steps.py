"""How a verb calls its steps: plainly, or through whoever wants to watch them.

A flow passes a `RunStep` that runs each step as a named Prefect task; the command line and
library callers pass `call_plainly`. There is one orchestration of each verb, whoever watches.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from rag_core.types.ports import Clock

P = ParamSpec("P")
R = TypeVar("R")


class RunStep(Protocol):
    """Calls a step under a label and returns its result."""

    def __call__(self, label: str, step: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """`step(*args, **kwargs)`; raises what the step raises."""


def call_plainly(label: str, step: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """`step(*args, **kwargs)`, and nothing else."""
    del label
    return step(*args, **kwargs)


def no_progress(step: str, done: int, total: int) -> None:
    """A `Progress` that tells nobody."""
    del step, done, total


@dataclass(slots=True)
class TimedSteps:
    """A `RunStep` that keeps how long each step took; one per run, not shared."""

    run_step: RunStep
    clock: Clock
    timings_ms: list[tuple[str, float]] = field(default_factory=list)

    def __call__(self, label: str, step: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """`step(*args, **kwargs)`, timed also when it raises."""
        started = self.clock.seconds()
        try:
            return self.run_step(label, step, *args, **kwargs)
        finally:
            self.timings_ms.append((label, round((self.clock.seconds() - started) * 1e3, 3)))
