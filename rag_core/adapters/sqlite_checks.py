"""What must hold of the stored rows as a whole: before COMMIT, and at every opening."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from rag_core.adapters.sqlite_rows import NEXT_STEP
from rag_core.errors import IntegrityError
from rag_core.rules.digests import root_digest

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Generator

    from rag_core.types.index import Manifest

_ROOT_QUERIES = (
    "SELECT 'source', id, text_digest, metadata_digest FROM rag_sources ORDER BY id",
    "SELECT 'chunk', id, text_digest, metadata_digest, vector_digest FROM rag_chunks ORDER BY id",
    "SELECT 'product', code, digest FROM rag_products ORDER BY code",
)
"""SQLite's BINARY order of UTF-8 texts is the ordinal order of `rules.manifest.root_rows`."""

_ORPHANS = (
    ("rag_sources", "source", "rag_chunks", "source_id", "id"),
    ("rag_chunk_texts", "text", "rag_chunks", "id", "chunk_id"),
    ("rag_vectors", "vector", "rag_chunks", "id", "chunk_id"),
    ("rag_sources", "source", "rag_products", "source_id", "id"),
)
"""(table that lacks a row, its name, table that refers, referring column, referred column)."""


def verify_stored(connection: sqlite3.Connection, manifest: Manifest, where: str) -> None:
    """Nothing, if counts, references and root of the stored rows are those of the manifest.

    Raises:
        IntegrityError: If they differ; table, found and expected are named.
    """
    _verify_counts(connection, manifest, where)
    _verify_references(connection, where)
    try:
        with closing(_digest_rows(connection)) as rows:  # its cursor ends before the connection
            root = root_digest(rows)
    except TypeError as error:  # a NULL where the schema of another file allows one
        raise IntegrityError(f"{where}: a digest column is empty. {NEXT_STEP}") from error
    if root != manifest.root:
        raise IntegrityError(
            f"{where}: the digest columns of rag_sources, rag_chunks and rag_products give root "
            f"{root}, manifest lists {manifest.root}. {NEXT_STEP}"
        )


def _verify_counts(connection: sqlite3.Connection, manifest: Manifest, where: str) -> None:
    counts = manifest.counts
    for table, expected in (
        ("rag_sources", counts.sources),
        ("rag_chunks", counts.chunks),
        ("rag_chunk_texts", counts.chunks),
        ("rag_vectors", counts.vectors),
        ("rag_products", counts.products),
    ):
        query = f"SELECT count(*) FROM {table}"  # noqa: S608 - the names above
        (found,) = connection.execute(query).fetchone()
        if found != expected:
            raise IntegrityError(
                f"{where}: {table} holds {found} rows, manifest lists {expected}. {NEXT_STEP}"
            )


def _verify_references(connection: sqlite3.Connection, where: str) -> None:
    for table, what, referring, column, key in _ORPHANS:
        query = (
            f"SELECT r.{column} FROM {referring} AS r LEFT JOIN {table} AS t "  # noqa: S608 - ours
            f"ON t.{key} = r.{column} WHERE t.{key} IS NULL LIMIT 1"
        )
        orphan = connection.execute(query).fetchone()
        if orphan is not None:
            raise IntegrityError(
                f"{where}: {referring} refers to {orphan[0]}, expected its {what} in {table}, "
                f"found none. {NEXT_STEP}"
            )


def _digest_rows(connection: sqlite3.Connection) -> Generator[tuple[str, ...], None, None]:
    for query in _ROOT_QUERIES:
        yield from connection.execute(query)
