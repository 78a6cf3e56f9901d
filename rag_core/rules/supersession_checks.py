"""Who replaces whom: references that name nothing, circles, gaps and overlaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_core.rules.close_matches import close_matches_hint
from rag_core.types.corpus import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from rag_core.rules.findings import PlacedDocuments
    from rag_core.types.ids import SourceId


def supersession_findings(placed: PlacedDocuments, ids: Collection[SourceId]) -> Iterator[Finding]:
    """Errors for unknown successors and circles, notices for gaps and overlaps; unsorted.

    Args:
        placed: The documents that could be read.
        ids: Every declared id, also of files that could not be read whole.
    """
    yield from _unknown_successors(placed, ids)
    yield from _cycles(placed)
    yield from _successions(placed)


def _unknown_successors(placed: PlacedDocuments, ids: Collection[SourceId]) -> Iterator[Finding]:
    for document in placed.documents:
        successor = document.superseded_by
        if successor is not None and successor not in ids:
            hint = close_matches_hint(successor, set(ids) - {document.id})
            yield placed.finding(
                Severity.ERROR,
                "unknown_successor",
                document,
                "superseded_by",
                f"superseded_by {successor!r} names no document of this corpus{hint}",
            )


def _cycles(placed: PlacedDocuments) -> Iterator[Finding]:
    """One error per cycle, at the member whose id comes first."""
    by_id = {document.id: document for document in placed.documents}
    done: set[SourceId] = set()
    for start in sorted(by_id):
        trail: dict[SourceId, int] = {}
        current: SourceId | None = start
        while (
            current is not None
            and current in by_id
            and current not in done
            and current not in trail
        ):
            trail[current] = len(trail)
            current = by_id[current].superseded_by
        done.update(trail)
        if current is not None and current in trail:
            members = list(trail)[trail[current] :]
            first = members.index(min(members))
            ring = [*members[first:], *members[:first], members[first]]
            yield placed.finding(
                Severity.ERROR,
                "supersession_cycle",
                by_id[ring[0]],
                "superseded_by",
                f"superseded_by runs in a circle: {' → '.join(ring)}; remove one of the links",
            )


def _successions(placed: PlacedDocuments) -> Iterator[Finding]:
    by_id = {document.id: document for document in placed.documents}
    for document in placed.documents:
        if document.superseded_by is None or document.superseded_by not in by_id:
            continue
        successor = by_id[document.superseded_by]
        start, end = successor.governance.valid_from, document.governance.valid_until
        # The day after the last valid one would overflow at 9999-12-31; a difference does not.
        days = (start - end).days if end is not None else 0
        if days == 1 or successor.id == document.id:
            continue
        until = f"ends on {end}" if end is not None else "has no end"
        code, kind = ("successor_gap", "a gap") if days > 1 else ("successor_overlap", "an overlap")
        yield placed.finding(
            Severity.NOTICE,
            code,
            document,
            "superseded_by",
            f"{document.id} {until} and its successor {successor.id} starts on {start}: {kind}",
        )
