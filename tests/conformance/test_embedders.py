"""What every embedder keeps, whoever makes the vectors; and what every remote one survives.

Runs over all of `registry.EMBEDDERS`: a new provider inherits the suite by being registered there.
"""

from __future__ import annotations

import json
import logging
import signal
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from model_server import CONTEXT_TOKENS, DIMENSION, Fault, gzip_bomb

from rag_core.adapters.minilm import MiniLmEmbedder
from rag_core.adapters.profile_files import load_profile
from rag_core.errors import ProviderError, RejectedTextError
from rag_core.registry import EMBEDDERS
from rag_core.verbs.contract import embed_checked

REMOTE = sorted(set(EMBEDDERS) - {"embedded"})
PATHS = {"ollama": "/api/embed", "openai-compatible": "/v1/embeddings"}
TEXTS = ("The seal is blue.", "The valve opens at five bar.", "Pay within 30 days.")
KEY = "sk-very-secret-0123"


@pytest.fixture
def make_embedder(connect, make_settings):
    """Makes an embedder of a provider: over the test server, or the embedded model."""

    def make(provider, *, api_key=None, context_tokens=None, **limits):
        if provider == "embedded":
            return MiniLmEmbedder(load_profile("offline").embedding)
        settings = make_settings["embedding"](provider, http=limits, context_tokens=context_tokens)
        client = connect(provider, api_key=api_key, **limits)
        return EMBEDDERS[provider](settings, lambda *_: client)

    return make


def rows_of(reply):
    """The list of vectors of a reply of either API, and how to put another in place."""
    if "embeddings" in reply:
        return reply["embeddings"], reply["embeddings"].__setitem__
    return (
        [item["embedding"] for item in reply["data"]],
        lambda at, row: reply["data"][at].__setitem__("embedding", row),
    )


def changed_row(at, change):
    def edit(reply):
        rows, put = rows_of(reply)
        put(at, change(rows[at]))

    return edit


def failure_of_contract(embedder):
    with pytest.raises(ProviderError) as caught:
        _ = embedder.contract
    return str(caught.value)


# --- Every embedder ---------------------------------------------------------------------------


@pytest.mark.parametrize("provider", sorted(EMBEDDERS))
class TestEveryEmbedder:
    def test_gives_one_float32_vector_per_text(self, make_embedder, provider):
        embedder = make_embedder(provider)
        vectors = embedder.embed(TEXTS)
        assert vectors.shape == (3, embedder.contract.dimension)
        assert vectors.dtype == np.float32

    def test_keeps_the_order_of_the_texts(self, make_embedder, provider):
        embedder = make_embedder(provider)
        forth, back = embedder.embed(TEXTS), embedder.embed(TEXTS[::-1])
        assert np.array_equal(forth, back[::-1])

    def test_gives_a_text_the_same_vector_alone_and_among_others(self, make_embedder, provider):
        embedder = make_embedder(provider)
        assert np.array_equal(embedder.embed(TEXTS)[1], embedder.embed(TEXTS[1:2])[0])

    def test_gives_equal_texts_equal_vectors(self, make_embedder, provider):
        vectors = make_embedder(provider).embed((TEXTS[0], TEXTS[1], TEXTS[0]))
        assert np.array_equal(vectors[0], vectors[2])

    def test_gives_no_vector_for_no_text(self, make_embedder, provider):
        embedder = make_embedder(provider)
        assert embedder.embed(()).shape == (0, embedder.contract.dimension)

    def test_names_provider_model_and_templates_in_its_contract(self, make_embedder, provider):
        contract = make_embedder(provider).contract
        assert contract.provider == provider
        assert contract.document_template == "{title}\n{text}"
        assert (contract.endpoint is None) == (provider == "embedded")

    def test_counts_a_short_text_as_one_window(self, make_embedder, provider):
        assert make_embedder(provider).windows(TEXTS) == (1, 1, 1)

    def test_says_how_many_calls_may_run_at_once(self, make_embedder, provider):
        assert make_embedder(provider, concurrency=3).concurrency == (
            1 if provider == "embedded" else 3
        )

    def test_may_be_shared_by_threads(self, make_embedder, provider):
        embedder = make_embedder(provider)
        alone = embedder.embed(TEXTS)
        with ThreadPoolExecutor(8) as pool:
            together = list(pool.map(lambda _: embedder.embed(TEXTS), range(16)))
        assert all(np.array_equal(alone, vectors) for vectors in together)


