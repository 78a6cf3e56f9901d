"""A manifest as plain values for JSON and SQL columns, and back."""

from __future__ import annotations

import base64
import dataclasses
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from rag_core.errors import IntegrityError
from rag_core.rules.digests import vector_bytes
from rag_core.types.corpus import Finding, Severity
from rag_core.types.ids import Digest
from rag_core.types.index import Canary, Counts, EmbeddingContract, IndexContract, Manifest

if TYPE_CHECKING:
    from collections.abc import Mapping


class _Boundary(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class _CanaryFields(_Boundary):
    text: str
    vector: str


class _NoticeFields(_Boundary):
    severity: str
    code: str
    path: str
    message: str
    line: int | None
    field: str | None


class _ManifestFields(_Boundary):
    """A manifest as it is stored: one field per column of `rag_manifest`."""

    provider: str
    endpoint: str | None
    model: str
    model_digest: str | None
    dimension: int
    metric: str
    document_template: str
    query_template: str
    chunking: str
    splitter: str
    schema_version: int
    corpus_digest: str
    contract_digest: str
    root: str
    source_count: int
    chunk_count: int
    vector_count: int
    product_count: int
    previous_generation: str | None
    code_version: str
    created_at: str
    canaries: list[_CanaryFields]
    known_products: list[str]
    product_pattern: str | None
    notices: list[_NoticeFields]
    generation_digest: str
    signature: str | None


def encode_manifest(manifest: Manifest) -> dict[str, object]:
    """The manifest as plain values for JSON, canary vectors as Base64 of float32."""
    contract, counts = manifest.contract, manifest.counts
    return {
        **dataclasses.asdict(contract.embedding),
        "chunking": contract.chunking,
        "splitter": contract.splitter,
        "schema_version": contract.schema_version,
        "corpus_digest": contract.corpus_digest,
        "contract_digest": manifest.contract_digest,
        "root": manifest.root,
        "source_count": counts.sources,
        "chunk_count": counts.chunks,
        "vector_count": counts.vectors,
        "product_count": counts.products,
        "previous_generation": manifest.previous_generation,
        "code_version": manifest.code_version,
        "created_at": manifest.created_at.astimezone(UTC).isoformat(),
        "canaries": [
            {
                "text": canary.text,
                "vector": base64.b64encode(vector_bytes(canary.vector)).decode("ascii"),
            }
            for canary in manifest.canaries
        ],
        "known_products": list(manifest.known_products),
        "product_pattern": manifest.product_pattern,
        "notices": [
            {**dataclasses.asdict(notice), "severity": notice.severity.value}
            for notice in manifest.notices
        ],
        "generation_digest": manifest.generation_digest,
        "signature": manifest.signature,
    }


def decode_manifest(fields: Mapping[str, object]) -> Manifest:
    """The manifest that `encode_manifest` was given; its digests are not checked here.

    Raises:
        IntegrityError: If a field is missing, unknown or malformed.
    """
    try:
        return _manifest(_ManifestFields.model_validate(dict(fields)))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        problem = f"field {place}: {first['msg']}"
    except ValueError as error:
        problem = str(error)
    raise IntegrityError(f"manifest: {problem}. Run: rag ingest --rebuild")


def _manifest(raw: _ManifestFields) -> Manifest:
    embedding = EmbeddingContract(
        provider=raw.provider,
        endpoint=raw.endpoint,
        model=raw.model,
        model_digest=raw.model_digest,
        dimension=raw.dimension,
        document_template=raw.document_template,
        query_template=raw.query_template,
        metric=raw.metric,
    )
    previous = raw.previous_generation
    return Manifest(
        contract=IndexContract(
            embedding, raw.chunking, raw.splitter, raw.schema_version, Digest(raw.corpus_digest)
        ),
        contract_digest=Digest(raw.contract_digest),
        root=Digest(raw.root),
        counts=Counts(raw.source_count, raw.chunk_count, raw.vector_count, raw.product_count),
        previous_generation=None if previous is None else Digest(previous),
        code_version=raw.code_version,
        created_at=_utc(raw.created_at),
        canaries=tuple(_canary(item, raw.dimension) for item in raw.canaries),
        known_products=tuple(raw.known_products),
        product_pattern=raw.product_pattern,
        notices=tuple(
            Finding(Severity(item.severity), **item.model_dump(exclude={"severity"}))
            for item in raw.notices
        ),
        generation_digest=Digest(raw.generation_digest),
        signature=raw.signature,
    )


def _utc(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"field created_at: want a time zone, got {text!r}")
    return moment.astimezone(UTC)


def _canary(raw: _CanaryFields, dimension: int) -> Canary:
    content = base64.b64decode(raw.vector, validate=True)
    if len(content) != dimension * 4:
        raise ValueError(
            f"field canaries: a vector has {len(content)} bytes, expected {dimension * 4}"
        )
    return Canary(raw.text, np.frombuffer(content, dtype="<f4").astype(np.float32))
