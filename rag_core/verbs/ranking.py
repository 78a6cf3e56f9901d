"""Eligible chunks and their three rankings: what answering and probing share.

Only what the question may see is ranked or counted (promise 2).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rag_core.rules.admission import admit
from rag_core.rules.eligibility import ineligibility
from rag_core.rules.fusion import fuse
from rag_core.rules.lexical import LexicalIndex, rank_by_bm25, rank_by_overlap, shared_terms
from rag_core.rules.products import eligibility_rule
from rag_core.rules.rendering import render_query
from rag_core.rules.terms import question_terms, terms
from rag_core.types.retrieval import EligibleSet
from rag_core.verbs.contract import embed_checked, require_contract, require_same_model

if TYPE_CHECKING:
    from rag_core.types.chunks import FloatVector
    from rag_core.types.ids import Digest
    from rag_core.types.index import Manifest
    from rag_core.types.ports import Embedder, IndexSnapshot, IndexStore, VectorRanker
    from rag_core.types.profiles import Profile
    from rag_core.types.questions import EligibilityRule, Question
    from rag_core.types.retrieval import Candidate, Ranking


MAX_SENTENCES = 50_000
"""Sentence vectors remembered: 77 MB at 384 dimensions."""


@dataclass(slots=True)
class ProcessMemory:
    """What one process remembers between questions; safe to lose, never shared across profiles."""

    checked_generations: set[Digest] = field(default_factory=set)
    """Generations whose canary was compared in this process."""
    terms: dict[tuple[str, Digest, str], tuple[str, ...]] = field(default_factory=dict)
    """(title, text digest, language) to terms: tokenising is most of a lexical query."""
    sentence_vectors: dict[Digest, FloatVector] = field(default_factory=dict)
    """Text digest to vector under the profile's one embedding contract; at most MAX_SENTENCES."""


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


def open_for_questions(manifest: Manifest, *, ports: RetrievalPorts) -> int:
    """Check the contract, and once per process and generation the model; returns requests made.

    Raises:
        ContractMismatchError: If profile or model differ from the index.
    """
    require_contract(manifest, ports.profile, ports.embedder)
    if manifest.generation_digest in ports.memory.checked_generations:
        return 0
    require_same_model(manifest, ports.embedder)
    # Another generation may be another model's, whatever its contract says.
    ports.memory.sentence_vectors.clear()
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


def eligible_set(snapshot: IndexSnapshot, rule: EligibilityRule, profile: Profile) -> EligibleSet:
    """The chunks that the rule admits, in ordinal order of id, out of the allowed scopes' own.

    A chunk outside the allowed scopes does not exist for this caller, so it is not counted.
    """
    visible = [c for c in snapshot.chunks() if c.governance.scope in profile.allowed_scopes]
    kept = tuple(chunk for chunk in visible if ineligibility(chunk.governance, rule) is None)
    return EligibleSet(chunks=kept, indexed=len(visible))


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


def _lexical_index(
    eligible: EligibleSet, snapshot: IndexSnapshot, ports: RetrievalPorts
) -> LexicalIndex:
    known = ports.memory.terms  # only ever grows, so that threads may share it
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