# --- Replies that break a rule ----------------------------------------------------------------

BROKEN_ROWS = [
    pytest.param(lambda row: row[:-1], "7 coordinates", id="one coordinate too few"),
    pytest.param(lambda row: [*row, 0.5], "9 coordinates", id="one coordinate too many"),
    pytest.param(lambda row: [0.0] * len(row), "a zero vector", id="a zero vector"),
    pytest.param(lambda row: [*row[:-1], 1e300], "not a finite number", id="beyond float32"),
    pytest.param(lambda row: [*row[:-1], 10**400], "without bound", id="an endless integer"),
    pytest.param(lambda row: [*row[:-1], None], "of type NoneType", id="null"),
    pytest.param(lambda row: [*row[:-1], "0.5"], "of type str", id="a text"),
    pytest.param(lambda row: [*row[:-1], True], "of type bool", id="a truth value"),
    pytest.param(lambda row: "AAAA", "of type str", id="base64 instead of numbers"),
    pytest.param(lambda row: None, "of type NoneType", id="no vector"),
]


@pytest.mark.parametrize("provider", REMOTE)
class TestBrokenReplies:
    @pytest.mark.parametrize(("change", "found"), BROKEN_ROWS)
    def test_a_bad_vector_names_its_text_and_is_not_repaired(
        self, make_embedder, server, provider, change, found
    ):
        server.change = changed_row(1, change)
        with pytest.raises(ProviderError, match=found) as caught:
            make_embedder(provider).embed(TEXTS)
        assert "2 of 3" in str(caught.value)

    @pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
    def test_a_number_that_json_does_not_have_is_no_json(
        self, make_embedder, server, provider, word
    ):
        row = f"[{', '.join([word] * DIMENSION)}]"
        body = (
            f'{{"embeddings": [{row}], "prompt_eval_count": 3}}'
            if provider == "ollama"
            else f'{{"data": [{{"index": 0, "embedding": {row}}}]}}'
        )
        embedder = make_embedder(provider, context_tokens=CONTEXT_TOKENS)
        server.faults.append(Fault(body=body.encode()))
        with pytest.raises(ProviderError, match="no JSON"):
            embedder.embed(TEXTS[:1])

    @pytest.mark.parametrize("change", [-1, 1], ids=["one too few", "one too many"])
    def test_another_number_of_vectors_is_an_error(self, make_embedder, server, provider, change):
        def edit(reply):
            rows = reply.get("embeddings", reply.get("data"))
            if change < 0:
                rows.pop()
            else:
                rows.append(rows[0])

        server.change = edit
        with pytest.raises(ProviderError):
            make_embedder(provider).embed(TEXTS)

    def test_another_dimension_half_way_is_an_error(self, make_embedder, server, provider):
        embedder = make_embedder(provider)
        embedder.embed(TEXTS)
        server.change = changed_row(0, lambda row: row[:4])
        with pytest.raises(ProviderError, match="4 coordinates, expected 8"):
            embedder.embed(TEXTS)

    @pytest.mark.parametrize(
        "reply",
        [
            pytest.param([], id="a list"),
            pytest.param("ok", id="a text"),
            pytest.param({"error": None}, id="nothing that was asked for"),
            pytest.param({"embeddings": {}, "data": {}}, id="objects for lists"),
            pytest.param({"embeddings": None, "data": None}, id="null for lists"),
            pytest.param({"embeddings": [1], "data": [1], "prompt_eval_count": 1}, id="numbers"),
        ],
    )
    def test_json_of_another_protocol_is_an_error(self, make_embedder, server, provider, reply):
        server.change = lambda _: reply
        with pytest.raises(ProviderError):
            make_embedder(provider).embed(TEXTS[:1])

    @pytest.mark.parametrize(
        "body",
        [
            pytest.param(b"<html>Bad gateway</html>", id="a page"),
            pytest.param(b"", id="nothing"),
            pytest.param(b"\xff\xfe{}", id="no UTF-8"),
            pytest.param(b"[" * 100_000, id="endless nesting"),
            pytest.param(b'{"embeddings": [[0.1', id="half of it"),
        ],
    )
    def test_a_body_that_is_no_json_is_an_error_and_not_repeated(
        self, make_embedder, server, provider, body
    ):
        embedder = make_embedder(provider, context_tokens=CONTEXT_TOKENS)
        server.faults.append(Fault(body=body))
        with pytest.raises(ProviderError, match="no JSON") as caught:
            embedder.embed(TEXTS)
        assert "html" not in str(caught.value)


