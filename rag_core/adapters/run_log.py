"""The run log: Parquet below `state/runs/`, durable before an answer is shown.

Promise 10: hits first, then verdicts; the rename of the verdicts' file is the commit.
"""

from __future__ import annotations

import re
from datetime import UTC
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from rag_core.adapters import run_log_rows
from rag_core.adapters.durable import write_durably
from rag_core.adapters.run_log_schemas import ADDED, SCHEMAS
from rag_core.errors import IntegrityError, RecordError
from rag_core.types.ids import Digest, RunId

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from rag_core.types.records import AnswerRecords, IngestRecord

_WRITE_ERRORS = (OSError, pa.ArrowException, ValueError, TypeError, OverflowError)
"""A file system that refuses, and values that Parquet cannot hold."""

_RUN_ID = re.compile(r"[A-Za-z0-9-]{1,128}")


class RunLogFolder:
    """A `RunLog` in a folder.

    Args:
        root: `runs` below the state root.
    """

    def __init__(self, root: Path) -> None:
        self._folder = root

    def write_answers(self, records: AnswerRecords) -> tuple[Path, Path]:
        """Write hits, then verdicts (whose rename is the commit); returns both paths.

        Raises:
            RecordError: If one of them could not be made durable.
        """
        hits = [run_log_rows.hit_row(record) for record in records.hits]
        verdicts = [run_log_rows.verdict_row(record) for record in records.verdicts]
        return (
            self._write("hits", records.run_id, records.started_at, hits),
            self._write("verdicts", records.run_id, records.started_at, verdicts),
        )

    def write_ingest(self, record: IngestRecord) -> Path:
        """Write one ingest.

        Raises:
            RecordError: If it could not be made durable.
        """
        rows = [run_log_rows.ingest_row(record)]
        return self._write("ingests", record.run_id, record.started_at, rows)

    def latest_generation(self) -> tuple[RunId, Digest] | None:
        """The last ingest that left a live generation: its run and generation digest.

        An `unchanged` one counts too: it found that generation live and right.

        Raises:
            IntegrityError: If a file on the way cannot be read.
        """
        for day in sorted((self._folder / "ingests").glob("date=*"), reverse=True):
            rows = [row for path in sorted(day.glob("*.parquet")) for row in _read(path)]
            live = [row for row in rows if row["outcome"] in {"committed", "unchanged"}]
            if live:
                last = max(live, key=lambda row: (row["started_at"], row["run_id"]))
                return RunId(last["run_id"]), Digest(last["generation_digest"])
        return None

    def read_run(self, run_id: RunId) -> Mapping[str, list[Mapping[str, object]]] | None:
        """Rows of a run per table (`hits`, `verdicts`, `ingests`); None if unknown.

        Raises:
            IntegrityError: If a file of the run cannot be read.
        """
        if not _RUN_ID.fullmatch(run_id):
            return None
        found: dict[str, list[Mapping[str, object]]] = {}
        for table in SCHEMAS:
            for path in sorted((self._folder / table).glob(f"date=*/{run_id}.parquet")):
                found.setdefault(table, []).extend(_read(path))
        return found or None

    def _write(
        self, table: str, run_id: RunId, started_at: datetime, rows: Sequence[Mapping[str, object]]
    ) -> Path:
        if not _RUN_ID.fullmatch(run_id):
            raise RecordError(
                f"run log: run id {run_id!r}, expected letters, digits and hyphens. "
                "Nothing was recorded"
            )
        day = started_at.astimezone(UTC).date().isoformat()
        path = self._folder / table / f"date={day}" / f"{run_id}.parquet"

        def write(handle: IO[bytes]) -> None:
            content = pa.Table.from_pylist(rows, schema=SCHEMAS[table])
            pq.write_table(content, handle, compression="zstd")

        try:
            write_durably(path, write)
        except _WRITE_ERRORS as error:
            raise RecordError(
                f"{path}: the record could not be written ({error}), so nothing is shown. Check "
                "free space and permissions, or choose another state root with --state"
            ) from error
        return path


def _read(path: Path) -> list[dict[str, Any]]:
    try:
        with pq.ParquetFile(path) as file:
            rows: list[dict[str, Any]] = file.read().to_pylist()
            told = (file.schema_arrow.metadata or {}).get(b"rag.schema_version", b"1")
            version = int(told)
    except (OSError, pa.ArrowException, ValueError) as error:
        raise IntegrityError(
            f"{path}: run log file cannot be read: {error}. Move it away, or restore it from a "
            "backup, and repeat the command"
        ) from error
    expected = set(SCHEMAS[path.parent.parent.name].names)
    later = frozenset[str]().union(*(ADDED[v] for v in ADDED if v > version))
    missing = sorted(expected.difference(later, *rows)) if rows else []
    if missing:
        raise IntegrityError(
            f"{path}: not a file of this run log, column {missing[0]!r} is missing. Move it away "
            "and repeat the command"
        )
    return [dict.fromkeys(later & expected) | row for row in rows]
