"""From what a caller typed to a `Question`: every default resolved, every mistake named."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from rag_core.errors import UsageError
from rag_core.rules.close_matches import close_matches
from rag_core.types.questions import Asked, Question

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_core.types.ports import Clock
    from rag_core.types.profiles import Profile

MAX_QUESTION_CHARS = 10_000
"""Longer questions are a mistake: the embedded model reads about 1,000 characters."""


def resolve_question(asked: Asked, *, profile: Profile, clock: Clock) -> Question:
    """The question with date, scopes and product resolved.

    Raises:
        UsageError: If the text is empty or too long, the date is no plain day, or a scope is
            not allowed by the profile; close matches are named.
    """
    if not asked.text.strip():
        raise UsageError(
            'question: empty. Ask for example: rag answer "Where can I export CSV?", or name a '
            "file of questions with --questions"
        )
    typed = {
        "question": asked.text,
        "background": asked.background or "",
        "product": asked.product or "",
    }
    for name, text in typed.items():
        if len(text) > MAX_QUESTION_CHARS:
            raise UsageError(
                f"{name}: {len(text):,} characters, want at most {MAX_QUESTION_CHARS:,}"
            )
        if any("\ud800" <= char <= "\udfff" for char in text):
            raise UsageError(f"{name}: holds bytes that are not UTF-8")
    return Question(
        text=asked.text.strip(),
        as_of=resolve_day(asked.as_of, profile=profile, clock=clock),
        scopes=resolve_scopes(asked.scopes, profile=profile),
        product=_product(asked.product),
        background=(asked.background or "").strip() or None,
    )


def _product(typed: str | None) -> str | None:
    if typed is not None and not typed.strip():
        raise UsageError("product: empty; leave it out to search all products")
    return typed.strip() if typed else None


def resolve_day(as_of: str | None, *, profile: Profile, clock: Clock) -> date:
    """The day asked for, or today in the profile's time zone.

    Raises:
        UsageError: If it is not `YYYY-MM-DD`; a date-time is refused.
    """
    if as_of is None:
        return clock.now().astimezone(ZoneInfo(profile.timezone)).date()
    try:
        day = date.fromisoformat(as_of)
    except ValueError:
        day = None
    # `fromisoformat` also takes 20260101 and 2026-W01-1; one spelling is enough.
    if day is None or day.isoformat() != as_of:
        raise UsageError(f"as-of: want a plain day as YYYY-MM-DD, found {as_of!r}")
    return day


def resolve_scopes(scopes: Sequence[str], *, profile: Profile) -> tuple[str, ...]:
    """The scopes asked for, sorted, or the profile's defaults.

    Raises:
        UsageError: If one is not allowed by the profile.
    """
    wanted = tuple(sorted(set(scopes))) or tuple(sorted(set(profile.default_scopes)))
    for scope in wanted:
        if scope not in profile.allowed_scopes:
            near = close_matches(scope, profile.allowed_scopes)
            hint = f"; did you mean {', '.join(near)}?" if near else "."
            allowed = ", ".join(sorted(profile.allowed_scopes))
            raise UsageError(
                f"scope {scope!r}: not allowed by profile {profile.name!r}{hint} Allowed: {allowed}"
            )
    return wanted
