"""A corpus: files as read, documents as understood, and what was found wrong on the way."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from rag_core.types.ids import Digest, SourceId


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A half-open range of code points, `start <= end`, in the text that the context names."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise ValueError(f"span: want 0 <= start <= end, got {self.start}..{self.end}")

    def __len__(self) -> int:
        return self.end - self.start


class Status(StrEnum):
    """Where a document stands in its life."""

    DRAFT = "draft"
    APPROVED = "approved"
    SUPERSEDED = "superseded"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class Governance:
    """The fields that decide whether a text may answer a question. Dates are plain days."""

    scope: str
    status: Status
    canonical: bool
    valid_from: date
    valid_until: date | None = None
    """Last valid day, inclusive; open when absent."""
    product: str | None = None


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a document: where its line starts, its level from 1, its plain text."""

    start: int
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of the corpus folder as bytes, not understood yet."""

    path: str
    """Relative to the corpus folder, with forward slashes."""
    content: bytes


@dataclass(frozen=True, slots=True)
class Fact:
    """One named fact of a product, rendered as `CODE: the NAME is VALUE UNIT (NOTE)`."""

    name: str
    value: str
    unit: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class ProductSheet:
    """A product and its facts; becomes the document `product:CODE`."""

    code: str
    title: str
    governance: Governance
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A governed text, normalised, with the spans that chunking, gate and proposer share."""

    id: SourceId
    title: str
    governance: Governance
    text: str
    """NFC, LF line ends, no control characters but tab and LF."""
    sentences: tuple[Span, ...]
    """Sentence spans in `text`: ordered, disjoint, without surrounding white space."""
    headings: tuple[Heading, ...]
    language: str | None
    """BCP 47 primary tag as declared; None when undeclared."""
    subject: str | None
    superseded_by: SourceId | None
    url: str | None
    path: str
    file_digest: Digest
    """SHA-256 of the original file's bytes; not part of the corpus digest."""
    sheet: ProductSheet | None = None


@dataclass(frozen=True, slots=True)
class Corpus:
    """Everything that an ingest reads: documents in ordinal order of id, and the product rules."""

    documents: tuple[Document, ...]
    known_products: tuple[str, ...]
    """Codes with a sheet or listed in `corpus.yaml`, in ordinal order."""
    product_pattern: str | None
    """A regular expression whose whole-token matches in a question must be known products."""


class Severity(StrEnum):
    """An error stops the ingest before any embedding; a notice is shown and kept."""

    ERROR = "error"
    NOTICE = "notice"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing wrong or remarkable in the corpus."""

    severity: Severity
    code: str
    """Stable, in snake case, such as `duplicate_id`; documented in the data dictionary."""
    path: str
    message: str
    line: int | None = None
    field: str | None = None
