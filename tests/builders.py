"""Builders: small valid values of our types, of which a test names only what matters to it."""

from __future__ import annotations

import dataclasses
import hashlib
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

import numpy as np

from rag_core.rules.digests import corpus_digest, embedding_key
from rag_core.rules.manifest import validate_build
from rag_core.types.chunks import Chunk
from rag_core.types.corpus import (
    Corpus,
    Document,
    Fact,
    Finding,
    Governance,
    Heading,
    ProductSheet,
    Severity,
    Span,
    Status,
)
from rag_core.types.ids import ChunkId, Digest, SourceId
from rag_core.types.index import (
    SCHEMA_VERSION,
    Canary,
    EmbeddingContract,
    IndexBuild,
    IndexContract,
    SourceText,
    ValidatedBuild,
)
from rag_core.types.retrieval import Excerpt

if TYPE_CHECKING:
    from collections.abc import Sequence


CREATED = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
EMBEDDING = EmbeddingContract(
    provider="known",
    endpoint="http://localhost:1234/v1",
    model="four-axes",
    model_digest="ab" * 32,
    dimension=4,
    document_template="{title}\n{text}",
    query_template="{text}",
)


def digest_of(text: str) -> Digest:
    """SHA-256 of the text's UTF-8 bytes."""
    return Digest(hashlib.sha256(text.encode()).hexdigest())


def make_governance(
    *,
    scope: str = "public",
    status: Status = Status.APPROVED,
    canonical: bool = True,
    valid_from: date = date(2025, 1, 1),
    valid_until: date | None = None,
    product: str | None = None,
) -> Governance:
    """An approved, canonical, public, open-ended rule from 2025-01-01."""
    return Governance(scope, status, canonical, valid_from, valid_until, product)


def make_document(
    text: str,
    *,
    id: str = "DOC",  # noqa: A002 - the field's own name
    title: str = "A title",
    sentences: Sequence[Span] | None = None,
    governance: Governance | None = None,
    language: str | None = "en",
    subject: str | None = None,
    superseded_by: str | None = None,
) -> Document:
    """A document of one sentence span unless told otherwise."""
    return Document(
        id=SourceId(id),
        title=title,
        governance=governance or make_governance(),
        text=text,
        sentences=tuple(sentences) if sentences is not None else (Span(0, len(text)),),
        headings=(),
        language=language,
        subject=subject,
        superseded_by=SourceId(superseded_by) if superseded_by else None,
        url=None,
        path=f"{id}.md",
        file_digest=digest_of(text),
    )


def make_source(
    text: str,
    *,
    id: str = "DOC",  # noqa: A002 - the field's own name
    title: str = "A title",
    sentences: Sequence[Span] | None = None,
    governance: Governance | None = None,
    language: str | None = "en",
) -> SourceText:
    """A stored document of one sentence span unless told otherwise."""
    return SourceText(
        id=SourceId(id),
        title=title,
        text=text,
        sentences=tuple(sentences) if sentences is not None else (Span(0, len(text)),),
        headings=(),
        governance=governance or make_governance(),
        language=language,
        subject=None,
        superseded_by=None,
        url=None,
        path=f"{id}.md",
        file_digest=digest_of(text),
        digest=digest_of(text),
    )


def make_excerpt(
    source: SourceText | str,
    span: Span | None = None,
    *,
    part: int = 0,
    id: str = "DOC",  # noqa: A002
) -> Excerpt:
    """An excerpt of a source (or of a bare text); the whole text unless a span is given."""
    whole = make_source(source, id=id) if isinstance(source, str) else source
    place = span or Span(0, len(whole.text))
    return Excerpt(
        chunk_id=ChunkId(f"{whole.id}#{part}"),
        span=place,
        text=whole.text[place.start : place.end],
        source=whole,
    )


def make_rich_documents() -> tuple[Document, ...]:
    """Two documents and a product fact sheet in which no column of the index is empty."""
    text = "Export is in Reporting.\nSeals are blue — never red."
    rich = dataclasses.replace(
        make_document(
            text,
            id="EXPORT",
            title="Exporting, näher",
            sentences=(Span(0, 23), Span(24, len(text))),
            governance=make_governance(
                status=Status.SUPERSEDED, valid_until=date(2026, 12, 31), product="GX-200"
            ),
            subject="export",
            superseded_by="RULES",
        ),
        headings=(Heading(0, 1, "Export"), Heading(24, 2, "Seals")),
        url="https://example.invalid/export",
    )
    sheet = ProductSheet(
        "GX-200",
        "Pump GX-200",
        make_governance(product="GX-200"),
        (Fact("warranty", "24", "months", "from delivery"), Fact("colour", "blue")),
    )
    fact = "GX-200: the warranty is 24 months (from delivery)."
    product = dataclasses.replace(
        make_document(fact, id="product:GX-200", title=sheet.title, governance=sheet.governance),
        sheet=sheet,
    )
    return rich, make_document("Receipts are needed. No receipt, no money.", id="RULES"), product


def make_chunks(documents: Sequence[Document], size: int = 25) -> tuple[Chunk, ...]:
    """Windows of `size` code points without overlap."""
    return tuple(
        Chunk(
            id=ChunkId(f"{document.id}#{part}"),
            source_id=document.id,
            part=part,
            span=Span(start, min(start + size, len(document.text))),
            text=document.text[start : start + size],
            heading_path=("Top", f"Part {part}"),
            title=document.title,
            governance=document.governance,
            language=document.language,
        )
        for document in documents
        for part, start in enumerate(range(0, len(document.text), size))
    )


def make_build(
    documents: Sequence[Document] | None = None, *, embedding: EmbeddingContract = EMBEDDING
) -> IndexBuild:
    """A build whose vectors are drawn with seed 7 and whose digests fit."""
    chosen = tuple(documents) if documents is not None else make_rich_documents()
    sheets = tuple(item.sheet.code for item in chosen if item.sheet is not None)
    corpus = Corpus(chosen, tuple(sorted({*sheets, "GX-300"})), r"GX-\d+")
    chunks = make_chunks(chosen)
    generator = np.random.default_rng(7)
    shape = (len(chunks), embedding.dimension)
    return IndexBuild(
        corpus=corpus,
        chunks=chunks,
        vectors=generator.standard_normal(shape).astype(np.float32),
        vector_keys=tuple(
            embedding_key(embedding, f"{chunk.title}\n{chunk.text}") for chunk in chunks
        ),
        windows=tuple(1 + index % 2 for index in range(len(chunks))),
        contract=IndexContract(
            embedding, "chars-25", "plain", SCHEMA_VERSION, corpus_digest(corpus)
        ),
        canaries=(Canary("a canary", np.ones(embedding.dimension, dtype=np.float32)),),
        notices=(Finding(Severity.NOTICE, "unknown_format", "a.bin", "not read", None, "id"),),
    )


def make_validated(
    documents: Sequence[Document] | None = None,
    *,
    previous: Digest | None = None,
    key: bytes | None = None,
) -> ValidatedBuild:
    """A build ready to commit, created at `CREATED` by code version 0.1.0."""
    return validate_build(
        make_build(documents),
        previous=previous,
        code_version="0.1.0",
        created_at=CREATED,
        key=key,
    )


def make_plain_documents(count: int, word: str = "alpha") -> tuple[Document, ...]:
    """Documents DOC-0000, DOC-0001, … of three chunks each, all saying `word`."""
    return tuple(
        make_document(
            f"{word} number {index:04d} says {word}, and {word} again and again.",
            id=SourceId(f"DOC-{index:04d}"),
        )
        for index in range(count)
    )