class TestTheIndexOfOpenAi:
    def test_vectors_belong_to_their_index_and_not_to_their_place(self, make_embedder, server):
        embedder = make_embedder("openai-compatible")
        straight = embedder.embed(TEXTS)
        server.change = lambda reply: reply["data"].reverse()
        assert np.array_equal(embedder.embed(TEXTS), straight)

    @pytest.mark.parametrize("index", [0, 3, -1, "1", None, True, 1.0])
    def test_the_set_of_indices_must_be_that_of_the_texts(self, make_embedder, server, index):
        server.change = lambda reply: reply["data"][1].__setitem__("index", index)
        with pytest.raises(ProviderError, match="expected one vector for each index from 0"):
            make_embedder("openai-compatible").embed(TEXTS)


class TestTheModelOfOllama:
    def test_its_digest_is_read_from_the_server_once(self, make_embedder, server):
        embedder = make_embedder("ollama")
        assert {embedder.contract.model_digest for _ in range(3)} == {server.digest}
        assert server.paths().count("/api/tags") == 1

    def test_a_new_client_sees_another_digest(self, make_embedder, server):
        before = make_embedder("ollama").contract
        server.digest = "b" * 64
        assert make_embedder("ollama").contract.model_digest == "b" * 64
        assert before.model_digest != "b" * 64

    def test_its_digest_is_read_again_after_it_was_forgotten(self, make_embedder, server):
        embedder = make_embedder("ollama")
        embedder.embed(TEXTS)
        first, server.digest = embedder.contract.model_digest, "B" * 64
        embedder.forget()
        embedder.embed(TEXTS)
        assert first != "b" * 64
        assert embedder.contract.model_digest == "b" * 64
        assert server.paths().count("/api/show") == 2

    def test_threads_do_not_wait_for_the_request_of_another(self, make_embedder, server):
        server.faults.extend([Fault(hang=True)] * 4)
        embedder = make_embedder("ollama", timeout_s=0.5, attempts=1)
        start = time.monotonic()
        with ThreadPoolExecutor(4) as pool:
            failed = list(pool.map(lambda _: failure_of_contract(embedder), range(4)))
        assert all("no whole reply within 0.5 s" in words for words in failed)
        assert time.monotonic() - start < 1.5

    @pytest.mark.parametrize("digest", ["x", "a" * 63, "a" * 65, "sk-secret", "é" * 64, "g" * 64])
    def test_a_digest_that_is_none_is_an_error_that_does_not_repeat_it(
        self, make_embedder, server, digest
    ):
        server.digest = digest
        with pytest.raises(ProviderError, match="without a SHA-256 digest of ") as caught:
            _ = make_embedder("ollama").contract
        assert f"{digest} " not in str(caught.value)

    def test_names_that_a_server_lists_are_shown_bounded_and_printable(self, make_embedder, server):
        near = "test-embedder:lates\ud800"
        names = [near, "x" * 300, *(f"z{n}" for n in range(3_000))]
        listed = [{"name": name, "digest": "a" * 64} for name in names]
        server.faults.append(Fault(body=json.dumps({"models": listed}).encode()))
        with pytest.raises(ProviderError, match="has no model") as caught:
            _ = make_embedder("ollama").contract
        assert r"close matches: test-embedder:lates\ud800" in str(caught.value)
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 500

    def test_a_missing_model_says_how_to_get_it(self, connect, make_settings):
        settings = make_settings["embedding"]("ollama", model="test-embeder")
        embedder = EMBEDDERS["ollama"](settings, lambda *_: connect("ollama"))
        with pytest.raises(ProviderError, match="ollama pull test-embeder") as caught:
            _ = embedder.contract
        assert "close matches: test-embedder:latest" in str(caught.value)

    def test_a_text_is_never_to_be_truncated(self, make_embedder, server):
        make_embedder("ollama").embed(TEXTS)
        body = server.requests[-1].body
        assert body["truncate"] is False
        assert body["options"] == {"num_ctx": CONTEXT_TOKENS}

    @pytest.mark.parametrize("count", [None, 0, -1, "12"])
    def test_a_reply_without_a_count_of_tokens_is_an_error(self, make_embedder, server, count):
        server.change = lambda reply: reply.__setitem__("prompt_eval_count", count)
        with pytest.raises(ProviderError, match="prompt_eval_count"):
            make_embedder("ollama").embed(TEXTS)


