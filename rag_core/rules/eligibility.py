"""Whether a governed text may answer a question: one truth for the filter and for the gate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_core.types.corpus import Status
from rag_core.types.questions import Ineligible

if TYPE_CHECKING:
    from rag_core.types.corpus import Governance
    from rag_core.types.questions import EligibilityRule


def ineligibility(governance: Governance, rule: EligibilityRule) -> Ineligible | None:
    """Why the text may not answer, the first reason in the order of `Ineligible`; None if it may.

    Bounds are inclusive days. A general text (without product) stays whatever products the
    question names.
    """
    # Promise 2: what fails here reaches neither ranking, statistics, prompt, log nor answer.
    if governance.scope not in rule.scopes:
        return Ineligible.SCOPE
    if not governance.canonical:
        return Ineligible.NOT_CANONICAL
    if not _was_in_force(governance):
        return Ineligible.STATUS
    if rule.as_of < governance.valid_from:
        return Ineligible.NOT_YET_VALID
    if governance.valid_until is not None and rule.as_of > governance.valid_until:
        return Ineligible.EXPIRED
    if (
        rule.products is not None
        and governance.product is not None
        and governance.product not in rule.products
    ):
        return Ineligible.OTHER_PRODUCT
    return None


def _was_in_force(governance: Governance) -> bool:
    """Whether the status ever put the text in force; the caller checks the days."""
    match governance.status:
        case Status.APPROVED:
            return True
        case Status.SUPERSEDED:
            # Only a closed interval says until when a superseded rule held.
            return governance.valid_until is not None
        case Status.DRAFT | Status.WITHDRAWN:
            return False
