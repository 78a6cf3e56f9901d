from __future__ import annotations

import dataclasses
import os
import sqlite3
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from builders import (
    digest_of,
    make_document,
    make_plain_documents,
    make_rich_documents,
    make_validated,
)
from rag_core.adapters import sqlite_values
from rag_core.adapters.sqlite_index import SqliteIndex
from rag_core.adapters.sqlite_schema import TABLES, columns
from rag_core.errors import (
    ContractMismatchError,
    IntegrityError,
    LockedError,
    NoIndexError,
    RagError,
    UsageError,
)
from rag_core.types.ids import ChunkId, SourceId

if TYPE_CHECKING:
    from pathlib import Path

    from rag_core.adapters.sqlite_snapshot import SqliteSnapshot

KEY = b"a signing key of the tests"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the index of a test lies; nothing is there yet."""
    return tmp_path / "state" / "index.sqlite"


def committed(path: Path, *, key: bytes | None = None, **settings: Any) -> SqliteIndex:
    index = SqliteIndex(path, key=key, busy_timeout_s=0.2)
    index.commit(make_validated(key=key, **settings))
    return index


def edit(path: Path, *statements: str) -> None:
    """Change rows as an attacker would: without constraints."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for statement in statements:
            connection.execute(statement)


def use_everything(index: SqliteIndex) -> None:
    """Read every byte that the port can give."""
    with index.open() as snapshot:
        chunks = snapshot.chunks()
        ids = [chunk.id for chunk in chunks]
        snapshot.texts(ids)
        snapshot.vectors(ids)
        snapshot.vectors_by_key([chunk.vector_key for chunk in chunks])
        for source_id in snapshot.source_ids():
            snapshot.source(source_id)
        snapshot.product("GX-200")


def words(snapshot: SqliteSnapshot) -> set[str]:
    ids = [chunk.id for chunk in snapshot.chunks()]
    return {text.split()[0] for text in snapshot.texts(ids) if text.startswith(("alpha", "beta"))}


# --- What was committed is what is read ---------------------------------------------------------


def test_every_chunk_reads_back_equal(path):
    build = make_validated().build
    with committed(path).open() as snapshot:
        stored = snapshot.chunks()
        texts = snapshot.texts([chunk.id for chunk in stored])
        vectors = snapshot.vectors([chunk.id for chunk in stored])
    expected = sorted(range(len(build.chunks)), key=lambda index: build.chunks[index].id)
    for found, text, vector, index in zip(stored, texts, vectors, expected, strict=True):
        chunk = build.chunks[index]
        for name in ("id", "source_id", "part", "span", "heading_path", "title", "governance"):
            assert getattr(found, name) == getattr(chunk, name)
        assert found.language == chunk.language
        assert text == chunk.text
        assert vector.tobytes() == build.vectors[index].tobytes()
        assert (found.vector_key, found.windows) == (
            build.vector_keys[index],
            build.windows[index],
        )


def test_every_source_reads_back_equal(path):
    with committed(path).open() as snapshot:
        assert snapshot.source_ids() == ("EXPORT", "RULES", "product:GX-200")
        for document in make_rich_documents():
            source = snapshot.source(document.id)
            assert source is not None
            for field in dataclasses.fields(document):
                if field.name != "sheet":
                    assert getattr(source, field.name) == getattr(document, field.name)
            assert source.digest == digest_of(document.text)


def test_a_product_sheet_reads_back_equal(path):
    with committed(path).open() as snapshot:
        assert snapshot.product("GX-200") == make_rich_documents()[2].sheet


def test_unknown_sources_and_products_are_none(path):
    with committed(path).open() as snapshot:
        assert snapshot.source(SourceId("NOWHERE")) is None
        assert snapshot.product("GX-999") is None


