"""How well single sentences of the excerpts fit a question; feeds abstention and the proposer.

The score `cosine + 0.5 * overlap` separates answerable from near out-of-corpus questions better
than the chunk's cosine does (MODELS section 3: AUROC .988 against .965).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_core.rules.bounds import whole_parts
from rag_core.rules.length import is_long_enough
from rag_core.rules.selection import quotable_span
from rag_core.types.retrieval import ScoredSentence

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rag_core.types.corpus import Span
    from rag_core.types.ids import ChunkId
    from rag_core.types.retrieval import Excerpt

MIN_SENTENCE_CHARS = 20
"""A shorter sentence is no candidate by itself (MODELS section 3), unless the gate would take it:
in scripts without spaces fewer characters say as much."""


@dataclass(frozen=True, slots=True)
class CandidateSentence:
    """A sentence of an excerpt, clipped to its chunk, before it has a score."""

    chunk_id: ChunkId
    span: Span
    """In the source's text."""
    text: str
    hit_index: int
    """0 for the first excerpt."""
    clipped: bool
    """Not one whole sentence of the source."""


def candidate_sentences(excerpts: Sequence[Excerpt]) -> tuple[CandidateSentence, ...]:
    """The sentences to score, by excerpt in the order given, then by place in the source.

    A span of a source counts once, for the first excerpt that holds it. An excerpt of short
    sentences only, such as a list, offers each of them extended to a quotable length instead.
    """
    seen: set[tuple[str, Span]] = set()
    found: list[CandidateSentence] = []
    for index, excerpt in enumerate(excerpts):
        for span in _spans(excerpt):
            if (excerpt.source.id, span) in seen:
                continue
            seen.add((excerpt.source.id, span))
            text = excerpt.source.text[span.start : span.end]
            clipped = span not in excerpt.source.sentences
            found.append(CandidateSentence(excerpt.chunk_id, span, text, index, clipped))
    return tuple(found)


def _spans(excerpt: Excerpt) -> tuple[Span, ...]:
    text = excerpt.source.text
    parts = whole_parts(excerpt.span, excerpt.source.sentences, text)
    candidates = tuple(
        part
        for part in parts
        if len(part) >= MIN_SENTENCE_CHARS or is_long_enough(text[part.start : part.end])
    )
    return candidates or tuple(quotable_span(excerpt, part) for part in parts)


def term_overlap(
    question_terms: frozenset[str], terms: frozenset[str], idf: Callable[[str], float]
) -> float:
    """The share of the question's idf weight that `terms` hold, 0 to 1; 0 where it has none."""
    # fsum is exact, so that the order of a set does not show in the last digit.
    total = math.fsum(idf(term) for term in question_terms)
    return math.fsum(idf(term) for term in question_terms & terms) / total if total > 0 else 0.0


def score_sentences(
    candidates: Sequence[CandidateSentence],
    *,
    question_terms: frozenset[str],
    terms: Sequence[frozenset[str]],
    cosines: Sequence[float],
    idf: Callable[[str], float],
) -> tuple[ScoredSentence, ...]:
    """One scored sentence per candidate in the same order.

    Args:
        candidates: As `candidate_sentences` gave them.
        question_terms: Meaningful terms of the question.
        terms: Meaningful terms of each candidate.
        cosines: Of the question's vector with each candidate's.
        idf: Weight of a term among the eligible chunks, at least 0.

    Raises:
        ValueError: If there is not one set of terms and one cosine per candidate.
    """
    if not len(candidates) == len(terms) == len(cosines):
        raise ValueError(
            f"sentence scores: want one set of terms and one cosine for each of "
            f"{len(candidates)} sentences, got {len(terms)} and {len(cosines)}"
        )
    return tuple(
        ScoredSentence(
            chunk_id=candidate.chunk_id,
            span=candidate.span,
            text=candidate.text,
            hit_index=candidate.hit_index,
            cosine=cosine,
            overlap=term_overlap(question_terms, own, idf),
            clipped=candidate.clipped,
        )
        for candidate, own, cosine in zip(candidates, terms, cosines, strict=True)
    )


def abstains(sentences: Sequence[ScoredSentence], threshold: float | None) -> bool:
    """Whether the best sentence stays below the threshold; without a threshold never.

    Under a threshold, no sentence at all abstains too: nothing there could be quoted.
    """
    if threshold is None:
        return False
    return max((sentence.score for sentence in sentences), default=-math.inf) < threshold
