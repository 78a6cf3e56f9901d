"""The gate: decides whether a proposal becomes an answer. Pure, and the same for every proposer.

Checks run in a fixed order; any failing entry refuses the whole proposal, because an answer that
lost a part may say something else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, assert_never

from rag_core.rules.eligibility import ineligibility
from rag_core.rules.ellipsis import has_short_part
from rag_core.rules.length import is_long_enough
from rag_core.rules.matching import MAX_QUOTE_CHARS, find_quote, has_control_character, nearest_miss
from rag_core.rules.publishing import Accepted, publish
from rag_core.types.proposals import (
    MAX_EVIDENCE,
    AnswerProposal,
    Evidence,
    MalformedReply,
    ToolNotCalled,
)
from rag_core.types.verdicts import Outcome, Reason, Rejection, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_core.types.profiles import GateSettings
    from rag_core.types.questions import EligibilityRule
    from rag_core.types.retrieval import Excerpt

PREFIX: Final = "Insufficient evidence:"

_SENTENCES: Final = {
    Reason.NO_ADMISSIBLE_HIT: "no admissible retrieved excerpts",
    Reason.BELOW_CALIBRATED_SCORE: "no retrieved sentence fits the question well enough",
    Reason.UNKNOWN_PRODUCT: "the question names a product that is not known",
    Reason.DECLINED: "the proposer found no answer in the retrieved excerpts",
    Reason.NO_EVIDENCE: "the proposal quotes nothing",
    Reason.TOOL_NOT_CALLED: "the proposer did not call the tool that returns the excerpts",
    Reason.MALFORMED_PROPOSAL: "the proposal is malformed",
    Reason.UNKNOWN_SOURCE: "the proposal cites an excerpt that was not retrieved",
    Reason.INELIGIBLE_SOURCE: "the proposal cites a source that may not answer this question",
    Reason.QUOTE_TOO_SHORT: "a proposed quotation is too short to be evidence",
    Reason.QUOTE_CUTS_WORD: "a proposed quotation starts or ends inside a word or number",
    Reason.QUOTE_IN_OTHER_SOURCE: "a proposed quotation stands in another excerpt than the cited",
    Reason.QUOTE_NOT_FOUND: "a proposed quotation does not stand in the cited excerpt",
    Reason.TOO_LONG: "the proposed quotations are too long to be published",
}
_NOTE_CHARS: Final = 300
_LOGGED_CHARS: Final = 1_000
"""How much of a rejected entry the log keeps: longer than any chunk's honest quotation."""


def judge(
    reply: AnswerProposal | MalformedReply | ToolNotCalled,
    excerpts: tuple[Excerpt, ...],
    *,
    eligibility: EligibilityRule,
    settings: GateSettings,
) -> Verdict:
    """The verdict on a proposal: answered with texts cut from the sources, or refused.

    Args:
        reply: What the proposer said, read.
        excerpts: The excerpts of this run; nothing else can be quoted.
        eligibility: The question's rule with the caller's scopes; checked again here.
        settings: The profile's.
    """
    match reply:
        case ToolNotCalled():
            return refuse(Reason.TOOL_NOT_CALLED)
        case MalformedReply():
            return refuse(Reason.MALFORMED_PROPOSAL, reply.problem)
        case AnswerProposal():
            pass
        case _:
            assert_never(reply)
    if not reply.can_answer:  # whatever the evidence says
        return refuse(Reason.DECLINED)
    if not reply.evidence:
        return refuse(Reason.NO_EVIDENCE)
    if len(reply.evidence) > MAX_EVIDENCE:
        note = f"{len(reply.evidence)} quotations, at most {MAX_EVIDENCE} are allowed"
        return refuse(Reason.MALFORMED_PROPOSAL, note)
    checked = [
        _check(entry, excerpts, eligibility=eligibility, settings=settings)
        for entry in reply.evidence
    ]
    accepted = [item for item in checked if isinstance(item, Accepted)]
    if len(accepted) < len(checked):
        return _refuse_entries(checked)
    publication = publish(accepted, settings=settings)
    if publication is None:
        return _refuse_entries([_reject(Reason.TOO_LONG, entry) for entry in reply.evidence])
    return Verdict(Outcome.ANSWERED, published=publication.texts, flags=publication.flags)


