"""What governance forbids across the documents of a corpus; everything is reported at once."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from rag_core.rules.close_matches import close_matches_hint
from rag_core.rules.findings import PlacedDocuments, sort_findings
from rag_core.rules.supersession_checks import supersession_findings
from rag_core.types.corpus import Finding, Severity, Status

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from rag_core.types.corpus import Document, Governance
    from rag_core.types.ids import SourceId

_IN_FORCE = frozenset({Status.APPROVED, Status.SUPERSEDED})


@dataclass(frozen=True, slots=True)
class DeclaredId:
    """An id that a file declares, whether or not the rest of the file could be read."""

    id: SourceId
    path: str
    line: int | None = None


def corpus_findings(
    documents: Sequence[Document],
    *,
    declared: Sequence[DeclaredId],
    known_products: Collection[str],
    lines: Mapping[str, Mapping[str, int]],
) -> tuple[Finding, ...]:
    """All findings across documents, sorted by path, line and code.

    Args:
        documents: The documents that could be read, in any order.
        declared: Every id of the folder, also of files with findings of their own, so that one
            broken file does not make its predecessor's reference look wrong.
        known_products: Codes with a sheet or listed in `corpus.yaml`.
        lines: Path to field to line, where known.
    """
    placed = PlacedDocuments(tuple(sorted(documents, key=lambda document: document.path)), lines)
    ids = {entry.id for entry in declared}
    return sort_findings(
        [
            *_duplicates(declared),
            *_intervals(placed),
            *supersession_findings(placed, ids),
            *_canonical_clashes(placed),
            *_undeclared(placed, known_products),
        ]
    )


def _duplicates(declared: Sequence[DeclaredId]) -> Iterator[Finding]:
    by_id: defaultdict[SourceId, list[DeclaredId]] = defaultdict(list)
    for entry in sorted(declared, key=lambda entry: entry.path):
        by_id[entry.id].append(entry)
    for source_id, (first, *others) in by_id.items():
        field = "code" if source_id.startswith("product:") else "id"
        for entry in others:
            message = f"id {source_id!r} is already taken by {first.path}; give one a new id"
            yield Finding(Severity.ERROR, "duplicate_id", entry.path, message, entry.line, field)


def _intervals(placed: PlacedDocuments) -> Iterator[Finding]:
    for document in placed.documents:
        rule = document.governance
        if rule.valid_until is None:
            if rule.status is Status.SUPERSEDED:
                yield placed.finding(
                    Severity.ERROR,
                    "missing_valid_until",
                    document,
                    "valid_until",
                    "a superseded document needs valid_until: the last day on which it held",
                    at="status",
                )
        elif rule.valid_until < rule.valid_from:
            yield placed.finding(
                Severity.ERROR,
                "invalid_interval",
                document,
                "valid_until",
                f"valid_until {rule.valid_until} lies before valid_from {rule.valid_from}; "
                "correct one of them",
            )


def _canonical_clashes(placed: PlacedDocuments) -> Iterator[Finding]:
    groups: defaultdict[tuple[str, str | None, str], list[Document]] = defaultdict(list)
    for document in placed.documents:
        rule = document.governance
        if document.subject is not None and rule.canonical and _ever_in_force(rule):
            groups[rule.scope, rule.product, document.subject].append(document)
    for (scope, product, subject), members in groups.items():
        about = f"scope {scope!r}" + (f", product {product!r}" if product else "")
        for holder, document in _overlaps(members):
            yield placed.finding(
                Severity.ERROR,
                "two_canonical",
                document,
                "canonical",
                f"{document.id} and {holder.id} ({holder.path}) are both canonical for subject "
                f"{subject!r} in {about} on {document.governance.valid_from}; end one of them "
                "earlier, or set canonical: false in the copy",
            )


def _ever_in_force(rule: Governance) -> bool:
    """Whether there is a day on which the text answers; broken intervals have their own error."""
    if rule.valid_until is None:
        return rule.status is Status.APPROVED
    return rule.status in _IN_FORCE and rule.valid_from <= rule.valid_until


def _overlaps(members: Sequence[Document]) -> Iterator[tuple[Document, Document]]:
    """Each document that starts while an earlier one is in force, after that earlier one."""
    holder: Document | None = None
    for document in sorted(members, key=lambda member: (member.governance.valid_from, member.path)):
        if holder is not None and document.governance.valid_from <= _last_day(holder):
            yield holder, document
        if holder is None or _last_day(document) > _last_day(holder):
            holder = document


def _last_day(document: Document) -> date:
    return document.governance.valid_until or date.max


def _undeclared(placed: PlacedDocuments, known_products: Collection[str]) -> Iterator[Finding]:
    for document in placed.documents:
        if document.language is None:
            yield placed.finding(
                Severity.NOTICE,
                "undeclared_language",
                document,
                "language",
                "no language is declared, so the profile's first one is used; add language: en",
            )
        product = document.governance.product
        if product is not None and product not in known_products:
            hint = close_matches_hint(product, known_products)
            yield placed.finding(
                Severity.NOTICE,
                "unlisted_product",
                document,
                "product",
                f"product {product!r} has no sheet and is not listed in corpus.yaml, so no "
                f"question can name it{hint}",
            )
