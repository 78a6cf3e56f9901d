"""Lets the command line watch the progress of a flow that it runs in its own process."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rag_core.types.ports import Progress

WATCHER: ContextVar[Progress | None] = ContextVar("rag_progress_watcher", default=None)
"""Told of each finished batch; None where nobody watches, as in a served run."""