# --- Texts that are too long ------------------------------------------------------------------


@pytest.mark.parametrize("provider", REMOTE)
class TestLongTexts:
    LONG = "word " * (CONTEXT_TOKENS + 10)

    def test_one_that_is_refused_is_named(self, make_embedder, provider):
        with pytest.raises(RejectedTextError, match="text 2 of 3") as caught:
            make_embedder(provider).embed((TEXTS[0], self.LONG, TEXTS[2]))
        assert caught.value.position == 1
        assert "exceeds the context length" in str(caught.value)
        assert "word" not in str(caught.value).split("sha256")[1]

    def test_one_that_is_cut_silently_is_named(self, make_embedder, server, provider):
        server.truncates = True
        embedder = make_embedder(provider, context_tokens=CONTEXT_TOKENS)
        with pytest.raises(RejectedTextError, match="may have cut it") as caught:
            embedder.embed((TEXTS[0], TEXTS[1], self.LONG))
        assert caught.value.position == 2

    def test_many_short_ones_cost_no_second_request(self, make_embedder, server, provider):
        embedder = make_embedder(provider, context_tokens=CONTEXT_TOKENS)
        embedder.embed(tuple("a " * 200 for _ in range(4)))
        assert server.paths() == [PATHS[provider]]

    def test_the_chunk_is_named_where_its_name_is_known(self, make_embedder, provider):
        with pytest.raises(RejectedTextError, match="HANDBOOK#7") as caught:
            embed_checked(
                make_embedder(provider),
                (TEXTS[0], self.LONG),
                what="chunk",
                names=("HANDBOOK#6", "HANDBOOK#7"),
            )
        assert "HANDBOOK#6" not in str(caught.value)


@pytest.mark.parametrize("provider", REMOTE)
class TestRefusedTexts:
    @pytest.mark.parametrize("status", [400, 413, 422, 500])
    def test_one_that_makes_its_request_fail_is_named(
        self, make_embedder, server, provider, status
    ):
        server.bad_texts = {"valve": status}
        with pytest.raises(RejectedTextError, match=r"text 2 of 3 .*cannot embed this") as caught:
            make_embedder(provider).embed(TEXTS)
        assert caught.value.position == 1

    def test_a_batch_that_fails_for_no_single_text_keeps_its_own_error(
        self, make_embedder, server, provider
    ):
        embedder = make_embedder(provider, context_tokens=CONTEXT_TOKENS)
        server.faults.append(Fault(status=400))
        with pytest.raises(ProviderError, match="400") as caught:
            embedder.embed(TEXTS)
        assert not isinstance(caught.value, RejectedTextError)


# --- The wire ---------------------------------------------------------------------------------


