"""The machine's clock."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class SystemClock:
    """Implements `Clock` with the operating system's time."""

    def now(self) -> datetime:
        """The current instant, in UTC."""
        return datetime.now(UTC)

    def seconds(self) -> float:
        """A monotonic reading for durations."""
        return time.perf_counter()