def test_the_manifest_reads_back_with_its_digests(path):
    validated = make_validated(previous=digest_of("before"), key=KEY)
    index = SqliteIndex(path, key=KEY)
    index.commit(validated)
    with index.open() as snapshot:
        assert snapshot.manifest.generation_digest == validated.manifest.generation_digest
        assert snapshot.manifest.signature == validated.manifest.signature
        assert snapshot.manifest.previous_generation == digest_of("before")
        assert snapshot.manifest.notices == validated.manifest.notices
        assert snapshot.manifest.created_at == validated.manifest.created_at


def test_texts_and_vectors_come_in_the_order_asked_for(path):
    wanted = [ChunkId("RULES#1"), ChunkId("EXPORT#2"), ChunkId("RULES#0"), ChunkId("RULES#1")]
    build = make_validated().build
    place = {chunk.id: index for index, chunk in enumerate(build.chunks)}
    with committed(path).open() as snapshot:
        assert snapshot.texts(wanted) == tuple(build.chunks[place[item]].text for item in wanted)
        found = snapshot.vectors(wanted)
    assert found.dtype == np.float32
    assert found.tolist() == build.vectors[[place[item] for item in wanted]].tolist()


def test_more_ids_than_one_query_takes_are_read_in_order(path):
    documents = make_plain_documents(900)
    with committed(path, documents=documents).open() as snapshot:
        ids = [chunk.id for chunk in snapshot.chunks()]
        assert len(ids) == 2700
        backwards = snapshot.vectors(ids[::-1])
        assert backwards[::-1].tolist() == snapshot.vectors(ids).tolist()


def test_asking_for_no_chunk_gives_an_empty_matrix_of_the_right_shape(path):
    with committed(path).open() as snapshot:
        assert snapshot.vectors([]).shape == (0, 4)
        assert snapshot.texts([]) == ()


def test_asking_for_a_chunk_that_is_not_there_is_an_error(path):
    with committed(path).open() as snapshot:
        with pytest.raises(IntegrityError, match="rag_chunk_texts EXPORT#99: found no row"):
            snapshot.texts([ChunkId("EXPORT#99")])
        with pytest.raises(IntegrityError, match="rag_vectors EXPORT#99: found no row"):
            snapshot.vectors([ChunkId("EXPORT#99")])


def test_vectors_are_found_by_key_and_absent_keys_are_left_out(path):
    build = make_validated().build
    with committed(path).open() as snapshot:
        found = snapshot.vectors_by_key([build.vector_keys[3], digest_of("absent")])
    assert {key: vector.tolist() for key, vector in found.items()} == {
        build.vector_keys[3]: build.vectors[3].tolist()
    }


def test_chunks_are_in_ordinal_order_of_id(path):
    documents = [make_document("ab" * 150, id="A"), make_document("c", id="A-b")]
    with committed(path, documents=documents).open() as snapshot:
        ids = [chunk.id for chunk in snapshot.chunks()]
    assert ids == sorted(ids)
    assert ids.index(ChunkId("A#10")) < ids.index(ChunkId("A#2"))


