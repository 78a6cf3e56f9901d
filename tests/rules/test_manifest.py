from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest

from builders import CREATED, EMBEDDING, digest_of, make_build, make_governance, make_validated
from rag_core.errors import IntegrityError
from rag_core.rules.digests import canonical_json, contract_digest, sign
from rag_core.rules.manifest import (
    build_manifest,
    contract_differences,
    validate_build,
    verify_manifest,
)
from rag_core.rules.manifest_codec import decode_manifest, encode_manifest
from rag_core.types.corpus import Span
from rag_core.types.index import Canary, Counts, IndexBuild, ValidatedBuild

KEY = b"a signing key of the tests"


def validate(build: IndexBuild) -> ValidatedBuild:
    return validate_build(build, previous=None, code_version="1", created_at=CREATED, key=None)


def with_chunk(build: IndexBuild, index: int, **changes: Any) -> IndexBuild:
    chunks = list(build.chunks)
    chunks[index] = dataclasses.replace(chunks[index], **changes)
    return dataclasses.replace(build, chunks=tuple(chunks))


def with_vector(build: IndexBuild, index: int, values: list[float]) -> IndexBuild:
    vectors = build.vectors.copy()
    vectors[index] = values
    return dataclasses.replace(build, vectors=vectors)


def test_a_sound_build_is_validated_with_its_counts():
    assert make_validated().manifest.counts == Counts(sources=3, chunks=7, vectors=7, products=1)


BUILD = make_build()
BROKEN = [
    pytest.param(
        dataclasses.replace(BUILD, vectors=BUILD.vectors[:-1]),
        "number of vectors: found 6, expected 7",
        id="a vector is missing",
    ),
    pytest.param(
        dataclasses.replace(BUILD, vector_keys=BUILD.vector_keys[1:]),
        "number of vector keys: found 6",
        id="a key is missing",
    ),
    pytest.param(
        dataclasses.replace(BUILD, windows=(*BUILD.windows, 1)),
        "number of window counts: found 8",
        id="a window count too many",
    ),
    pytest.param(
        dataclasses.replace(BUILD, windows=(0, *BUILD.windows[1:])),
        "token windows of chunk EXPORT#0: found none",
        id="a chunk of no window",
    ),
    pytest.param(
        with_vector(BUILD, 1, [1.0, float("nan"), 0.0, 0.0]),
        "vector of chunk EXPORT#1: found not finite",
        id="a vector holds NaN",
    ),
    pytest.param(
        with_vector(BUILD, 2, [0.0, float("-inf"), 0.0, 0.0]),
        "vector of chunk EXPORT#2: found not finite",
        id="a vector holds an infinity",
    ),
    pytest.param(
        with_vector(BUILD, 3, [0.0, -0.0, 0.0, 0.0]),
        "vector of chunk RULES#0: found zero",
        id="a vector is zero",
    ),
    pytest.param(
        dataclasses.replace(BUILD, vectors=np.ones((7, 3), dtype=np.float32)),
        r"shape of the vectors: found \(7, 3\), expected \(7, 4\)",
        id="vectors of another dimension than the contract",
    ),
    pytest.param(
        dataclasses.replace(BUILD, vectors=BUILD.vectors.astype(np.float64)),
        "type of the vectors: found float64, expected float32",
        id="vectors of another type",
    ),
    pytest.param(
        dataclasses.replace(BUILD, chunks=BUILD.chunks[::-1]),
        "order of chunks",
        id="chunks out of order",
    ),
    pytest.param(
        dataclasses.replace(BUILD, chunks=(BUILD.chunks[0], *BUILD.chunks[:-1])),
        "order of chunks: found EXPORT#0 after EXPORT#0",
        id="a chunk twice",
    ),
    pytest.param(
        dataclasses.replace(
            BUILD, corpus=dataclasses.replace(BUILD.corpus, documents=BUILD.documents[::-1])
        ),
        "order of documents",
        id="documents out of order",
    ),
    pytest.param(
        dataclasses.replace(
            BUILD, corpus=dataclasses.replace(BUILD.corpus, documents=BUILD.documents[:2])
        ),
        "document of chunk product:GX-200#0: found none",
        id="a chunk of a document that is not there",
    ),
    pytest.param(
        with_chunk(BUILD, 0, text="Export is in Reporting.\nT"),
        "text of chunk EXPORT#0: found another text",
        id="a text that does not stand at its offsets",
    ),
    pytest.param(
        with_chunk(BUILD, 0, span=Span(1, 26)),
        "text of chunk EXPORT#0: found another text",
        id="offsets that are one off",
    ),
    pytest.param(
        with_chunk(BUILD, 0, id="EXPORT#7"),
        "chunk id: found EXPORT#7, expected EXPORT#0",
        id="an id that is not source and part",
    ),
    pytest.param(
        with_chunk(BUILD, 2, id="EXPORT#3", part=3),
        "part of chunk EXPORT#3: found 3, expected 2",
        id="a part left out",
    ),
    pytest.param(
        with_chunk(BUILD, 0, governance=make_governance(scope="secret")),
        "governance of chunk EXPORT#0",
        id="a chunk governed otherwise than its document",
    ),
    pytest.param(
        with_chunk(BUILD, 0, title="Another"),
        "title of chunk EXPORT#0: found Another",
        id="a chunk of another title",
    ),
    pytest.param(
        dataclasses.replace(
            BUILD, contract=dataclasses.replace(BUILD.contract, corpus_digest=digest_of("x"))
        ),
        "corpus digest",
        id="a contract of another corpus",
    ),
    pytest.param(
        dataclasses.replace(BUILD, canaries=(Canary("c", np.ones(3, dtype=np.float32)),)),
        r"canary's vector: found \(3,\)",
        id="a canary of another dimension",
    ),
    pytest.param(
        dataclasses.replace(
            BUILD,
            chunks=BUILD.chunks[:5],
            vectors=BUILD.vectors[:5],
            vector_keys=BUILD.vector_keys[:5],
            windows=BUILD.windows[:5],
        ),
        "chunks of document product:GX-200: found 0",
        id="a document without a chunk",
    ),
]


