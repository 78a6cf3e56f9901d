"""Prints what `rag show` found: a document with its governance, or the rows of a run."""

from __future__ import annotations

from collections.abc import Mapping

from rich.text import Text

from flows.console import OUT, table, validity
from flows.views import as_plain
from rag_core.verbs.show import ShownRun, ShownSource


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
        ("status", governance.status.value),
        ("canonical", "yes" if governance.canonical else "no: a copy, never quoted"),
        ("valid", validity(governance.valid_from, governance.valid_until)),
        ("product", governance.product or "none: general"),
        ("subject", source.subject or "not given"),
        ("superseded by", source.superseded_by or "nothing"),
        ("language", source.language or "not declared"),
        ("url", source.url or "not given"),
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


_TITLES = {"hits": "Candidates", "verdicts": "Verdict", "ingests": "Ingest"}


def _print_run(shown: ShownRun) -> None:
    for name, found in shown.tables.items():
        if name == "hits":
            columns = ("chunk_id", "rank", "cosine", "shared_terms", "admission")
            rows = [[_cell(row.get(column)) for column in columns] for row in found]
            titles = ("chunk", "rank", "cosine", "terms", "admission")
            OUT.print(table(_TITLES[name], titles, rows))
            continue
        for row in found:
            OUT.print(table(_TITLES[name], ("column", "value"), _fields(row)))


def _fields(row: Mapping[str, object]) -> list[tuple[str, str]]:
    return [(key, _cell(value)) for key, value in row.items() if value not in (None, [], "")]


def _cell(value: object) -> str:
    """A value of the log as people read it: quotations as published, lists joined."""
    match value:
        case None:
            return ""
        case float():
            return f"{value:.4f}"
        case {"chunk_id": chunk_id, "text": text}:
            return f"[{chunk_id}] {text}"
        case Mapping():
            return ", ".join(f"{key} {_cell(item)}" for key, item in value.items())
        case list():
            parts = [_cell(item) for item in value]
            return ("\n" if any(isinstance(item, Mapping) for item in value) else ", ").join(parts)
        case _:
            return str(as_plain(value))
