"""From a question to excerpts: eligibility, two rankings, fusion, admission, abstention.

Everything is read in one snapshot of one generation, and only what the question may see is
ranked, counted or returned (promise 2).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rag_core.errors import IntegrityError
from rag_core.rules.admission import admit
from rag_core.rules.batching import batch_inputs
from rag_core.rules.dense import cosine
from rag_core.rules.digests import text_digest
from rag_core.rules.eligibility import ineligibility
from rag_core.rules.fusion import fuse
from rag_core.rules.lexical import LexicalIndex, rank_by_bm25, rank_by_overlap, shared_terms
from rag_core.rules.products import eligibility_rule
from rag_core.rules.rendering import render_query
from rag_core.rules.sentence_scores import abstains, candidate_sentences, score_sentences
from rag_core.rules.terms import question_terms, terms
from rag_core.types.chunks import EmbeddingInput
from rag_core.types.retrieval import Admission, EligibleSet, Excerpt, Retrieval
from rag_core.types.verdicts import Reason
from rag_core.verbs.contract import embed_checked, require_contract, require_same_model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_core.types.chunks import FloatVector
    from rag_core.types.ids import Digest, SourceId
    from rag_core.types.index import Manifest, SourceText
    from rag_core.types.ports import Embedder, IndexSnapshot, IndexStore, VectorRanker
    from rag_core.types.profiles import Profile
    from rag_core.types.questions import EligibilityRule, Question
    from rag_core.types.retrieval import Candidate, Ranking, ScoredSentence


@dataclass(slots=True)
class ProcessMemory:
    """What one process remembers between questions; safe to lose, never shared across profiles."""

    checked_generations: set[Digest] = field(default_factory=set)
    """Generations whose canary was compared in this process."""
    terms: dict[tuple[str, Digest, str], tuple[str, ...]] = field(default_factory=dict)
    """(title, text digest, language) to terms: tokenising is most of a lexical query."""


@dataclass(frozen=True, slots=True)
class RetrievalPorts:
    """What retrieval needs from the world."""

    profile: Profile
    store: IndexStore
    embedder: Embedder
    ranker: VectorRanker
    memory: ProcessMemory


@dataclass(frozen=True, slots=True)
class Rankings:
    """The three rankings of one question over its eligible chunks."""

    eligible: EligibleSet
    dense: Ranking
    lexical: Ranking
    fused: Ranking
    lexical_index: LexicalIndex
    question_terms: frozenset[str]
    query: FloatVector


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
        eligible = eligible_set(snapshot, rule)
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


def open_for_questions(manifest: Manifest, *, ports: RetrievalPorts) -> int:
    """Check the contract, and once per process and generation the model; returns requests made.

    Raises:
        ContractMismatchError: If profile or model differ from the index.
    """
    require_contract(manifest, ports.profile, ports.embedder)
    if manifest.generation_digest in ports.memory.checked_generations:
        return 0
    require_same_model(manifest, ports.embedder)
    ports.memory.checked_generations.add(manifest.generation_digest)
    return 1


def question_rule(
    question: Question, snapshot: IndexSnapshot, profile: Profile
) -> tuple[EligibilityRule, tuple[str, ...]]:
    """The eligibility rule of a question, and the product codes in it that nobody knows."""
    manifest = snapshot.manifest
    known = visible_products(snapshot, profile)
    return eligibility_rule(question, known=known, pattern=manifest.product_pattern)


def visible_products(snapshot: IndexSnapshot, profile: Profile) -> tuple[str, ...]:
    """Known products whose sheet lies in an allowed scope; anything else does not exist."""
    return tuple(
        code
        for code in snapshot.manifest.known_products
        if (sheet := snapshot.product(code)) is None
        or sheet.governance.scope in profile.allowed_scopes
    )


def eligible_set(snapshot: IndexSnapshot, rule: EligibilityRule) -> EligibleSet:
    """The chunks that the rule admits, in ordinal order of id."""
    chunks = snapshot.chunks()
    kept = tuple(chunk for chunk in chunks if ineligibility(chunk.governance, rule) is None)
    return EligibleSet(chunks=kept, indexed=len(chunks))


def rank(
    question: Question, eligible: EligibleSet, snapshot: IndexSnapshot, ports: RetrievalPorts
) -> Rankings:
    """Dense, lexical and fused rankings of the eligible chunks; one embedding request.

    A failure of either branch is an error, never an empty ranking.
    """
    profile = ports.profile
    asked = searched_text(question)
    rendered = render_query(profile.embedding.query_template, asked)
    query = embed_checked(ports.embedder, (rendered,), what="question")[0]
    wanted = question_terms(asked, profile.languages)
    index = _lexical_index(eligible, snapshot, ports)
    dense = ports.ranker.rank(query, snapshot, eligible)
    by_terms = rank_by_bm25 if profile.retrieval.lexical == "bm25" else rank_by_overlap
    lexical = by_terms(wanted, index)
    fused = fuse((dense, lexical), depth=profile.retrieval.fusion_depth)
    return Rankings(eligible, dense, lexical, fused, index, wanted, query)


def searched_text(question: Question) -> str:
    """What both branches read: the question, with its background where there is one."""
    return f"{question.text}\n{question.background}" if question.background else question.text


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
        return _Found(refusal=Reason.UNKNOWN_PRODUCT, detail=", ".join(unknown))
    if not eligible.chunks:
        return _Found(refusal=Reason.NO_ADMISSIBLE_HIT)
    rankings = rank(question, eligible, snapshot, ports)
    candidates = admitted_candidates(rankings, ports.profile)
    excerpts = _excerpts(candidates, eligible, snapshot)
    if not excerpts:
        return _Found(candidates, refusal=Reason.NO_ADMISSIBLE_HIT, embedding_calls=1)
    sentences, calls = _score_sentences(excerpts, rankings, ports)
    below = abstains(sentences, ports.profile.abstention.threshold)
    refusal = Reason.BELOW_CALIBRATED_SCORE if below else None
    return _Found(candidates, excerpts, sentences, refusal, embedding_calls=1 + calls)


def admitted_candidates(rankings: Rankings, profile: Profile) -> tuple[Candidate, ...]:
    """Every fused hit with its admission, in fused order."""
    shared = {
        hit.chunk_id: shared_terms(rankings.question_terms, hit.chunk_id, rankings.lexical_index)
        for hit in rankings.fused.hits
    }
    return admit(
        rankings.fused,
        rankings.dense,
        rankings.lexical,
        shared,
        min_cosine=profile.retrieval.min_cosine,
        limit=profile.retrieval.excerpts,
        depth=profile.retrieval.fusion_depth,
    )


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
            heading_path=rows[chunk_id].heading_path,
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
    texts = [candidate.text for candidate in candidates]
    windows = ports.embedder.windows(texts)
    inputs = [
        EmbeddingInput(text_digest(text), text, count)
        for text, count in zip(texts, windows, strict=True)
    ]
    batches = batch_inputs(inputs)
    cosines = [
        cosine(rankings.query, vector)
        for batch in batches
        for vector in embed_checked(
            ports.embedder, tuple(item.text for item in batch.inputs), what="sentence"
        )
    ]
    scored = score_sentences(
        candidates,
        question_terms=rankings.question_terms,
        terms=[frozenset(terms(c.text, language[c.chunk_id])) for c in candidates],
        cosines=cosines,
        idf=rankings.lexical_index.idf,
    )
    return scored, len(batches)


def _lexical_index(
    eligible: EligibleSet, snapshot: IndexSnapshot, ports: RetrievalPorts
) -> LexicalIndex:
    known = ports.memory.terms
    default = ports.profile.languages[0]
    keys = [(c.title, c.text_digest, c.language or default) for c in eligible.chunks]
    unread = [c.id for c, key in zip(eligible.chunks, keys, strict=True) if key not in known]
    texts = dict(zip(unread, snapshot.texts(unread), strict=True))
    for chunk, key in zip(eligible.chunks, keys, strict=True):
        if chunk.id in texts:
            known[key] = terms(f"{chunk.title}\n{texts[chunk.id]}", key[2])
    return LexicalIndex.of(
        [(chunk.id, known[key]) for chunk, key in zip(eligible.chunks, keys, strict=True)]
    )
