"""Connections to the index file, and SQLite's errors in our words."""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from rag_core.errors import IntegrityError, LockedError, NoIndexError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGE_SIZE = 16384
"""Bytes; measured best for rows that are read one by one. A preference for fresh files only."""

_LOCKED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_STORAGE = {
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
}


@contextmanager
def translated_errors(where: str) -> Iterator[None]:
    """Turn what SQLite raises inside the block into our errors, naming the file.

    Raises:
        LockedError: If the file stayed locked past the busy timeout.
        UsageError: If the file or its folder cannot be written, or the disk is full.
        IntegrityError: If SQLite finds the file damaged, or rows that break a constraint.
    """
    try:
        yield
    except UnicodeDecodeError as error:  # a damaged byte in a text, as the module reports it
        raise _damaged_file(where, error) from error
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code in _LOCKED:
            raise LockedError(
                f"{where}: another process holds the database ({error}). The index is unchanged. "
                "Wait for that process to end, then repeat the command"
            ) from error
        if code in _STORAGE:
            raise UsageError(
                f"{where}: the state root cannot take or give the index ({error}). Check free "
                "space and permissions, or choose another state root with --state"
            ) from error
        raise _damaged_file(where, error) from error


def _damaged_file(where: str, error: Exception) -> IntegrityError:
    return IntegrityError(
        f"{where}: expected a sound SQLite index, found: {error}. Move the file away (other "
        "modules may have tables in it), then run: rag ingest"
    )


def connect_reader(path: Path, *, busy_timeout_s: float) -> sqlite3.Connection:
    """A connection that writes nothing and never creates the file.

    The file is opened for writing where that is allowed, because recovery after a killed writer
    needs it. In a folder that cannot be written SQLite can make no shared memory file; without a
    write-ahead log to read nobody is writing either, and the file is opened as immutable.

    Raises:
        NoIndexError: If there is no such file.
        UsageError: If something else has its name.
    """
    if path.exists() and not path.is_file():
        raise UsageError(f"{path}: not a file. Move it away, or choose another --state")
    if not path.exists():
        raise NoIndexError(no_index(path))
    wal = path.with_name(f"{path.name}-wal")
    immutable = not os.access(path.parent, os.W_OK) and not wal.exists()
    uri = f"{path.absolute().as_uri()}?{'mode=ro&immutable=1' if immutable else 'mode=rw'}"
    # A snapshot may be read from the worker thread of a task; SQLite serialises its calls.
    connection = sqlite3.connect(
        uri, uri=True, timeout=busy_timeout_s, isolation_level=None, check_same_thread=False
    )
    connection.execute("PRAGMA query_only = ON")
    return connection


def connect_writer(path: Path, *, busy_timeout_s: float) -> sqlite3.Connection:
    """A connection for a commit; file and folder are created where absent."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = not path.exists() or path.stat().st_size == 0
    except OSError as error:
        raise UsageError(
            f"{path}: cannot create the folder ({error.strerror}). "
            "Choose another state root with --state"
        ) from error
    connection = sqlite3.connect(path, timeout=busy_timeout_s, isolation_level=None)
    try:
        if fresh:  # both are ignored once a file has content
            connection.execute(f"PRAGMA page_size = {PAGE_SIZE}")
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("PRAGMA wal_autocheckpoint = 0")  # one checkpoint, after the commit
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def write_transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """BEGIN IMMEDIATE, then COMMIT, or ROLLBACK whatever went wrong (cancellation included)."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Rows of other modules may refer to ours by key: judged at COMMIT, when ours are back.
        connection.execute("PRAGMA defer_foreign_keys = ON")
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def checkpoint(connection: sqlite3.Connection) -> None:
    """Move the write-ahead log into the file if no reader is in the way; never an error."""
    with suppress(sqlite3.Error):  # the commit is durable already; the next one tries again
        connection.execute("PRAGMA busy_timeout = 0")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def no_index(path: Path) -> str:
    """The message for a state root where nothing was ingested."""
    return f"{path}: no index. Run: rag ingest"
