"""Rows of the index as they are written: from our types to SQL values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rag_core.adapters.sqlite_schema import columns
from rag_core.rules import digests
from rag_core.rules.manifest_codec import encode_manifest

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Mapping

    from rag_core.types.corpus import Document, Governance, ProductSheet
    from rag_core.types.index import IndexBuild, Manifest

    Values = Mapping[str, Any]

MANIFEST_LISTS = ("canaries", "known_products", "notices")
"""Columns of `rag_manifest` that hold JSON."""


def insert(
    connection: sqlite3.Connection, table: str, rows: Iterator[Mapping[str, object]]
) -> None:
    """Insert rows by column name."""
    names = columns(table)
    places = ", ".join(f":{name}" for name in names)
    sql = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({places})"  # noqa: S608 - our own names
    connection.executemany(sql, rows)


def _json(value: object) -> str:
    return digests.canonical_json(value).decode("utf-8")


def _governance_values(governance: Governance) -> dict[str, object]:
    until = governance.valid_until
    return {
        "scope": governance.scope,
        "status": governance.status.value,
        "canonical": int(governance.canonical),
        "valid_from": governance.valid_from.toordinal(),
        "valid_until": None if until is None else until.toordinal(),
        "product": governance.product,
    }


def build_rows(build: IndexBuild, manifest: Manifest) -> Iterator[tuple[str, Iterator[Values]]]:
    """Every table with the rows of a build, in an order that foreign keys allow."""
    yield "rag_sources", (_source_values(document) for document in build.documents)
    yield "rag_chunks", _chunk_values(build)
    yield "rag_chunk_texts", ({"chunk_id": item.id, "text": item.text} for item in build.chunks)
    pairs = zip(build.chunks, build.vectors, strict=True)
    yield (
        "rag_vectors",
        ({"chunk_id": chunk.id, "vector": digests.vector_bytes(vector)} for chunk, vector in pairs),
    )
    sheets = ((item, item.sheet) for item in build.documents if item.sheet is not None)
    yield "rag_products", (_product_values(document, sheet) for document, sheet in sheets)
    yield "rag_manifest", iter((_manifest_values(manifest),))


def _manifest_values(manifest: Manifest) -> Values:
    fields = encode_manifest(manifest)
    lists = {name: _json(fields[name]) for name in MANIFEST_LISTS}
    return {"singleton": 1, **fields, **lists}


def _source_values(document: Document) -> Values:
    return {
        "id": document.id,
        "title": document.title,
        **_governance_values(document.governance),
        "subject": document.subject,
        "superseded_by": document.superseded_by,
        "url": document.url,
        "language": document.language,
        "path": document.path,
        "file_digest": document.file_digest,
        "sentences": _json([[span.start, span.end] for span in document.sentences]),
        "headings": _json([[item.start, item.level, item.text] for item in document.headings]),
        "text": document.text,
        "text_digest": digests.text_digest(document.text),
        "metadata_digest": digests.source_metadata_digest(document),
    }


def _chunk_values(build: IndexBuild) -> Iterator[Values]:
    rows = zip(build.chunks, build.vectors, build.vector_keys, build.windows, strict=True)
    for chunk, vector, key, windows in rows:
        yield {
            "id": chunk.id,
            "source_id": chunk.source_id,
            "part": chunk.part,
            "start_offset": chunk.span.start,
            "end_offset": chunk.span.end,
            "heading_path": _json(chunk.heading_path),
            "title": chunk.title,
            **_governance_values(chunk.governance),
            "language": chunk.language,
            "vector_key": key,
            "windows": windows,
            "text_digest": digests.text_digest(chunk.text),
            "metadata_digest": digests.chunk_metadata_digest(
                chunk, vector_key=key, windows=windows
            ),
            "vector_digest": digests.vector_digest(vector),
        }


def _product_values(document: Document, sheet: ProductSheet) -> Values:
    value = digests.canonical_json(digests.sheet_value(sheet))
    return {
        "code": sheet.code,
        "source_id": document.id,
        "sheet": value.decode("utf-8"),
        "digest": digests.sha256_hex(value),
    }
