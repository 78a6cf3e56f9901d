"""The index in one SQLite file: verified snapshots out, whole generations in (promises 7, 8, 12).

The file may hold tables of other modules; it is never deleted or replaced.
"""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from rag_core.adapters import sqlite_connection as sqlite
from rag_core.adapters import sqlite_values
from rag_core.adapters.sqlite_checks import verify_stored
from rag_core.adapters.sqlite_rows import damaged, read_manifest
from rag_core.adapters.sqlite_schema import (
    TABLES,
    check_shape,
    create_tables,
    has_manifest_table,
)
from rag_core.adapters.sqlite_snapshot import SqliteSnapshot
from rag_core.errors import IntegrityError, NoIndexError
from rag_core.rules.manifest import verify_manifest

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path

    from rag_core.types.index import Manifest, ValidatedBuild


class SqliteIndex:
    """An `IndexStore` over one file.

    Args:
        path: The SQLite file; it need not exist before the first commit.
        key: Signing key (promise 12); with one, only generations signed with it are used.
        busy_timeout_s: How long a commit or a read waits for another process.
    """

    def __init__(self, path: Path, *, key: bytes | None, busy_timeout_s: float = 5.0) -> None:
        self._path = path
        self._key = key
        self._busy_timeout_s = busy_timeout_s

    @contextmanager
    def open(self) -> Iterator[SqliteSnapshot]:
        """A snapshot of the live generation; the transaction ends with the block.

        Raises:
            NoIndexError: If nothing was ingested.
            ContractMismatchError: If the tables have another schema version.
            IntegrityError: If manifest, counts, references, root or signature disagree.
            LockedError: If another process keeps readers out past the timeout.
        """
        where = str(self._path)
        with sqlite.translated_errors(where):
            connection = sqlite.connect_reader(self._path, busy_timeout_s=self._busy_timeout_s)
        with closing(connection):
            with sqlite.translated_errors(where):
                connection.execute("BEGIN")
                manifest = self._verified_manifest(connection)
            yield SqliteSnapshot(connection, manifest, where)

    def commit(self, validated: ValidatedBuild) -> None:
        """Replace the rows of our tables in one transaction, read back before COMMIT.

        Raises:
            LockedError: If the database stays locked past the timeout.
            ContractMismatchError: If the tables belong to another schema version.
            IntegrityError: If the manifest does not fit its own digests, or if the rows read back
                differ from it; the previous generation stays.
            UsageError: If the file cannot be written.
        """
        manifest = validated.manifest
        verify_manifest(manifest, key=self._key)
        where = str(self._path)
        with sqlite.translated_errors(where):
            connection = sqlite.connect_writer(self._path, busy_timeout_s=self._busy_timeout_s)
        with closing(connection):
            with sqlite.translated_errors(where), sqlite.write_transaction(connection):
                create_tables(connection)
                check_shape(connection, where)
                for table in reversed(tuple(TABLES)):
                    connection.execute(f"DELETE FROM {table}")  # noqa: S608 - our own names
                for table, rows in sqlite_values.build_rows(validated.build, manifest):
                    sqlite_values.insert(connection, table, rows)
                self._read_back(connection, manifest)
            sqlite.checkpoint(connection)

    def _read_back(self, connection: sqlite3.Connection, manifest: Manifest) -> None:
        # Promise 8: what is about to be committed is what was validated.
        stored = self._verified_manifest(connection)
        if stored.generation_digest != manifest.generation_digest:
            raise IntegrityError(
                f"{self._path}: manifest read back is {stored.generation_digest}, expected "
                f"{manifest.generation_digest}. The previous index is unchanged"
            )

    def _verified_manifest(self, connection: sqlite3.Connection) -> Manifest:
        where = str(self._path)
        if not has_manifest_table(connection):
            raise NoIndexError(sqlite.no_index(self._path))
        check_shape(connection, where)
        cursor = connection.execute("SELECT * FROM rag_manifest LIMIT 2")
        names = [column[0] for column in cursor.description]
        found = cursor.fetchall()
        if not found:
            raise NoIndexError(sqlite.no_index(self._path))
        if len(found) > 1:
            raise damaged(where, "rag_manifest", "more than one row", "one row")
        try:
            manifest = read_manifest(dict(zip(names, found[0], strict=True)))
            verify_manifest(manifest, key=self._key)
        except IntegrityError as error:
            raise IntegrityError(f"{where}: {error}") from error
        verify_stored(connection, manifest, where)
        return manifest