@pytest.mark.parametrize(("build", "message"), BROKEN)
def test_a_build_is_refused_when(build, message):
    with pytest.raises(IntegrityError, match=message):
        validate(build)


def test_parts_are_ordered_by_number_and_not_by_text():
    document = dataclasses.replace(make_build().documents[1], text="ab" * 150)
    build = make_build([document])
    assert [chunk.part for chunk in build.chunks] == list(range(12))
    validate(build)


def test_a_manifest_reads_back_equal_through_json():
    manifest = make_validated(key=KEY, previous=digest_of("before")).manifest
    back = decode_manifest(json.loads(canonical_json(encode_manifest(manifest))))
    same = {field.name for field in dataclasses.fields(manifest)} - {"canaries"}
    assert {name: getattr(back, name) for name in same} == {
        name: getattr(manifest, name) for name in same
    }
    assert back.canaries[0].text == "a canary"
    assert back.canaries[0].vector.dtype == np.float32
    assert back.canaries[0].vector.tolist() == [1.0, 1.0, 1.0, 1.0]
    verify_manifest(back, key=KEY)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"dimension": "4"}, "field dimension", id="a number as text"),
        pytest.param({"surprise": 1}, "field surprise", id="an unknown field"),
        pytest.param({"created_at": "2026-03-01T12:00:00"}, "time zone", id="a naive moment"),
        pytest.param({"created_at": "yesterday"}, "isoformat", id="no moment"),
        pytest.param(
            {"canaries": [{"text": "a", "vector": "AACAPw=="}]},
            "4 bytes, expected 16",
            id="a short canary",
        ),
        pytest.param(
            {"canaries": [{"text": "a", "vector": "?"}]}, "manifest: ", id="a canary not Base64"
        ),
    ],
)
def test_a_malformed_manifest_is_refused(change, message):
    with pytest.raises(IntegrityError, match=message):
        decode_manifest({**encode_manifest(make_validated().manifest), **change})


def test_a_manifest_that_lacks_a_field_is_refused():
    fields = encode_manifest(make_validated().manifest)
    del fields["root"]
    with pytest.raises(IntegrityError, match="field root: Field required"):
        decode_manifest(fields)


