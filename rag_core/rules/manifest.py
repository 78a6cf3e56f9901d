"""Manifests: made from a checked build, compared with a profile, verified before use."""

from __future__ import annotations

import dataclasses
import hmac
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rag_core.errors import IntegrityError
from rag_core.rules import digests
from rag_core.rules.build_checks import check_build
from rag_core.rules.manifest_codec import encode_manifest
from rag_core.types.ids import Digest
from rag_core.types.index import Counts, EmbeddingContract, Manifest, ValidatedBuild

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rag_core.types.index import IndexBuild, IndexContract

UNSIGNED = Digest("")


def validate_build(
    build: IndexBuild,
    *,
    previous: Digest | None,
    code_version: str,
    created_at: datetime,
    key: bytes | None,
) -> ValidatedBuild:
    """The build with its manifest, after every check that promise 8 names.

    Raises:
        IntegrityError: If counts, order, vectors, offsets or the corpus digest disagree.
    """
    check_build(build)
    manifest = build_manifest(
        build, previous=previous, code_version=code_version, created_at=created_at, key=key
    )
    return ValidatedBuild(build, manifest)


def build_manifest(
    build: IndexBuild,
    *,
    previous: Digest | None,
    code_version: str,
    created_at: datetime,
    key: bytes | None,
) -> Manifest:
    """The manifest of a build, signed where a key is given.

    Raises:
        ValueError: If `created_at` has no time zone.
    """
    if created_at.tzinfo is None:
        raise ValueError("manifest: want a creation time with a time zone, got a naive one")
    products = sum(document.sheet is not None for document in build.documents)
    draft = Manifest(
        contract=build.contract,
        contract_digest=digests.contract_digest(build.contract),
        root=digests.root_digest(root_rows(build)),
        counts=Counts(len(build.documents), len(build.chunks), len(build.vectors), products),
        previous_generation=previous,
        code_version=code_version,
        created_at=created_at.astimezone(UTC),
        canaries=build.canaries,
        known_products=build.corpus.known_products,
        product_pattern=build.corpus.product_pattern,
        notices=build.notices,
        generation_digest=UNSIGNED,
        signature=None,
    )
    generation = digests.generation_digest(encode_manifest(draft))
    signature = None if key is None else digests.sign(generation, key)
    return dataclasses.replace(draft, generation_digest=generation, signature=signature)


def root_rows(build: IndexBuild) -> Iterator[tuple[str, ...]]:
    """What the root covers, in order: sources, then chunks, then products, each by id.

    Kind and id stand first; then text and metadata digest of a source, text, metadata and vector
    digest of a chunk, the sheet's digest of a product.
    """
    for document in sorted(build.documents, key=lambda item: item.id):
        text = digests.text_digest(document.text)
        yield "source", document.id, text, digests.source_metadata_digest(document)
    rows = zip(build.chunks, build.vectors, build.vector_keys, build.windows, strict=True)
    for chunk, vector, key, windows in sorted(rows, key=lambda row: row[0].id):
        metadata = digests.chunk_metadata_digest(chunk, vector_key=key, windows=windows)
        text = digests.text_digest(chunk.text)
        yield "chunk", chunk.id, text, metadata, digests.vector_digest(vector)
    sheets = [document.sheet for document in build.documents if document.sheet is not None]
    for sheet in sorted(sheets, key=lambda item: item.code):
        value = digests.canonical_json(digests.sheet_value(sheet))
        yield "product", sheet.code, digests.sha256_hex(value)


def verify_manifest(manifest: Manifest, *, key: bytes | None) -> None:
    """Nothing, if contract digest, generation digest and signature fit the stored fields.

    Without a key a signature is not looked at; with one it must be there and right.

    Raises:
        IntegrityError: If one of them does not fit; found and expected are named.
    """
    contract = digests.contract_digest(manifest.contract)
    if contract != manifest.contract_digest:
        # Promise 6: an index answers only under its own contract.
        raise IntegrityError(
            f"manifest: contract digest is {manifest.contract_digest}, its fields give {contract}. "
            "Run: rag ingest --rebuild"
        )
    generation = digests.generation_digest(encode_manifest(manifest))
    if generation != manifest.generation_digest:
        raise IntegrityError(
            f"manifest: generation digest is {manifest.generation_digest}, its fields give "
            f"{generation}. Run: rag ingest --rebuild"
        )
    if key is None:
        return
    if manifest.signature is None:
        # Promise 12: with a key configured, nothing unsigned is used.
        raise IntegrityError(
            "manifest: no signature, and a key is configured. "
            "Run, with the key set: rag ingest --rebuild"
        )
    expected = digests.sign(generation, key)
    if not hmac.compare_digest(manifest.signature.encode(), expected.encode()):
        raise IntegrityError(
            "manifest: its signature was not made with the configured key. Set the key that "
            "signed it, or run: rag ingest --rebuild"
        )


def contract_differences(
    index: IndexContract,
    embedding: EmbeddingContract,
    chunking: str,
    splitter: str,
    schema_version: int,
) -> tuple[str, ...]:
    """One sentence per field in which index and profile differ, both sides named; () if none.

    The corpus digest is not compared: a profile has none.
    """
    sides: list[tuple[str, object, object]] = [
        (
            f"embedding.{field.name}",
            getattr(index.embedding, field.name),
            getattr(embedding, field.name),
        )
        for field in dataclasses.fields(EmbeddingContract)
    ]
    sides += [
        ("chunking", index.chunking, chunking),
        ("splitter", index.splitter, splitter),
        ("schema_version", index.schema_version, schema_version),
    ]
    return tuple(
        f"{name}: index has {ours!r}, profile has {theirs!r}"
        for name, ours, theirs in sides
        if ours != theirs
    )
