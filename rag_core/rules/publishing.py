"""From accepted quotations to what an answer shows: whole sentences, merged, within a limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rag_core.rules.bounds import whole_parts
from rag_core.rules.cues import has_cues
from rag_core.rules.headings import heading_path
from rag_core.rules.surroundings import context_of, has_limit_outside, sentences_of
from rag_core.types.corpus import Span
from rag_core.types.verdicts import Flag, MatchKind, Published

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_core.rules.matching import Match
    from rag_core.types.profiles import GateSettings
    from rag_core.types.retrieval import Excerpt

_LOOSENESS: Final = (MatchKind.EXACT, MatchKind.TYPOGRAPHIC, MatchKind.ELLIPSIS)


@dataclass(frozen=True, slots=True)
class Accepted:
    """A quotation that passed every check: the chunk it cites and its place in the source."""

    excerpt: Excerpt
    match: Match


@dataclass(frozen=True, slots=True)
class Publication:
    """The texts of an answer in the order of their first quotation, and what to know of them."""

    texts: tuple[Published, ...]
    flags: tuple[Flag, ...]


@dataclass(frozen=True, slots=True)
class _Passage:
    """One text to publish and the quotations in it, the one that starts it first."""

    span: Span
    quotations: tuple[Accepted, ...]

    @property
    def lead(self) -> Accepted:
        return self.quotations[0]


def publish(accepted: Sequence[Accepted], *, settings: GateSettings) -> Publication | None:
    """The texts to show with their flags, or None if even the bare quotations are too long.

    Over `publish_chars` texts lose their extension to whole sentences, the last one first.

    Args:
        accepted: 1 to 3 quotations, in the order proposed.
        settings: The profile's.
    """
    quotations = [item.match.span for item in accepted]
    extended = (
        [_extend(item) for item in accepted] if settings.publish == "sentence" else quotations
    )
    spans = list(extended)
    passages = _merge(accepted, spans)
    for index in reversed(range(len(spans))):
        if _length(passages) <= settings.publish_chars:
            break
        spans[index] = quotations[index]
        passages = _merge(accepted, spans)
    if _length(passages) > settings.publish_chars:
        return None
    flags: set[Flag] = set()
    wanted = zip(extended, accepted, strict=True)
    if any(not _is_shown(span, item, passages) for span, item in wanted):
        flags.add(Flag.NOT_EXTENDED)
    texts = tuple(_render(passage, settings, flags) for passage in passages)
    flags.update(_limits(passages))
    return Publication(texts, tuple(flag for flag in Flag if flag in flags))


def _extend(item: Accepted) -> Span:
    """The quotation widened to whole sentences, as far as its chunk holds them."""
    source, quotation = item.excerpt.source, item.match.span
    parts = [
        part
        for part in whole_parts(item.excerpt.span, source.sentences, source.text)
        if part.start < quotation.end and quotation.start < part.end
    ]
    # Never shorter than the quotation: trimming a cut sentence may not take from it.
    return Span(
        min([quotation.start, *(part.start for part in parts)]),
        max([quotation.end, *(part.end for part in parts)]),
    )


def _merge(accepted: Sequence[Accepted], spans: Sequence[Span]) -> list[_Passage]:
    """Overlapping texts of one source as one passage, in the order of their first quotation."""
    # Identity is source id and offsets, never text: equal paragraphs of two sources stay two.
    sources = [item.excerpt.source.id for item in accepted]
    order = sorted(range(len(spans)), key=lambda index: (sources[index], spans[index].start, index))
    groups: list[list[int]] = []
    end = 0
    for index in order:
        same_source = groups and sources[groups[-1][0]] == sources[index]
        if same_source and spans[index].start < end:
            groups[-1].append(index)
            end = max(end, spans[index].end)
        else:
            groups.append([index])
            end = spans[index].end
    return [
        _Passage(
            Span(spans[group[0]].start, max(spans[index].end for index in group)),
            tuple(accepted[index] for index in group),
        )
        for group in sorted(groups, key=min)
    ]


def _length(passages: Sequence[_Passage]) -> int:
    return sum(len(passage.span) for passage in passages)


def _is_shown(span: Span, item: Accepted, passages: Sequence[_Passage]) -> bool:
    return any(
        passage.lead.excerpt.source.id == item.excerpt.source.id
        and passage.span.start <= span.start
        and span.end <= passage.span.end
        for passage in passages
    )


def _render(passage: _Passage, settings: GateSettings, flags: set[Flag]) -> Published:
    """The published text, cut from the source; adds `sentence_cut` to the flags if it applies."""
    excerpt, source, span = passage.lead.excerpt, passage.lead.excerpt.source, passage.span
    whole = sentences_of(source, span)
    cut = settings.publish == "sentence" and (
        whole.start < min(item.excerpt.span.start for item in passage.quotations)
        or whole.end > max(item.excerpt.span.end for item in passage.quotations)
    )
    if cut:
        flags.add(Flag.SENTENCE_CUT)
    matches = [item.match for item in passage.quotations]
    return Published(
        chunk_id=excerpt.chunk_id,
        source_id=source.id,
        title=source.title,
        # Promise 1: cut from the stored source by offset; the model's own copy is never printed.
        text=source.text[span.start : span.end],
        span=span,
        quote_span=Span(min(m.span.start for m in matches), max(m.span.end for m in matches)),
        match=max((m.kind for m in matches), key=_LOOSENESS.index),
        sentence_cut=cut,
        context=context_of(source, span, chars=settings.context_chars, owed=whole if cut else None),
        # Those above the text itself: the chunk may begin under another heading.
        heading_path=heading_path(source.headings, span.start),
        scope=source.governance.scope,
        valid_from=source.governance.valid_from,
        valid_until=source.governance.valid_until,
        path=source.path,
        url=source.url,
        source_digest=source.digest,
        file_digest=source.file_digest,
    )


def _limits(passages: Sequence[_Passage]) -> set[Flag]:
    """Whether conditions, exceptions or negations stay unpublished, or cannot be looked for."""
    flags: set[Flag] = set()
    for passage in passages:
        source = passage.lead.excerpt.source
        shown = [item.span for item in passages if item.lead.excerpt.source.id == source.id]
        if not has_cues(source.language):
            flags.add(Flag.EXCEPTION_CHECK_UNAVAILABLE)
        elif has_limit_outside(source, passage.span, shown):
            flags.add(Flag.EXCEPTION_NEARBY)
    return flags
