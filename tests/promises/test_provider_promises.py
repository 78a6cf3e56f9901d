"""Promises with models of a provider: the real wire of both APIs, the product behind it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpora import PUMP_QUESTION, PUMP_SENTENCE, pump_proposal, write_document
from model_server import CHAT_MODEL, DIMENSION, EMBEDDING_MODEL, Fault, ModelServer, Turn

from rag_core.adapters.profile_files import load_profile
from rag_core.errors import ContractMismatchError, ProviderError, RejectedTextError, UsageError
from rag_core.rules.rendering import render_document
from rag_core.runtime import Runtime
from rag_core.types.questions import Asked
from rag_core.types.verdicts import Outcome, Reason
from rag_core.verbs.answer import AnswerRun, answer
from rag_core.verbs.answer_records import RunIds
from rag_core.verbs.ingest import Ingested, IngestOptions, ingest
from rag_core.verbs.requests import resolve_question

PROVIDERS = ["ollama", "openai-compatible"]
PATHS = {"ollama": "/api/embed", "openai-compatible": "/v1/embeddings"}
KEY = "sk-very-secret-0123"
PROFILE = """\
extends = "{provider}"
name = "remote"
description = "A server of the test."

[embedding]
endpoint = "env:TEST_ENDPOINT"
api_key = "env:TEST_KEY"
model = "{embedding_model}"
dimension = {dimension}
[embedding.http]
attempts = 1
concurrency = {concurrency}

[retrieval]
min_cosine = -1.0

[abstention]
threshold = {threshold}

