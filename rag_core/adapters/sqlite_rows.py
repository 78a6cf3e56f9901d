"""Rows of the index as they are read: from SQL values to our types, digests verified."""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from rag_core.adapters.sheets import sheet_from_value
from rag_core.adapters.sqlite_values import MANIFEST_LISTS
from rag_core.errors import IntegrityError
from rag_core.rules import digests
from rag_core.rules.manifest_codec import decode_manifest
from rag_core.types.corpus import Governance, Heading, ProductSheet, Span, Status
from rag_core.types.index import SourceText, StoredChunk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rag_core.types.chunks import FloatVector
    from rag_core.types.index import Manifest

    Values = Mapping[str, Any]

NEXT_STEP = "Run: rag ingest --rebuild"


def read_manifest(row: Values) -> Manifest:
    """The manifest of a row; its digests are verified by `rules.manifest`.

    Raises:
        IntegrityError: If a column is missing or malformed; the file is not named.
    """
    fields = {name: value for name, value in row.items() if name != "singleton"}
    try:
        if row["singleton"] != 1:
            raise ValueError(f"column singleton is {row['singleton']!r}, expected 1")
        fields.update({name: json.loads(fields[name]) for name in MANIFEST_LISTS})
    except (TypeError, ValueError) as error:
        raise IntegrityError(f"manifest: {error}. {NEXT_STEP}") from error
    return decode_manifest(fields)


def read_chunk(row: Values, where: str) -> StoredChunk:
    """A chunk's row, its metadata digest recomputed and compared.

    Raises:
        IntegrityError: If a column is malformed or differs from when it was written.
    """
    place = f"rag_chunks {row['id']}"
    try:
        chunk = StoredChunk(
            id=row["id"],
            source_id=row["source_id"],
            part=row["part"],
            span=Span(row["start_offset"], row["end_offset"]),
            heading_path=tuple(json.loads(row["heading_path"])),
            title=row["title"],
            governance=_read_governance(row),
            language=row["language"],
            text_digest=row["text_digest"],
            vector_digest=row["vector_digest"],
            vector_key=row["vector_key"],
            windows=row["windows"],
        )
        found = digests.chunk_metadata_digest(
            chunk, vector_key=chunk.vector_key, windows=chunk.windows
        )
    except (TypeError, ValueError, OverflowError) as error:
        raise damaged(where, place, error, "well-formed columns") from error
    check_digest(where, f"{place}: metadata", found, row["metadata_digest"])
    return chunk


def read_source(row: Values, where: str) -> SourceText:
    """A source's row, digests of its text and metadata recomputed and compared.

    Raises:
        IntegrityError: If a column is malformed or differs from when it was written.
    """
    place = f"rag_sources {row['id']}"
    check_text(where, f"{place}: text", row["text"], row["text_digest"])
    try:
        source = SourceText(
            id=row["id"],
            title=row["title"],
            text=row["text"],
            sentences=tuple(Span(start, end) for start, end in json.loads(row["sentences"])),
            headings=tuple(Heading(*item) for item in json.loads(row["headings"])),
            governance=_read_governance(row),
            language=row["language"],
            subject=row["subject"],
            superseded_by=row["superseded_by"],
            url=row["url"],
            path=row["path"],
            file_digest=row["file_digest"],
            digest=row["text_digest"],
        )
        found = digests.source_metadata_digest(source)
    except (TypeError, ValueError, OverflowError) as error:
        raise damaged(where, place, error, "well-formed columns") from error
    check_digest(where, f"{place}: metadata", found, row["metadata_digest"])
    return source


def read_product(row: Values, where: str) -> ProductSheet:
    """A product's sheet, its digest recomputed and compared.

    Raises:
        IntegrityError: If the row is malformed or differs from when it was written.
    """
    place = f"rag_products {row['code']}"
    check_text(where, place, row["sheet"], row["digest"])
    try:
        sheet = sheet_from_value(json.loads(row["sheet"]))
    except (TypeError, ValueError, KeyError) as error:
        raise damaged(where, place, error, "a product sheet") from error
    if (sheet.code, f"product:{sheet.code}") != (row["code"], row["source_id"]):
        raise damaged(where, place, f"{sheet.code} of {row['source_id']}", row["code"])
    return sheet


def read_vector(content: object, expected: str, dimension: int, place: str) -> FloatVector:
    """A vector of shape (dimension,), float32; length and digest verified.

    Args:
        content: The stored bytes.
        expected: The digest that its chunk's row holds.
        dimension: The contract's.
        place: File and chunk, for messages.
    """
    if not isinstance(content, bytes) or len(content) != dimension * 4:
        raise IntegrityError(
            f"{place}: vector has {_length(content)} bytes, expected {dimension * 4}. {NEXT_STEP}"
        )
    found = digests.sha256_hex(content)
    if found != expected:
        raise IntegrityError(
            f"{place}: vector has digest {found}, expected {expected}. {NEXT_STEP}"
        )
    return np.frombuffer(content, dtype="<f4").astype(np.float32, copy=False)


def _read_governance(row: Values) -> Governance:
    until = row["valid_until"]
    if row["canonical"] not in {0, 1}:
        raise ValueError(f"canonical is {row['canonical']!r}")
    return Governance(
        scope=row["scope"],
        status=Status(row["status"]),
        canonical=row["canonical"] == 1,
        valid_from=date.fromordinal(row["valid_from"]),
        valid_until=None if until is None else date.fromordinal(until),
        product=row["product"],
    )


def _length(content: object) -> object:
    return len(content) if isinstance(content, bytes) else f"no ({type(content).__name__})"


def check_text(where: str, place: str, text: object, expected: str) -> str:
    """The stored text, if its digest is the expected one.

    Raises:
        IntegrityError: If it is another text, or (in a damaged file) none.
    """
    if not isinstance(text, str):
        raise damaged(where, place, f"a value of type {type(text).__name__}", "a text")
    check_digest(where, place, digests.text_digest(text), expected)
    return text


def check_digest(where: str, place: str, found: str, expected: str) -> None:
    """Nothing, if the digests are equal.

    Raises:
        IntegrityError: If they differ; both are named.
    """
    if found != expected:
        raise damaged(where, place, f"digest {found}", expected)


def damaged(where: str, place: str, found: object, expected: object) -> IntegrityError:
    """The error for a stored row that is not what was written."""
    return IntegrityError(f"{where}: {place}: found {found}, expected {expected}. {NEXT_STEP}")
