"""Product sheets from the JSON in which index and stages keep them."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

from rag_core.types.corpus import Fact, Governance, ProductSheet, Status

if TYPE_CHECKING:
    from collections.abc import Mapping


def sheet_from_value(value: Mapping[str, Any]) -> ProductSheet:
    """The sheet that `rules.digests.sheet_value` turned into plain values.

    Raises:
        KeyError: If a field is missing.
        TypeError: If a field has another type.
        ValueError: If a date or status is malformed.
    """
    until = value["valid_until"]
    governance = Governance(
        scope=value["scope"],
        status=Status(value["status"]),
        canonical=value["canonical"],
        valid_from=date.fromisoformat(value["valid_from"]),
        valid_until=None if until is None else date.fromisoformat(until),
        product=value["product"],
    )
    facts = tuple(
        Fact(fact["name"], fact["value"], fact["unit"], fact["note"]) for fact in value["facts"]
    )
    return ProductSheet(value["code"], value["title"], governance, facts)
