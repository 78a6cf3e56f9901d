"""What pydantic finds wrong at a boundary, in our words: key, what is wanted, what was found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel

from rag_core.rules.close_matches import close_matches_hint

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_FOUND_CHARS = 80

_UNSHOWN = frozenset({"api_key", "endpoint"})
"""Keys whose value may hold what somebody should not have written there (promise 11)."""


def explained(item: ErrorDetails, model: type[BaseModel]) -> str:
    """One sentence on one error of `model`; found values are cut to a bounded length."""
    key = ".".join(str(part) for part in item["loc"])
    if item["type"] == "extra_forbidden":
        known = _fields_at(model, item["loc"][:-1])
        return f"{key}: unknown key{close_matches_hint(str(item['loc'][-1]), known)}"
    if item["type"] == "missing":
        return f"{key}: missing"
    wanted = item["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    if not key:  # a rule over several keys names them itself
        return wanted
    if isinstance(item["input"], dict):  # so does a rule over a section
        return f"{key}.{wanted}" if item["type"] == "value_error" else f"{key}: want {wanted}"
    if item["loc"][-1] == "api_key":
        wanted = "env:NAME, block:NAME or none"
    if item["loc"][-1] in _UNSHOWN:
        return f"{key}: want {wanted.removeprefix('want ')}; what was found is not shown"
    found = repr(item["input"])
    shown = found if len(found) <= _FOUND_CHARS else f"{found[:_FOUND_CHARS]}…"
    return f"{key}: want {wanted.removeprefix('want ')}, found {shown}"


def _fields_at(model: type[BaseModel], path: tuple[int | str, ...]) -> tuple[str, ...]:
    for part in path:
        field = model.model_fields.get(str(part))
        nested = field.annotation if field else None
        if not (isinstance(nested, type) and issubclass(nested, BaseModel)):
            return ()
        model = nested
    return tuple(model.model_fields)
