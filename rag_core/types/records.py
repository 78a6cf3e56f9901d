"""Rows of the run log, before they become Arrow; one dataclass per table of DESIGN section 8."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from rag_core.types.ids import Digest, RunId
from rag_core.types.index import Counts
from rag_core.types.questions import Question
from rag_core.types.retrieval import Candidate
from rag_core.types.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class CallCounts:
    """How often each party was called for one answer."""

    host_calls: int = 0
    """Retrievals by the host."""
    chat_calls: int = 0
    """Requests to the proposer, the tool step and the repair included."""
    repair_calls: int = 0
    tool_calls: int = 0
    """Calls of `retrieve_knowledge` that the host answered."""
    context_calls: int = 0
    """Excerpts injected by the context provider."""
    embedding_calls: int = 0
    """Embedding requests, the canary's included."""


@dataclass(frozen=True, slots=True)
class HitRecord:
    """One candidate that admission looked at; texts stay in the index, ids go to the log."""

    run_id: RunId
    question_index: int
    candidate: Candidate
    source_id: str


@dataclass(frozen=True, slots=True)
class VerdictRecord:
    """One question with its outcome and everything an auditor needs to trace it."""

    run_id: RunId
    question_index: int
    """0 for a single question; the position in the file of `--questions` otherwise."""
    flow_run_id: str | None
    started_at: datetime
    """UTC."""
    question: Question | None
    """None where the profile logs digests only."""
    question_digest: Digest
    as_of: str
    """ISO date; empty where the run failed before it was known."""
    scopes: tuple[str, ...]
    product: str | None
    variant: str
    profile: str
    chat_provider: str
    chat_model: str | None
    """None for the extractive proposer."""
    proposal_style: str
    contract_digest: Digest | None
    generation_digest: Digest | None
    verdict: Verdict
    min_cosine: float
    abstain_threshold: float | None
    indexed: int
    eligible: int
    top_cosine: float | None
    top_sentence_score: float | None
    calls: CallCounts
    input_tokens: int | None
    output_tokens: int | None
    timings_ms: tuple[tuple[str, float], ...] = ()
    """(step, milliseconds) in the order in which the steps ran."""


@dataclass(frozen=True, slots=True)
class AnswerRecords:
    """Everything one answer run writes: all hits first, then all verdicts."""

    run_id: RunId
    started_at: datetime
    hits: tuple[HitRecord, ...]
    verdicts: tuple[VerdictRecord, ...]


@dataclass(frozen=True, slots=True)
class IngestRecord:
    """One ingest, whatever came of it."""

    run_id: RunId
    flow_run_id: str | None
    started_at: datetime
    profile: str
    outcome: str
    """`committed`, `unchanged`, `dry_run` or `failed`."""
    reason: str | None
    """When failed: the error's reason code, or `cancelled`."""
    contract_digest: Digest | None = None
    generation_digest: Digest | None = None
    previous_generation: Digest | None = None
    counts: Counts | None = None
    embedded: int = 0
    """Texts sent to the embedder."""
    reused: int = 0
    """Chunks whose vector was kept."""
    requests: int = 0
    """Embedding requests, canaries apart."""
    findings: tuple[tuple[str, str, str, str], ...] = ()
    """(severity, code, path, message)."""
    timings_ms: tuple[tuple[str, float], ...] = field(default=())
