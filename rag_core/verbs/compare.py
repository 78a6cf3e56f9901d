"""Three rankings of one question side by side, and on request its answer in each variant.

Everything stems from one retrieval, so that what differs between two columns is the column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_core.errors import UsageError
from rag_core.verbs.answer import AnswerPorts, AnswerRun, answer_in_variants
from rag_core.verbs.retrieve import retrieve
from rag_core.verbs.steps import RunStep, call_plainly

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_core.types.proposals import Variant
    from rag_core.types.questions import Question
    from rag_core.types.retrieval import Candidate, Retrieval
    from rag_core.verbs.answer_records import RunIds


@dataclass(frozen=True, slots=True)
class Comparison:
    """The rankings of one question, and its answers where they were asked for."""

    question: Question
    retrieval: Retrieval
    dense: tuple[Candidate, ...]
    """Best first by cosine."""
    lexical: tuple[Candidate, ...]
    """Best first by lexical score; chunks without a common term are no part of it."""
    fused: tuple[Candidate, ...]
    """Best first by reciprocal rank fusion, the order in which hits were admitted."""
    run: AnswerRun | None
    """One answer per variant, recorded; None where only rankings were asked for."""


def compare(
    question: Question,
    *,
    ports: AnswerPorts,
    ids: RunIds,
    variants: Sequence[Variant] = (),
    limit: int = 10,
    run_step: RunStep = call_plainly,
) -> Comparison:
    """The first `limit` hits of each ranking with their admission, and the variants asked for.

    Rankings need no chat model. With variants, the run is recorded before it is returned
    (promise 10); a variant that fails is a `failed` verdict beside the others.

    Raises:
        UsageError: If `limit` is below 1.
        NoIndexError, ContractMismatchError, IntegrityError, ProviderError: As for an answer.
        RecordError: If variants were asked for and the log cannot be written.
    """
    if limit < 1:
        raise UsageError(f"limit: want at least 1, found {limit}")
    run = None
    if variants:
        run = answer_in_variants(question, variants, ports=ports, ids=ids, run_step=run_step)
        first = run.answers[0]
        if first.retrieval is None:  # then no variant got any further
            raise first.error or AssertionError("an answer without retrieval has an error")
        retrieval = first.retrieval
    else:
        retrieval = run_step("retrieve", retrieve, question, ports=ports.retrieval)
    hits = retrieval.candidates
    dense = [(hit.dense_rank, hit) for hit in hits if hit.dense_rank is not None]
    lexical = [(hit.lexical_rank, hit) for hit in hits if hit.lexical_rank is not None]
    return Comparison(
        question=question,
        retrieval=retrieval,
        dense=_best(dense, limit),
        lexical=_best(lexical, limit),
        fused=_best([(hit.rank, hit) for hit in hits], limit),
        run=run,
    )


def _best(ranked: Sequence[tuple[int, Candidate]], limit: int) -> tuple[Candidate, ...]:
    return tuple(hit for _, hit in sorted(ranked, key=lambda pair: pair[0])[:limit])
