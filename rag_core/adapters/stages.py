"""Staged artifacts below `state/stages/`: content-addressed, sealed Parquet files.

`find_*` treats a damaged artifact as absent, so that an ingest makes it anew; `get_*` refuses it.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from rag_core.adapters import stage_schemas as schemas
from rag_core.adapters.durable import temporary_files
from rag_core.adapters.stage_files import (
    READ_ERRORS,
    damaged_stage,
    read_artifact,
    storage_errors,
    write_artifact,
)
from rag_core.adapters.stage_vectors import VectorStages
from rag_core.errors import IntegrityError
from rag_core.rules.digests import root_digest, vector_bytes
from rag_core.rules.manifest import root_rows, verify_manifest
from rag_core.rules.manifest_codec import decode_manifest, encode_manifest
from rag_core.types.corpus import Corpus
from rag_core.types.index import IndexBuild, StageRef, ValidatedBuild

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rag_core.types.chunks import Chunk, EmbeddedBatch, FloatVector
    from rag_core.types.corpus import Finding
    from rag_core.types.ids import Digest
    from rag_core.types.index import Manifest

ARTIFACTS_KEPT = 2
"""Documents, chunks and builds that stay of each kind, newest first."""


class StageFolder:
    """A `StageStore` in a folder.

    Args:
        root: `stages` below the state root; paths in references begin with its name.
        secret: The signing key; artifacts that were not sealed with it count as absent.
    """

    def __init__(self, root: Path, *, secret: bytes | None = None) -> None:
        self._folder = root
        self._secret = secret
        self._vectors = VectorStages(root / "vectors", f"{root.name}/vectors", secret)

    def put_corpus(self, digest: Digest, corpus: Corpus, findings: Sequence[Finding]) -> StageRef:
        """Stage documents and product rules under the digest of their input."""
        rows = [schemas.document_row(document) for document in corpus.documents]
        extra = {
            "known_products": corpus.known_products,
            "product_pattern": corpus.product_pattern,
            "findings": [schemas.finding_value(finding) for finding in findings],
        }
        return self._put("documents", digest, rows, schemas.DOCUMENTS, extra)

    def find_corpus(self, digest: Digest) -> StageRef | None:
        """The artifact under this digest, if it is whole."""
        return self._find("documents", digest)

    def get_corpus(self, ref: StageRef) -> tuple[Corpus, tuple[Finding, ...]]:
        """What `put_corpus` was given.

        Raises:
            IntegrityError: If the artifact's bytes differ from when it was staged.
        """
        table, extra = self._get("documents", ref)
        corpus = Corpus(
            documents=tuple(schemas.document_from_row(row) for row in table.to_pylist()),
            known_products=tuple(extra["known_products"]),
            product_pattern=extra["product_pattern"],
        )
        return corpus, tuple(schemas.finding_from_value(item) for item in extra["findings"])

    def put_chunks(self, digest: Digest, chunks: Sequence[Chunk]) -> StageRef:
        """Stage chunks in their order."""
        rows = [schemas.chunk_row(chunk) for chunk in chunks]
        return self._put("chunks", digest, rows, schemas.CHUNKS, {})

    def find_chunks(self, digest: Digest) -> StageRef | None:
        """The artifact under this digest, if it is whole."""
        return self._find("chunks", digest)

    def get_chunks(self, ref: StageRef) -> tuple[Chunk, ...]:
        """What `put_chunks` was given.

        Raises:
            IntegrityError: If the artifact's bytes differ from when it was staged.
        """
        table, _ = self._get("chunks", ref)
        return tuple(schemas.chunk_from_row(row) for row in table.to_pylist())

    def put_vectors(self, batch: EmbeddedBatch) -> StageRef:
        """Make one finished batch durable as a part file."""
        return self._vectors.put(batch)

    def merge_vectors(self) -> StageRef | None:
        """Merge part files into one shard; None if there are none."""
        return self._vectors.merge()

    def drop_vectors(self) -> None:
        """Delete all staged vectors: a rebuild reuses nothing."""
        self._vectors.drop()

    def find_vectors(self, keys: Sequence[Digest]) -> Mapping[Digest, FloatVector]:
        """Staged vectors under these keys, from shards and parts; damaged rows count as absent."""
        return self._vectors.find(keys)

    def put_build(
        self, validated: ValidatedBuild, *, corpus: StageRef, chunks: StageRef
    ) -> StageRef:
        """Stage the validated manifest and all vectors; texts stay in the named artifacts.

        The newest `ARTIFACTS_KEPT` builds stay; an older one can no longer be committed.
        """
        build, manifest = validated.build, validated.manifest
        columns = zip(build.chunks, build.vector_keys, build.windows, build.vectors, strict=True)
        rows: list[dict[str, object]] = [
            {
                "chunk_id": chunk.id,
                "vector_key": key,
                "windows": windows,
                "vector": vector_bytes(vector),
            }
            for chunk, key, windows, vector in columns
        ]
        extra = {
            "manifest": encode_manifest(manifest),
            "corpus": dataclasses.asdict(corpus),
            "chunks": dataclasses.asdict(chunks),
        }
        ref = self._put("builds", manifest.generation_digest, rows, schemas.BUILDS, extra)
        self._drop_old("builds")  # each holds a copy of all vectors
        return ref

    def get_build(self, ref: StageRef) -> ValidatedBuild:
        """What `put_build` was given, put together again from its three artifacts.

        Raises:
            IntegrityError: If an artifact's bytes differ from when it was staged.
        """
        table, extra = self._get("builds", ref)
        manifest = decode_manifest(extra["manifest"])
        verify_manifest(manifest, key=None)  # the store verifies the signature before it commits
        corpus, _ = self.get_corpus(StageRef(**extra["corpus"]))
        chunks = self.get_chunks(StageRef(**extra["chunks"]))
        path = self._path("builds", ref.digest)
        try:
            build = _build(manifest, corpus, chunks, table)
            found = root_digest(root_rows(build))
        except READ_ERRORS as error:
            raise damaged_stage(path, error) from error
        if found != manifest.root:
            raise damaged_stage(path, f"root is {found}, manifest lists {manifest.root}")
        return ValidatedBuild(build, manifest)

    def clean_temporary(self) -> int:
        """Remove temporary names that a killed run left; returns how many."""
        stale = sorted(temporary_files(self._folder))
        for path in stale:
            with storage_errors(path):
                path.unlink(missing_ok=True)
        return len(stale)

    def prune(self, keep: Sequence[Sequence[Digest]]) -> int:
        """Delete shards that the given generations do not use; returns how many.

        Of documents and chunks the newest `ARTIFACTS_KEPT` stay.
        """
        for kind in ("documents", "chunks"):
            self._drop_old(kind)
        return self._vectors.prune(keep)

    def _drop_old(self, kind: str) -> None:
        found = (self._folder / kind).glob("*.parquet")
        oldest_first = sorted(found, key=lambda path: path.stat().st_mtime_ns)
        for path in oldest_first[:-ARTIFACTS_KEPT]:
            with storage_errors(path):
                path.unlink(missing_ok=True)

    def _path(self, kind: str, digest: Digest) -> Path:
        if len(digest) != 64 or not digest.isalnum():  # noqa: PLR2004 - SHA-256 in hexadecimal
            raise IntegrityError(f"stage {kind}: expected a SHA-256 digest, found {digest!r}")
        return self._folder / kind / f"{digest}.parquet"

    def _ref(self, kind: str, digest: Digest, rows: int) -> StageRef:
        path = self._path(kind, digest).relative_to(self._folder.parent)
        return StageRef(kind, digest, path.as_posix(), rows)

    def _put(
        self,
        kind: str,
        digest: Digest,
        rows: Sequence[Mapping[str, object]],
        schema: pa.Schema,
        extra: Mapping[str, object],
    ) -> StageRef:
        table = pa.Table.from_pylist(rows, schema=schema)
        path = self._path(kind, digest)
        write_artifact(path, kind=kind, key=digest, table=table, extra=extra, secret=self._secret)
        return self._ref(kind, digest, len(rows))

    def _find(self, kind: str, digest: Digest) -> StageRef | None:
        try:
            table, _ = read_artifact(
                self._path(kind, digest), kind=kind, key=digest, secret=self._secret
            )
        except IntegrityError:
            return None
        return self._ref(kind, digest, table.num_rows)

    def _get(self, kind: str, ref: StageRef) -> tuple[pa.Table, dict[str, Any]]:
        path = self._path(kind, ref.digest)
        table, extra = read_artifact(path, kind=kind, key=ref.digest, secret=self._secret)
        if (ref.kind, ref.rows) != (kind, table.num_rows):
            found = f"{kind} with {table.num_rows} rows, reference says {ref.kind} with {ref.rows}"
            raise damaged_stage(path, found)
        return table, extra


def _build(
    manifest: Manifest, corpus: Corpus, chunks: tuple[Chunk, ...], table: pa.Table
) -> IndexBuild:
    ids = tuple(chunk.id for chunk in chunks)
    if ids != tuple(table.column("chunk_id").to_pylist()):
        raise ValueError("chunk ids differ from those of the staged chunks")
    content = b"".join(table.column("vector").to_pylist())
    dimension = manifest.contract.embedding.dimension
    vectors = np.frombuffer(content, dtype="<f4").reshape(len(ids), dimension)
    return IndexBuild(
        corpus=corpus,
        chunks=chunks,
        vectors=vectors.astype(np.float32, copy=False),
        vector_keys=tuple(table.column("vector_key").to_pylist()),
        windows=tuple(table.column("windows").to_pylist()),
        contract=manifest.contract,
        canaries=manifest.canaries,
        notices=manifest.notices,
    )
