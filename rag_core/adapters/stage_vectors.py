"""Staged vectors: one part file per finished batch, merged into shards, found by key.

A row is bound to its key by a digest over both, so that a damaged row is absent, never wrong.
"""

from __future__ import annotations

import hmac
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rag_core.adapters.durable import sync_folder
from rag_core.adapters.stage_files import (
    READ_ERRORS,
    read_parquet,
    sealing,
    storage_errors,
    write_parquet,
)
from rag_core.adapters.stage_schemas import VECTORS
from rag_core.rules.digests import root_digest, vector_bytes
from rag_core.types.ids import Digest
from rag_core.types.index import StageRef

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from rag_core.types.chunks import EmbeddedBatch, FloatVector

KIND = "vectors"


class VectorStages:
    """The folder of vector parts and shards.

    Args:
        folder: `stages/vectors` below the state root.
        prefix: The folder's path relative to the state root, for references.
        secret: Keys the digests of rows, where there is one.
    """

    def __init__(self, folder: Path, prefix: str, secret: bytes | None) -> None:
        self._folder = folder
        self._secret = secret
        self._prefix = prefix
        self._keys: dict[str, frozenset[str]] = {}
        # Tasks share this object between threads; a merge removes files that a search reads.
        self._lock = threading.Lock()

    def put(self, batch: EmbeddedBatch) -> StageRef:
        """Make one finished batch durable as a part file."""
        rows = [
            _row(key, windows, vector_bytes(vector), self._secret)
            for key, windows, vector in zip(batch.keys, batch.windows, batch.vectors, strict=True)
        ]
        with self._lock:
            return self._write("part", rows)

    def merge(self) -> StageRef | None:
        """Merge all parts into one shard; parts go only after the shard is durable.

        Returns None where no part holds a sound row.
        """
        with self._lock:
            parts = self._files("part")
            rows: dict[str, dict[str, Any]] = {}
            for path in parts:
                for row in _sound_rows(path, None, self._secret):
                    rows.setdefault(row["key"], row)
            shard = self._write("shard", list(rows.values())) if rows else None
            self._delete(parts)
            return shard

    def drop(self) -> None:
        """Delete all parts and shards."""
        with self._lock:
            self._delete([*self._files("part"), *self._files("shard")])

    def find(self, keys: Sequence[Digest]) -> dict[Digest, FloatVector]:
        """Vectors under these keys; damaged rows and files count as absent."""
        found: dict[Digest, FloatVector] = {}
        missing: set[str] = set(keys)
        with self._lock:
            for path in (*self._files("shard"), *self._files("part")):
                wanted = missing & self._known_keys(path)
                for row in _sound_rows(path, wanted, self._secret) if wanted else ():
                    vector = np.frombuffer(row["vector"], dtype="<f4")
                    found[Digest(row["key"])] = vector.astype(np.float32, copy=False)
                missing -= found.keys()
        return found

    def prune(self, keep: Sequence[Sequence[Digest]]) -> int:
        """Delete shards that hold no key of `keep`; returns how many."""
        used = {key for keys in keep for key in keys}
        with self._lock:
            stale = [path for path in self._files("shard") if not used & self._known_keys(path)]
            self._delete(stale)
            return len(stale)

    def _files(self, what: str) -> list[Path]:
        return sorted(self._folder.glob(f"{what}-*.parquet"))

    def _known_keys(self, path: Path) -> frozenset[str]:
        # Names are made of content digests: a name once read never means other keys.
        if path.name not in self._keys:
            try:
                column = read_parquet(path, ["key"]).column("key")
                self._keys[path.name] = frozenset(column.to_pylist())
            except READ_ERRORS:
                self._keys[path.name] = frozenset()
        return self._keys[path.name]

    def _write(self, what: str, rows: Sequence[Mapping[str, Any]]) -> StageRef:
        digest = root_digest((row["key"], row["digest"]) for row in rows)
        name = f"{what}-{digest}.parquet"
        write_parquet(self._folder / name, pa.Table.from_pylist(rows, schema=VECTORS))
        self._keys.pop(name, None)
        return StageRef(KIND, digest, f"{self._prefix}/{name}", len(rows))

    def _delete(self, paths: Sequence[Path]) -> None:
        for path in paths:
            with storage_errors(path):
                path.unlink(missing_ok=True)
            self._keys.pop(path.name, None)
        if paths:
            sync_folder(self._folder)


def _row(key: str, windows: int, content: bytes, secret: bytes | None) -> dict[str, Any]:
    digest = _row_digest(key, windows, content, secret)
    return {"key": key, "windows": windows, "vector": content, "digest": digest}


def _row_digest(key: str, windows: int, content: bytes, secret: bytes | None) -> str:
    digest = sealing(secret)
    digest.update(f"{key}:{windows}:".encode())
    digest.update(content)
    return digest.hexdigest()


def _sound_rows(
    path: Path, wanted: set[str] | None, secret: bytes | None
) -> Iterator[dict[str, Any]]:
    """The rows of a file (of these keys) whose digest fits; none if it cannot be read."""
    try:
        table = read_parquet(path)
        if not table.schema.equals(VECTORS):
            return
        if wanted is not None:
            mask = pc.is_in(table.column("key"), value_set=pa.array(sorted(wanted), pa.string()))
            table = table.filter(mask)
        rows = table.to_pylist()
    except READ_ERRORS:
        return
    for row in rows:
        if None in row.values() or len(row["vector"]) % 4:
            continue
        fits = _row_digest(row["key"], row["windows"], row["vector"], secret)
        if hmac.compare_digest(fits, row["digest"]):
            yield row