@pytest.mark.parametrize("provider", REMOTE)
class TestFaults:
    @pytest.fixture
    def embedder(self, make_embedder, provider):
        return make_embedder(provider, context_tokens=CONTEXT_TOKENS)

    @pytest.fixture
    def hasty(self, make_embedder, provider):
        """Gives up after 0.4 s: for servers that give no reply at all."""
        return make_embedder(provider, context_tokens=CONTEXT_TOKENS, timeout_s=0.4)

    @pytest.mark.parametrize(
        "told",
        [
            pytest.param(("3", 3.0), id="in seconds"),
            pytest.param(("0", 0.0), id="at once"),
            pytest.param(("Tue, 01 Dec 2026 09:30:04 GMT", 4.0), id="as a date"),
            pytest.param(("Tue, 01 Dec 2026 09:29:00 GMT", 0.0), id="as a date in the past"),
            pytest.param(("soon", 0.25), id="in no form, so with jitter"),
            pytest.param(("-5", 0.0), id="a negative number"),
        ],
    )
    @pytest.mark.parametrize("status", [429, 503])
    def test_retry_after_is_honoured(self, embedder, server, pauses, status, told):
        retry_after, pause = told
        server.faults.append(Fault(status=status, headers={"Retry-After": retry_after}))
        assert embedder.embed(TEXTS).shape == (3, DIMENSION)
        assert pauses == [pause]

    def test_a_retry_after_beyond_the_ceiling_fails_at_once(self, embedder, server, pauses):
        server.faults.append(Fault(status=429, headers={"Retry-After": "3600"}))
        with pytest.raises(ProviderError, match=r"asks to wait 3600 s, and http\.max_wait_s is 5"):
            embedder.embed(TEXTS)
        assert pauses == []
        assert len(server.requests) == 1

    @pytest.mark.parametrize("status", [429, 502, 503, 504])
    def test_a_busy_server_is_asked_again_with_growing_jittered_pauses(
        self, embedder, server, pauses, status
    ):
        server.faults.extend([Fault(status=status)] * 2)
        assert embedder.embed(TEXTS).shape == (3, DIMENSION)
        assert pauses == [0.25, 0.5]

    def test_no_more_tries_are_made_than_the_profile_allows(self, embedder, server):
        server.faults.extend([Fault(status=503)] * 9)
        with pytest.raises(ProviderError, match="503 Service Unavailable"):
            embedder.embed(TEXTS)
        assert len(server.requests) == 3

    def test_a_fault_of_the_server_is_tried_once_more(self, embedder, server, pauses):
        server.faults.append(Fault(status=500))
        assert embedder.embed(TEXTS).shape == (3, DIMENSION)
        assert pauses == [0.25]

    def test_a_connection_that_is_reset_is_made_again(self, embedder, server, pauses):
        server.faults.append(Fault(reset=True))
        assert embedder.embed(TEXTS).shape == (3, DIMENSION)
        assert len(pauses) == 1

    def test_a_reply_that_breaks_off_is_asked_for_again(self, embedder, server, pauses):
        server.faults.append(Fault(cut=True))
        assert embedder.embed(TEXTS).shape == (3, DIMENSION)
        assert len(pauses) == 1

    def test_a_server_that_hangs_is_given_up_in_time_and_not_asked_again(self, hasty, server):
        server.faults.append(Fault(hang=True))
        with pytest.raises(ProviderError, match=r"no whole reply within 0.4 s.*http.timeout_s"):
            hasty.embed(TEXTS)
        assert len(server.requests) == 1

    @pytest.mark.parametrize("where", ["body", "headers"])
    @pytest.mark.timeout(20)
    def test_a_server_that_drips_is_given_up_in_time(self, hasty, server, where):
        server.faults.append(Fault(drip_s=0.05, drip_headers=where == "headers"))
        with pytest.raises(ProviderError, match=r"no whole reply within 0\.4 s"):
            hasty.embed(TEXTS)

    @pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip bomb"])
    def test_a_reply_without_bound_is_refused(self, make_embedder, server, provider, packed):
        embedder = make_embedder(provider, context_tokens=CONTEXT_TOKENS, max_reply_mb=0.01)
        server.faults.append(gzip_bomb(50_000_000) if packed else Fault(body=b" " * 20_000))
        with pytest.raises(ProviderError, match=r"more than 0.01 MB.*http.max_reply_mb"):
            embedder.embed(TEXTS)

    def test_a_reply_that_does_not_unpack_is_an_error(self, embedder, server):
        server.faults.append(Fault(body=b"no gzip", headers={"Content-Encoding": "gzip"}))
        with pytest.raises(ProviderError, match="cannot be decompressed"):
            embedder.embed(TEXTS)

    @pytest.mark.parametrize("status", [301, 302, 307, 308])
    def test_a_redirect_is_not_followed(self, embedder, server, status):
        headers = {"Location": f"{server.url}/elsewhere"}
        server.faults.append(Fault(status=status, headers=headers))
        with pytest.raises(ProviderError, match="redirects are not followed"):
            embedder.embed(TEXTS)
        assert len(server.requests) == 1

    def test_after_a_failure_the_same_client_goes_on(self, hasty, server):
        server.faults.append(Fault(hang=True))
        with pytest.raises(ProviderError):
            hasty.embed(TEXTS)
        assert hasty.embed(TEXTS).shape == (3, DIMENSION)

    def test_a_server_that_is_not_there_says_what_to_check(self, server, provider, make_embedder):
        embedder = make_embedder(provider, attempts=1)
        server.__exit__()
        with pytest.raises(ProviderError, match=r"cannot be reached.*rag doctor"):
            embedder.embed(TEXTS)

    @pytest.mark.timeout(20)
    def test_an_interrupt_ends_a_call_that_hangs_and_leaves_the_client_usable(
        self, make_embedder, server, provider
    ):
        embedder = make_embedder(provider, context_tokens=CONTEXT_TOKENS, timeout_s=30.0)
        server.faults.append(Fault(hang=True))

        def interrupt() -> None:
            while not server.requests:
                time.sleep(0.01)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

        threading.Thread(target=interrupt, daemon=True).start()
        with pytest.raises(KeyboardInterrupt):
            embedder.embed(TEXTS)
        assert embedder.embed(TEXTS).shape == (3, DIMENSION)

    def test_no_more_requests_run_at_once_than_the_profile_allows(
        self, make_embedder, server, provider
    ):
        server.slow_s = 0.05
        embedder = make_embedder(provider, context_tokens=CONTEXT_TOKENS, concurrency=2)
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: embedder.embed(TEXTS), range(8)))
        assert server.most_at_once == 2


