"""A question as asked, and the rule that decides which texts may answer it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as typed; absent parts take the profile's defaults."""

    text: str
    as_of: str | None = None
    scopes: tuple[str, ...] = ()
    product: str | None = None
    background: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What a caller asks, with everything resolved: no default is left open."""

    text: str
    as_of: date
    scopes: tuple[str, ...]
    """Sorted, at least one; all of them allowed by the profile."""
    product: str | None = None
    """The caller's explicit product; wins over codes in the text."""
    background: str | None = None
    """Used by both retrieval branches, not by the product rule."""

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise ValueError("question: want some text, got only white space")
        if not self.scopes:
            raise ValueError("question: want at least one scope, got none")


@dataclass(frozen=True, slots=True)
class EligibilityRule:
    """Which governed texts a question may see (DESIGN section 5)."""

    as_of: date
    scopes: frozenset[str]
    products: frozenset[str] | None
    """Products that the question names; None when it names none (then all products stay)."""


class Ineligible(StrEnum):
    """Why a text may not answer, in the order in which the rule checks."""

    SCOPE = "scope"
    NOT_CANONICAL = "not_canonical"
    STATUS = "status"
    NOT_YET_VALID = "not_yet_valid"
    EXPIRED = "expired"
    OTHER_PRODUCT = "other_product"