[chat]
endpoint = "env:TEST_ENDPOINT"
api_key = "env:TEST_KEY"
model = "{chat_model}"
style = "{style}"
[chat.http]
attempts = 1
"""


class Remote:
    """A corpus, a state root, and the product over a server; each `runtime` is a new process."""

    def __init__(self, root: Path, provider: str, server: ModelServer) -> None:
        self.root, self.provider, self.server = root, provider, server

    @property
    def corpus(self) -> Path:
        return self.root / "corpus"

    def runtime(self, *, style: str = "quotes", concurrency: int = 1, **changes: str) -> Runtime:
        values: dict[str, Any] = {
            "provider": self.provider,
            "embedding_model": EMBEDDING_MODEL,
            "chat_model": CHAT_MODEL,
            "dimension": DIMENSION,
            "style": style,
            "concurrency": concurrency,
            "threshold": '"off"',
        }
        path = self.root / "remote.toml"
        path.write_text(PROFILE.format(**(values | changes)))
        return Runtime.open(str(path), self.root / "state")

    def ingest(self, runtime: Runtime | None = None, **options: bool) -> Ingested:
        own = runtime or self.runtime()
        try:
            return ingest(
                ports=own.ingesting(self.corpus),
                run_id=own.new_run_id(),
                options=IngestOptions(**options),
            )
        finally:
            own.close()

    def answer(self, runtime: Runtime | None = None, text: str = PUMP_QUESTION) -> AnswerRun:
        own = runtime or self.runtime()
        question = resolve_question(Asked(text), profile=own.profile, clock=own.clock)
        try:
            return answer([question], ports=own.answering, ids=RunIds(own.new_run_id()))
        finally:
            own.close()


@pytest.fixture(params=PROVIDERS)
def remote(request, tmp_path, monkeypatch):
    """Two documents beside a server that wants a key; nothing is ingested yet."""
    with ModelServer(key=KEY) as server:
        path = "/v1" if request.param == "openai-compatible" else ""
        monkeypatch.setenv("TEST_ENDPOINT", server.url + path)
        monkeypatch.setenv("TEST_KEY", KEY)
        bench = Remote(tmp_path, request.param, server)
        write_document(bench.corpus, "SEAL", PUMP_SENTENCE)
        write_document(bench.corpus, "VALVE", "The valve opens at five bar and closes at two.")
        yield bench


def only(run):
    return run.answers[0].verdict


def test_promise_1_an_answer_by_a_provider_is_cut_from_the_stored_source(remote):
    remote.ingest()
    # The model's copy has typographic quotes and spaces of its own; none of that is published.
    copied = PUMP_SENTENCE.replace(" is ", "  is\u00a0")
    remote.server.script.append(Turn(pump_proposal(("SEAL#0", copied))))
    assert [str(text) for text in only(remote.answer()).published] == [f"[SEAL#0] {PUMP_SENTENCE}"]


def test_promise_3_an_invented_quotation_of_a_provider_is_refused(remote):
    remote.ingest()
    remote.server.script.append(Turn(pump_proposal(("SEAL#0", "The seal of the pump is red."))))
    assert only(remote.answer()).reasons == (Reason.QUOTE_NOT_FOUND,)


def test_numbered_sentences_are_picked_over_the_wire(remote):
    remote.ingest()
    remote.server.script.append(Turn('{"can_answer": true, "evidence": ["1.1"]}'))
    verdict = only(remote.answer(remote.runtime(style="handles")))
    assert verdict.outcome is Outcome.ANSWERED
    schema = json.dumps(remote.server.requests[-1].body)
    assert '"enum": ["1.1"]' in schema


def test_promise_4_no_request_reaches_the_chat_model_without_an_admissible_hit(remote):
    remote.ingest()
    assert only(remote.answer(text="Who repairs roofs?")).reasons == (Reason.NO_ADMISSIBLE_HIT,)
    assert not any("chat" in path for path in remote.server.paths())


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(Fault(status=503), id="503"),
        pytest.param(Fault(body=b"<html>"), id="no JSON"),
        pytest.param(Fault(reset=True), id="reset"),
    ],
)
def test_promise_5_a_chat_provider_that_fails_is_a_failure_and_no_refusal(remote, fault):
    remote.ingest()
    runtime = remote.runtime()
    answered = remote.answer(runtime)  # the model is known, so the next requests are these two
    assert only(answered).outcome is Outcome.REFUSED
    remote.server.faults.extend([Fault(), fault])
    run = remote.answer(runtime)
    assert only(run).reasons == (Reason.PROVIDER,)
    assert isinstance(run.answers[0].error, ProviderError)


def test_promise_6_the_contract_names_provider_address_and_model_without_credentials(
    remote, monkeypatch
):
    address = remote.runtime().embedder.contract.endpoint
    monkeypatch.setenv("TEST_ENDPOINT", f"{address}/?version=2")
    remote.ingest()
    embedding = remote.ingest().manifest.contract.embedding
    assert (embedding.provider, embedding.model) == (remote.provider, EMBEDDING_MODEL)
    assert embedding.endpoint == address
    assert (embedding.model_digest is None) == (remote.provider == "openai-compatible")
    assert remote.server.requests[-1].path.endswith("?version=2")


def test_promise_6_another_address_is_refused_with_both_sides_named(remote, monkeypatch):
    remote.ingest()
    with ModelServer(key=KEY) as other:
        path = "/v1" if remote.provider == "openai-compatible" else ""
        monkeypatch.setenv("TEST_ENDPOINT", other.url + path)
        with pytest.raises(ContractMismatchError) as caught:
            remote.ingest()
    assert other.url in str(caught.value)
    assert remote.server.url in str(caught.value)


def test_a_model_swapped_behind_its_name_is_caught_at_the_next_ingest(remote):
    remote.ingest()
    remote.server.swap_model()
    write_document(remote.corpus, "NEW", "The hose is green and one metre long.")
    with pytest.raises(ContractMismatchError, match="is not the one that built the index"):
        remote.ingest()
    assert remote.ingest(rebuild=True).outcome == "committed"


def test_a_model_swapped_behind_its_name_is_caught_at_the_first_answer_of_a_process(remote):
    remote.ingest()
    remote.server.swap_model()
    run = remote.answer()
    assert only(run).reasons == (Reason.CONTRACT_MISMATCH,)
    assert "a canary" in str(run.answers[0].error)


def test_a_digest_that_ollama_reports_anew_is_another_contract(remote):
    if remote.provider != "ollama":
        pytest.skip("the OpenAI-compatible API reports no digest; canaries stand in for it")
    remote.ingest()
    remote.server.digest = "c" * 64
    assert only(remote.answer()).reasons == (Reason.CONTRACT_MISMATCH,)
    with pytest.raises(ContractMismatchError, match="model_digest"):
        remote.ingest()


def test_changing_the_chat_model_touches_no_vector(remote):
    remote.ingest()
    before = len(
        [path for path in remote.server.paths() if path.startswith(PATHS[remote.provider])]
    )
    done = remote.ingest(remote.runtime(chat_model="another", style="handles"))
    after = len([path for path in remote.server.paths() if path.startswith(PATHS[remote.provider])])
    assert done.outcome == "unchanged"
    assert after - before == 1  # the canary


def test_promise_7_a_provider_that_fails_half_way_keeps_the_index_and_the_finished_batches(remote):
    remote.ingest()
    before = remote.runtime().store
    for number in range(40):
        write_document(remote.corpus, f"PAGE-{number:02}", f"Page {number} is about pipes.")
    embed = PATHS[remote.provider]
    sent = remote.server.paths().count(embed)
    remote.server.bad_texts = {"Page 35 ": 500}
    with pytest.raises(RejectedTextError, match="PAGE-35#0"):
        remote.ingest()
    with before.open() as snapshot:
        assert snapshot.manifest.counts.chunks == 2
    remote.server.bad_texts = {}
    sent = remote.server.paths().count(embed)
    done = remote.ingest()
    assert done.manifest.counts.chunks == 42
    assert done.record.reused == 34  # two of before, and two batches of 16
    # The canaries before and after, and the third batch.
    assert remote.server.paths().count(embed) - sent == 3


def test_promise_7_batches_run_side_by_side_and_give_the_same_index(remote):
    for number in range(100):
        write_document(remote.corpus, f"PAGE-{number:02}", f"Page {number} is about pipes.")
    one = remote.ingest(remote.runtime(concurrency=1)).manifest
    remote.server.slow_s, remote.server.most_at_once = 0.05, 0
    four = remote.ingest(remote.runtime(concurrency=4), rebuild=True).manifest
    assert remote.server.most_at_once == 4
    assert four.root == one.root


def test_promise_11_keys_of_providers_are_in_no_file_that_runs_leave(remote):
    remote.ingest()
    remote.server.script.append(Turn(pump_proposal()))
    remote.answer()
    remote.server.faults.append(Fault(status=401, body=json.dumps({"error": KEY}).encode()))
    assert KEY not in str(remote.answer().answers[0].error)
    files = [path for path in (remote.root / "state").rglob("*") if path.is_file()]
    assert len(files) > 5
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []


def test_a_key_that_is_not_set_is_named_and_nothing_is_sent(remote, monkeypatch):
    monkeypatch.delenv("TEST_KEY")
    with pytest.raises(UsageError, match="env:TEST_KEY: the environment variable TEST_KEY"):
        remote.ingest()
    assert remote.server.requests == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        pytest.param('api_key = "sk-123"', "api_key", id="a key"),
        pytest.param('endpoint = "http://me:secret@host/v1"', "no credentials", id="a password"),
        pytest.param('endpoint = "http://host/v1?key=s"', "no credentials", id="a query"),
        pytest.param('endpoint = "ftp://host"', "want http", id="another scheme"),
    ],
)
def test_a_profile_that_holds_a_secret_is_refused_without_repeating_it(tmp_path, line, found):
    path = tmp_path / "own.toml"
    path.write_text(f'extends = "openai-compatible"\nname = "own"\n[embedding]\n{line}\n')
    with pytest.raises(UsageError, match=found) as caught:
        load_profile(str(path))
    assert "sk-123" not in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "key=s" not in str(caught.value)


def test_doctor_asks_both_providers_and_says_what_they_are(remote):
    remote.ingest()
    checks = {check.name: check for check in remote.runtime().health()}
    assert checks["embedding model"].ok
    assert checks["chat model"].ok
    assert CHAT_MODEL in checks["chat model"].found
    assert checks["index"].ok


def test_doctor_says_which_provider_does_not_answer(remote):
    remote.ingest()
    remote.server.__exit__()
    checks = {check.name: check for check in remote.runtime().health()}
    assert not checks["embedding model"].ok
    assert "cannot be reached" in checks["embedding model"].found
    assert checks["chat model"].exit_code == 7
    if remote.provider == "ollama":  # whose contract holds the digest that the server reports
        assert "embedding model that is not ready" in checks["index"].found


# --- One model from the first batch to the last -----------------------------------------------


def own_vectors(remote) -> tuple[int, int]:
    """How many stored vectors are those of the server's present model, of how many."""
    runtime = remote.runtime()
    with runtime.store.open() as snapshot:
        chunks = snapshot.chunks()
        ids = [chunk.id for chunk in chunks]
        texts, vectors = snapshot.texts(ids), snapshot.vectors(ids)
    template = runtime.profile.embedding.document_template
    rendered = [
        render_document(template, title=chunk.title, text=text)
        for chunk, text in zip(chunks, texts, strict=True)
    ]
    fitting = [
        np.allclose(vector, remote.server.vector(text), atol=1e-6)
        for vector, text in zip(vectors, rendered, strict=True)
    ]
    return sum(fitting), len(fitting)


