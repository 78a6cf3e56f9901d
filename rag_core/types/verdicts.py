"""The three outcomes, their reasons, and what an answer publishes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from rag_core.types.corpus import Span
from rag_core.types.ids import ChunkId, Digest, SourceId


class Outcome(StrEnum):
    """Promise 5: three outcomes, never two."""

    ANSWERED = "answered"
    REFUSED = "refused"
    FAILED = "failed"


class Reason(StrEnum):
    """Why a question was refused or failed."""

    NO_ADMISSIBLE_HIT = "no_admissible_hit"
    BELOW_CALIBRATED_SCORE = "below_calibrated_score"
    UNKNOWN_PRODUCT = "unknown_product"
    DECLINED = "declined"
    NO_EVIDENCE = "no_evidence"
    TOOL_NOT_CALLED = "tool_not_called"
    MALFORMED_PROPOSAL = "malformed_proposal"
    UNKNOWN_SOURCE = "unknown_source"
    INELIGIBLE_SOURCE = "ineligible_source"
    QUOTE_TOO_SHORT = "quote_too_short"
    QUOTE_CUTS_WORD = "quote_cuts_word"
    QUOTE_IN_OTHER_SOURCE = "quote_in_other_source"
    QUOTE_NOT_FOUND = "quote_not_found"
    TOO_LONG = "too_long"
    USAGE = "usage"
    CORPUS_FINDINGS = "corpus_findings"
    NO_INDEX = "no_index"
    CONTRACT_MISMATCH = "contract_mismatch"
    STALE_INDEX = "stale_index"
    INTEGRITY = "integrity"
    PROVIDER = "provider"
    LOCKED = "locked"
    RECORD_NOT_WRITTEN = "record_not_written"
    INTERNAL = "internal"


class Flag(StrEnum):
    """What a reader of a verdict should know beside its outcome."""

    UNCALIBRATED = "uncalibrated"
    """The profile's thresholds were not calibrated on this corpus."""
    SENTENCE_CUT = "sentence_cut"
    """A chunk bound cuts a published sentence; `context` holds the rest."""
    NOT_EXTENDED = "not_extended"
    """A text lost its extension to whole sentences to keep within `publish_chars`."""
    EXCEPTION_NEARBY = "exception_nearby"
    """The sentence, or the next, holds a condition, exception or negation not published."""
    EXCEPTION_CHECK_UNAVAILABLE = "exception_check_unavailable"
    """No cue list for the source's language."""


class MatchKind(StrEnum):
    """How a quotation was found in its chunk."""

    EXACT = "exact"
    TYPOGRAPHIC = "typographic"
    ELLIPSIS = "ellipsis"


@dataclass(frozen=True, slots=True)
class Published:
    """One text of an answer, cut from the stored source by offset (promise 1)."""

    chunk_id: ChunkId
    source_id: SourceId
    title: str
    text: str
    span: Span
    """In the source's normalised text: `text == source.text[span.start:span.end]`."""
    quote_span: Span
    """The matched quotation inside `span`."""
    match: MatchKind
    sentence_cut: bool
    """A chunk bound cuts a sentence of the text; `context` holds the missing part."""
    context: str
    """Sentences around the text, from the same source version; never part of the quotation."""
    heading_path: tuple[str, ...]
    scope: str
    valid_from: date
    valid_until: date | None
    path: str
    url: str | None
    source_digest: Digest
    file_digest: Digest

    def __str__(self) -> str:
        return f"[{self.chunk_id}] {self.text}"


@dataclass(frozen=True, slots=True)
class Rejection:
    """The proposal entry that the gate turned down, for the log; never shown as an answer."""

    reason: Reason
    source_id: str
    quote: str
    nearest: str = ""
    """The nearest miss in the cited chunk, for a person who reads the log."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a question. A refusal is a value, not an exception."""

    outcome: Outcome
    reasons: tuple[Reason, ...] = ()
    published: tuple[Published, ...] = ()
    flags: tuple[Flag, ...] = ()
    detail: str = ""
    """One sentence for people; begins with `Insufficient evidence:` when refused."""
    rejections: tuple[Rejection, ...] = ()

    def __post_init__(self) -> None:
        answered = self.outcome is Outcome.ANSWERED
        if answered != bool(self.published) or answered == bool(self.reasons):
            raise ValueError(
                f"verdict: {self.outcome} with {len(self.published)} texts and {self.reasons}: "
                "want texts and no reason when answered, a reason and no text otherwise"
            )
