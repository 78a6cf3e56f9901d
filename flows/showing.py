"""Prints what `rag show` found: a document with its governance, or the rows of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from flows.console import OUT, table, validity
from flows.views import as_plain
from rag_core.verbs.show import ShownRun, ShownSource

if TYPE_CHECKING:
    from collections.abc import Mapping


def print_shown(shown: ShownSource | ShownRun) -> None:
    """A document's governance, chunks and text, or a run's rows per table."""
    if isinstance(shown, ShownSource):
        _print_source(shown)
    else:
        _print_run(shown)


def _print_source(shown: ShownSource) -> None:
    source = shown.source
    governance = source.governance
    rows = [
        ("title", source.title),
        ("scope", governance.scope),
        ("status", governance.status.value + ("" if governance.canonical else ", a copy")),
        ("valid", validity(governance.valid_from, governance.valid_until)),
        ("product", governance.product or "none: general"),
        ("subject", source.subject or "not given"),
        ("superseded by", source.superseded_by or "nothing"),
        ("language", source.language or "not declared"),
        ("file", source.path),
        ("file SHA-256", source.file_digest),
        ("text SHA-256", source.digest),
        ("chunks", ", ".join(f"{c.id} {c.span.start}..{c.span.end}" for c in shown.chunks)),
    ]
    OUT.print(table(str(source.id), ("field", "value"), rows))
    if shown.sheet is not None:
        facts = [(f.name, f.value, f.unit or "", f.note or "") for f in shown.sheet.facts]
        OUT.print(table("Facts", ("fact", "value", "unit", "note"), facts))
    OUT.print(Text(source.text))


def _print_run(shown: ShownRun) -> None:
    for name, found in shown.tables.items():
        if name == "hits":
            columns = ("chunk_id", "rank", "cosine", "lexical_rank", "shared_terms", "admission")
            rows = [[_cell(row.get(column)) for column in columns] for row in found]
            OUT.print(table("Candidates", columns, rows))
            continue
        for row in found:
            OUT.print(table(name.removesuffix("s"), ("column", "value"), _fields(row)))


def _fields(row: Mapping[str, object]) -> list[tuple[str, str]]:
    return [(key, _cell(value)) for key, value in row.items() if value not in (None, [], "")]


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4f}"
    return "" if value is None else str(as_plain(value))
