from __future__ import annotations

import dataclasses
import hashlib
import json
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import (
    EMBEDDING,
    digest_of,
    make_build,
    make_document,
    make_governance,
    make_rich_documents,
)
from rag_core.rules import digests
from rag_core.types.corpus import Corpus, Fact, Status

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=10,
)


def test_canonical_json_sorts_keys_and_keeps_letters_without_spaces():
    value = {"b": [1, None, True], "a": "ü — ✓", "c": {"z": 0.5, "y": "q"}}
    assert digests.canonical_json(value) == (
        '{"a":"ü — ✓","b":[1,null,true],"c":{"y":"q","z":0.5}}'.encode()
    )


def test_canonical_json_writes_days_and_moments_as_iso():
    value = [date(2026, 3, 1), datetime(2026, 3, 1, 12, tzinfo=UTC)]
    assert digests.canonical_json(value) == b'["2026-03-01","2026-03-01T12:00:00+00:00"]'


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(float("nan"), id="NaN"),
        pytest.param(float("inf"), id="an infinity"),
        pytest.param("\ud800", id="a lone surrogate"),
    ],
)
def test_canonical_json_refuses_what_json_cannot_hold(value):
    with pytest.raises(ValueError, match=r"JSON|surrogates"):
        digests.canonical_json([value])


def test_canonical_json_refuses_types_without_a_rule():
    with pytest.raises(TypeError, match="no rule for bytes"):
        digests.canonical_json(b"bytes")


@given(JSON_VALUES)
def test_canonical_json_reads_back_as_the_same_value(value):
    assert json.loads(digests.canonical_json(value)) == value


@given(st.dictionaries(TEXTS, st.integers(), max_size=5))
def test_canonical_json_ignores_the_order_of_keys(value):
    backwards = dict(reversed(list(value.items())))
    assert digests.canonical_json(value) == digests.canonical_json(backwards)


def test_a_text_is_hashed_as_utf8():
    assert digests.text_digest("naïve") == hashlib.sha256("naïve".encode()).hexdigest()


def test_a_vector_is_hashed_as_little_endian_float32():
    vector = np.array([1.0, -2.5], dtype=np.float32)
    expected = hashlib.sha256(bytes.fromhex("0000803f" + "000020c0")).hexdigest()
    assert digests.vector_digest(vector) == expected
    assert digests.vector_digest(vector.astype(">f4")) == expected


def _digest(**changes: Any) -> str:
    documents = list(make_rich_documents())
    documents[0] = dataclasses.replace(documents[0], **changes)
    return digests.corpus_digest(Corpus(tuple(documents), ("GX-200",), None))


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"path": "elsewhere.md"}, id="path"),
        pytest.param({"file_digest": digest_of("other bytes")}, id="bytes of the file"),
        pytest.param({"sentences": ()}, id="sentence spans"),
        pytest.param({"headings": ()}, id="headings"),
    ],
)
def test_the_corpus_digest_does_not_depend_on(changes):
    assert _digest(**changes) == _digest()


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"id": "EXPORT-2"}, id="id"),
        pytest.param({"title": "Another"}, id="title"),
        pytest.param({"text": "Another text."}, id="text"),
        pytest.param({"subject": None}, id="subject"),
        pytest.param({"superseded_by": None}, id="superseded_by"),
        pytest.param({"url": None}, id="url"),
        pytest.param({"language": "de"}, id="language"),
        pytest.param({"governance": make_governance(scope="internal")}, id="scope"),
        pytest.param({"governance": make_governance(status=Status.DRAFT)}, id="status"),
        pytest.param({"governance": make_governance(canonical=False)}, id="canonical"),
        pytest.param({"governance": make_governance(valid_from=date(2024, 1, 1))}, id="from"),
        pytest.param({"governance": make_governance(valid_until=date(2029, 1, 1))}, id="until"),
        pytest.param({"governance": make_governance(product="GX-300")}, id="product"),
    ],
)
def test_the_corpus_digest_depends_on(changes):
    assert _digest(**changes) != _digest()


