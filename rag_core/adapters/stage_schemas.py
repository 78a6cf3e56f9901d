"""Arrow schemas of the staged artifacts, and our types as their rows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rag_core.adapters.sheets import sheet_from_value
from rag_core.rules.digests import canonical_json, sheet_value
from rag_core.types.chunks import Chunk
from rag_core.types.corpus import Document, Finding, Governance, Heading, Severity, Span, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

_GOVERNANCE = [
    ("scope", pa.string()),
    ("status", pa.string()),
    ("canonical", pa.bool_()),
    ("valid_from", pa.date32()),
    ("valid_until", pa.date32()),
    ("product", pa.string()),
]
_SPAN = pa.struct([("start", pa.int64()), ("end", pa.int64())])
_HEADING = pa.struct([("start", pa.int64()), ("level", pa.int32()), ("text", pa.string())])

DOCUMENTS = pa.schema(
    [
        ("id", pa.string()),
        ("title", pa.string()),
        *_GOVERNANCE,
        ("text", pa.string()),
        ("sentences", pa.list_(_SPAN)),
        ("headings", pa.list_(_HEADING)),
        ("language", pa.string()),
        ("subject", pa.string()),
        ("superseded_by", pa.string()),
        ("url", pa.string()),
        ("path", pa.string()),
        ("file_digest", pa.string()),
        ("sheet", pa.string()),
    ]
)
CHUNKS = pa.schema(
    [
        ("id", pa.string()),
        ("source_id", pa.string()),
        ("part", pa.int64()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("text", pa.string()),
        ("heading_path", pa.list_(pa.string())),
        ("title", pa.string()),
        *_GOVERNANCE,
        ("language", pa.string()),
    ]
)
VECTORS = pa.schema(
    [
        ("key", pa.string()),
        ("windows", pa.int32()),
        ("vector", pa.binary()),  # float32, little-endian; shards may mix dimensions
        ("digest", pa.string()),
    ]
)
BUILDS = pa.schema(
    [
        ("chunk_id", pa.string()),
        ("vector_key", pa.string()),
        ("windows", pa.int32()),
        ("vector", pa.binary()),
    ]
)


def _governance_row(governance: Governance) -> dict[str, object]:
    return {
        "scope": governance.scope,
        "status": governance.status.value,
        "canonical": governance.canonical,
        "valid_from": governance.valid_from,
        "valid_until": governance.valid_until,
        "product": governance.product,
    }


def _governance(row: Mapping[str, Any]) -> Governance:
    return Governance(
        scope=row["scope"],
        status=Status(row["status"]),
        canonical=row["canonical"],
        valid_from=row["valid_from"],
        valid_until=row["valid_until"],
        product=row["product"],
    )


def document_row(document: Document) -> dict[str, object]:
    """A document as a row of `DOCUMENTS`."""
    sheet = document.sheet
    return {
        "id": document.id,
        "title": document.title,
        **_governance_row(document.governance),
        "text": document.text,
        "sentences": [{"start": span.start, "end": span.end} for span in document.sentences],
        "headings": [
            {"start": item.start, "level": item.level, "text": item.text}
            for item in document.headings
        ],
        "language": document.language,
        "subject": document.subject,
        "superseded_by": document.superseded_by,
        "url": document.url,
        "path": document.path,
        "file_digest": document.file_digest,
        "sheet": None if sheet is None else canonical_json(sheet_value(sheet)).decode("utf-8"),
    }


def document_from_row(row: Mapping[str, Any]) -> Document:
    """The document that `document_row` was given."""
    return Document(
        id=row["id"],
        title=row["title"],
        governance=_governance(row),
        text=row["text"],
        sentences=tuple(Span(span["start"], span["end"]) for span in row["sentences"]),
        headings=tuple(
            Heading(item["start"], item["level"], item["text"]) for item in row["headings"]
        ),
        language=row["language"],
        subject=row["subject"],
        superseded_by=row["superseded_by"],
        url=row["url"],
        path=row["path"],
        file_digest=row["file_digest"],
        sheet=None if row["sheet"] is None else sheet_from_value(json.loads(row["sheet"])),
    )


def chunk_row(chunk: Chunk) -> dict[str, object]:
    """A chunk as a row of `CHUNKS`."""
    return {
        "id": chunk.id,
        "source_id": chunk.source_id,
        "part": chunk.part,
        "start": chunk.span.start,
        "end": chunk.span.end,
        "text": chunk.text,
        "heading_path": list(chunk.heading_path),
        "title": chunk.title,
        **_governance_row(chunk.governance),
        "language": chunk.language,
    }


def chunk_from_row(row: Mapping[str, Any]) -> Chunk:
    """The chunk that `chunk_row` was given."""
    return Chunk(
        id=row["id"],
        source_id=row["source_id"],
        part=row["part"],
        span=Span(row["start"], row["end"]),
        text=row["text"],
        heading_path=tuple(row["heading_path"]),
        title=row["title"],
        governance=_governance(row),
        language=row["language"],
    )


def finding_value(finding: Finding) -> dict[str, object]:
    """A finding as plain values for JSON."""
    return {
        "severity": finding.severity.value,
        "code": finding.code,
        "path": finding.path,
        "message": finding.message,
        "line": finding.line,
        "field": finding.field,
    }


def finding_from_value(value: Mapping[str, Any]) -> Finding:
    """The finding that `finding_value` was given."""
    return Finding(
        severity=Severity(value["severity"]),
        code=value["code"],
        path=value["path"],
        message=value["message"],
        line=value["line"],
        field=value["field"],
    )