def test_a_fresh_file_has_large_pages_and_a_write_ahead_log(path):
    committed(path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA page_size").fetchone() == (16384,)
        assert connection.execute("PRAGMA auto_vacuum").fetchone() == (2,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


# --- Where there is no index --------------------------------------------------------------------


def test_opening_where_nothing_is_creates_nothing(path):
    with pytest.raises(NoIndexError) as caught, SqliteIndex(path, key=None).open():
        pass
    assert str(caught.value) == f"{path}: no index. Run: rag ingest"
    assert not path.parent.exists()


def test_a_file_of_other_modules_is_no_index(path):
    path.parent.mkdir()
    edit(path, "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT)")
    with pytest.raises(NoIndexError), SqliteIndex(path, key=None).open():
        pass


def test_a_manifest_table_without_a_row_is_no_index(path):
    index = committed(path)
    edit(path, "DELETE FROM rag_manifest")
    with pytest.raises(NoIndexError), index.open():
        pass


def test_an_empty_file_is_no_index(path):
    path.parent.mkdir()
    path.touch()
    with pytest.raises(NoIndexError), SqliteIndex(path, key=None).open():
        pass


# --- One transaction, all or nothing (promise 7) ------------------------------------------------


def test_a_commit_replaces_every_row_of_the_previous_generation(path):
    index = committed(path, documents=make_plain_documents(5, "alpha"))
    index.commit(make_validated(make_plain_documents(2, "beta")))
    with index.open() as snapshot:
        assert snapshot.source_ids() == ("DOC-0000", "DOC-0001")
        assert words(snapshot) == {"beta"}


def test_a_shortened_document_leaves_no_old_parts(path):
    index = committed(path, documents=[make_document("long enough for parts " * 5, id="D")])
    index.commit(make_validated([make_document("short", id="D")]))
    with index.open() as snapshot:
        assert [chunk.id for chunk in snapshot.chunks()] == ["D#0"]


def test_tables_of_other_modules_survive_with_their_rows(path):
    path.parent.mkdir()
    edit(
        path,
        "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT)",
        "CREATE INDEX notes_body ON notes (body)",
        "INSERT INTO notes (body) VALUES ('one'), ('two')",
    )
    index = committed(path)
    index.commit(make_validated(make_plain_documents(2)))
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT * FROM notes").fetchall() == [(1, "one"), (2, "two")]
        foreign = "SELECT name FROM sqlite_schema WHERE name LIKE 'notes%' ORDER BY name"
        assert connection.execute(foreign).fetchall() == [("notes",), ("notes_body",)]
        assert connection.execute("PRAGMA page_size").fetchone() == (4096,)


def test_rows_of_other_modules_may_refer_to_sources_that_stay(path):
    index = committed(path)
    edit(
        path,
        "CREATE TABLE stars (source TEXT REFERENCES rag_sources (id))",
        "INSERT INTO stars VALUES ('RULES')",
    )
    index.commit(make_validated())
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT * FROM stars").fetchall() == [("RULES",)]


class _CancelledError(BaseException):
    """Stands for what Prefect raises into a task that is cancelled."""


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(KeyboardInterrupt(), id="Ctrl-C"),
        pytest.param(_CancelledError(), id="cancellation"),
        pytest.param(MemoryError(), id="out of memory"),
        pytest.param(IntegrityError("a difference"), id="a difference read back"),
    ],
)
@pytest.mark.parametrize("table", TABLES)
def test_whatever_stops_a_commit_rolls_it_back(path, monkeypatch, error, table):
    index = committed(path, documents=make_plain_documents(2, "alpha"))
    insert = sqlite_values.insert

    def stop(connection: sqlite3.Connection, name: str, rows: Any) -> None:
        insert(connection, name, rows)
        if name == table:
            raise error

    monkeypatch.setattr(sqlite_values, "insert", stop)
    with pytest.raises(type(error)):
        index.commit(make_validated(make_plain_documents(2, "beta")))
    with index.open() as snapshot:
        assert words(snapshot) == {"alpha"}


def test_a_first_commit_that_fails_leaves_no_index(path, monkeypatch):
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    index = SqliteIndex(path, key=None)
    monkeypatch.setattr(sqlite_values, "insert", stop)
    with pytest.raises(KeyboardInterrupt):
        index.commit(make_validated())
    with pytest.raises(NoIndexError), index.open():
        pass


