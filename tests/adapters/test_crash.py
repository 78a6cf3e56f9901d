"""Real child processes killed with SIGKILL: in a commit, and between the writes of a stage."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from builders import digest_of, make_plain_documents, make_validated
from rag_core.adapters.sqlite_index import SqliteIndex
from rag_core.adapters.stages import StageFolder

TESTS = Path(__file__).resolve().parent.parent
OLD, NEW = "alpha", "beta"

# The child kills itself when SQLite is about to run the nth statement that begins so.
COMMIT_AND_DIE = """
import os, signal, sqlite3, sys
from pathlib import Path
from builders import make_plain_documents, make_validated
from rag_core.adapters import sqlite_connection
from rag_core.adapters.sqlite_index import SqliteIndex

path, start, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
seen = 0

def trace(statement):
    global seen
    if statement.startswith(start):
        seen += 1
        if seen == count:
            os.kill(os.getpid(), signal.SIGKILL)

connect = sqlite3.connect

def traced(*args, **settings):
    connection = connect(*args, **settings)
    connection.set_trace_callback(trace)
    return connection

sqlite_connection.sqlite3.connect = traced
SqliteIndex(path, key=None).commit(make_validated(make_plain_documents(40, "beta")))
"""

COMMIT_SLOWLY = """
import sys, time
from pathlib import Path
from builders import make_plain_documents, make_validated
from rag_core.adapters import sqlite_values
from rag_core.adapters.sqlite_index import SqliteIndex

insert = sqlite_values.insert

def slowly(connection, table, rows):
    def one_by_one():
        for row in rows:
            yield row
            print(table, flush=True)
            time.sleep(0.01)
    insert(connection, table, one_by_one())

sqlite_values.insert = slowly
SqliteIndex(Path(sys.argv[1]), key=None).commit(make_validated(make_plain_documents(40, "beta")))
"""

COMMIT_AT_FULL_SPEED = """
import sys
from pathlib import Path
from builders import make_plain_documents, make_validated
from rag_core.adapters.sqlite_index import SqliteIndex

validated = make_validated(make_plain_documents(1500, "beta"))
print("ready", flush=True)
SqliteIndex(Path(sys.argv[1]), key=None).commit(validated)
"""

# Puts batches; dies in the middle of the file that is named by its number.
STAGE_AND_DIE = """
import os, signal, sys
from pathlib import Path
import numpy as np
from builders import digest_of
from rag_core.adapters import durable
from rag_core.adapters.stages import StageFolder
from rag_core.types.chunks import EmbeddedBatch

root, where, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
calls = 0
real = {"fsync": os.fsync, "replace": Path.replace, "unlink": Path.unlink}

def dying(name):
    def call(*args, **settings):
        global calls
        calls += 1
        if calls == count:
            os.kill(os.getpid(), signal.SIGKILL)
        return real[name](*args, **settings)
    return call

stages = StageFolder(root)
(root / "vectors").mkdir(parents=True, exist_ok=True)
if where == "fsync":
    os.fsync = dying("fsync")
else:
    setattr(Path, where, dying(where))
for number in range(3):
    vector = np.full((1, 4), number + 1, dtype=np.float32)
    stages.put_vectors(EmbeddedBatch((digest_of(str(number)),), vector, (1,)))
