"""The governance fields at the head of a text file, and the body that follows them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING

from pydantic import ConfigDict, ValidationError

from rag_core.adapters.fields import (
    Day,
    Identifier,
    OptionalDay,
    OptionalIdentifier,
    OptionalLanguage,
    OptionalText,
    StatusName,
    StrictModel,
    Text,
    Truth,
    findings_from,
    identifier_or_none,
)
from rag_core.adapters.yaml_tree import YamlError, YamlTree, read_yaml
from rag_core.types.corpus import Finding, Governance, Severity, Status
from rag_core.types.ids import SourceId

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

LARGEST_BLOCK_CHARS = 65_536
"""A bound for the parser; a governed document needs a few hundred characters."""

_FENCE = re.compile(r"^---[ \t]*$", re.MULTILINE)


class FrontMatter(StrictModel):
    """The fields of DESIGN section 3."""

    id: Identifier
    title: Text
    scope: Text
    status: StatusName
    canonical: Truth
    valid_from: Day
    valid_until: OptionalDay = None
    product: OptionalIdentifier = None
    subject: OptionalText = None
    superseded_by: OptionalIdentifier = None
    url: OptionalText = None
    language: OptionalLanguage = None

    @property
    def governance(self) -> Governance:
        """The fields that decide whether the text may answer."""
        return Governance(
            scope=self.scope,
            status=self.status,
            canonical=self.canonical,
            valid_from=self.valid_from,
            valid_until=self.valid_until,
            product=self.product,
        )


class _Interval(StrictModel):
    """Status and dates with values that break no rule where one is missing or wrong."""

    model_config = ConfigDict(extra="ignore")

    status: StatusName = Status.DRAFT
    valid_from: Day = date.min
    valid_until: OptionalDay = None


FIELD_NAMES = tuple(FrontMatter.model_fields)
"""Every governance field, required ones first."""


@dataclass(frozen=True, slots=True)
class GovernedText:
    """A text file taken apart. `fields` is None when a finding is an error."""

    fields: FrontMatter | None
    body: str = ""
    body_line: int = 1
    """The number, in the file, of the body's first line."""
    lines: Mapping[str, int] = field(default_factory=dict)
    declared_id: SourceId | None = None
    """The id, also where other fields are wrong."""
    readable: Governance | None = None
    """Where a field is wrong: what status and dates still say, as `readable_governance`."""
    findings: tuple[Finding, ...] = ()


def read_front_matter(
    text: str,
    *,
    path: str,
    defaults: Mapping[str, object] | None = None,
    ignore_fields: Collection[str] = (),
) -> GovernedText:
    """The fields and the body of a text file, or findings of severity `error`.

    Args:
        text: The whole file, normalised.
        path: The file, for findings.
        defaults: Values of fields that the file leaves out, from `corpus.yaml`.
        ignore_fields: Foreign fields to pass over.
    """
    opening = _FENCE.match(text)
    if opening is None:
        # A missing block is never a default that allows, whatever corpus.yaml sets.
        return _refused(path, "missing_front_matter", _missing_message(text))
    closing = _FENCE.search(text, opening.end())
    if closing is None:
        message = "the front matter that line 1 opens is not closed; end it with a line `---`"
        return _refused(path, "unclosed_front_matter", message)
    block = text[opening.end() + 1 : closing.start()]
    try:
        tree = read_yaml(block, first_line=2, limit_chars=LARGEST_BLOCK_CHARS)
    except YamlError as problem:
        return _refused(path, problem.code, f"front matter, {problem.message}", problem.line)
    own = {key: value for key, value in tree.values.items() if key not in ignore_fields}
    declared = identifier_or_none(own.get("id"))
    values = {**(defaults or {}), **own}
    fields, findings = validate_fields(values, path=path, tree=tree)
    return GovernedText(
        fields=fields,
        body=text[closing.end() + 1 :],
        body_line=text.count("\n", 0, closing.end()) + 2,
        lines={key: tree.lines[(key,)] for key in own},
        declared_id=SourceId(declared) if declared is not None else None,
        readable=readable_governance(values) if fields is None else None,
        findings=findings,
    )


def validate_fields(
    values: Mapping[str, object], *, path: str, tree: YamlTree, prefix: tuple[str | int, ...] = ()
) -> tuple[FrontMatter | None, tuple[Finding, ...]]:
    """The validated fields, or None and an error for each that is wrong."""
    try:
        return FrontMatter.model_validate(dict(values)), ()
    except ValidationError as error:
        found = findings_from(
            error, path=path, tree=tree, options=lambda _: FIELD_NAMES, prefix=prefix
        )
        return None, found


def readable_governance(values: Mapping[str, object]) -> Governance:
    """What can be said about the interval of a file whose fields are not all right.

    A status or date that is missing or wrong has its own error and gets a value that breaks no
    rule; a `valid_until` that the file leaves out stays open. Never canonical, of no scope.
    """
    try:
        known = _Interval.model_validate(dict(values))
    except ValidationError as error:
        wrong = {problem["loc"][0] for problem in error.errors(include_url=False)}
        sound = {key: value for key, value in values.items() if key not in wrong}
        known = _Interval.model_validate(sound)
        if "valid_until" in wrong:
            known = known.model_copy(update={"valid_until": date.max})
    return Governance("", known.status, False, known.valid_from, known.valid_until)


def _missing_message(text: str) -> str:
    if not text.strip():
        found = "the file is empty"
    else:
        first = text.split("\n", 1)[0]
        found = f"the first line is {first[:60]!r}" if first.strip() else "the first line is blank"
    return (
        f"no front matter: {found}, want `---`; begin the file with its governance fields "
        "between two lines `---`, or name it under `exclude` in corpus.yaml"
    )


def _refused(path: str, code: str, message: str, line: int = 1) -> GovernedText:
    return GovernedText(None, findings=(Finding(Severity.ERROR, code, path, message, line),))
