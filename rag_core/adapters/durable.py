"""Files that are either whole and on disk, or not there."""

from __future__ import annotations

import os
import uuid
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

TEMPORARY_SUFFIX = ".tmp"
"""Ends every temporary name, so that no `*.parquet` pattern ever meets an unfinished file."""


def write_durably(path: Path, write: Callable[[IO[bytes]], None]) -> None:
    """Put what `write` writes at `path`: unique temporary name, fsync, rename, fsync of the folder.

    Raises:
        OSError: If the file system refuses; nothing is at `path` that was not there before.
    """
    make_folder(path.parent)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}{TEMPORARY_SUFFIX}")
    try:
        with temporary.open("xb") as handle:
            write(handle)
            handle.flush()
            os.fsync(handle.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def make_folder(folder: Path) -> None:
    """Create a folder and its parents, durably."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Make the folder's own entries (new, renamed, removed names) durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def temporary_files(folder: Path) -> Iterator[Path]:
    """The temporary names below a folder that killed runs left behind."""
    return folder.rglob(f".*{TEMPORARY_SUFFIX}")
