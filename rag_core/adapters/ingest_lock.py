"""One ingest at a time per state root, across processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from filelock import FileLock, Timeout

from rag_core.errors import LockedError, UsageError

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType


class IngestLock:
    """A context that only one process holds; the system releases it when the holder is killed.

    Args:
        path: The lock file; created with its folder. That the file exists means nothing.
        timeout_s: How long to wait for another holder; 0 ends at once.
    """

    def __init__(self, path: Path, timeout_s: float) -> None:
        self._path = path
        self._timeout_s = timeout_s
        # A flow may leave the context in another thread than it entered.
        self._lock = FileLock(path, timeout=timeout_s, thread_local=False)

    def __enter__(self) -> Self:
        """Take the lock.

        Raises:
            LockedError: If another process holds it past the timeout.
            UsageError: If the lock file cannot be created.
        """
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
        except Timeout as error:
            raise LockedError(
                f"{self._path}: another ingest holds the lock, waited {self._timeout_s:g} s. "
                "The index is unchanged. Wait until that ingest ends, then run: rag ingest"
            ) from error
        except OSError as error:
            raise UsageError(
                f"{self._path}: cannot lock ({error.strerror or error}). Check permissions, or "
                "choose another state root with --state"
            ) from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Release the lock."""
        self._lock.release()