@pytest.mark.parametrize(
    ("trigger", "message"),
    [
        pytest.param(
            "AFTER INSERT ON rag_vectors BEGIN DELETE FROM rag_vectors WHERE chunk_id = 'RULES#0';"
            " END",
            "rag_vectors holds 6 rows, manifest lists 7",
            id="a vector gets lost",
        ),
        pytest.param(
            "AFTER INSERT ON rag_chunks BEGIN UPDATE rag_chunks SET text_digest = "
            "'0000000000000000000000000000000000000000000000000000000000000000'; END",
            "give root",
            id="digests are written wrongly",
        ),
    ],
)
def test_rows_that_do_not_read_back_are_not_committed(path, trigger, message):
    index = committed(path, documents=make_plain_documents(2, "alpha"))
    edit(path, f"CREATE TRIGGER meddler {trigger}")
    with pytest.raises(IntegrityError, match=message):
        index.commit(make_validated())
    with index.open() as snapshot:
        assert words(snapshot) == {"alpha"}


def test_a_manifest_that_does_not_fit_itself_is_never_written(path):
    index = committed(path, documents=make_plain_documents(2, "alpha"))
    validated = make_validated()
    forged = dataclasses.replace(validated.manifest, root=digest_of("forged"))
    with pytest.raises(IntegrityError, match="generation digest"):
        index.commit(dataclasses.replace(validated, manifest=forged))
    with index.open() as snapshot:
        assert words(snapshot) == {"alpha"}


def test_a_build_that_is_not_the_manifests_is_never_committed(path):
    index = committed(path, documents=make_plain_documents(2, "alpha"))
    validated = make_validated()
    other = make_validated([make_document("another", id="RULES")])
    with pytest.raises(IntegrityError, match="rag_sources holds 1 rows, manifest lists 3"):
        index.commit(dataclasses.replace(validated, build=other.build))
    with index.open() as snapshot:
        assert words(snapshot) == {"alpha"}


def test_a_rebuild_heals_an_index_with_orphans(path):
    index = committed(path)
    edit(path, "DELETE FROM rag_sources WHERE id = 'RULES'")
    index.commit(make_validated())
    use_everything(index)


# --- Readers and writers ------------------------------------------------------------------------


def test_a_snapshot_stays_the_same_while_another_connection_commits(path):
    index = committed(path, documents=make_plain_documents(3, "alpha"))
    with index.open() as before:
        SqliteIndex(path, key=None).commit(make_validated(make_plain_documents(2, "beta")))
        assert words(before) == {"alpha"}
        assert len(before.source_ids()) == 3
        with index.open() as after:
            assert words(after) == {"beta"}


def test_a_snapshot_can_be_read_from_another_thread(path):
    found: list[set[str]] = []
    with committed(path, documents=make_plain_documents(2)).open() as snapshot:
        thread = threading.Thread(target=lambda: found.append(words(snapshot)))
        thread.start()
        thread.join()
    assert found == [{"alpha"}]


def test_a_snapshot_writes_nothing(path):
    with (
        committed(path).open() as snapshot,
        pytest.raises(sqlite3.OperationalError, match="readonly"),
    ):
        snapshot._connection.execute("DELETE FROM rag_sources")


def test_a_database_that_stays_locked_names_file_and_next_step(path):
    index = committed(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LockedError) as caught:
            index.commit(make_validated(make_plain_documents(1)))
        with index.open() as snapshot:  # readers are not kept out
            assert len(snapshot.source_ids()) == 3
    assert str(path) in str(caught.value)
    assert "Wait for that process to end" in str(caught.value)
    assert caught.value.exit_code == 8


def test_a_folder_that_cannot_be_made_is_a_usage_error(tmp_path):
    (tmp_path / "state").write_text("a file")
    with pytest.raises(UsageError, match="cannot create the folder"):
        SqliteIndex(tmp_path / "state" / "index.sqlite", key=None).commit(make_validated())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write in any folder")
def test_an_index_in_a_folder_that_cannot_be_written_is_readable(path):
    index = committed(path)
    path.parent.chmod(0o555)
    try:
        use_everything(index)
    finally:
        path.parent.chmod(0o755)


def test_an_index_opened_as_immutable_gives_the_same(path, monkeypatch):
    index = committed(path)
    monkeypatch.setattr(os, "access", lambda *_: False)
    use_everything(index)
    assert sorted(item.name for item in path.parent.iterdir()) == ["index.sqlite"]


