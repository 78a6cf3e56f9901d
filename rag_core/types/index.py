"""What an index is: its contract, its manifest, its rows, and the stages of building one."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from rag_core.types.chunks import Chunk
from rag_core.types.corpus import Corpus, Document, Finding, Governance, Heading, Span
from rag_core.types.ids import ChunkId, Digest, SourceId

if TYPE_CHECKING:
    from rag_core.types.chunks import FloatMatrix, FloatVector

SCHEMA_VERSION = 1
"""Version of the SQLite tables; part of the contract."""

METRIC = "cosine"


@dataclass(frozen=True, slots=True)
class EmbeddingContract:
    """What decides whether two vectors lie in one space."""

    provider: str
    endpoint: str | None
    """Without credentials and query; None for the embedded model."""
    model: str
    model_digest: str | None
    """As the provider reports it; SHA-256 of the weights for the embedded model."""
    dimension: int
    document_template: str
    query_template: str
    metric: str = METRIC


@dataclass(frozen=True, slots=True)
class IndexContract:
    """The reproducible part of a manifest; compared field by field at every answer."""

    embedding: EmbeddingContract
    chunking: str
    splitter: str
    schema_version: int
    corpus_digest: Digest


@dataclass(frozen=True, slots=True, eq=False)
class Canary:
    """A fixed text and its vector at ingest, shape (dimension,), float32."""

    text: str
    vector: FloatVector = field(repr=False)


@dataclass(frozen=True, slots=True)
class Counts:
    """Rows of the truth tables."""

    sources: int
    chunks: int
    vectors: int
    products: int


@dataclass(frozen=True, slots=True, eq=False)
class Manifest:
    """Says what an index holds, under which contract, and which generation it is."""

    contract: IndexContract
    contract_digest: Digest
    root: Digest
    """SHA-256 over the ordered id, text, metadata and vector digests of all rows."""
    counts: Counts
    previous_generation: Digest | None
    code_version: str
    created_at: datetime
    """UTC."""
    canaries: tuple[Canary, ...]
    known_products: tuple[str, ...]
    product_pattern: str | None
    notices: tuple[Finding, ...]
    generation_digest: Digest
    signature: str | None
    """HMAC-SHA-256 of the generation digest, hexadecimal, where a key is configured."""


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk's row without its text and vector; its metadata digest has been verified."""

    id: ChunkId
    source_id: SourceId
    part: int
    span: Span
    heading_path: tuple[str, ...]
    title: str
    governance: Governance
    language: str | None
    text_digest: Digest
    vector_digest: Digest
    vector_key: Digest
    windows: int


@dataclass(frozen=True, slots=True)
class SourceText:
    """A stored document as gate, publishing and citations need it; digest verified."""

    id: SourceId
    title: str
    text: str
    sentences: tuple[Span, ...]
    headings: tuple[Heading, ...]
    governance: Governance
    language: str | None
    subject: str | None
    superseded_by: SourceId | None
    url: str | None
    path: str
    file_digest: Digest
    digest: Digest
    """SHA-256 of the normalised text."""


@dataclass(frozen=True, slots=True, eq=False)
class IndexBuild:
    """All rows of a future index in memory, not validated yet.

    `vectors` has shape (len(chunks), dimension), float32, row i belonging to `chunks[i]`;
    chunks are in ordinal order of source id, then by part.
    """

    corpus: Corpus
    chunks: tuple[Chunk, ...]
    vectors: FloatMatrix
    vector_keys: tuple[Digest, ...]
    windows: tuple[int, ...]
    contract: IndexContract
    canaries: tuple[Canary, ...]
    notices: tuple[Finding, ...]

    @property
    def documents(self) -> tuple[Document, ...]:
        """The documents of the corpus, in ordinal order of id."""
        return self.corpus.documents


@dataclass(frozen=True, slots=True, eq=False)
class ValidatedBuild:
    """A build whose counts, vectors and digests were checked; the only thing a store commits."""

    build: IndexBuild
    manifest: Manifest


@dataclass(frozen=True, slots=True)
class StageRef:
    """Points at a staged artifact; tasks exchange these and never the content."""

    kind: str
    digest: Digest
    """Of the artifact's input and of the rules that made it."""
    path: str
    """Relative to the state root, with forward slashes."""
    rows: int
