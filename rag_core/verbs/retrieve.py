"""From a question to excerpts: eligibility, two rankings, fusion, admission, abstention.

Everything is read in one snapshot of one generation, and only what the question may see is
ranked, counted or returned (promise 2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_core.errors import IntegrityError
from rag_core.rules.batching import batch_inputs
from rag_core.rules.close_matches import close_matches_hint
from rag_core.rules.dense import cosine
from rag_core.rules.digests import text_digest
from rag_core.rules.sentence_scores import abstains, candidate_sentences, score_sentences
from rag_core.rules.terms import terms
from rag_core.types.chunks import EmbeddingInput
from rag_core.types.retrieval import Admission, EligibleSet, Excerpt, Retrieval
from rag_core.types.verdicts import Reason
from rag_core.verbs.contract import embed_checked
from rag_core.verbs.ranking import (
    MAX_SENTENCES,
    Rankings,
    RetrievalPorts,
    admitted_candidates,
    eligible_set,
    open_for_questions,
    question_rule,
    rank,
    visible_products,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_core.types.chunks import FloatVector
    from rag_core.types.ids import SourceId
    from rag_core.types.index import SourceText
    from rag_core.types.ports import IndexSnapshot
    from rag_core.types.questions import Question
    from rag_core.types.retrieval import Candidate, ScoredSentence


def retrieve(question: Question, *, ports: RetrievalPorts) -> Retrieval:
    """The excerpts that may answer, or a retrieval whose `refusal` says why there is none.

    Raises:
        NoIndexError: If nothing was ingested.
        ContractMismatchError: If index and profile, or index and model, disagree.
        IntegrityError: If stored content differs from its digests.
        ProviderError: If the embedder fails.
    """
    with ports.store.open() as snapshot:
        manifest = snapshot.manifest
        calls = open_for_questions(manifest, ports=ports)
        rule, unknown = question_rule(question, snapshot, ports.profile)
        eligible = eligible_set(snapshot, rule, ports.profile)
        found = _search(question, eligible, snapshot, ports, unknown)
        return Retrieval(
            question=question,
            eligibility=rule,
            indexed=eligible.indexed,
            eligible=len(eligible.chunks),
            candidates=found.candidates,
            excerpts=found.excerpts,
            sentences=found.sentences,
            refusal=found.refusal,
            refusal_detail=found.detail,
            contract_digest=manifest.contract_digest,
            generation_digest=manifest.generation_digest,
            embedding_calls=calls + found.embedding_calls,
        )


@dataclass(frozen=True, slots=True)
class _Found:
    """What the search of one question brought up."""

    candidates: tuple[Candidate, ...] = ()
    excerpts: tuple[Excerpt, ...] = ()
    sentences: tuple[ScoredSentence, ...] = ()
    refusal: Reason | None = None
    detail: str = ""
    embedding_calls: int = 0


def _search(
    question: Question,
    eligible: EligibleSet,
    snapshot: IndexSnapshot,
    ports: RetrievalPorts,
    unknown: tuple[str, ...],
) -> _Found:
    if unknown:
        known = visible_products(snapshot, ports.profile)
        named = (f"{code}{close_matches_hint(code, known)}" for code in unknown)
        return _Found(refusal=Reason.UNKNOWN_PRODUCT, detail=", ".join(named))
    if not eligible.chunks:
        return _Found(refusal=Reason.NO_ADMISSIBLE_HIT)
    rankings = rank(question, eligible, snapshot, ports)
    candidates = admitted_candidates(rankings, ports.profile)
    excerpts = _excerpts(candidates, eligible, snapshot)
    if not excerpts:
        return _Found(candidates, refusal=Reason.NO_ADMISSIBLE_HIT, embedding_calls=1)
    if not ports.profile.scores_sentences:
        return _Found(candidates, excerpts, embedding_calls=1)
    sentences, calls = _score_sentences(excerpts, rankings, ports)
    below = abstains(sentences, ports.profile.abstention.threshold)
    refusal = Reason.BELOW_CALIBRATED_SCORE if below else None
    return _Found(candidates, excerpts, sentences, refusal, embedding_calls=1 + calls)


def _excerpts(
    candidates: Sequence[Candidate], eligible: EligibleSet, snapshot: IndexSnapshot
) -> tuple[Excerpt, ...]:
    rows = {chunk.id: chunk for chunk in eligible.chunks}
    admitted = [c.chunk_id for c in candidates if c.admission is Admission.ADMITTED]
    return tuple(
        Excerpt(
            chunk_id=chunk_id,
            span=rows[chunk_id].span,
            text=text,
            source=stored_source(snapshot, rows[chunk_id].source_id),
        )
        for chunk_id, text in zip(admitted, snapshot.texts(admitted), strict=True)
    )


def stored_source(snapshot: IndexSnapshot, source_id: SourceId) -> SourceText:
    """The stored document that a chunk names.

    Raises:
        IntegrityError: If it is not stored, or differs from its digest.
    """
    source = snapshot.source(source_id)
    if source is None:
        raise IntegrityError(
            f"{source_id}: has chunks, but no text in rag_sources. Run: rag ingest --rebuild"
        )
    return source


def _score_sentences(
    excerpts: Sequence[Excerpt], rankings: Rankings, ports: RetrievalPorts
) -> tuple[tuple[ScoredSentence, ...], int]:
    """Scored sentences of the excerpts, and the embedding requests that took."""
    candidates = candidate_sentences(excerpts)
    default = ports.profile.languages[0]
    language = {e.chunk_id: e.source.language or default for e in excerpts}
    vectors, calls = _sentence_vectors(tuple(c.text for c in candidates), ports)
    scored = score_sentences(
        candidates,
        question_terms=rankings.question_terms,
        terms=[frozenset(terms(c.text, language[c.chunk_id])) for c in candidates],
        cosines=[cosine(rankings.query, vector) for vector in vectors],
        idf=rankings.lexical_index.idf,
    )
    return scored, calls


def _sentence_vectors(
    texts: tuple[str, ...], ports: RetrievalPorts
) -> tuple[list[FloatVector], int]:
    """One vector per text, those that this process has not seen embedded now; and the requests."""
    memory = ports.memory.sentence_vectors
    keys = [text_digest(text) for text in texts]
    # Own copies first: another thread may empty the memory at any time.
    known = {key: vector for key in keys if (vector := memory.get(key)) is not None}
    new = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
    windows = ports.embedder.windows(tuple(new.values()))
    inputs = [
        EmbeddingInput(key, text, count)
        for (key, text), count in zip(new.items(), windows, strict=True)
    ]
    batches = batch_inputs(inputs)
    for batch in batches:
        asked = tuple(item.text for item in batch.inputs)
        vectors = embed_checked(ports.embedder, asked, what="sentence")
        known.update(zip((item.key for item in batch.inputs), vectors, strict=True))
    if len(memory) > MAX_SENTENCES:
        memory.clear()
    memory.update(known)
    return [known[key] for key in keys], len(batches)