# --- Nothing tampered is used (promises 6 and 12) -----------------------------------------------

EVERY_COLUMN = [(table, column) for table in TABLES for column in columns(table)]


def flipped(table: str, column: str) -> str:
    """SQL that changes one row's column by as little as possible, whatever its type."""
    return (
        f"UPDATE {table} SET {column} = CASE typeof({column}) "
        f"WHEN 'integer' THEN {column} + 1 "
        f"WHEN 'text' THEN CASE substr({column}, 1, 1) WHEN 'a' THEN 'b' ELSE 'a' END "
        f"|| substr({column}, 2) "
        f"WHEN 'blob' THEN CAST(x'7f' || substr({column}, 2) AS BLOB) "
        f"ELSE '{'a' * 64}' END "
        f"WHERE rowid = (SELECT min(rowid) FROM {table})"
    )


@pytest.mark.parametrize(("table", "column"), EVERY_COLUMN)
def test_a_flipped_value_is_caught_where_it_is_used(path, table, column):
    index = committed(path, key=KEY)
    use_everything(index)
    edit(path, flipped(table, column))
    with pytest.raises((IntegrityError, ContractMismatchError)) as caught:
        use_everything(index)
    assert str(path) in str(caught.value)


def test_the_tamper_test_covers_every_column_of_the_file(path):
    committed(path)
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute(
            "SELECT m.name, c.name FROM sqlite_schema AS m JOIN pragma_table_info(m.name) AS c "
            "WHERE m.type = 'table'"
        ).fetchall()
        strict = connection.execute("SELECT name FROM pragma_table_list WHERE strict = 1")
        assert {name for (name,) in strict} == set(TABLES)
    assert sorted(found) == sorted(EVERY_COLUMN)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        pytest.param(
            "DELETE FROM rag_chunk_texts WHERE chunk_id = 'RULES#0'",
            "rag_chunk_texts holds 6 rows, manifest lists 7",
            id="a text is missing",
        ),
        pytest.param(
            "DELETE FROM rag_chunks WHERE id = 'RULES#0'",
            "rag_chunks holds 6 rows, manifest lists 7",
            id="a chunk is missing",
        ),
        pytest.param(
            "UPDATE rag_vectors SET chunk_id = 'RULES#9' WHERE chunk_id = 'RULES#0'",
            "rag_chunks refers to RULES#0, expected its vector in rag_vectors",
            id="a vector belongs to no chunk",
        ),
        pytest.param(
            "UPDATE rag_chunks SET source_id = 'GONE' WHERE id = 'RULES#0'",
            "rag_chunks refers to GONE, expected its source in rag_sources",
            id="a chunk belongs to no source",
        ),
        pytest.param(
            "INSERT INTO rag_manifest SELECT 2, " + ", ".join(columns("rag_manifest")[1:]) + " FROM"
            " rag_manifest",
            "rag_manifest: found more than one row",
            id="two manifests",
        ),
    ],
)
def test_an_inconsistent_index_is_refused_at_opening(path, statement, message):
    index = committed(path)
    edit(path, statement)
    with pytest.raises(IntegrityError, match=message) as caught, index.open():
        pass
    assert "Run: rag ingest --rebuild" in str(caught.value)


def test_a_vector_cut_short_names_its_length(path):
    index = committed(path)
    edit(path, "UPDATE rag_vectors SET vector = x'0000803f' WHERE chunk_id = 'RULES#0'")
    with (
        index.open() as snapshot,
        pytest.raises(IntegrityError, match="RULES#0: vector has 4 bytes, expected 16"),
    ):
        snapshot.vectors([ChunkId("RULES#0")])


