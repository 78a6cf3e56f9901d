"""Why a document did, or did not, come into an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_core.rules.close_matches import close_matches
from rag_core.rules.eligibility import ineligibility
from rag_core.types.questions import Ineligible
from rag_core.types.retrieval import Admission
from rag_core.verbs.ranking import question_rule

if TYPE_CHECKING:
    from rag_core.types.corpus import Governance
    from rag_core.types.ports import IndexSnapshot, IndexStore
    from rag_core.types.profiles import Profile
    from rag_core.types.questions import EligibilityRule, Question
    from rag_core.types.retrieval import Candidate, Retrieval


@dataclass(frozen=True, slots=True)
class Explanation:
    """One sentence per step that the document reached."""

    source_id: str
    steps: tuple[str, ...]


def explain(
    source_id: str,
    question: Question,
    retrieval: Retrieval | None,
    *,
    store: IndexStore,
    profile: Profile,
) -> Explanation:
    """Follow a document through existence, eligibility, ranking and admission.

    A document outside the profile's allowed scopes does not exist for this caller.
    """
    with store.open() as snapshot:
        source = _visible(source_id, snapshot, profile)
        if source is None:
            near = close_matches(source_id, visible_sources(snapshot, profile))
            hint = f"; close matches: {', '.join(near)}" if near else ""
            return Explanation(source_id, (f"not found: no such document{hint}",))
        rule, _ = question_rule(question, snapshot, profile)
    why = ineligibility(source, rule)
    if why is not None:
        return Explanation(source_id, (f"not eligible: {_sentence(why, source, rule)}",))
    eligible = f"eligible as of {rule.as_of.isoformat()}"
    if retrieval is None:
        return Explanation(source_id, (eligible,))
    return Explanation(source_id, (eligible, *_ranked(source_id, retrieval, profile)))


def visible_sources(snapshot: IndexSnapshot, profile: Profile) -> tuple[str, ...]:
    """Ids of the stored documents in allowed scopes, in ordinal order."""
    seen = {
        str(chunk.source_id)
        for chunk in snapshot.chunks()
        if chunk.governance.scope in profile.allowed_scopes
    }
    return tuple(sorted(seen))


def _visible(source_id: str, snapshot: IndexSnapshot, profile: Profile) -> Governance | None:
    for chunk in snapshot.chunks():
        if chunk.source_id == source_id and chunk.governance.scope in profile.allowed_scopes:
            return chunk.governance
    return None


def _sentence(why: Ineligible, found: Governance, rule: EligibilityRule) -> str:
    day = rule.as_of.isoformat()
    match why:
        case Ineligible.SCOPE:
            return f"scope {found.scope!r} is not among {', '.join(sorted(rule.scopes))}"
        case Ineligible.NOT_CANONICAL:
            return "it is a copy (canonical: false)"
        case Ineligible.STATUS:
            return f"status {found.status.value} was not in force on {day}"
        case Ineligible.NOT_YET_VALID:
            return f"valid from {found.valid_from.isoformat()}, after {day}"
        case Ineligible.EXPIRED:
            return f"valid until {found.valid_until}, before {day}"
        case Ineligible.OTHER_PRODUCT:
            named = ", ".join(sorted(rule.products or ()))
            return f"it is about {found.product}, the question about {named}"


def _ranked(source_id: str, retrieval: Retrieval, profile: Profile) -> tuple[str, ...]:
    own = [c for c in retrieval.candidates if c.chunk_id.rsplit("#", 1)[0] == source_id]
    if not own:
        return (f"not found: no chunk among the {len(retrieval.candidates)} fused candidates",)
    return tuple(_candidate(candidate, profile) for candidate in own)


def _candidate(candidate: Candidate, profile: Profile) -> str:
    place = f"{candidate.chunk_id}: rank {candidate.rank}, cosine {candidate.cosine:.4f}"
    least = profile.retrieval.min_cosine
    match candidate.admission:
        case Admission.ADMITTED:
            return f"{place}: admitted as an excerpt"
        case Admission.BELOW_MIN_COSINE:
            return f"{place}: not admitted, below min_cosine {least}"
        case Admission.NO_SHARED_TERM:
            return f"{place}: not admitted, shares no meaningful term with the question"
        case Admission.OVER_LIMIT:
            return f"{place}: not admitted, {profile.retrieval.excerpts} better hits were"
