"""What stands around a published text in its source: its sentences, context, and limits."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final

from rag_core.rules.cues import cue_spans
from rag_core.types.corpus import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_core.types.index import SourceText

_GAP: Final = " … "
"""Stands in a context for the published text itself."""


def sentences_of(source: SourceText, span: Span) -> Span:
    """The span widened to the bounds of all source sentences that it overlaps."""
    first, last = _sentence_range(source, span)
    if first == last:
        return span
    sentences = source.sentences
    return Span(min(span.start, sentences[first].start), max(span.end, sentences[last - 1].end))


def context_of(source: SourceText, span: Span, *, chars: int, owed: Span | None = None) -> str:
    """The source's words before and after the span, with ` … ` in place of the span itself.

    Whole sentences, nearest first, alternating after and before, while all stays within `chars`.
    The rest of a sentence that the span cuts comes first.

    Args:
        source: The stored source.
        span: The published text.
        chars: Most characters of the context.
        owed: What must be shown in full around the span whatever its length: a sentence that the
            chunk cuts.
    """
    shown = owed or span
    first, last = _sentence_range(source, span)
    whole = sentences_of(source, span)
    sentences = source.sentences
    after = [whole.end] + [item.end for item in sentences[last : last + chars + 1]]
    before = [whole.start] + [item.start for item in reversed(sentences[:first][-chars - 1 :])]
    while after or before:
        if after:
            wider = Span(shown.start, max(shown.end, after.pop(0)))
            if _fits(source, span, wider, chars):
                shown = wider
            else:
                after = []  # never a sentence behind a gap
        if before:
            wider = Span(min(shown.start, before.pop(0)), shown.end)
            if _fits(source, span, wider, chars):
                shown = wider
            else:
                before = []
    return _render(source, span, shown)


def has_limit_outside(source: SourceText, span: Span, published: Sequence[Span]) -> bool:
    """Whether the span's sentences, or the next one, hold a cue that no published text shows.

    Args:
        source: The stored source; without a cue list for its language nothing is found.
        span: The published text in question.
        published: All published texts of this source.
    """
    _, last = _sentence_range(source, span)
    region = sentences_of(source, span)
    if last < len(source.sentences):
        region = Span(region.start, max(region.end, source.sentences[last].end))
    return any(
        not any(item.start <= cue.start and cue.end <= item.end for item in published)
        for cue in cue_spans(source.text, region, language=source.language)
    )


def _sentence_range(source: SourceText, span: Span) -> tuple[int, int]:
    """First and last + 1 of the sentences that overlap the span; equal where none does."""
    sentences = source.sentences
    first = bisect_right(sentences, span.start, key=lambda item: item.end)
    last = first
    while last < len(sentences) and sentences[last].start < span.end:
        last += 1
    return first, last


def _fits(source: SourceText, span: Span, shown: Span, chars: int) -> bool:
    return len(_render(source, span, shown)) <= chars


def _render(source: SourceText, span: Span, shown: Span) -> str:
    before = source.text[shown.start : span.start].strip()
    after = source.text[span.end : shown.end].strip()
    if not before and not after:
        return ""
    return f"{before}{_GAP}{after}".strip()
