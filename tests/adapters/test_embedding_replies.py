"""Texts that a server refuses or cuts are found by asking again, as rarely as can be."""

from __future__ import annotations

import numpy as np
import pytest

from rag_core.adapters.embedding_replies import PLAIN_WORD, embed_by
from rag_core.adapters.json_client import StatusError
from rag_core.errors import ProviderError, RejectedTextError

CONTEXT = 10
SHORT, LONG = "a" * 8, "a" * 9
"""With two special tokens, 8 bytes are 10 tokens at most; 9 bytes may have been more."""


class Server:
    """Answers by a table of token counts, or refuses; keeps what it was asked."""

    def __init__(self, tokens=None, *, refuses=(), status=400, everything=False):
        self.tokens = tokens or {}
        self.refuses = refuses
        self.status = status
        self.everything = everything
        self.asked = []

    def __call__(self, texts):
        self.asked.append(tuple(texts))
        if self.everything or any(text in self.refuses for text in texts):
            raise StatusError("refused", status=self.status, said="no")
        counts = [self.tokens.get(text, 1) for text in texts]
        total = None if None in counts else sum(counts)
        return [[1.0, 0.0] for _ in texts], total


def embed(server, texts, context=CONTEXT):
    return embed_by(server, texts, what="m", dimension=2, context_tokens=context)


def test_without_texts_nothing_is_asked():
    server = Server()
    assert embed(server, ()).shape == (0, 2)
    assert server.asked == []


@pytest.mark.parametrize("status", [400, 413, 422, 500])
def test_the_text_that_is_refused_alone_is_the_one(status):
    server = Server(refuses=("bad",), status=status)
    with pytest.raises(RejectedTextError, match=r"^text 2 of 3 \(sha256 \w{16}\): m refused it"):
        embed(server, ("good", "bad", "fine"))
    assert server.asked == [("good", "bad", "fine"), ("good",), ("bad",), (PLAIN_WORD,)]


def test_one_text_that_is_refused_is_not_asked_twice():
    server = Server(refuses=("bad",))
    with pytest.raises(RejectedTextError) as caught:
        embed(server, ("bad",))
    assert caught.value.position == 0
    assert server.asked == [("bad",), (PLAIN_WORD,)]


@pytest.mark.parametrize("texts", [("one",), ("one", "two")], ids=["one text", "two texts"])
def test_a_server_that_refuses_everything_blames_no_text(texts):
    server = Server(everything=True, status=500)
    with pytest.raises(StatusError, match="refused"):
        embed(server, texts)
    assert server.asked[-1] == (PLAIN_WORD,)


def test_a_refusal_that_has_nothing_to_do_with_texts_is_not_looked_into():
    server = Server(everything=True, status=401)
    with pytest.raises(StatusError):
        embed(server, ("one", "two"))
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("tokens", "asked_again"),
    [
        pytest.param({SHORT: 5, LONG: 5}, [], id="one below what a cut text would make"),
        pytest.param({SHORT: 5, LONG: 6}, [(LONG,)], id="just what a cut text would make"),
        pytest.param({SHORT: 5, LONG: None}, [], id="a server that does not count"),
    ],
)
def test_only_a_sum_that_can_hide_a_cut_is_looked_into_and_only_long_texts(tokens, asked_again):
    server = Server(tokens)
    assert embed(server, (SHORT, LONG)).shape == (2, 2)
    assert server.asked[1:] == asked_again


@pytest.mark.parametrize("texts", [(LONG,), (SHORT, LONG)], ids=["alone", "among others"])
def test_a_text_that_fills_the_context_may_be_cut_and_is_refused(texts):
    server = Server({LONG: CONTEXT})
    with pytest.raises(RejectedTextError, match="read 10 tokens of it") as caught:
        embed(server, texts)
    assert caught.value.position == len(texts) - 1


def test_a_text_that_is_refused_when_it_is_asked_again_is_named():
    class Fickle(Server):
        def __call__(self, texts):
            if self.asked and LONG in texts:
                raise StatusError("refused", status=400, said="too long")
            return super().__call__(texts)

    with pytest.raises(RejectedTextError, match=r"text 2 of 2 .*refused it \(400: too long\)"):
        embed(Fickle({LONG: CONTEXT}), (SHORT, LONG))


def test_where_nobody_tells_the_context_nothing_is_looked_into():
    server = Server({LONG: 1_000})
    embed(server, (LONG,), context=None)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("row", "found"),
    [
        pytest.param([float("nan"), 0.0], "not a finite number", id="NaN"),
        pytest.param([float("inf"), 0.0], "not a finite number", id="Infinity"),
        pytest.param([1e39, 0.0], "not a finite number", id="beyond float32"),
        pytest.param([1e-50, 0.0], "a zero vector", id="below float32"),
        pytest.param([0, 0], "a zero vector", id="zero"),
        pytest.param([1], "1 coordinates", id="another dimension"),
        pytest.param((1.0, 0.0), "of type tuple", id="no list"),
    ],
)
def test_a_bad_row_names_its_text(row, found):
    with pytest.raises(ProviderError, match=found) as caught:
        embed(lambda texts: ([[1.0, 0.0], row], 1), ("one", "two"))
    assert "2 of 2" in str(caught.value)
    assert "two" not in str(caught.value)


def test_whole_numbers_are_numbers():
    vectors = embed(lambda texts: ([[1, 2]], 1), ("one",))
    assert (vectors.dtype, vectors.tolist()) == (np.float32, [[1.0, 2.0]])
