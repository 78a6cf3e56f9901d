"""One staged Parquet artifact: written sealed, read only if the seal still fits."""

from __future__ import annotations

import hashlib
import hmac
import json
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from rag_core.adapters.durable import write_durably
from rag_core.errors import IntegrityError, UsageError
from rag_core.rules.digests import canonical_json, sha256_hex

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from rag_core.types.ids import Digest

STAGE_VERSION = 1
"""Version of the stage files; a file of another version counts as absent."""

_SEAL = b"rag.stage"
_ROWS_PER_STEP = 1_024

READ_ERRORS = (OSError, pa.ArrowException, ValueError, KeyError, TypeError)
"""What damaged Parquet raises, the decoding of its values included."""


def write_artifact(
    path: Path,
    *,
    kind: str,
    key: Digest,
    table: pa.Table,
    extra: Mapping[str, object],
    secret: bytes | None,
) -> None:
    """Write a table with its seal: kind, version, key, extra values and a digest over all.

    With a secret the digest is an HMAC (promise 12): what somebody else staged counts as absent.

    Raises:
        UsageError: If the file system refuses the file.
    """
    seal: dict[str, object] = {
        "kind": kind,
        "version": STAGE_VERSION,
        "key": key,
        "extra": dict(extra),
    }
    seal["content_digest"] = _content_digest(table, seal, secret)
    write_parquet(path, table.replace_schema_metadata({_SEAL: canonical_json(seal)}))


def read_artifact(
    path: Path, *, kind: str, key: Digest, secret: bytes | None
) -> tuple[pa.Table, dict[str, Any]]:
    """The table and the extra values, after the seal was recomputed and compared.

    Raises:
        IntegrityError: If the file is absent, unreadable, of another kind, version or key, or if
            its content differs from when it was staged.
    """
    try:
        table = read_parquet(path)
        seal = json.loads(table.schema.metadata[_SEAL])
        expected = seal.pop("content_digest")
        for name, want in (("kind", kind), ("version", STAGE_VERSION), ("key", key)):
            if seal[name] != want:
                raise ValueError(f"{name} is {seal[name]!r}, expected {want!r}")
        found = _content_digest(table, seal, secret)
        if not hmac.compare_digest(found, str(expected)):
            raise ValueError("its content digest does not fit its content")
    except READ_ERRORS as error:
        raise damaged_stage(path, error) from error
    return table, seal["extra"]


def write_parquet(path: Path, table: pa.Table) -> None:
    """Write a table durably, zstd, with page checksums.

    Raises:
        UsageError: If the file system refuses the file.
    """

    def write(handle: IO[bytes]) -> None:
        pq.write_table(table, handle, compression="zstd", write_page_checksum=True)

    with storage_errors(path):
        write_durably(path, write)


def read_parquet(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """A file's table (or some of its columns), page checksums verified.

    Raises:
        OSError: If the file cannot be read or a page fails its checksum.
        pyarrow.ArrowException: If it is no Parquet.
    """
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        return file.read(columns=columns)


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn a refusal of the file system into our error, naming the path.

    Raises:
        UsageError: If the file or folder cannot be written.
    """
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be written ({error.strerror or error}). The index is unchanged. Check "
            "free space and permissions, or choose another state root with --state"
        ) from error


def damaged_stage(path: Path, cause: object) -> IntegrityError:
    """The error for an artifact that is not what was staged."""
    reason = " ".join(str(cause).split())  # Arrow's messages may end with a line break
    return IntegrityError(f"{path}: staged artifact is damaged: {reason}. Run again: rag ingest")


def sealing(secret: bytes | None) -> hashlib._Hash | hmac.HMAC:
    """SHA-256, keyed where there is a secret."""
    return hmac.new(secret, digestmod=hashlib.sha256) if secret else hashlib.sha256()


def _content_digest(table: pa.Table, seal: Mapping[str, object], secret: bytes | None) -> str:
    digest = sealing(secret)
    digest.update(canonical_json(seal))
    for batch in table.to_batches(max_chunksize=_ROWS_PER_STEP):
        for row in batch.to_pylist():
            digest.update(canonical_json({name: _hashable(value) for name, value in row.items()}))
    return digest.hexdigest()


def _hashable(value: object) -> object:
    return sha256_hex(value) if isinstance(value, bytes) else value
