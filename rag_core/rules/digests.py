"""Digests: what is hashed, and how, so that equal content gives equal digests on every machine.

All digests are SHA-256 in lower-case hexadecimal over canonical JSON or, for vectors, over
little-endian float32 bytes. A change of any function here changes stored digests: raise
`SCHEMA_VERSION` with it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import json
from datetime import date
from typing import TYPE_CHECKING

import numpy as np

from rag_core.types.ids import Digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rag_core.types.chunks import Chunk, FloatVector
    from rag_core.types.corpus import Corpus, Document, Governance, ProductSheet
    from rag_core.types.index import EmbeddingContract, IndexContract, SourceText, StoredChunk


def _plain(value: object) -> str:
    if isinstance(value, date):  # datetime too
        return value.isoformat()
    raise TypeError(f"canonical JSON: no rule for {type(value).__name__}")


_ENCODER = json.JSONEncoder(
    sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_plain
)


def canonical_json(value: object) -> bytes:
    """The one JSON text of a value: sorted keys, UTF-8, no spaces, ISO dates.

    Texts are taken as they are; normalization has made them NFC.

    Raises:
        TypeError: If the value holds something that JSON and this rule do not know.
        ValueError: If it holds NaN, an infinity or a lone surrogate.
    """
    return _ENCODER.encode(value).encode("utf-8")


def sha256_hex(content: bytes) -> Digest:
    """SHA-256 of bytes."""
    return Digest(hashlib.sha256(content).hexdigest())


def text_digest(text: str) -> Digest:
    """SHA-256 of a text's UTF-8 bytes."""
    return sha256_hex(text.encode("utf-8"))


def vector_bytes(vector: FloatVector) -> bytes:
    """A vector as it is stored and hashed: float32, little-endian, no header."""
    return np.ascontiguousarray(vector, dtype="<f4").tobytes()


def vector_digest(vector: FloatVector) -> Digest:
    """SHA-256 of a vector's stored bytes."""
    return sha256_hex(vector_bytes(vector))


def sheet_value(sheet: ProductSheet) -> dict[str, object]:
    """A product sheet as plain values for JSON; the form that is stored, hashed and shown."""
    return {
        "code": sheet.code,
        "title": sheet.title,
        "facts": [dataclasses.asdict(fact) for fact in sheet.facts],
        **governance_value(sheet.governance),
    }


def governance_value(governance: Governance) -> dict[str, object]:
    """The governance fields as plain values for JSON."""
    return {
        "scope": governance.scope,
        "status": governance.status.value,
        "canonical": governance.canonical,
        "valid_from": governance.valid_from,
        "valid_until": governance.valid_until,
        "product": governance.product,
    }


def document_metadata(document: Document) -> dict[str, object]:
    """All that an author declared of a document, as plain values for JSON.

    Path and file digest stay out: the same text in LF, CRLF or with a BOM is the same document.
    """
    sheet = document.sheet
    return {
        "id": document.id,
        "title": document.title,
        **governance_value(document.governance),
        "subject": document.subject,
        "superseded_by": document.superseded_by,
        "url": document.url,
        "language": document.language,
        "sheet": None if sheet is None else sheet_value(sheet),
    }


def corpus_digest(corpus: Corpus) -> Digest:
    """Digest of governance fields, facts, normalised texts and product rules; order is ignored."""
    documents = sorted(corpus.documents, key=lambda document: document.id)
    return sha256_hex(
        canonical_json(
            {
                "documents": [
                    {"metadata": document_metadata(item), "text": text_digest(item.text)}
                    for item in documents
                ],
                "known_products": sorted(corpus.known_products),
                "product_pattern": corpus.product_pattern,
            }
        )
    )


def source_metadata_digest(source: Document | SourceText) -> Digest:
    """Digest of a `rag_sources` row but for its text: metadata, path, file, spans, headings."""
    return sha256_hex(
        canonical_json(
            {
                "id": source.id,
                "title": source.title,
                **governance_value(source.governance),
                "subject": source.subject,
                "superseded_by": source.superseded_by,
                "url": source.url,
                "language": source.language,
                "path": source.path,
                "file_digest": source.file_digest,
                "sentences": [[span.start, span.end] for span in source.sentences],
                "headings": [[item.start, item.level, item.text] for item in source.headings],
            }
        )
    )


def chunk_metadata_digest(
    chunk: Chunk | StoredChunk, *, vector_key: Digest, windows: int
) -> Digest:
    """Digest of a `rag_chunks` row: every column but the digests of text and vector."""
    return sha256_hex(
        canonical_json(
            {
                "id": chunk.id,
                "source_id": chunk.source_id,
                "part": chunk.part,
                "span": [chunk.span.start, chunk.span.end],
                "heading_path": chunk.heading_path,
                "title": chunk.title,
                **governance_value(chunk.governance),
                "language": chunk.language,
                "vector_key": vector_key,
                "windows": windows,
            }
        )
    )


def embedding_key(contract: EmbeddingContract, rendered: str) -> Digest:
    """The key of a vector: its embedding contract and SHA-256 of the rendered input."""
    value = {"embedding": dataclasses.asdict(contract), "text": text_digest(rendered)}
    return sha256_hex(canonical_json(value))


def input_digest(rules: str, inputs: Iterable[tuple[str, str]]) -> Digest:
    """The key of a staged artifact: the rules that make it, and its inputs in their order.

    Args:
        rules: Names and versions of the rules.
        inputs: (name, digest) of each input.
    """
    return sha256_hex(canonical_json({"rules": rules, "inputs": list(inputs)}))


def root_digest(rows: Iterable[Sequence[str]]) -> Digest:
    """SHA-256 over an ordered list of rows, each a kind, an id and its digests.

    Every field carries its length (as netstrings do), so that no two lists of rows run together
    into the same bytes.
    """
    digest = hashlib.sha256()
    for row in rows:
        line = "".join(f"{len(field)}:{field}," for field in row)
        digest.update(f"{line}\n".encode())
    return Digest(digest.hexdigest())


def contract_digest(contract: IndexContract) -> Digest:
    """Digest of the reproducible part of a manifest."""
    return sha256_hex(canonical_json(dataclasses.asdict(contract)))


def generation_digest(fields: dict[str, object]) -> Digest:
    """Digest of a whole encoded manifest, but for this digest and its signature.

    It thereby covers contract digest, root, counts, previous generation, code version, creation
    time, canaries, product rules and notices, and every field that is added later.

    Args:
        fields: What `rules.manifest.encode_manifest` gives.
    """
    covered = {
        name: value
        for name, value in fields.items()
        if name not in {"generation_digest", "signature"}
    }
    return sha256_hex(canonical_json(covered))


def sign(generation: Digest, key: bytes) -> str:
    """HMAC-SHA-256 of a generation digest, hexadecimal (promise 12)."""
    return hmac.new(key, generation.encode("ascii"), hashlib.sha256).hexdigest()