def test_the_corpus_digest_depends_on_facts_listed_products_and_pattern():
    documents = make_rich_documents()
    sheet = documents[2].sheet
    assert sheet is not None
    other = dataclasses.replace(sheet, facts=(Fact("warranty", "36", "months"),))
    changed = (*documents[:2], dataclasses.replace(documents[2], sheet=other))
    found = {
        digests.corpus_digest(Corpus(documents, ("GX-200",), None)),
        digests.corpus_digest(Corpus(changed, ("GX-200",), None)),
        digests.corpus_digest(Corpus(documents, ("GX-200", "GX-300"), None)),
        digests.corpus_digest(Corpus(documents, ("GX-200",), r"GX-\d+")),
    }
    assert len(found) == 4


def test_the_corpus_digest_ignores_the_order_of_documents():
    documents = make_rich_documents()
    assert digests.corpus_digest(Corpus(documents, (), None)) == digests.corpus_digest(
        Corpus(tuple(reversed(documents)), (), None)
    )


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"path": "elsewhere.md"}, id="path"),
        pytest.param({"file_digest": digest_of("other bytes")}, id="bytes of the file"),
        pytest.param({"sentences": ()}, id="sentence spans"),
        pytest.param({"headings": ()}, id="headings"),
    ],
)
def test_a_stored_sources_metadata_digest_covers(changes):
    document = make_rich_documents()[0]
    changed = dataclasses.replace(document, **changes)
    assert digests.source_metadata_digest(changed) != digests.source_metadata_digest(document)


def test_a_chunks_metadata_digest_covers_key_and_windows():
    chunk = make_build().chunks[0]
    found = {
        digests.chunk_metadata_digest(chunk, vector_key=digest_of("a"), windows=1),
        digests.chunk_metadata_digest(chunk, vector_key=digest_of("b"), windows=1),
        digests.chunk_metadata_digest(chunk, vector_key=digest_of("a"), windows=2),
    }
    assert len(found) == 3


def test_a_vectors_key_depends_on_every_field_of_the_embedding_contract():
    others: dict[str, Any] = {
        field.name: 8 if field.name == "dimension" else f"other {field.name}"
        for field in dataclasses.fields(EMBEDDING)
    }
    changed = [dataclasses.replace(EMBEDDING, **{name: others[name]}) for name in others]
    keys = {digests.embedding_key(contract, "a text") for contract in (EMBEDDING, *changed)}
    assert len(keys) == 1 + len(dataclasses.fields(EMBEDDING))
    assert digests.embedding_key(EMBEDDING, "another") not in keys


def test_rows_that_run_together_give_another_root():
    found = {
        digests.root_digest([("chunk", "A", "b")]),
        digests.root_digest([("chunk", "A"), ("b",)]),
        digests.root_digest([("chunk", "A,1:b")]),
        digests.root_digest([("chunkA", "b")]),
        digests.root_digest([]),
    }
    assert len(found) == 5


@given(st.lists(st.lists(TEXTS, min_size=1, max_size=3), max_size=4), st.integers(0, 3))
def test_the_root_depends_on_the_order_of_rows(rows, shift):
    turned = rows[shift:] + rows[:shift]
    assert (digests.root_digest(turned) == digests.root_digest(rows)) == (turned == rows)


def test_a_signature_is_hmac_sha256_of_the_hexadecimal_digest():
    # Computed with: printf GENERATION | openssl dgst -sha256 -hmac key
    generation = digest_of("generation")
    expected = "19ce39f62bf1391720e6aa31a0e7e04761fd890ab39eb7f8cf96697d3a985dae"
    assert digests.sign(generation, b"key") == expected


def test_equal_documents_have_equal_metadata():
    assert digests.document_metadata(make_document("x")) == digests.document_metadata(
        make_document("y")
    )