def write_pages(remote, count: int) -> None:
    for number in range(count):
        write_document(remote.corpus, f"PAGE-{number:02}", f"Page {number} is about pipes.")


def test_an_ingest_that_resumes_under_a_swapped_model_uses_none_of_the_others_vectors(remote):
    write_pages(remote, 40)
    remote.server.bad_texts = {"Page 39 ": 503}
    with pytest.raises(ProviderError):
        remote.ingest()
    remote.server.bad_texts = {}
    remote.server.swap_model()
    assert remote.ingest().record.reused == 0
    assert own_vectors(remote) == (42, 42)


def test_a_model_swapped_while_an_ingest_runs_stops_it_before_the_transaction(remote):
    write_pages(remote, 40)
    embed = PATHS[remote.provider]
    swapped: list[bool] = []

    def swap_after_the_second_batch(reply):
        if remote.server.paths().count(embed) == 3 and not swapped:
            swapped.append(True)
            remote.server.swap_model()

    remote.server.change = swap_after_the_second_batch
    with pytest.raises(ContractMismatchError, match="was swapped while this ingest ran"):
        remote.ingest()
    assert not (remote.root / "state" / "index.sqlite").exists()
    remote.server.change = None
    remote.ingest()
    assert own_vectors(remote) == (42, 42)