def refuse(reason: Reason, detail: str = "") -> Verdict:
    """A refusal with the reason's sentence, and the detail in brackets behind it.

    The sentence of `no_admissible_hit` is fixed and takes no detail; a detail that is a whole
    refusal sentence already replaces the reason's.

    Raises:
        ValueError: If the reason is that of a failure, which is never reported as missing evidence.
    """
    return Verdict(Outcome.REFUSED, reasons=(reason,), detail=_sentence(reason, detail))


def _check(
    entry: Evidence,
    excerpts: tuple[Excerpt, ...],
    *,
    eligibility: EligibilityRule,
    settings: GateSettings,
) -> Accepted | Rejection:
    """One entry's place in its source, or the first check that it fails."""
    excerpt = next((item for item in excerpts if item.chunk_id == entry.source_id), None)
    if excerpt is None:  # Promise 3: inside a chunk that this run retrieved
        return _reject(Reason.UNKNOWN_SOURCE, entry)
    # Promise 2: eligible for this question, whatever reached the proposer.
    if ineligibility(excerpt.source.governance, eligibility) is not None:
        return _reject(Reason.INELIGIBLE_SOURCE, entry)
    # Promise 3: long enough, verbatim up to typography, on word bounds of the source.
    if not is_long_enough(entry.quote):
        return _reject(Reason.QUOTE_TOO_SHORT, entry)
    if has_control_character(entry.quote[:MAX_QUOTE_CHARS]):
        return _reject(Reason.QUOTE_NOT_FOUND, entry, excerpt)
    match = find_quote(entry.quote, excerpt, matching=settings.matching)
    if match is None:
        return _reject(_why_not_found(entry, excerpts, settings), entry, excerpt)
    if not match.whole:
        return _reject(Reason.QUOTE_CUTS_WORD, entry, excerpt)
    return Accepted(excerpt, match)


def _why_not_found(
    entry: Evidence, excerpts: tuple[Excerpt, ...], settings: GateSettings
) -> Reason:
    if len(entry.quote) > MAX_QUOTE_CHARS:
        return Reason.QUOTE_NOT_FOUND
    if settings.matching == "typographic" and has_short_part(entry.quote):
        return Reason.QUOTE_TOO_SHORT
    elsewhere = any(
        find_quote(entry.quote, other, matching=settings.matching)
        for other in excerpts
        if other.chunk_id != entry.source_id
    )
    return Reason.QUOTE_IN_OTHER_SOURCE if elsewhere else Reason.QUOTE_NOT_FOUND


def _reject(reason: Reason, entry: Evidence, excerpt: Excerpt | None = None) -> Rejection:
    nearest = nearest_miss(entry.quote, excerpt) if excerpt else ""
    return Rejection(reason, _loggable(entry.source_id), _loggable(entry.quote), nearest)


def _loggable(text: str) -> str:
    """The text as UTF-8 can hold it, cut to a bounded length."""
    cut = text if len(text) <= _LOGGED_CHARS else f"{text[:_LOGGED_CHARS]}…"
    return cut.encode("utf-8", "backslashreplace").decode("utf-8")


def _refuse_entries(checked: Sequence[Accepted | Rejection]) -> Verdict:
    """A refusal with every failing entry; its sentence speaks of the first."""
    numbered = [(number, item) for number, item in enumerate(checked, start=1)]
    failing = [(number, item) for number, item in numbered if isinstance(item, Rejection)]
    number, first = failing[0]
    return Verdict(
        Outcome.REFUSED,
        reasons=tuple(dict.fromkeys(item.reason for _, item in failing)),
        detail=_sentence(first.reason, f"quotation {number} of {len(checked)}"),
        rejections=tuple(item for _, item in failing),
    )


def _sentence(reason: Reason, note: str) -> str:
    sentence = _SENTENCES.get(reason)
    if sentence is None:
        raise ValueError(f"refuse: {reason} is a failure, no refusal; raise its error instead")
    note = " ".join(note.split())[:_NOTE_CHARS].rstrip(".")
    if reason is Reason.NO_ADMISSIBLE_HIT or not note:
        return f"{PREFIX} {sentence}."
    if note.startswith(PREFIX):
        return f"{note}."
    return f"{PREFIX} {sentence} ({note})."
