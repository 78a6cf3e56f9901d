"""Whether answers for a past day come from the version of that day, from the set as written.

The version of a day is found here by the first days alone: of the versions of one text, the one
that began last. The product goes by the interval of each version by itself, so the two agree only
where conversion, filter and gate are right. Nothing of `rag_core` is imported.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.measures import may_see

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.devdata import Row


@dataclass(frozen=True, slots=True)
class AsOf:
    """What one set's predictions come to for the questions that name a day."""

    answers: int
    of_the_day: int
    """Answers that quote nothing but versions of the question's day."""
    unheld: int
    """Questions that no document may answer on their day."""
    unheld_refused: int

    @property
    def kept(self) -> bool:
        """Every answer from the version of its day; refused where there was none."""
        return self.of_the_day == self.answers and self.unheld_refused == self.unheld

    def __str__(self) -> str:
        line = f"as-of: {self.of_the_day} of {self.answers} answers from the version of that day"
        if not self.unheld:
            return line
        return (
            f"{line}; {self.unheld_refused} of {self.unheld} questions without any version on "
            "their day refused"
        )


def as_of_answers(
    predictions: Sequence[Row], *, documents: Sequence[Row], questions: Sequence[Row]
) -> AsOf | None:
    """The counts over the questions that name a day; None where none does.

    Args:
        predictions: One row per question, in the same order.
        documents: The documents of the set.
        questions: The questions of the set.
    """
    dated = [pair for pair in zip(questions, predictions, strict=True) if pair[0].get("as_of")]
    if not dated:
        return None
    accepted = [pair for pair in dated if pair[1]["verdict"] == "accepted"]
    unheld = [
        row
        for question, row in dated
        if not any(may_see(question, document) for document in documents)
    ]
    return AsOf(
        answers=len(accepted),
        of_the_day=sum(
            {quote["source_id"] for quote in row["evidence"]}
            <= versions_of_the_day(documents, question["as_of"])
            for question, row in accepted
        ),
        unheld=len(unheld),
        unheld_refused=sum(row["verdict"] == "refused" for row in unheld),
    )


def versions_of_the_day(documents: Sequence[Row], day: str) -> frozenset[str]:
    """The id of the version of each text in force on the day; none of a text that was not there.

    Versions of one text share `family`; a document without one is a text of its own.
    """
    texts: dict[str, list[Row]] = defaultdict(list)
    for document in documents:
        if _first_day(document) <= day:
            texts[_meta(document).get("family") or f"document {document['id']}"].append(document)
    latest = [max(versions, key=_first_day) for versions in texts.values()]
    return frozenset(row["id"] for row in latest if not _is_over(row, day))


def _first_day(document: Row) -> str:
    # ISO days sort as text; what names no first day was always there.
    return _meta(document).get("valid_from") or ""


def _is_over(document: Row, day: str) -> bool:
    end: str | None = _meta(document).get("valid_until")
    return end is not None and end <= day


def _meta(document: Row) -> Row:
    return document.get("metadata") or {}