def test_what_a_failed_rebuild_staged_under_another_model_is_not_used_afterwards(remote):
    remote.ingest()
    first = remote.server.weights
    write_pages(remote, 40)
    remote.server.swap_model()
    remote.server.bad_texts = {"Page 39 ": 503}
    with pytest.raises(ProviderError):
        remote.ingest(rebuild=True)
    remote.server.bad_texts, remote.server.weights = {}, first
    remote.ingest()
    assert own_vectors(remote) == (42, 42)


def test_a_batch_that_comes_back_after_its_ingest_has_failed_is_not_kept(remote):
    write_pages(remote, 60)
    runtime = remote.runtime(concurrency=4)
    remote.server.slow_s = 0.3
    remote.server.bad_texts = {"Page 0 ": 401}
    with pytest.raises(ProviderError, match="401"):
        remote.ingest(runtime)
    parts = sorted((remote.root / "state" / "stages").rglob("part-*.parquet"))
    time.sleep(1.0)
    assert sorted((remote.root / "state" / "stages").rglob("part-*.parquet")) == parts


def test_a_process_that_runs_on_follows_a_model_that_was_swapped_and_ingested_anew(remote):
    remote.ingest()
    remote.server.script.append(Turn(pump_proposal()))
    runtime = remote.runtime(threshold="-1.0")
    assert only(remote.answer(runtime)).outcome is Outcome.ANSWERED
    remote.server.swap_model()
    remote.server.digest = "d" * 64
    remote.ingest(rebuild=True)
    old, new = remote.answer(runtime), remote.answer(remote.runtime(threshold="-1.0"))
    assert only(old).outcome is Outcome.ANSWERED
    score = new.answers[0].record.top_sentence_score
    assert score is not None
    assert old.answers[0].record.top_sentence_score == score


def test_a_failed_answer_keeps_the_calls_that_it_made(remote):
    remote.ingest()
    runtime = remote.runtime()
    remote.answer(runtime)
    remote.server.script.append(Turn("no JSON"))
    remote.server.faults.extend([Fault(), Fault(), Fault(status=401)])
    run = remote.answer(runtime)
    assert only(run).reasons == (Reason.PROVIDER,)
    calls = run.answers[0].record.calls
    assert (calls.chat_calls, calls.repair_calls) == (2, 1)
    assert run.answers[0].record.input_tokens == 40


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("timeout_s = inf", id="an endless deadline"),
        pytest.param("timeout_s = 0.0", id="no time"),
        pytest.param("max_wait_s = nan", id="a pause that is no number"),
        pytest.param("max_reply_mb = 1e300", id="a reply without bound"),
        pytest.param("attempts = 0", id="no try"),
        pytest.param("concurrency = 1000", id="too many requests at once"),
    ],
)
def test_a_limit_that_limits_nothing_is_refused(tmp_path, line):
    path = tmp_path / "own.toml"
    path.write_text(f'extends = "ollama"\nname = "own"\n[embedding.http]\n{line}\n')
    with pytest.raises(UsageError, match=f"embedding.http.{line.split()[0]}"):
        load_profile(str(path))


def test_a_key_of_a_base_profile_is_taken_back_with_none(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(
        'extends = "openai-compatible"\nname = "own"\n'
        '[embedding]\napi_key = "none"\n[abstention]\nthreshold = 0.5\n'
    )
    profile = load_profile(str(path))
    assert profile.embedding.api_key is None
    assert profile.chat.api_key == "env:OPENAI_API_KEY"
    assert profile.abstention.threshold == 0.5
