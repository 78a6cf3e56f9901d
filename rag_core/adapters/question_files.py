"""Reads a file of questions: one a line, as plain text or as JSON objects."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rag_core.adapters.boundary_errors import explained
from rag_core.errors import UsageError
from rag_core.types.questions import Asked

if TYPE_CHECKING:
    from pathlib import Path

MAX_QUESTIONS = 100_000


class _Line(BaseModel):
    """One JSON line; an absent key takes the command line's value."""

    model_config = ConfigDict(strict=True, extra="forbid")

    question: Annotated[str, Field(min_length=1)]
    as_of: str | None = None
    scopes: Annotated[list[str], Field(min_length=1)] | None = None
    product: str | None = None
    background: str | None = None


def read_questions(path: Path, *, defaults: Asked) -> tuple[Asked, ...]:
    """The questions of a file in its order; blank lines are skipped.

    Raises:
        UsageError: If the file cannot be read, holds no question, or a line breaks a rule; the
            line is named.
    """
    try:
        # Not splitlines(): U+2028 and its like may stand inside a question or a JSON string.
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        cause = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"questions {path}: cannot be read: {cause}") from error
    numbered = [(number, line.strip()) for number, line in enumerate(lines, start=1)]
    asked = tuple(_asked(path, n, line, defaults) for n, line in numbered if line)
    if not 1 <= len(asked) <= MAX_QUESTIONS:
        raise UsageError(
            f"questions {path}: want 1 to {MAX_QUESTIONS:,} questions, found {len(asked):,}"
        )
    return asked


def _asked(path: Path, number: int, line: str, defaults: Asked) -> Asked:
    if not line.startswith("{"):
        return Asked(line, defaults.as_of, defaults.scopes, defaults.product, defaults.background)
    try:
        found = json.loads(line, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:  # also a number of thousands of digits
        raise UsageError(f"questions {path}:{number}: not JSON: {error}") from error
    try:
        row = _Line.model_validate(found)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise UsageError(f"questions {path}:{number}: {explained(first, _Line)}") from error
    return Asked(
        text=row.question,
        as_of=defaults.as_of if row.as_of is None else row.as_of,
        scopes=defaults.scopes if row.scopes is None else tuple(row.scopes),
        product=defaults.product if row.product is None else row.product,
        background=defaults.background if row.background is None else row.background,
    )


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    names = [name for name, _ in pairs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"key {twice[0]!r} stands twice")
    return dict(pairs)
