"""Product fact sheets: `products/*.yaml` as sheets and as quotable documents."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic import ValidationError, field_validator

from rag_core.adapters.fields import (
    Day,
    Identifier,
    OptionalDay,
    OptionalText,
    OptionalWritten,
    StatusName,
    StrictModel,
    Text,
    Truth,
    Written,
    findings_from,
    identifier_or_none,
    wrong,
)
from rag_core.adapters.front_matter import readable_governance
from rag_core.adapters.yaml_tree import YamlError, read_yaml
from rag_core.rules.products import FACT_LANGUAGE, fact_spans, render_facts
from rag_core.types.corpus import Document, Fact, Finding, Governance, ProductSheet, Severity
from rag_core.types.ids import SourceId

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rag_core.types.ids import Digest

LARGEST_FILE_CHARS = 1_048_576
"""A bound for the parser; a sheet of a thousand facts needs a tenth."""


class _FactModel(StrictModel):
    name: Text
    value: Written
    unit: OptionalWritten = None
    note: OptionalText = None


class _SheetModel(StrictModel):
    code: Identifier
    title: OptionalText = None
    scope: Text
    status: StatusName
    canonical: Truth
    valid_from: Day
    valid_until: OptionalDay = None
    facts: list[_FactModel]

    @field_validator("facts")
    @classmethod
    def _distinct(cls, facts: list[_FactModel]) -> list[_FactModel]:
        if not facts:
            raise wrong("want at least one fact, found an empty list")
        counts = Counter(fact.name for fact in facts)
        twice = [name for name, count in counts.items() if count > 1]
        if twice:
            raise wrong(f"these names stand twice: {', '.join(twice)}; a fact has one value")
        return facts


@dataclass(frozen=True, slots=True)
class ReadSheet:
    """A sheet as read. `sheet` is None when a finding is an error."""

    sheet: ProductSheet | None
    lines: Mapping[str, int] = field(default_factory=dict)
    declared_code: str | None = None
    """The code, also where other fields are wrong."""
    readable: Governance | None = None
    """Where a field is wrong: what status and dates still say, as `readable_governance`."""
    findings: tuple[Finding, ...] = ()


def read_sheet(text: str, *, path: str, defaults: Mapping[str, object] | None = None) -> ReadSheet:
    """The product sheet that a YAML text holds, or findings of severity `error`.

    Args:
        text: The whole file, normalised.
        path: The file, for findings.
        defaults: Governance fields of `corpus.yaml`; those that a sheet lacks are passed over.
    """
    try:
        tree = read_yaml(text, limit_chars=LARGEST_FILE_CHARS)
    except YamlError as problem:
        error = Finding(Severity.ERROR, problem.code, path, problem.message, problem.line)
        return ReadSheet(None, findings=(error,))
    given = {
        key: value for key, value in (defaults or {}).items() if key in _SheetModel.model_fields
    }
    lines = {key: tree.lines[(key,)] for key in tree.values}
    code = identifier_or_none(tree.values.get("code"))
    values = {**given, **tree.values}
    try:
        model = _SheetModel.model_validate(values)
    except ValidationError as error:
        findings = findings_from(error, path=path, tree=tree, options=_options)
        return ReadSheet(None, lines, code, readable_governance(values), findings)
    return ReadSheet(_sheet(model), lines, code)


def sheet_document(sheet: ProductSheet, *, path: str, file_digest: Digest) -> Document:
    """The sheet as the document `product:CODE`, one sentence per fact."""
    text = render_facts(sheet)
    return Document(
        id=sheet_id(sheet.code),
        title=sheet.title,
        governance=sheet.governance,
        text=text,
        sentences=fact_spans(text),
        headings=(),
        language=FACT_LANGUAGE,
        subject=None,
        superseded_by=None,
        url=None,
        path=path,
        file_digest=file_digest,
        sheet=sheet,
    )


def sheet_id(code: str) -> SourceId:
    """The source id of a product's fact sheet."""
    return SourceId(f"product:{code}")


def _sheet(model: _SheetModel) -> ProductSheet:
    governance = Governance(
        scope=model.scope,
        status=model.status,
        canonical=model.canonical,
        valid_from=model.valid_from,
        valid_until=model.valid_until,
        product=model.code,
    )
    facts = tuple(Fact(fact.name, fact.value, fact.unit, fact.note) for fact in model.facts)
    return ProductSheet(model.code, model.title or model.code, governance, facts)


def _options(place: tuple[str | int, ...]) -> tuple[str, ...]:
    return tuple((_FactModel if place[:1] == ("facts",) else _SheetModel).model_fields)
