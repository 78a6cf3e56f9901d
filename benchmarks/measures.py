"""Figures that the sets' own scorer leaves out, taken from the set as written, not from our store.

Nothing of `rag_core` is imported here: what the product promises is counted independently of it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.devdata import Row

_NOT_IN_FORCE = frozenset({"draft", "rejected", "superseded", "withdrawn"})


@dataclass(frozen=True, slots=True)
class Measures:
    """What one set's predictions come to beside the scorer's table."""

    outcomes: tuple[tuple[str, int], ...]
    """(`answered`, a refusal's or a failure's reason) to its number, most frequent first."""
    failed: int
    quotes: int
    verbatim: int
    """Quotes that stand in the set's text, white space folded."""
    ineligible: int
    """Quotes from a document that the question may not see."""
    words_p50: int
    words_p95: int
    latency_p50_ms: float
    latency_p95_ms: float

    @property
    def kept_promises(self) -> bool:
        """Nothing failed, every quote verbatim, no ineligible source."""
        return not self.failed and self.verbatim == self.quotes and not self.ineligible

    def __str__(self) -> str:
        share = f"{100 * self.verbatim / self.quotes:.1f} %" if self.quotes else "-"
        outcomes = ", ".join(f"{name} {count}" for name, count in self.outcomes)
        return (
            f"verbatim {share} ({self.verbatim} of {self.quotes}), "
            f"ineligible sources quoted {self.ineligible}, failed {self.failed}\n"
            f"  published words per answer: median {self.words_p50}, p95 {self.words_p95}; "
            f"latency: p50 {self.latency_p50_ms:.1f} ms, p95 {self.latency_p95_ms:.1f} ms\n"
            f"  outcomes: {outcomes}"
        )


def measure(
    predictions: Sequence[Row], *, documents: Sequence[Row], questions: Sequence[Row]
) -> Measures:
    """The measures of one set; `predictions` has one row per question, in the same order."""
    rows = {row["id"]: row for row in documents}
    quoted = [
        (question, rows.get(quote["source_id"]), quote["quote"])
        for question, row in zip(questions, predictions, strict=True)
        for quote in row["evidence"]
    ]
    outcomes = Counter(row["reason"] for row in predictions)
    words = [
        sum(len(quote["quote"].split()) for quote in row["evidence"])
        for row in predictions
        if row["verdict"] == "accepted"
    ]
    latencies = [1e3 * row["latency_s"] for row in predictions]
    return Measures(
        outcomes=tuple(outcomes.most_common()),
        failed=sum(row["verdict"] == "failed" for row in predictions),
        quotes=len(quoted),
        verbatim=sum(
            row is not None and _folded(quote) in _folded(row["text"]) for _, row, quote in quoted
        ),
        ineligible=sum(row is None or not may_see(question, row) for question, row, _ in quoted),
        words_p50=int(percentile(words, 0.5)),
        words_p95=int(percentile(words, 0.95)),
        latency_p50_ms=percentile(latencies, 0.5),
        latency_p95_ms=percentile(latencies, 0.95),
    )


def may_see(question: Row, document: Row) -> bool:
    """The sets' own rule: scope, status, canonical and `valid_from <= as_of < valid_until`.

    And ours of products: asked about one, a text of another may not answer.
    """
    meta = document.get("metadata") or {}
    scope, day = question.get("scope"), question.get("as_of")
    if scope and meta.get("scope") not in (None, scope):
        return False
    product = question.get("product")
    if product and meta.get("product") not in (None, product):
        return False
    if meta.get("canonical") is False or meta.get("status") in _NOT_IN_FORCE - _past(question):
        return False
    if not day:
        return True
    return (meta.get("valid_from") or day) <= day and (
        not meta.get("valid_until") or day < meta["valid_until"]
    )


def percentile(values: Sequence[float], share: float) -> float:
    """As the scorer takes it: the median of an even number is the upper one; 0 of nothing."""
    ordered = sorted(values)
    if not ordered:
        return 0.0
    last = len(ordered) - 1
    # 0.5 is the one share that the scorer indexes by the length.
    return ordered[len(ordered) // 2 if share == 0.5 else int(share * last)]  # noqa: PLR2004


def _past(question: Row) -> frozenset[str]:
    """A question for the rule of a past day may get what is superseded today."""
    return frozenset({"superseded"} if question.get("type") == "as_of_superseded" else ())


def _folded(text: str) -> str:
    return " ".join(text.split())
