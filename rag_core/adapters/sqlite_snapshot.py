"""One generation of the index, read in one transaction; every byte it gives was verified."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, Any

import numpy as np

from rag_core.adapters import sqlite_rows as rows
from rag_core.adapters.sqlite_connection import translated_errors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rag_core.types.chunks import FloatMatrix, FloatVector
    from rag_core.types.corpus import ProductSheet
    from rag_core.types.ids import ChunkId, Digest, SourceId
    from rag_core.types.index import Manifest, SourceText, StoredChunk

BATCH = 2_000
"""Ids per query: bounds the memory of one result, not its count of variables (JSON carries it)."""


class SqliteSnapshot:
    """An `IndexSnapshot` over an open read transaction. Made by `SqliteIndex.open` only.

    Methods raise `IntegrityError` where stored bytes differ from their digests.
    """

    def __init__(self, connection: sqlite3.Connection, manifest: Manifest, where: str) -> None:
        self._connection = connection
        self._manifest = manifest
        self._where = where

    @property
    def manifest(self) -> Manifest:
        """The manifest; its digests, counts, root and signature have been verified."""
        return self._manifest

    def chunks(self) -> tuple[StoredChunk, ...]:
        """All chunk rows in ordinal order of id, metadata digests verified."""
        found = self._query("SELECT * FROM rag_chunks ORDER BY id")
        return tuple(rows.read_chunk(row, self._where) for row in found)

    def texts(self, chunk_ids: Sequence[ChunkId]) -> tuple[str, ...]:
        """Chunk texts in the order asked for, digests verified."""
        texts: dict[str, str] = {}
        for row in self._query_many(
            "SELECT c.id, c.text_digest, t.text FROM json_each(?) AS wanted "
            "JOIN rag_chunks AS c ON c.id = wanted.value "
            "JOIN rag_chunk_texts AS t ON t.chunk_id = c.id",
            chunk_ids,
        ):
            place = f"rag_chunk_texts {row['id']}"
            stored = rows.check_text(self._where, place, row["text"], row["text_digest"])
            texts[row["id"]] = stored
        self._all_found("rag_chunk_texts", chunk_ids, texts)
        return tuple(texts[chunk_id] for chunk_id in chunk_ids)

    def vectors(self, chunk_ids: Sequence[ChunkId]) -> FloatMatrix:
        """Shape (len(chunk_ids), dimension), float32, in the order asked for, verified."""
        places: dict[str, list[int]] = {}
        for place, chunk_id in enumerate(chunk_ids):
            places.setdefault(chunk_id, []).append(place)
        dimension = self._manifest.contract.embedding.dimension
        matrix = np.empty((len(chunk_ids), dimension), dtype=np.float32)
        seen: set[str] = set()
        for row in self._query_many(
            "SELECT c.id, c.vector_digest, v.vector FROM json_each(?) AS wanted "
            "JOIN rag_chunks AS c ON c.id = wanted.value "
            "JOIN rag_vectors AS v ON v.chunk_id = c.id",
            tuple(places),
        ):
            matrix[places[row["id"]]] = self._vector(row)
            seen.add(row["id"])
        self._all_found("rag_vectors", chunk_ids, seen)
        return matrix

    def vectors_by_key(self, keys: Sequence[Digest]) -> Mapping[Digest, FloatVector]:
        """The vectors that are stored under these keys; verified; absent keys are left out."""
        found: dict[Digest, FloatVector] = {}
        for row in self._query_many(
            "SELECT c.*, v.vector FROM json_each(?) AS wanted "
            "JOIN rag_chunks AS c ON c.vector_key = wanted.value "
            "JOIN rag_vectors AS v ON v.chunk_id = c.id ORDER BY c.id",
            tuple(dict.fromkeys(keys)),
        ):
            # The key is metadata: a changed one would lend a chunk the vector of another text.
            chunk = rows.read_chunk(row, self._where)
            if chunk.vector_key not in found:
                found[chunk.vector_key] = self._vector(row)
        return found

    def source(self, source_id: SourceId) -> SourceText | None:
        """A stored document, digest verified; None if there is none."""
        found = self._query("SELECT * FROM rag_sources WHERE id = ?", source_id)
        return rows.read_source(found[0], self._where) if found else None

    def source_ids(self) -> tuple[SourceId, ...]:
        """All stored source ids in ordinal order."""
        return tuple(row["id"] for row in self._query("SELECT id FROM rag_sources ORDER BY id"))

    def product(self, code: str) -> ProductSheet | None:
        """A stored product sheet; None if there is none."""
        found = self._query("SELECT * FROM rag_products WHERE code = ?", code)
        return rows.read_product(found[0], self._where) if found else None

    def _vector(self, row: Mapping[str, Any]) -> FloatVector:
        return rows.read_vector(
            row["vector"],
            row["vector_digest"],
            self._manifest.contract.embedding.dimension,
            f"{self._where}: rag_vectors {row['id']}",
        )

    def _query(self, sql: str, *parameters: object) -> list[dict[str, Any]]:
        with translated_errors(self._where):
            cursor = self._connection.execute(sql, parameters)
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, values, strict=True)) for values in cursor]

    def _query_many(self, sql: str, wanted: Sequence[str]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for start in range(0, len(wanted), BATCH):
            found += self._query(sql, json.dumps(wanted[start : start + BATCH]))
        return found

    def _all_found(
        self, table: str, wanted: Sequence[str], found: Mapping[str, str] | set[str]
    ) -> None:
        for chunk_id in wanted:
            if chunk_id not in found:
                raise rows.damaged(self._where, f"{table} {chunk_id}", "no row", "one row")
