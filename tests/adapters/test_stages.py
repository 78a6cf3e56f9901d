from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builders import digest_of, make_build, make_plain_documents, make_validated
from rag_core.adapters.stages import StageFolder
from rag_core.errors import IntegrityError, UsageError
from rag_core.rules.digests import vector_digest
from rag_core.types.chunks import EmbeddedBatch
from rag_core.types.corpus import Corpus, Finding, Severity
from rag_core.types.ids import Digest
from rag_core.types.index import StageRef

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

KEY = digest_of("the input")
FINDINGS = (
    Finding(Severity.NOTICE, "gap", "a.md", "a gap", 3, "valid_from"),
    Finding(Severity.NOTICE, "unknown_format", "b.bin", "not read"),
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The stages folder of a test; nothing is there yet."""
    return tmp_path / "state" / "stages"


def make_batch(*names: str, dimension: int = 4) -> EmbeddedBatch:
    """A batch whose vectors are made from the names."""
    vectors = [np.full(dimension, len(name) + ord(name[0]), dtype=np.float32) for name in names]
    return EmbeddedBatch(
        tuple(digest_of(name) for name in names), np.stack(vectors), (1,) * len(names)
    )


def names_of(root: Path) -> list[str]:
    return sorted(path.name.split("-")[0] for path in (root / "vectors").iterdir())


def flip(path: Path, share: float) -> None:
    content = bytearray(path.read_bytes())
    content[int((len(content) - 1) * share)] ^= 0xFF
    path.write_bytes(content)


def cut(path: Path, share: float) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])


def rewrite(path: Path, **columns: Sequence[object]) -> None:
    """Put other values into columns and leave the seal as it is."""
    table = pq.ParquetFile(path).read()
    for name, values in columns.items():
        place = table.schema.get_field_index(name)
        field = table.schema.field(place)
        table = table.set_column(place, field, pa.array(values, field.type))
    pq.write_table(table, path)


# --- Documents and chunks -----------------------------------------------------------------------


def test_a_corpus_reads_back_equal_with_its_findings(root):
    corpus = make_build().corpus
    ref = StageFolder(root).put_corpus(KEY, corpus, FINDINGS)
    assert ref == StageRef("documents", KEY, f"stages/documents/{KEY}.parquet", 3)
    assert (root.parent / ref.path).is_file()
    assert StageFolder(root).get_corpus(ref) == (corpus, FINDINGS)


def test_chunks_read_back_equal_in_their_order(root):
    chunks = make_build().chunks[::-1]
    ref = StageFolder(root).put_chunks(KEY, chunks)
    assert StageFolder(root).get_chunks(ref) == chunks


def test_an_empty_corpus_reads_back(root):
    ref = StageFolder(root).put_corpus(KEY, Corpus((), (), None), ())
    assert StageFolder(root).get_corpus(ref) == (Corpus((), (), None), ())


def test_what_was_put_is_found_under_its_digest_only(root):
    stages = StageFolder(root)
    corpus_ref = stages.put_corpus(KEY, make_build().corpus, ())
    chunks_ref = stages.put_chunks(KEY, make_build().chunks)
    assert stages.find_corpus(KEY) == corpus_ref
    assert stages.find_chunks(KEY) == chunks_ref
    assert stages.find_corpus(digest_of("another")) is None


def test_nothing_is_found_where_nothing_is(root):
    stages = StageFolder(root)
    assert stages.find_corpus(KEY) is None
    assert stages.find_chunks(KEY) is None
    assert stages.find_vectors([KEY]) == {}
    assert stages.merge_vectors() is None
    assert stages.clean_temporary() == 0
    assert stages.prune([]) == 0
    assert not root.exists()


@pytest.mark.parametrize("seed", range(60))
def test_a_flipped_byte_never_gives_another_corpus(root, seed):
    stages = StageFolder(root)
    corpus = make_build().corpus
    ref = stages.put_corpus(KEY, corpus, FINDINGS)
    flip(root.parent / ref.path, np.random.default_rng(seed).random())
    try:
        found = stages.get_corpus(ref)
    except IntegrityError:
        assert stages.find_corpus(KEY) is None
    else:  # a byte that carries nothing, such as the leading magic number
        assert found == (corpus, FINDINGS)


@pytest.mark.parametrize("share", [0, 0.3, 0.6, 0.99])
def test_a_truncated_artifact_is_absent_to_find_and_an_error_to_get(root, share):
    stages = StageFolder(root)
    ref = stages.put_corpus(KEY, make_build().corpus, FINDINGS)
    cut(root.parent / ref.path, share)
    assert stages.find_corpus(KEY) is None
    with pytest.raises(IntegrityError, match=r"staged artifact is damaged.*Run again: rag ingest"):
        stages.get_corpus(ref)


def test_values_changed_behind_the_seal_are_noticed(root):
    stages = StageFolder(root)
    ref = stages.put_chunks(KEY, make_build().chunks)
    rewrite(root.parent / ref.path, title=["forged"] * 7)
    assert stages.find_chunks(KEY) is None
    with pytest.raises(IntegrityError, match="content digest does not fit"):
        stages.get_chunks(ref)


def test_an_artifact_under_the_name_of_another_is_noticed(root):
    stages = StageFolder(root)
    ref = stages.put_chunks(KEY, make_build().chunks)
    other = digest_of("other input")
    (root.parent / ref.path).rename(root / "chunks" / f"{other}.parquet")
    assert stages.find_chunks(other) is None


def test_a_reference_to_another_number_of_rows_is_refused(root):
    stages = StageFolder(root)
    ref = stages.put_chunks(KEY, make_build().chunks)
    with pytest.raises(IntegrityError, match="reference says chunks with 8"):
        stages.get_chunks(dataclasses.replace(ref, rows=8))


def test_a_reference_cannot_lead_out_of_the_folder(root):
    ref = StageRef("chunks", digest_of("x"), "", 0)
    for digest in ("../../../etc/passwd", "", "a" * 63 + "/"):
        with pytest.raises(IntegrityError, match="expected a SHA-256 digest"):
            StageFolder(root).get_chunks(dataclasses.replace(ref, digest=Digest(digest)))


def test_a_missing_artifact_is_an_error_to_get(root):
    with pytest.raises(IntegrityError, match="damaged"):
        StageFolder(root).get_chunks(StageRef("chunks", KEY, "", 0))


def test_a_folder_that_cannot_be_written_names_the_path(tmp_path):
    (tmp_path / "stages").write_text("a file")
    with pytest.raises(UsageError, match="stages/vectors"):
        StageFolder(tmp_path / "stages").put_vectors(make_batch("a"))


# --- Vectors ------------------------------------------------------------------------------------


def test_a_batch_is_found_again_by_another_process(root):
    batch = make_batch("a", "bb", "ccc")
    StageFolder(root).put_vectors(batch)
    found = StageFolder(root).find_vectors([*batch.keys, digest_of("absent")])
    assert {key: vector.tolist() for key, vector in found.items()} == {
        key: vector.tolist() for key, vector in zip(batch.keys, batch.vectors, strict=True)
    }
    assert all(vector.dtype == np.float32 for vector in found.values())


def test_parts_become_one_shard_with_all_their_vectors(root):
    stages = StageFolder(root)
    keys: list[Digest] = []
    for number in range(64):
        batch = make_batch(f"n{number}", f"m{number}")
        stages.put_vectors(batch)
        keys += batch.keys
    before = stages.find_vectors(keys)
    shard = stages.merge_vectors()
    assert shard is not None
    assert (shard.kind, shard.rows) == ("vectors", 128)
    assert shard.path == f"stages/vectors/shard-{shard.digest}.parquet"
    assert names_of(root) == ["shard"]
    for after in (stages.find_vectors(keys), StageFolder(root).find_vectors(keys)):
        assert {key: vector_digest(vector) for key, vector in after.items()} == {
            key: vector_digest(vector) for key, vector in before.items()
        }
    assert stages.merge_vectors() is None


def test_a_merge_that_cannot_write_its_shard_keeps_the_parts(root, monkeypatch):
    stages = StageFolder(root)
    batch = make_batch("a")
    stages.put_vectors(batch)

    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "write_table", refuse)
    with pytest.raises(UsageError, match="No space left on device"):
        stages.merge_vectors()
    assert names_of(root) == ["part"]
    assert set(stages.find_vectors(batch.keys)) == set(batch.keys)


def test_equal_keys_of_several_parts_are_kept_once(root):
    stages = StageFolder(root)
    stages.put_vectors(make_batch("a", "b"))
    stages.put_vectors(make_batch("b", "c"))
    shard = stages.merge_vectors()
    assert shard is not None
    assert shard.rows == 3


def test_vectors_of_several_dimensions_share_a_shard(root):
    stages = StageFolder(root)
    stages.put_vectors(make_batch("a", dimension=4))
    stages.put_vectors(make_batch("b", dimension=6))
    stages.merge_vectors()
    found = stages.find_vectors([digest_of("a"), digest_of("b")])
    assert {vector.shape for vector in found.values()} == {(4,), (6,)}


def test_the_same_batch_put_twice_is_one_file(root):
    stages = StageFolder(root)
    assert stages.put_vectors(make_batch("a")) == stages.put_vectors(make_batch("a"))
    assert names_of(root) == ["part"]


@pytest.mark.parametrize(
    "columns",
    [
        pytest.param({"vector": [b"\x00\x00\x80\x3f" * 4, None, None]}, id="another vector"),
        pytest.param({"key": [digest_of("b"), None, None]}, id="another key"),
        pytest.param({"windows": [9, None, None]}, id="another count of windows"),
        pytest.param({"digest": [digest_of("x"), None, None]}, id="another digest"),
    ],
)
def test_a_damaged_row_is_absent_and_its_neighbours_are_not(root, columns):
    batch = make_batch("a", "bb", "ccc")
    ref = StageFolder(root).put_vectors(batch)
    path = root.parent / ref.path
    table = pq.ParquetFile(path).read()
    name, (value, *_) = next(iter(columns.items()))
    values = table.column(name).to_pylist()
    values[0] = value
    rewrite(path, **{name: values})
    found = StageFolder(root).find_vectors([*batch.keys, digest_of("b")])
    assert set(found) == set(batch.keys[1:])


@pytest.mark.parametrize("share", [0, 0.2, 0.4, 0.6, 0.8, 1])
def test_a_damaged_vector_file_gives_no_wrong_vector(root, share):
    batch = make_batch("a", "bb", "ccc")
    ref = StageFolder(root).put_vectors(batch)
    flip(root.parent / ref.path, share)
    found = StageFolder(root).find_vectors(batch.keys)
    whole = dict(zip(batch.keys, batch.vectors, strict=True))
    for key, vector in found.items():
        assert vector.tolist() == whole[key].tolist()


def test_a_sound_copy_is_found_beside_a_damaged_one(root):
    stages = StageFolder(root)
    stages.put_vectors(make_batch("a"))
    shard = stages.merge_vectors()
    assert shard is not None
    flip(root.parent / shard.path, 0.1)
    stages.put_vectors(make_batch("a"))
    assert set(stages.find_vectors([digest_of("a")])) == {digest_of("a")}


def test_a_file_deleted_behind_our_back_is_absent(root):
    stages = StageFolder(root)
    batch = make_batch("a")
    ref = stages.put_vectors(batch)
    assert set(stages.find_vectors(batch.keys)) == set(batch.keys)
    (root.parent / ref.path).unlink()
    assert stages.find_vectors(batch.keys) == {}


def test_dropped_vectors_are_gone(root):
    stages = StageFolder(root)
    stages.put_vectors(make_batch("a"))
    stages.merge_vectors()
    stages.put_vectors(make_batch("b"))
    stages.drop_vectors()
    assert names_of(root) == []
    assert stages.find_vectors([digest_of("a"), digest_of("b")]) == {}


def test_pruning_deletes_the_shards_that_no_generation_uses(root):
    stages = StageFolder(root)
    for name in ("old", "previous", "current"):
        stages.put_vectors(make_batch(name, f"{name} too"))
        stages.merge_vectors()
    assert stages.prune([[digest_of("previous")], [digest_of("current too")]]) == 1
    assert set(stages.find_vectors([digest_of("old"), digest_of("previous too")])) == {
        digest_of("previous too")
    }


def test_pruning_keeps_parts_of_an_ingest_under_way(root):
    stages = StageFolder(root)
    stages.put_vectors(make_batch("a"))
    assert stages.prune([]) == 0
    assert names_of(root) == ["part"]


# --- Builds -------------------------------------------------------------------------------------


def put_build(stages: StageFolder, text: str = "alpha") -> StageRef:
    validated = make_validated(make_plain_documents(3, text))
    corpus = stages.put_corpus(digest_of(text), validated.build.corpus, validated.build.notices)
    chunks = stages.put_chunks(digest_of(text), validated.build.chunks)
    return stages.put_build(validated, corpus=corpus, chunks=chunks)


def test_a_build_reads_back_equal_from_its_three_artifacts(root):
    ref = put_build(StageFolder(root))
    expected = make_validated(make_plain_documents(3))
    found = StageFolder(root).get_build(ref)
    assert ref.digest == expected.manifest.generation_digest
    assert found.manifest.generation_digest == expected.manifest.generation_digest
    assert found.build.corpus == expected.build.corpus
    assert found.build.chunks == expected.build.chunks
    assert found.build.vectors.tobytes() == expected.build.vectors.tobytes()
    assert found.build.vectors.dtype == np.float32
    assert found.build.vector_keys == expected.build.vector_keys
    assert found.build.windows == expected.build.windows
    assert found.build.contract == expected.build.contract
    assert found.build.notices == expected.build.notices


@pytest.mark.parametrize("kind", ["documents", "chunks", "builds"])
def test_a_build_with_a_damaged_artifact_is_refused(root, kind):
    ref = put_build(StageFolder(root))
    (path,) = (root / kind).iterdir()
    cut(path, 0.8)
    with pytest.raises(IntegrityError, match=f"{kind}.*damaged"):
        StageFolder(root).get_build(ref)


def test_a_build_over_other_chunks_than_its_own_is_refused(root):
    stages = StageFolder(root)
    validated = make_validated(make_plain_documents(3))
    corpus = stages.put_corpus(KEY, validated.build.corpus, ())
    chunks = stages.put_chunks(KEY, make_build(make_plain_documents(3, "beta")).chunks)
    ref = stages.put_build(validated, corpus=corpus, chunks=chunks)
    with pytest.raises(IntegrityError, match="root is"):
        stages.get_build(ref)


def test_only_the_two_newest_builds_stay(root):
    stages = StageFolder(root)
    refs = [put_build(stages, word) for word in ("alpha", "beta", "gamma")]
    stages.get_build(refs[1])
    stages.get_build(refs[2])
    with pytest.raises(IntegrityError):
        stages.get_build(refs[0])


# --- Temporary names ----------------------------------------------------------------------------


def test_temporary_names_are_removed_and_whole_files_are_not(root):
    stages = StageFolder(root)
    batch = make_batch("a")
    ref = stages.put_vectors(batch)
    name = f".{(root.parent / ref.path).name}.0123.tmp"
    (root / "vectors" / name).write_bytes(b"half")
    assert stages.clean_temporary() == 1
    assert names_of(root) == ["part"]
    assert set(stages.find_vectors(batch.keys)) == set(batch.keys)
