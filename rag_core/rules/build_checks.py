"""What must hold of a build before a store may commit it (promise 8)."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from rag_core.errors import IntegrityError
from rag_core.rules.digests import corpus_digest

if TYPE_CHECKING:
    from rag_core.types.chunks import Chunk
    from rag_core.types.corpus import Document
    from rag_core.types.index import IndexBuild

_NEXT = "The live index is unchanged. Run: rag ingest --rebuild"


def check_build(build: IndexBuild) -> None:
    """Nothing, if the build holds together.

    Raises:
        IntegrityError: If counts disagree, ids are out of order or not unique, a chunk's text
            does not stand at its offsets, a vector is not finite, zero or of another dimension,
            or the contract names another corpus.
    """
    _check_counts(build)
    _check_documents(build)
    _check_chunks(build)
    _check_vectors(build)
    _check_canaries(build)
    found = corpus_digest(build.corpus)
    if found != build.contract.corpus_digest:
        raise _broken("corpus digest", found, build.contract.corpus_digest)


def _broken(what: str, found: object, expected: object) -> IntegrityError:
    return IntegrityError(f"build: {what}: found {found}, expected {expected}. {_NEXT}")


def _check_counts(build: IndexBuild) -> None:
    expected = len(build.chunks)
    for what, found in (
        ("vectors", len(build.vectors)),
        ("vector keys", len(build.vector_keys)),
        ("window counts", len(build.windows)),
    ):
        if found != expected:
            raise _broken(f"number of {what}", found, f"{expected}, one per chunk")
    too_small = [
        chunk.id for chunk, count in zip(build.chunks, build.windows, strict=True) if count < 1
    ]
    if too_small:
        raise _broken(f"token windows of chunk {too_small[0]}", "none", "at least 1")


def _check_documents(build: IndexBuild) -> None:
    for before, after in pairwise(document.id for document in build.documents):
        if before >= after:
            raise _broken("order of documents", f"{after} after {before}", "ascending unique ids")
    codes = [document.sheet.code for document in build.documents if document.sheet is not None]
    for code, count in Counter(codes).items():
        if count > 1:
            raise _broken(f"sheets of product {code}", count, 1)
        if code not in build.corpus.known_products:
            raise _broken("known products", "none", f"{code}, which has a sheet")


def _check_chunks(build: IndexBuild) -> None:
    documents = {document.id: document for document in build.documents}
    for before, after in pairwise((chunk.source_id, chunk.part) for chunk in build.chunks):
        if before >= after:
            found = f"{after[0]}#{after[1]} after {before[0]}#{before[1]}"
            raise _broken("order of chunks", found, "ascending by source, then part")
    parts: dict[str, int] = {}
    for chunk in build.chunks:
        document = documents.get(chunk.source_id)
        if document is None:
            raise _broken(f"document of chunk {chunk.id}", "none", chunk.source_id)
        expected = parts.get(chunk.source_id, 0)
        if chunk.part != expected:
            raise _broken(f"part of chunk {chunk.id}", chunk.part, expected)
        parts[chunk.source_id] = expected + 1
        _check_chunk(chunk, document)
    for document in build.documents:
        # A source that no chunk leads to would be listed and never found.
        if document.text.strip() and document.id not in parts:
            raise _broken(f"chunks of document {document.id}", 0, "at least 1")


def _check_chunk(chunk: Chunk, document: Document) -> None:
    if chunk.id != f"{chunk.source_id}#{chunk.part}":
        raise _broken("chunk id", chunk.id, f"{chunk.source_id}#{chunk.part}")
    # Promise 1: what is published is cut by these offsets.
    if not chunk.text or document.text[chunk.span.start : chunk.span.end] != chunk.text:
        place = f"{chunk.span.start}..{chunk.span.end}"
        raise _broken(f"text of chunk {chunk.id}", "another text", f"{document.id}[{place}]")
    # Promise 2: a chunk is as eligible as its document, no more.
    for what, found, expected in (
        ("governance", chunk.governance, document.governance),
        ("title", chunk.title, document.title),
        ("language", chunk.language, document.language),
    ):
        if found != expected:
            raise _broken(f"{what} of chunk {chunk.id}", found, expected)


def _check_vectors(build: IndexBuild) -> None:
    expected = (len(build.chunks), build.contract.embedding.dimension)
    if build.vectors.shape != expected:
        raise _broken("shape of the vectors", build.vectors.shape, expected)
    if build.vectors.dtype != np.float32:
        raise _broken("type of the vectors", build.vectors.dtype, "float32")
    for wrong, what in (
        (~np.isfinite(build.vectors).all(axis=1), "not finite"),
        (~build.vectors.any(axis=1), "zero"),
    ):
        if wrong.any():
            chunk = build.chunks[int(np.argmax(wrong))]
            raise _broken(f"vector of chunk {chunk.id}", what, "finite, not zero")


def _check_canaries(build: IndexBuild) -> None:
    expected = (build.contract.embedding.dimension,)
    for canary in build.canaries:
        if canary.vector.shape != expected:
            raise _broken("shape of a canary's vector", canary.vector.shape, expected)
        if not np.isfinite(canary.vector).all() or not canary.vector.any():
            raise _broken("a canary's vector", "not finite, or zero", "finite, not zero")
