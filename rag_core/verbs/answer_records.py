"""From what one question left behind to the rows of the run log."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_core.types.ids import Digest
from rag_core.types.records import CallCounts, HitRecord, VerdictRecord

if TYPE_CHECKING:
    from datetime import datetime

    from rag_core.types.ids import RunId
    from rag_core.types.profiles import Profile
    from rag_core.types.proposals import Variant
    from rag_core.types.questions import Question
    from rag_core.types.retrieval import Retrieval
    from rag_core.types.verdicts import Verdict
    from rag_core.verbs.propose import Tally


@dataclass(frozen=True, slots=True)
class RunIds:
    """Names one run in the log."""

    run_id: RunId
    flow_run_id: str | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    """Everything that one question left behind."""

    question: Question
    variant: Variant
    verdict: Verdict
    retrieval: Retrieval | None
    tally: Tally
    timings_ms: tuple[tuple[str, float], ...]


def verdict_record(
    index: int, found: Trace, *, ids: RunIds, started_at: datetime, profile: Profile
) -> VerdictRecord:
    """The log's row of one question; without its text where the profile keeps digests only."""
    question, retrieval, tally = found.question, found.retrieval, found.tally
    text = "\n".join(filter(None, (question.text, question.background)))
    sentences = retrieval.sentences if retrieval else ()
    candidates = retrieval.candidates if retrieval else ()
    return VerdictRecord(
        run_id=ids.run_id,
        question_index=index,
        flow_run_id=ids.flow_run_id,
        started_at=started_at,
        question=question if profile.log.question == "full" else None,
        question_digest=Digest(hashlib.sha256(text.encode()).hexdigest()),
        as_of=question.as_of.isoformat(),
        scopes=question.scopes,
        product=question.product,
        variant=found.variant.value,
        profile=profile.name,
        chat_provider=profile.chat.provider,
        chat_model=profile.chat.model if profile.chat.provider != "extractive" else None,
        proposal_style=profile.chat.style.value,
        contract_digest=retrieval.contract_digest if retrieval else None,
        generation_digest=retrieval.generation_digest if retrieval else None,
        verdict=found.verdict,
        min_cosine=profile.retrieval.min_cosine,
        abstain_threshold=profile.abstention.threshold,
        indexed=retrieval.indexed if retrieval else 0,
        eligible=retrieval.eligible if retrieval else 0,
        top_cosine=max((c.cosine for c in candidates), default=None),
        top_sentence_score=max((s.score for s in sentences), default=None),
        calls=CallCounts(
            host_calls=1 if retrieval else 0,
            chat_calls=tally.chat_calls,
            repair_calls=tally.repair_calls,
            tool_calls=tally.tool_calls,
            context_calls=tally.context_calls,
            embedding_calls=retrieval.embedding_calls if retrieval else 0,
        ),
        input_tokens=tally.input_tokens,
        output_tokens=tally.output_tokens,
        timings_ms=found.timings_ms,
    )


def hit_records(run_id: RunId, index: int, retrieval: Retrieval | None) -> tuple[HitRecord, ...]:
    """The log's rows of the candidates that admission looked at."""
    if retrieval is None:
        return ()
    return tuple(
        HitRecord(run_id, index, candidate, candidate.chunk_id.rsplit("#", 1)[0])
        for candidate in retrieval.candidates
    )
