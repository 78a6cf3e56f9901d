"""The proposal style `handles`: excerpts as numbered sentences, of which a model picks some.

A picked sentence is a slice of its chunk, so that it can be irrelevant but never inexact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import Field

from rag_core.rules.bounds import whole_parts
from rag_core.rules.length import is_long_enough
from rag_core.rules.proposals import StrictReply, printable_start, read_strictly
from rag_core.rules.selection import quotable_span
from rag_core.types.proposals import MAX_EVIDENCE, AnswerProposal, Evidence, MalformedReply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_core.types.corpus import Span
    from rag_core.types.retrieval import Excerpt


@dataclass(frozen=True, slots=True)
class NumberedSentence:
    """A sentence that a model may pick."""

    handle: str
    """`2.1` is the first sentence of the second excerpt."""
    shown: str
    evidence: Evidence
    """What picking it quotes: the sentence, with its lead-in or neighbour where it is short."""


class _HandleProposal(StrictReply):
    can_answer: bool
    evidence: list[str] = Field(max_length=MAX_EVIDENCE)


def numbered_sentences(excerpts: Sequence[Excerpt]) -> tuple[NumberedSentence, ...]:
    """The whole sentences of all excerpts in their order; what two excerpts share is shown once.

    An excerpt without a whole sentence shows what it has. A sentence that cannot be extended to a
    quotable length is left out.
    """
    seen: set[tuple[str, Span]] = set()
    found: list[NumberedSentence] = []
    for place, excerpt in enumerate(excerpts, start=1):
        text = excerpt.source.text
        number = 0
        parts = whole_parts(excerpt.span, excerpt.source.sentences, text)
        # What a chunk bound left of a sentence can read like a whole one.
        whole = tuple(part for part in parts if part in excerpt.source.sentences)
        for part in whole or parts:
            quoted = quotable_span(excerpt, part)
            quote = text[quoted.start : quoted.end]
            if (excerpt.source.id, part) in seen or not is_long_enough(quote):
                continue
            seen.add((excerpt.source.id, part))
            number += 1
            evidence = Evidence(excerpt.chunk_id, quote)
            shown = text[part.start : part.end]
            found.append(NumberedSentence(f"{place}.{number}", shown, evidence))
    return tuple(found)


def handle_schema(sentences: Sequence[NumberedSentence]) -> dict[str, Any]:
    """The JSON schema of a proposal by handles: only those shown, as a flat inline enumeration.

    Where none is shown, nothing can be picked: an empty enumeration would be no schema.
    """
    handles = [item.handle for item in sentences]
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["can_answer", "evidence"],
        "properties": {
            "can_answer": {"type": "boolean"},
            "evidence": {
                "type": "array",
                "minItems": 0,
                "maxItems": MAX_EVIDENCE if handles else 0,
                "items": {"type": "string"} | ({"enum": handles} if handles else {}),
            },
        },
    }


def parse_handles(
    text: str, sentences: Sequence[NumberedSentence]
) -> AnswerProposal | MalformedReply:
    """The proposal that a reply's handles stand for; a handle twice counts once.

    A handle that was not shown breaks the schema and makes the reply malformed.
    """
    read = read_strictly(text, _HandleProposal)
    if isinstance(read, MalformedReply):
        return read
    known = {item.handle: item.evidence for item in sentences}
    for place, handle in enumerate(read.evidence):
        if handle not in known:
            shown = printable_start(handle)
            return MalformedReply(f"evidence.{place}: no sentence has the number '{shown}'")
    picked = tuple(known[handle] for handle in dict.fromkeys(read.evidence))
    return AnswerProposal(read.can_answer, picked)
