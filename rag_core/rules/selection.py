"""Which scored sentences an extractive proposal quotes, and how short ones become quotable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_core.rules.bounds import whole_parts
from rag_core.rules.length import is_long_enough
from rag_core.types.corpus import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_core.types.ids import ChunkId
    from rag_core.types.retrieval import Excerpt, ScoredSentence

HIT_PENALTY = 0.05
"""What each place further down among the hits costs (MODELS section 3)."""

CLIP_PENALTY = 0.1
"""What a sentence costs that a chunk bound cuts: its part can read like a whole sentence.

Development figures: 24 % instead of 37 % of the answers on squad2 hold a cut sentence, and 27 %
instead of 33 % on clapnq, for 1.0 and 0.0 points of rightly answered questions.
"""

OTHER_SOURCE_MARGIN = 0.2
SAME_SOURCE_MARGIN = 0.5
"""How far below the best a further sentence of another, or of its own, source may score.

Development figures, up to 3 sentences of 3 hits, answerable questions that were not refused: the
gold answer stays in 94.4 % on squad2 (94.4 % without a margin) at 60 instead of 80 published words
per answer, and in 93.2 % on clapnq (94.5 %, one question of 73) at 75 instead of 82. One margin
for all sources loses more: at 0.2, 91.5 % and 83.6 %. On sets that had no part in the choice:
conditionalqa 71.5 % (72.4 %) at 44 instead of 47 words, pubmedqa 64.5 % (66.5 %) at 66 instead
of 71.
"""

LEAD_IN_CHARS = 300
"""A lead-in further up than this is not taken for the sentence's own."""


def rank_score(sentence: ScoredSentence) -> float:
    """The sentence score less what its place and a cut cost, by which sentences are chosen."""
    cut = CLIP_PENALTY if sentence.clipped else 0.0
    return sentence.score - HIT_PENALTY * sentence.hit_index - cut


def select_sentences(
    sentences: Sequence[ScoredSentence], *, limit: int
) -> tuple[ScoredSentence, ...]:
    """The best sentences, best first; ties in ordinal order of chunk id, then by place.

    The answer is not padded: a sentence far below the best one, or one that overlaps a chosen
    sentence of the same source, is not worth its words.

    Args:
        sentences: Scored, in any order.
        limit: Most sentences to choose, at least 1.

    Raises:
        ValueError: If `limit` is below 1.
    """
    if limit < 1:
        raise ValueError(f"select sentences: want a limit of at least 1, got {limit}")
    order = sorted(sentences, key=lambda item: (-rank_score(item), item.chunk_id, item.span))
    chosen: list[ScoredSentence] = []
    for item in order:
        if len(chosen) == limit:
            break
        if _is_near(item, order[0]) and not any(_overlap(item, other) for other in chosen):
            chosen.append(item)
    return tuple(chosen)


def quotations(
    sentences: Sequence[ScoredSentence],
    excerpts: Sequence[Excerpt],
    *,
    limit: int,
    max_chars: int,
) -> tuple[tuple[ChunkId, Span], ...]:
    """What to quote, best first: chunk and span in its source; empty without sentences.

    One entry that the gate turns down refuses a whole proposal. So a span that stays too short, or
    goes over `max_chars` together with those before it, is left out, unless none remains: then the
    best one is quoted, and the gate says what is wrong with it.
    """
    by_id = {excerpt.chunk_id: excerpt for excerpt in excerpts}
    best: list[tuple[ChunkId, Span]] = []
    fitting: list[tuple[ChunkId, Span]] = []
    left = max_chars
    for sentence in select_sentences(sentences, limit=limit):
        excerpt = by_id[sentence.chunk_id]
        span = quotable_span(excerpt, sentence.span)
        best.append((excerpt.chunk_id, span))
        if len(span) <= left and _is_quotable(excerpt, span) and best[-1] not in fitting:
            fitting.append((excerpt.chunk_id, span))
            left -= len(span)
    return tuple(fitting or best[:1])


def quotable_span(excerpt: Excerpt, span: Span) -> Span:
    """The sentence's span, extended inside its chunk until the gate finds it long enough.

    First by its lead-in, a line above that ends with a colon; else by the sentence before it, but
    not beyond a heading; else by the sentence after it. Where the whole chunk is too short, all of
    it.
    """
    if _is_quotable(excerpt, span):
        return span
    parts = whole_parts(excerpt.span, excerpt.source.sentences, excerpt.source.text)
    first = sum(part.end <= span.start for part in parts)
    last = sum(part.start < span.end for part in parts) - 1
    first = _lead_in(parts, first, excerpt)
    result = Span(min(span.start, parts[first].start), span.end)
    while not _is_quotable(excerpt, result):
        after = last + 1 < len(parts)
        if first > 0 and not (after and _is_heading(parts[first], excerpt)):
            first -= 1
        elif after:
            last += 1
        else:
            break
        result = Span(parts[first].start, parts[last].end)
    return result


def _lead_in(parts: Sequence[Span], at: int, excerpt: Excerpt) -> int:
    """The index of the nearest part above that ends with a colon; `at` where there is none."""
    if _is_heading(parts[at], excerpt):
        return at
    for index in range(at - 1, -1, -1):
        part = parts[index]
        if parts[at].end - part.start > LEAD_IN_CHARS or _is_heading(part, excerpt):
            break
        if excerpt.source.text[part.start : part.end].endswith((":", "\uff1a")):
            return index
    return at


def _is_quotable(excerpt: Excerpt, span: Span) -> bool:
    return is_long_enough(excerpt.source.text[span.start : span.end])


def _is_heading(part: Span, excerpt: Excerpt) -> bool:
    line = excerpt.source.text.rfind("\n", 0, part.start) + 1
    return any(heading.start == line for heading in excerpt.source.headings)


def _is_near(item: ScoredSentence, best: ScoredSentence) -> bool:
    same = _source_of(item.chunk_id) == _source_of(best.chunk_id)
    margin = SAME_SOURCE_MARGIN if same else OTHER_SOURCE_MARGIN
    return rank_score(item) >= rank_score(best) - margin


def _overlap(one: ScoredSentence, other: ScoredSentence) -> bool:
    same = _source_of(one.chunk_id) == _source_of(other.chunk_id)
    return same and one.span.start < other.span.end and other.span.start < one.span.end


def _source_of(chunk_id: ChunkId) -> str:
    return chunk_id.rpartition("#")[0]
