"""Write the sample corpus into a folder, for people who installed the wheel."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from rag_core.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


def init(target: Path, *, sample: Path) -> tuple[Path, ...]:
    """Copy the sample corpus to `target`; returns the files written, sorted.

    Raises:
        UsageError: If `target` exists and is not an empty folder; nothing is overwritten.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(
            f"init {target}: exists and is not an empty folder; nothing was written. "
            "Name a new folder"
        )
    try:
        shutil.copytree(sample, target, dirs_exist_ok=True)
    except OSError as error:
        raise UsageError(f"init {target}: cannot be written: {error}") from error
    return tuple(sorted(path for path in target.rglob("*") if path.is_file()))
