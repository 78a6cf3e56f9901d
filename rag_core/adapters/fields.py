"""Types of governance fields for pydantic models, and pydantic's errors as findings."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, Annotated

import regex
from pydantic import BaseModel, BeforeValidator, ConfigDict
from pydantic_core import PydanticCustomError

from rag_core.adapters.yaml_tree import Number
from rag_core.rules.close_matches import close_matches_hint
from rag_core.types.corpus import Finding, Severity, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pydantic import ValidationError

    from rag_core.adapters.yaml_tree import Path, YamlTree

LONGEST_TEXT = 500
"""Characters of a one-line field; a title that is longer is a paragraph."""

_ID = regex.compile(r"\w[\w.@-]{0,127}")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DATE_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ].+")
_LANGUAGE = re.compile(r"([A-Za-z]{2,3})(-[A-Za-z0-9]{1,8})*")
_EMPTY = "empty; give it a text, or remove the line if the field is optional"
_YAML_1_1_BOOL = frozenset({"yes", "no", "on", "off", "y", "n", "true", "false"})


class StrictModel(BaseModel):
    """What arrives untrusted: nothing is coerced, nothing unknown passes."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


def shown(value: object) -> str:
    """A value as an error message shows it, with its kind."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return f"the truth value {str(value).lower()}"
    if isinstance(value, Number):
        return f"the number {value}"
    if isinstance(value, str):
        return f'the text "{value[:80]}{"…" if len(value) > 80 else ""}"'  # noqa: PLR2004
    return "a list" if isinstance(value, list) else "a mapping"


def wrong(message: str) -> PydanticCustomError:
    """An error whose text is shown as it stands."""
    return PydanticCustomError("field", "{message}", {"message": message})


def one_line(value: object) -> str:
    """A text on one line without surrounding white space; anything else is an error."""
    if value is None:
        raise wrong(_EMPTY)
    if not isinstance(value, str):
        quotes = "; put it in quotes" if isinstance(value, bool | Number) else ""
        raise wrong(f"want a text, found {shown(value)}{quotes}")
    text = value.strip()
    if not text:
        raise wrong(_EMPTY)
    if "\n" in text or "\t" in text:
        raise wrong("want a text on one line, found a line break or a tab")
    if len(text) > LONGEST_TEXT:
        raise wrong(f"want at most {LONGEST_TEXT} characters, found {len(text)}")
    return text


def _identifier(value: object) -> str:
    text = one_line(value)
    if not _ID.fullmatch(text):
        raise wrong(
            f"want letters, digits, `_`, `.`, `@` and `-`, at most 128, the first a letter, "
            f"digit or `_`; found {shown(text)}"
        )
    return text


def identifier_or_none(value: object) -> str | None:
    """The value where it is a sound id, to know a file by that is wrong elsewhere."""
    try:
        return _identifier(value)
    except PydanticCustomError:
        return None


def _day(value: object) -> date:
    found = value.strip() if isinstance(value, str) else value
    if isinstance(found, str) and _DAY.fullmatch(found):
        try:
            return date.fromisoformat(found)
        except ValueError as error:
            raise wrong(f"want a day of the calendar, found {shown(found)}") from error
    if isinstance(found, str) and _DATE_TIME.fullmatch(found):
        raise wrong(
            f"want a plain day such as 2025-01-31, found the date-time {found[:80]!r}; "
            "remove the time"
        )
    raise wrong(f"want a day as YYYY-MM-DD, found {shown(value)}")


def _truth(value: object) -> bool:
    if isinstance(value, bool):
        return value
    hint = ""
    if isinstance(value, str) and value.casefold() in _YAML_1_1_BOOL:
        hint = "; in YAML 1.2 yes, no, on, off and anything in quotes are texts"
    raise wrong(f"want true or false, found {shown(value)}{hint}")


def _status(value: object) -> Status:
    text = one_line(value)
    if text not in set(Status):
        raise wrong(
            f"want one of {', '.join(Status)}; found {shown(text)}"
            + close_matches_hint(text, Status)
        )
    return Status(text)


def _language(value: object) -> str:
    text = one_line(value)
    match = _LANGUAGE.fullmatch(text)
    if match is None:
        raise wrong(f"want a language tag such as en or de-CH, found {shown(text)}")
    return match[1].lower()


def _written(value: object) -> str:
    return value.text if isinstance(value, Number) else one_line(value)


# The optional forms take absence only: an explicit empty value is an error, not an open end.
Text = Annotated[str, BeforeValidator(one_line)]
OptionalText = Annotated[str | None, BeforeValidator(one_line)]
Identifier = Annotated[str, BeforeValidator(_identifier)]
OptionalIdentifier = Annotated[str | None, BeforeValidator(_identifier)]
Day = Annotated[date, BeforeValidator(_day)]
OptionalDay = Annotated[date | None, BeforeValidator(_day)]
Truth = Annotated[bool, BeforeValidator(_truth)]
StatusName = Annotated[Status, BeforeValidator(_status)]
OptionalLanguage = Annotated[str | None, BeforeValidator(_language)]
Written = Annotated[str, BeforeValidator(_written)]
OptionalWritten = Annotated[str | None, BeforeValidator(_written)]
"""A text, or a number as it is written in the file."""


def findings_from(
    error: ValidationError,
    *,
    path: str,
    tree: YamlTree,
    options: Callable[[Path], Iterable[str]],
    first_line: int = 1,
    prefix: Path = (),
) -> tuple[Finding, ...]:
    """One error finding per problem, with its line and field.

    Args:
        error: What validation found.
        path: The file.
        tree: Where the values stand.
        options: The fields that are possible below a place, for close matches.
        first_line: Where a field is missing that has no line of its own.
        prefix: Where in `tree` the validated value stands.
    """
    found: list[Finding] = []
    for problem in error.errors(include_url=False):
        place = (*prefix, *problem["loc"])
        name = ".".join(str(part) for part in place)
        line = tree.line(place) or first_line
        match problem["type"]:
            case "missing":
                code, message = "missing_field", f"required field `{name}` is missing"
            case "extra_forbidden":
                hint = close_matches_hint(str(place[-1]), options(place[:-1]))
                code, message = "unknown_field", f"unknown field `{name}`{hint}"
            case "field":
                code, message = "invalid_field", f"`{name}`: {problem['msg']}"
            case _:
                value = shown(problem["input"])
                code, message = "invalid_field", f"`{name}`: {problem['msg']}; found {value}"
        found.append(Finding(Severity.ERROR, code, path, message, line, name))
    return tuple(found)
