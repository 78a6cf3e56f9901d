"""Rankings, candidates and the excerpts that reach a proposer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from rag_core.types.corpus import Span
from rag_core.types.ids import ChunkId, Digest
from rag_core.types.index import SourceText
from rag_core.types.questions import EligibilityRule, Question
from rag_core.types.verdicts import Reason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_core.types.index import StoredChunk


@dataclass(frozen=True, slots=True)
class RankedHit:
    """A chunk at a rank from 1; the score means what its ranking says."""

    chunk_id: ChunkId
    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """Hits of one branch, best first; equal scores in ordinal order of chunk id.

    Scores are cosines in `dense`, integer weights scaled by 2**20 in `lexical`
    (a term count under `lexical = "overlap"`), and RRF sums in `fused`.
    """

    name: str
    hits: tuple[RankedHit, ...]


@dataclass(frozen=True, slots=True)
class EligibleSet:
    """The chunks that this question may see, in ordinal order of id.

    `indexed` counts the chunks of all allowed scopes; others do not exist for the caller.
    """

    chunks: tuple[StoredChunk, ...]
    indexed: int

    @property
    def ids(self) -> Sequence[ChunkId]:
        """Their chunk ids, in the same order."""
        return tuple(chunk.id for chunk in self.chunks)


class Admission(StrEnum):
    """Whether a fused hit became an excerpt, and if not, why."""

    ADMITTED = "admitted"
    BELOW_MIN_COSINE = "below_min_cosine"
    NO_SHARED_TERM = "no_shared_term"
    OVER_LIMIT = "over_limit"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A fused hit with all that admission looked at."""

    chunk_id: ChunkId
    rank: int
    fused_score: float
    cosine: float
    dense_rank: int | None
    """None where the hit lies outside the first 200 of the dense ranking."""
    lexical_rank: int | None
    lexical_score: int | None
    shared_terms: int
    """Distinct meaningful terms that question and chunk (title and text) share."""
    admission: Admission


@dataclass(frozen=True, slots=True)
class Excerpt:
    """An admitted chunk with its whole source: what a proposer reads and the gate judges by."""

    chunk_id: ChunkId
    span: Span
    """The chunk's place in `source.text`."""
    text: str
    source: SourceText

    def __post_init__(self) -> None:
        if self.source.text[self.span.start : self.span.end] != self.text:
            raise ValueError(f"excerpt {self.chunk_id}: its text does not stand at its offsets")


@dataclass(frozen=True, slots=True)
class ScoredSentence:
    """A sentence of an excerpt, clipped to the chunk, with its score for the question."""

    chunk_id: ChunkId
    span: Span
    """In the source's text."""
    text: str
    hit_index: int
    """0 for the first excerpt."""
    cosine: float
    overlap: float
    """Idf-weighted share of the question's terms, 0 to 1."""
    clipped: bool = False
    """A chunk bound cuts the sentence, or it was extended: it is not one whole sentence."""

    @property
    def score(self) -> float:
        """`cosine + 0.5 * overlap`, the sentence score of abstention."""
        return self.cosine + 0.5 * self.overlap


@dataclass(frozen=True, slots=True)
class Retrieval:
    """All that a question brought up, from one snapshot of one generation."""

    question: Question
    eligibility: EligibilityRule
    indexed: int
    eligible: int
    candidates: tuple[Candidate, ...]
    excerpts: tuple[Excerpt, ...]
    sentences: tuple[ScoredSentence, ...]
    refusal: Reason | None
    """Set when no proposal may be asked for; then no chat client is made (promise 4)."""
    refusal_detail: str
    contract_digest: Digest
    generation_digest: Digest
    embedding_calls: int
    """Embedding requests that this retrieval made, a canary check included."""