def test_rows_that_nobody_uses_are_not_in_the_way(path):
    index = committed(path)
    edit(path, "UPDATE rag_chunk_texts SET text = 'forged' WHERE chunk_id = 'RULES#0'")
    with index.open() as snapshot:
        assert snapshot.texts([ChunkId("EXPORT#0")]) == ("Export is in Reporting.\nS",)
        with pytest.raises(IntegrityError, match="rag_chunk_texts RULES#0: found digest"):
            snapshot.texts([ChunkId("RULES#0")])


def test_swapped_texts_are_caught(path):
    index = committed(path)
    edit(
        path,
        "UPDATE rag_chunk_texts SET chunk_id = 'x' WHERE chunk_id = 'RULES#0'",
        "UPDATE rag_chunk_texts SET chunk_id = 'RULES#0' WHERE chunk_id = 'RULES#1'",
        "UPDATE rag_chunk_texts SET chunk_id = 'RULES#1' WHERE chunk_id = 'x'",
    )
    with index.open() as snapshot, pytest.raises(IntegrityError):
        snapshot.texts([ChunkId("RULES#0")])


def test_without_a_key_digests_recomputed_by_an_attacker_pass_and_with_one_they_do_not(path):
    forger = SqliteIndex(path, key=None)
    forger.commit(make_validated(make_plain_documents(1, "beta")))
    use_everything(forger)
    with pytest.raises(IntegrityError, match="no signature"), SqliteIndex(path, key=KEY).open():
        pass


def test_a_commit_under_a_key_refuses_an_unsigned_build(path):
    with pytest.raises(IntegrityError, match="no signature"):
        SqliteIndex(path, key=KEY).commit(make_validated())
    assert not path.exists()


def test_another_schema_version_is_refused_with_both_sides(path):
    index = committed(path)
    edit(path, "UPDATE rag_manifest SET schema_version = 2")
    expected = "index has schema version 2, this code reads and writes 1"
    with pytest.raises(ContractMismatchError, match=expected), index.open():
        pass
    with pytest.raises(ContractMismatchError, match=expected):
        index.commit(make_validated())


def test_a_table_of_another_shape_is_refused_with_both_sides(path):
    index = committed(path)
    edit(path, "ALTER TABLE rag_products ADD COLUMN surprise TEXT")
    for use in (lambda: use_everything(index), lambda: index.commit(make_validated())):
        with pytest.raises(IntegrityError, match=r"rag_products has columns .*surprise, expected"):
            use()


# --- Damaged files ------------------------------------------------------------------------------


def test_a_file_that_is_no_database_is_refused_and_kept(path):
    path.parent.mkdir()
    path.write_bytes(b"no database at all, but long enough to be looked at" * 40)
    index = SqliteIndex(path, key=None)
    content = path.read_bytes()
    with pytest.raises(IntegrityError, match="Move the file away"), index.open():
        pass
    with pytest.raises(IntegrityError, match="Move the file away"):
        index.commit(make_validated())
    assert path.read_bytes() == content


@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.9, 0.999])
def test_a_truncated_file_is_refused(path, share):
    index = committed(path, documents=make_plain_documents(200))
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(IntegrityError, match=str(path)):
        use_everything(index)


@pytest.mark.parametrize("seed", range(40))
def test_a_byte_flipped_in_the_file_never_changes_what_is_read(path, seed):
    index = committed(path)
    content = bytearray(path.read_bytes())
    place = int(np.random.default_rng(seed).integers(len(content)))
    content[place] ^= 0xFF
    path.write_bytes(content)
    try:
        with index.open() as snapshot:
            ids = [chunk.id for chunk in snapshot.chunks()]
            texts, vectors = snapshot.texts(ids), snapshot.vectors(ids)
    except RagError:
        return  # refused, and not as a bug of SQLite's wrapper
    build = make_validated().build
    order = sorted(range(len(build.chunks)), key=lambda index: build.chunks[index].id)
    assert texts == tuple(build.chunks[index].text for index in order)
    assert vectors.tolist() == build.vectors[order].tolist()
