"""Findings about documents: where they stand, and their order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_core.types.corpus import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rag_core.types.corpus import Document, Severity


@dataclass(frozen=True, slots=True)
class PlacedDocuments:
    """Documents in order of path, and the lines on which their fields stand (path, field)."""

    documents: tuple[Document, ...]
    lines: Mapping[str, Mapping[str, int]]

    def finding(
        self,
        severity: Severity,
        code: str,
        document: Document,
        field: str,
        message: str,
        *,
        at: str | None = None,
    ) -> Finding:
        """A finding about `field`, placed on the line of `at` (default: of the field itself)."""
        line = self.lines.get(document.path, {}).get(at or field)
        return Finding(severity, code, document.path, message, line, field)


def sort_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings by path, line (none first), code, field and message."""
    return tuple(
        sorted(findings, key=lambda f: (f.path, f.line or 0, f.code, f.field or "", f.message))
    )