def test_the_contract_digest_is_the_same_in_every_run():
    later = build_manifest(
        make_build(),
        previous=digest_of("x"),
        code_version="2",
        created_at=CREATED + timedelta(days=1),
        key=None,
    )
    now = make_validated().manifest
    assert later.contract_digest == now.contract_digest == contract_digest(now.contract)
    assert later.root == now.root
    assert later.generation_digest != now.generation_digest


def test_the_creation_time_is_kept_in_utc():
    berlin = timezone(timedelta(hours=2))
    manifest = build_manifest(
        make_build(),
        previous=None,
        code_version="1",
        created_at=datetime(2026, 7, 1, 1, 30, tzinfo=berlin),
        key=None,
    )
    assert encode_manifest(manifest)["created_at"] == "2026-06-30T23:30:00+00:00"


def test_a_creation_time_without_a_zone_is_refused():
    naive = CREATED.astimezone(UTC).replace(tzinfo=None)
    with pytest.raises(ValueError, match="time zone"):
        build_manifest(make_build(), previous=None, code_version="1", created_at=naive, key=None)


FIELDS: dict[str, Any] = {
    "root": digest_of("other"),
    "counts": Counts(3, 7, 7, 2),
    "previous_generation": digest_of("other"),
    "code_version": "9.9.9",
    "created_at": CREATED + timedelta(microseconds=1),
    "canaries": (Canary("a canary", np.array([1, 1, 1, 1.5], dtype=np.float32)),),
    "known_products": ("GX-200",),
    "product_pattern": None,
    "notices": (),
}


@pytest.mark.parametrize("field", FIELDS)
def test_the_generation_digest_covers(field):
    manifest = dataclasses.replace(make_validated().manifest, **{field: FIELDS[field]})
    with pytest.raises(IntegrityError, match="generation digest is"):
        verify_manifest(manifest, key=None)


def test_a_contract_that_was_edited_no_longer_fits_its_digest():
    manifest = make_validated().manifest
    contract = dataclasses.replace(manifest.contract, chunking="chars-900")
    with pytest.raises(IntegrityError, match="contract digest is"):
        verify_manifest(dataclasses.replace(manifest, contract=contract), key=None)


def test_without_a_key_signed_and_unsigned_manifests_are_fine():
    verify_manifest(make_validated().manifest, key=None)
    verify_manifest(make_validated(key=KEY).manifest, key=None)


def test_with_a_key_an_unsigned_manifest_is_refused():
    with pytest.raises(IntegrityError, match="no signature"):
        verify_manifest(make_validated().manifest, key=KEY)


@pytest.mark.parametrize(
    "signature",
    [
        pytest.param(sign(make_validated().manifest.generation_digest, b"other"), id="other key"),
        pytest.param("0" * 64, id="zeros"),
        pytest.param("ü", id="not even hexadecimal"),
        pytest.param("", id="empty"),
    ],
)
def test_with_a_key_a_wrong_signature_is_refused(signature):
    manifest = dataclasses.replace(make_validated(key=KEY).manifest, signature=signature)
    with pytest.raises(IntegrityError, match="signature"):
        verify_manifest(manifest, key=KEY)


def test_no_error_about_a_signature_shows_the_key():
    manifest = dataclasses.replace(make_validated(key=KEY).manifest, signature="0" * 64)
    with pytest.raises(IntegrityError) as caught:
        verify_manifest(manifest, key=KEY)
    assert KEY.decode() not in str(caught.value)
    assert KEY.hex() not in str(caught.value)


def test_equal_contracts_have_no_differences():
    index = make_build().contract
    assert contract_differences(index, EMBEDDING, "chars-25", "plain", 1) == ()


def test_each_difference_names_both_sides():
    index = make_build().contract
    other = dataclasses.replace(
        EMBEDDING, model="five-axes", dimension=5, endpoint=None, query_template="q: {text}"
    )
    assert contract_differences(index, other, "sections-v1", "other", 2) == (
        "embedding.endpoint: index has 'http://localhost:1234/v1', profile has None",
        "embedding.model: index has 'four-axes', profile has 'five-axes'",
        "embedding.dimension: index has 4, profile has 5",
        "embedding.query_template: index has '{text}', profile has 'q: {text}'",
        "chunking: index has 'chars-25', profile has 'sections-v1'",
        "splitter: index has 'plain', profile has 'other'",
        "schema_version: index has 1, profile has 2",
    )
