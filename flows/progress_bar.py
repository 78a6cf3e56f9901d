"""A progress bar for long work; shows nothing where nobody looks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from flows.console import ERR

if TYPE_CHECKING:
    from rag_core.types.ports import Progress as ProgressPort


@contextmanager
def progress_bar(*, shown: bool = True) -> Iterator[ProgressPort]:
    """Yields a `Progress` port drawn on standard error, one bar per step."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=ERR, transient=True, disable=not shown) as bars:
        tasks = {}

        def tell(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = bars.add_task(step, total=total)
            bars.update(tasks[step], completed=done, total=total)

        yield tell
