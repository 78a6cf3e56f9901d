"""The public question sets: where they lie, and their rows as written."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from rag_core.errors import UsageError

VARIABLE = "RAG_DEVDATA"
DOCUMENTS = "documents.jsonl"
QUESTIONS = "questions.jsonl"
SCORER = "score.py"

Row = dict[str, Any]


def devdata_root() -> Path:
    """The folder of the sets: `RAG_DEVDATA`, else `../shared/devdata` beside the repository."""
    default = Path(__file__).resolve().parent.parent.parent / "shared" / "devdata"
    return Path(os.environ.get(VARIABLE) or default)


def set_names(root: Path) -> tuple[str, ...]:
    """Names of the sets below the folder, sorted; none where it does not exist."""
    return tuple(sorted(path.parent.name for path in root.glob(f"*/{QUESTIONS}")))


def set_folder(name: str) -> Path:
    """The folder of a set.

    Raises:
        UsageError: If there is no such set.
    """
    root = devdata_root()
    if name not in set_names(root):
        known = ", ".join(set_names(root)) or "none"
        raise UsageError(
            f"set {name!r}: not below {root}; found there: {known}. Set {VARIABLE} to the folder "
            "that holds the sets"
        )
    return root / name


def read_rows(path: Path) -> list[Row]:
    """The JSON objects of a file, one a line; blank lines are skipped.

    Raises:
        UsageError: If the file cannot be read, or a line is no JSON object.
    """
    try:
        # Not splitlines(): a JSON string may hold U+2028 and other line ends of Unicode.
        lines = path.read_bytes().decode("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from error
    return [_row(path, n, line) for n, line in enumerate(lines, start=1) if line.strip()]


def _row(path: Path, number: int, line: str) -> Row:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}:{number}: not JSON: {error}") from error
    if not isinstance(row, dict):
        raise UsageError(f"{path}:{number}: want a JSON object, found {type(row).__name__}")
    return row
