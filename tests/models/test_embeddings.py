"""Vectors of a real server: ingest, answer, a model swapped behind its name, a text too long."""

from __future__ import annotations

import numpy as np
import pytest
from corpora import write_document

from rag_core.errors import ContractMismatchError, RejectedTextError
from rag_core.types.verdicts import Outcome, Reason

pytestmark = pytest.mark.models

DIMENSION = 576
QUESTION = "What colour is the seal of the pump?"
SENTENCE = "The seal of the pump is blue and must never be removed."
SERIALS = " ".join(str(number) for number in range(7000, 7118))
"""One chunk of 589 characters and, as this model reads each digit alone, over 512 tokens."""


@pytest.fixture
def desk_over(desk_at, embedding_server):
    """Opens a runtime over a state, with the server's vectors and the extractive proposer.

    Cosines of a chat model's states say little: nearly all lie above 0.9. No threshold is set.
    """

    def open_desk(state: str, **changes: object):
        section = embedding_server.section(
            dimension=DIMENSION,
            document_template="{title}\n{text}",
            query_template="{text}",
        )
        return desk_at(
            state,
            embedding=section | changes,
            retrieval={"min_cosine": -1.0},
            abstention={"threshold": "off"},
        )

    return open_desk


def test_vectors_are_finite_and_not_zero_and_repeat_exactly(desk_over):
    embedder = desk_over("vectors").runtime.embedder
    texts = [SENTENCE, "A parking ticket costs four euros per day.", SENTENCE]
    first, second = embedder.embed(texts), embedder.embed(texts)
    assert first.shape == (3, DIMENSION)
    assert first.dtype == np.float32
    assert np.isfinite(first).all()
    assert np.abs(first).max(axis=1).min() > 0
    assert np.array_equal(first, second)
    assert np.array_equal(first[0], first[2])
    assert not np.array_equal(first[0], first[1])


def test_an_ingest_over_the_server_commits_and_its_contract_names_endpoint_and_model(
    desk_over, embedding_server
):
    done = desk_over("ingest").ingest()
    assert (done.outcome, done.record.embedded, done.record.requests) == ("committed", 6, 1)
    contract = done.manifest.contract.embedding
    assert contract.provider == "openai-compatible"
    assert contract.endpoint == f"{embedding_server.address}/v1"
    assert (contract.model, contract.dimension) == ("smollm2-135m", DIMENSION)


def test_a_question_is_answered_over_the_vectors_of_the_server(desk_over):
    desk = desk_over("answer")
    desk.ingest()
    (answered,) = desk.ask(QUESTION)
    assert answered.verdict.outcome is Outcome.ANSWERED
    assert SENTENCE in answered.verdict.published[0].text


def test_a_profile_that_names_another_model_is_refused_by_the_contract(desk_over):
    desk_over("renamed").ingest()
    renamed = desk_over("renamed", model="smollm2-360m")
    (answered,) = renamed.ask(QUESTION)
    assert answered.verdict.outcome is Outcome.FAILED
    assert answered.verdict.reasons == (Reason.CONTRACT_MISMATCH,)
    assert "smollm2-135m" in answered.verdict.detail
    assert "smollm2-360m" in answered.verdict.detail
    with pytest.raises(ContractMismatchError, match="smollm2-360m"):
        renamed.ingest()


def test_a_model_swapped_behind_its_name_is_caught_by_a_canary(desk_over, embedding_server):
    desk_over("swapped").ingest()
    embedding_server.restart(pooling="last")
    try:
        swapped = desk_over("swapped")
        (answered,) = swapped.ask(QUESTION)
        write_document(swapped.corpus, "NEW", "Something new stands in here, to be embedded.")
        with pytest.raises(ContractMismatchError, match="canary"):
            swapped.ingest()
    finally:
        embedding_server.restart(pooling="mean")
    assert answered.verdict.outcome is Outcome.FAILED
    assert answered.verdict.reasons == (Reason.CONTRACT_MISMATCH,)
    assert "canary" in answered.verdict.detail


def test_a_chunk_beyond_the_context_of_the_server_ends_the_ingest_by_its_name(desk_over):
    desk = desk_over("long")
    desk.ingest()
    write_document(desk.corpus, "SERIALS", SERIALS)
    with pytest.raises(RejectedTextError, match="SERIALS#0"):
        desk.ingest()
    (answered,) = desk_over("long").ask(QUESTION)
    assert answered.verdict.outcome is Outcome.ANSWERED