stages.merge_vectors()
"""


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": f"{TESTS}{os.pathsep}{TESTS.parent}"}
    command = [sys.executable, "-c", script, *(str(item) for item in arguments)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def run(script: str, *arguments: object) -> int:
    with start(script, *arguments) as process:
        return process.wait(timeout=60)


def generation(path: Path) -> str:
    """The first word of every chunk's text, all bytes verified; fails on a mixture."""
    with SqliteIndex(path, key=None).open() as snapshot:
        ids = [chunk.id for chunk in snapshot.chunks()]
        texts = snapshot.texts(ids)
        snapshot.vectors(ids)
        found = {word for text in texts for word in (OLD, NEW) if word in text}
        assert len(found) == 1
        return found.pop()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An index of the old generation, with a table of another module beside it."""
    path = tmp_path / "index.sqlite"
    SqliteIndex(path, key=None).commit(make_validated(make_plain_documents(30, OLD)))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE notes (body TEXT)")
        connection.execute("INSERT INTO notes VALUES ('kept')")
    return path


@pytest.mark.parametrize(
    ("statement", "count"),
    [
        pytest.param("PRAGMA", 1, id="at the first setting"),
        pytest.param("BEGIN", 1, id="before the transaction"),
        pytest.param("DELETE FROM rag_sources", 1, id="before sources are deleted"),
        pytest.param("INSERT INTO rag_sources", 1, id="after everything was deleted"),
        pytest.param("INSERT INTO rag_sources", 20, id="in the middle of sources"),
        pytest.param("INSERT INTO rag_chunks", 50, id="in the middle of chunks"),
        pytest.param("INSERT INTO rag_chunk_texts", 1, id="before texts"),
        pytest.param("INSERT INTO rag_vectors", 119, id="before the last vector"),
        pytest.param("INSERT INTO rag_manifest", 1, id="before the manifest"),
        pytest.param("SELECT * FROM rag_manifest", 1, id="before rows are read back"),
        pytest.param("COMMIT", 1, id="before the commit"),
    ],
)
def test_killed_anywhere_before_its_end_a_commit_leaves_the_previous_index(path, statement, count):
    assert run(COMMIT_AND_DIE, path, statement, count) == -signal.SIGKILL
    assert generation(path) == OLD
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT body FROM notes").fetchall() == [("kept",)]
    assert run(COMMIT_AND_DIE, path, "never", 1) == 0  # the next ingest is not hindered
    assert generation(path) == NEW


def test_killed_after_its_end_a_commit_stays(path):
    checkpoint = "PRAGMA wal_checkpoint"
    assert run(COMMIT_AND_DIE, path, checkpoint, 1) == -signal.SIGKILL
    assert generation(path) == NEW


def test_readers_answer_from_the_previous_index_during_a_commit_and_after_its_kill(path):
    with start(COMMIT_SLOWLY, path) as process:
        assert process.stdout is not None
        while process.stdout.readline() != "rag_vectors\n":
            assert process.poll() is None
        assert generation(path) == OLD
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    assert generation(path) == OLD


@pytest.mark.slow
def test_killed_at_any_moment_of_a_large_commit_one_whole_generation_answers(path):
    outcomes = []
    for step in range(8):
        with start(COMMIT_AT_FULL_SPEED, path) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.04 * step)
            process.kill()
            process.wait()
        outcomes.append(generation(path))
        SqliteIndex(path, key=None).commit(make_validated(make_plain_documents(30, OLD)))
    assert OLD in outcomes


def test_a_first_ingest_that_was_killed_leaves_no_index_and_the_next_one_works(tmp_path):
    path = tmp_path / "new" / "index.sqlite"
    assert run(COMMIT_AND_DIE, path, "INSERT INTO rag_chunks", 5) == -signal.SIGKILL
    assert run(COMMIT_AND_DIE, path, "never", 1) == 0
    assert generation(path) == NEW


@pytest.mark.parametrize(
    ("where", "count", "kept"),
    [
        pytest.param("fsync", 1, 0, id="before the first file is durable"),
        pytest.param("replace", 1, 0, id="before the first rename"),
        pytest.param("replace", 2, 1, id="before the second rename"),
        pytest.param("fsync", 4, 2, id="after the second rename"),
        pytest.param("replace", 4, 3, id="before the shard is renamed"),
        pytest.param("unlink", 1, 3, id="after the shard, before a part is deleted"),
        pytest.param("unlink", 2, 3, id="after one part is deleted"),
    ],
)
def test_killed_between_stage_writes_every_finished_batch_is_found(tmp_path, where, count, kept):
    root = tmp_path / "stages"
    assert run(STAGE_AND_DIE, root, where, count) == -signal.SIGKILL
    stages = StageFolder(root)
    stages.clean_temporary()
    assert not list(root.rglob("*.tmp"))
    keys = [digest_of(str(number)) for number in range(3)]
    found = stages.find_vectors(keys)
    assert {key: vector.tolist() for key, vector in found.items()} == {
        key: [number + 1.0] * 4 for number, key in enumerate(keys[:kept])
    }
    assert run(STAGE_AND_DIE, root, "replace", 99) == 0  # the next run completes the work
    assert set(StageFolder(root).find_vectors(keys)) == set(keys)


def test_killed_between_stage_writes_the_previous_index_still_answers(path):
    root = path.parent / "stages"
    assert run(STAGE_AND_DIE, root, "replace", 2) == -signal.SIGKILL
    assert generation(path) == OLD
