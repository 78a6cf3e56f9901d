"""The tables of the index, schema version 1: the truth, and nothing that is derived from it.

Other modules may keep tables in the same file; only the tables named here are ever written.
Dates are proleptic ordinals (`date.toordinal`), lists are JSON, digests are SHA-256 in hexadecimal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rag_core.errors import ContractMismatchError, IntegrityError
from rag_core.types.corpus import Status
from rag_core.types.index import SCHEMA_VERSION

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping

_STATUSES = ", ".join(f"'{status.value}'" for status in Status)


def _digest(column: str, *, null: bool = False) -> str:
    return f"TEXT {'' if null else 'NOT NULL '}CHECK (length({column}) = 64)"


def _json(column: str) -> str:
    return f"TEXT NOT NULL CHECK (json_valid({column}))"


_GOVERNANCE: Final[Mapping[str, str]] = {
    "scope": "TEXT NOT NULL CHECK (scope <> '')",
    "status": f"TEXT NOT NULL CHECK (status IN ({_STATUSES}))",
    "canonical": "INTEGER NOT NULL CHECK (canonical IN (0, 1))",
    "valid_from": "INTEGER NOT NULL CHECK (valid_from >= 1)",
    "valid_until": "INTEGER CHECK (valid_until >= valid_from)",
    "product": "TEXT",
}

TABLES: Final[Mapping[str, Mapping[str, str]]] = {
    "rag_manifest": {
        "singleton": "INTEGER PRIMARY KEY CHECK (singleton = 1)",
        "provider": "TEXT NOT NULL",
        "endpoint": "TEXT",
        "model": "TEXT NOT NULL",
        "model_digest": "TEXT",
        "dimension": "INTEGER NOT NULL CHECK (dimension >= 1)",
        "metric": "TEXT NOT NULL",
        "document_template": "TEXT NOT NULL",
        "query_template": "TEXT NOT NULL",
        "chunking": "TEXT NOT NULL",
        "splitter": "TEXT NOT NULL",
        "schema_version": "INTEGER NOT NULL CHECK (schema_version >= 1)",
        "corpus_digest": _digest("corpus_digest"),
        "contract_digest": _digest("contract_digest"),
        "root": _digest("root"),
        "source_count": "INTEGER NOT NULL CHECK (source_count >= 0)",
        "chunk_count": "INTEGER NOT NULL CHECK (chunk_count >= 0)",
        "vector_count": "INTEGER NOT NULL CHECK (vector_count >= 0)",
        "product_count": "INTEGER NOT NULL CHECK (product_count >= 0)",
        "previous_generation": _digest("previous_generation", null=True),
        "code_version": "TEXT NOT NULL",
        "created_at": "TEXT NOT NULL",
        "canaries": _json("canaries"),
        "known_products": _json("known_products"),
        "product_pattern": "TEXT",
        "notices": _json("notices"),
        "generation_digest": _digest("generation_digest"),
        "signature": _digest("signature", null=True),
    },
    "rag_sources": {
        "id": "TEXT NOT NULL PRIMARY KEY",
        "title": "TEXT NOT NULL",
        **_GOVERNANCE,
        "subject": "TEXT",
        "superseded_by": "TEXT",
        "url": "TEXT",
        "language": "TEXT",
        "path": "TEXT NOT NULL",
        "file_digest": _digest("file_digest"),
        "sentences": _json("sentences"),
        "headings": _json("headings"),
        "text": "TEXT NOT NULL",
        "text_digest": _digest("text_digest"),
        "metadata_digest": _digest("metadata_digest"),
    },
    "rag_chunks": {
        "id": "TEXT NOT NULL PRIMARY KEY",
        "source_id": "TEXT NOT NULL REFERENCES rag_sources (id)",
        "part": "INTEGER NOT NULL CHECK (part >= 0)",
        "start_offset": "INTEGER NOT NULL CHECK (start_offset >= 0)",
        "end_offset": "INTEGER NOT NULL CHECK (end_offset > start_offset)",
        "heading_path": _json("heading_path"),
        "title": "TEXT NOT NULL",
        **_GOVERNANCE,
        "language": "TEXT",
        "vector_key": _digest("vector_key"),
        "windows": "INTEGER NOT NULL CHECK (windows >= 1)",
        "text_digest": _digest("text_digest"),
        "metadata_digest": _digest("metadata_digest"),
        "vector_digest": _digest("vector_digest"),
    },
    "rag_chunk_texts": {
        "chunk_id": "TEXT NOT NULL PRIMARY KEY REFERENCES rag_chunks (id)",
        "text": "TEXT NOT NULL CHECK (text <> '')",
    },
    "rag_vectors": {
        "chunk_id": "TEXT NOT NULL PRIMARY KEY REFERENCES rag_chunks (id)",
        "vector": "BLOB NOT NULL CHECK (length(vector) > 0 AND length(vector) % 4 = 0)",
    },
    "rag_products": {
        "code": "TEXT NOT NULL PRIMARY KEY",
        "source_id": "TEXT NOT NULL REFERENCES rag_sources (id)",
        "sheet": _json("sheet"),
        "digest": _digest("digest"),
    },
}
"""Table → column → declaration, in the order in which rows are inserted."""

INDEXES: Final[Mapping[str, str]] = {
    "rag_chunks_source": "rag_chunks (source_id, part)",
    "rag_chunks_vector_key": "rag_chunks (vector_key)",
}


def columns(table: str) -> tuple[str, ...]:
    """The table's column names in order."""
    return tuple(TABLES[table])


def create_tables(connection: sqlite3.Connection) -> None:
    """Create the tables and indexes that are absent; nothing else is touched."""
    for table, declared in TABLES.items():
        body = ", ".join(f"{name} {declaration}" for name, declaration in declared.items())
        connection.execute(f"CREATE TABLE IF NOT EXISTS {table} ({body}) STRICT")
    for name, target in INDEXES.items():
        connection.execute(f"CREATE INDEX IF NOT EXISTS {name} ON {target}")


def has_manifest_table(connection: sqlite3.Connection) -> bool:
    """Whether anything was ever ingested into this file."""
    found = connection.execute(
        "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'rag_manifest'"
    ).fetchone()
    return found is not None


def check_shape(connection: sqlite3.Connection, where: str) -> None:
    """Nothing, if our tables have the columns of this schema version.

    Raises:
        ContractMismatchError: If a manifest names another schema version.
        IntegrityError: If a table has other columns than the version says.
    """
    found = {table: _found_columns(connection, table) for table in TABLES}
    if "schema_version" in found["rag_manifest"]:
        for (version,) in connection.execute("SELECT schema_version FROM rag_manifest"):
            _check_version(version, where)
    for table in TABLES:
        if found[table] != columns(table):
            raise IntegrityError(
                f"{where}: {table} has columns {', '.join(found[table]) or 'none'}, expected "
                f"{', '.join(columns(table))}. Drop the tables rag_*, then run: rag ingest"
            )


def _check_version(version: object, where: str) -> None:
    if version == SCHEMA_VERSION:
        return
    newer = isinstance(version, int) and version > SCHEMA_VERSION
    remedy = (
        "Use the newer code that wrote it, or another state root"
        if newer
        else "Drop the tables rag_*, then run: rag ingest"
    )
    raise ContractMismatchError(
        f"{where}: index has schema version {version}, this code reads and writes "
        f"{SCHEMA_VERSION}. {remedy}"
    )


def _found_columns(connection: sqlite3.Connection, table: str) -> tuple[str, ...]:
    rows = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return tuple(name for (name,) in rows)