# --- Keys -------------------------------------------------------------------------------------


@pytest.mark.parametrize("provider", REMOTE)
class TestKeys:
    def test_a_key_is_sent_as_a_bearer_token(self, make_embedder, server, provider):
        server.key = KEY
        assert make_embedder(provider, api_key=KEY).embed(TEXTS).shape == (3, DIMENSION)

    def test_a_key_that_the_server_echoes_is_in_no_error_traceback_repr_or_log(
        self, make_embedder, server, provider, caplog
    ):
        server.key = "another"
        embedder = make_embedder(provider, api_key=KEY, context_tokens=CONTEXT_TOKENS)
        with caplog.at_level(logging.DEBUG), pytest.raises(ProviderError) as caught:
            embedder.embed(TEXTS)
        assert "401" in str(caught.value)
        assert "check the key that the profile names" in str(caught.value)
        told = "".join(traceback.format_exception(caught.value)) + caplog.text + repr(embedder)
        assert KEY not in told + repr(vars(caught.value))

    def test_a_wrong_key_is_not_tried_again(self, make_embedder, server, provider, pauses):
        server.key = "another"
        with pytest.raises(ProviderError):
            make_embedder(provider, api_key=KEY, context_tokens=CONTEXT_TOKENS).embed(TEXTS)
        assert len(server.requests) == 1
        assert pauses == []


def test_the_wire_of_ollama_is_this(make_embedder, server):
    make_embedder("ollama").embed(TEXTS[:1])
    assert server.paths() == ["/api/show", "/api/embed"]
    assert server.requests[0].body == {"model": "test-embedder"}
    assert server.requests[1].body == {
        "model": "test-embedder",
        "input": [TEXTS[0]],
        "truncate": False,
        "options": {"num_ctx": CONTEXT_TOKENS},
    }


def test_the_wire_of_openai_is_this(make_embedder, server):
    make_embedder("openai-compatible", api_key="k").embed(TEXTS[:1])
    (request,) = server.requests
    assert request.path == "/v1/embeddings"
    assert request.body == {
        "model": "test-embedder",
        "input": [TEXTS[0]],
        "encoding_format": "float",
    }
    assert request.headers["Authorization"] == "Bearer k"
    assert request.headers["Content-Type"] == "application/json"


def test_a_lone_surrogate_is_sent_as_an_escape(make_embedder, server):
    make_embedder("openai-compatible").embed(("a\ud800",))
    assert json.dumps(server.requests[0].body["input"]) == '["a\\ud800"]'
