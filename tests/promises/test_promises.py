"""Promises 1 to 6 end to end: real verbs, real SQLite, real Parquet, known vectors."""

from __future__ import annotations

import dataclasses
import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from corpora import Workbench, uncalibrated, write_document
from fakes import KnownVectors, ScriptedChat, no_chat

from builders import make_document, make_governance
from rag_core.adapters.extractive import ExtractiveChat
from rag_core.adapters.run_log import RunLogFolder
from rag_core.registry import Providers
from rag_core.rules.chunking import chunk_document
from rag_core.rules.digests import corpus_digest, embedding_key
from rag_core.rules.eligibility import ineligibility
from rag_core.rules.manifest import validate_build
from rag_core.rules.segmentation import TEXT_RULES_ID
from rag_core.runtime import Runtime, bundled_corpus
from rag_core.types.corpus import Corpus, Document
from rag_core.types.ids import RunId
from rag_core.types.index import (
    SCHEMA_VERSION,
    Canary,
    EmbeddingContract,
    IndexBuild,
    IndexContract,
)
from rag_core.types.ports import Chat
from rag_core.types.profiles import Profile
from rag_core.types.questions import Asked
from rag_core.types.retrieval import Admission, EligibleSet
from rag_core.types.verdicts import MatchKind, Outcome, Reason
from rag_core.verbs import contract, ranking, retrieve
from rag_core.verbs.answer import AnswerPorts, answer
from rag_core.verbs.answer_records import RunIds
from rag_core.verbs.ingest import ingest
from rag_core.verbs.probe import probe
from rag_core.verbs.requests import resolve_question

QUESTION = "What colour is the seal of the pump?"
SENTENCE = "The seal of the pump is “blue” – and never removed."
SEAL = [1, 0, 0, 0, 0, 0, 0, 0]


@pytest.fixture
def bench(tmp_path):
    """A document whose vector is the question's, and one at a right angle to it."""
    bench = Workbench(tmp_path)
    bench.embedder.vectors = {"seal": SEAL, "valve": [0, 1, 0, 0, 0, 0, 0, 0]}
    write_document(bench.corpus, "SEAL", f"{SENTENCE}\n\nA second paragraph on gaskets follows.")
    write_document(bench.corpus, "VALVE", "The valve opens at five bar and closes at two.")
    bench.ingest()
    return bench


def saying(*evidence: tuple[str, str]) -> ScriptedChat:
    """A chat that proposes these (chunk id, quotation) pairs."""
    entries = [{"source_id": source_id, "quote": quote} for source_id, quote in evidence]
    return ScriptedChat([json.dumps({"can_answer": True, "evidence": entries})])


def only(run):
    return run.answers[0].verdict


def rows(bench: Workbench, statement: str) -> list[Any]:
    with closing(sqlite3.connect(bench.state / "index.sqlite")) as connection:
        return connection.execute(statement).fetchall()


def logged(run) -> dict[str, Any]:
    """Both tables that a run left, read back from Parquet."""
    tables = RunLogFolder(run.hits_path.parents[2]).read_run(run.answers[0].record.run_id)
    assert tables is not None
    return {"hits": tables.get("hits", []), "verdicts": tables["verdicts"]}


# --- Promise 1: every published character is cut from the stored source ---------------------------


def test_promise_1_published_text_is_the_stored_slice_and_not_the_chats_copy(bench):
    chat = saying(("SEAL#0", 'the seal of  the pump is "blue" - and never removed.'))
    (published,) = only(bench.answer(QUESTION, make_chat=lambda: chat)).published
    ((stored,),) = rows(bench, "SELECT text FROM rag_sources WHERE id = 'SEAL'")
    assert published.text == SENTENCE
    assert stored[published.span.start : published.span.end] == published.text
    assert published.match is MatchKind.TYPOGRAPHIC


def test_promise_1_the_run_log_holds_the_stored_slice_too(bench):
    chat = saying(("SEAL#0", 'The seal of the pump is "blue" - and never removed.'))
    run = bench.answer(QUESTION, make_chat=lambda: chat)
    (row,) = logged(run)["verdicts"]
    assert [item["text"] for item in row["published"]] == [SENTENCE]


def test_promise_1_a_file_changed_after_the_ingest_changes_no_answer(bench):
    write_document(bench.corpus, "SEAL", "The seal of the pump is green.")
    assert only(bench.answer(QUESTION)).published[0].text == SENTENCE
    shutil.rmtree(bench.corpus)
    assert only(bench.answer(QUESTION)).published[0].text == SENTENCE


# --- Promise 2: what is not eligible reaches nothing ----------------------------------------------

INELIGIBLE = [
    pytest.param({"status": "draft"}, id="a draft"),
    pytest.param({"status": "withdrawn"}, id="a withdrawn page"),
    pytest.param({"canonical": "false"}, id="a copy"),
    pytest.param({"valid_from": "2026-12-02"}, id="a rule of tomorrow"),
    pytest.param({"valid_until": "2026-11-30"}, id="a rule of yesterday"),
    pytest.param({"scope": "hr"}, id="a scope that was not asked for"),
    pytest.param({"product": "GX-100"}, id="another product"),
]


def with_hidden(bench: Workbench, fields: dict[str, str]) -> Workbench:
    """The bench with a better match that the question may not see."""
    (bench.corpus / "corpus.yaml").write_text("products: [GX-100, GX-200]\n")
    write_document(bench.corpus, "HIDDEN", "The seal of the pump is red, pump seal.", **fields)
    return bench


@pytest.mark.parametrize("fields", INELIGIBLE)
def test_promise_2_what_is_not_eligible_reaches_neither_ranking_prompt_log_nor_answer(
    bench, fields
):
    with_hidden(bench, fields).ingest()
    chat = saying(("SEAL#0", SENTENCE))
    run = bench.answer(QUESTION, make_chat=lambda: chat, product="GX-200")
    retrieval = run.answers[0].retrieval
    assert only(run).outcome is Outcome.ANSWERED
    assert (retrieval.eligible, retrieval.indexed) == (2, 3)
    assert [excerpt.chunk_id for excerpt in chat.asked[0].knowledge.excerpts] == ["SEAL#0"]
    assert {item.chunk_id for item in retrieval.candidates} == {"SEAL#0", "VALVE#0"}
    seen = json.dumps(logged(run), default=str)
    assert "HIDDEN" not in seen
    assert "is red" not in seen


@pytest.mark.parametrize("fields", INELIGIBLE)
def test_promise_2_what_is_not_eligible_changes_no_statistic(bench, fields):
    before = bench.answer(QUESTION, product=None).answers[0].retrieval
    with_hidden(bench, fields).ingest()
    after = bench.answer(QUESTION, product="GX-200").answers[0].retrieval
    assert after.candidates == before.candidates
    assert after.sentences == before.sentences


@pytest.mark.parametrize("fields", INELIGIBLE)
def test_promise_2_a_probe_shows_nothing_that_is_not_eligible(bench, fields):
    with_hidden(bench, fields).ingest()
    question = resolve_question(
        Asked(QUESTION, product="GX-200"), profile=bench.profile, clock=bench.clock
    )
    found = probe(question, ports=bench.retrieval_ports())
    assert [hit.chunk_id for hit in found.hits] == ["SEAL#0", "VALVE#0"]
    assert (found.eligible, found.indexed) == (2, 3)


@pytest.mark.parametrize("fields", INELIGIBLE)
def test_promise_2_the_gate_refuses_what_a_broken_filter_let_through(bench, fields, monkeypatch):
    with_hidden(bench, fields).ingest()

    def no_filter(snapshot, rule, profile):
        chunks = snapshot.chunks()
        assert any(ineligibility(chunk.governance, rule) for chunk in chunks)
        return EligibleSet(chunks=chunks, indexed=len(chunks))

    monkeypatch.setattr(retrieve, "eligible_set", no_filter)
    chat = saying(("HIDDEN#0", "The seal of the pump is red, pump seal."))
    verdict = only(bench.answer(QUESTION, make_chat=lambda: chat, product="GX-200"))
    assert verdict.reasons == (Reason.INELIGIBLE_SOURCE,)
    assert verdict.published == ()


def test_promise_2_one_eligible_chunk_among_ten_thousand_is_found(tmp_path):
    # All the others are nearer and hold more of the question: a cut before the filter loses it.
    bench = Workbench(tmp_path)
    bench.embedder.vectors = {"Pump": SEAL, "colour": SEAL, "needle": [0.6, 0.8, 0, 0, 0, 0, 0, 0]}
    hidden = make_governance(scope="hr")
    documents = [
        make_document(f"Pump {number}: seal colour red.", id=f"D-{number:04}", governance=hidden)
        for number in range(9_999)
    ]
    commit(bench, [*documents, make_document("A needle of the seal is blue.", id="ZZZ")])
    run = bench.answer("What colour is the seal?")
    retrieval = run.answers[0].retrieval
    assert retrieval is not None
    assert (retrieval.eligible, retrieval.indexed) == (1, 10_000)
    assert [text.source_id for text in only(run).published] == ["ZZZ"]


def commit(bench: Workbench, documents: list[Document]) -> None:
    """An index of these documents, one chunk each, without the stages of an ingest."""
    corpus = Corpus(tuple(documents), (), None)
    chunks = tuple(chunk for document in documents for chunk in chunk_document(document))
    texts = tuple(f"{chunk.title}\n{chunk.text}" for chunk in chunks)
    embedding = bench.embedder.contract
    canary = Canary("a canary", bench.embedder.embed(("a canary",))[0])
    build = IndexBuild(
        corpus=corpus,
        chunks=chunks,
        vectors=bench.embedder.embed(texts),
        vector_keys=tuple(embedding_key(embedding, text) for text in texts),
        windows=(1,) * len(chunks),
        contract=IndexContract(
            embedding, bench.profile.chunking, TEXT_RULES_ID, SCHEMA_VERSION, corpus_digest(corpus)
        ),
        canaries=(canary,),
        notices=(),
    )
    now = bench.clock.now()
    bench.store.commit(
        validate_build(build, previous=None, code_version="test", created_at=now, key=None)
    )


# --- Promise 3: inside one chunk, verbatim, long enough, on word bounds ---------------------------


@pytest.mark.parametrize(
    ("chunk_id", "quote", "reason"),
    [
        pytest.param("SEAL#0", "is blue", Reason.QUOTE_TOO_SHORT, id="too short"),
        pytest.param("SEAL#7", SENTENCE, Reason.UNKNOWN_SOURCE, id="a part that does not exist"),
        pytest.param("VALVE#0", SENTENCE, Reason.UNKNOWN_SOURCE, id="a chunk not retrieved"),
        pytest.param("SEAL", SENTENCE, Reason.UNKNOWN_SOURCE, id="a document, no chunk"),
        pytest.param(
            "SEAL#0",
            "The seal of the pump is “green” – and never removed.",
            Reason.QUOTE_NOT_FOUND,
            id="another colour",
        ),
        pytest.param(
            "SEAL#0",
            "The seal of the pump is “blue” – and removed.",
            Reason.QUOTE_NOT_FOUND,
            id="a negation left out",
        ),
        pytest.param(
            "SEAL#0",
            "eal of the pump is “blue” – and nev",
            Reason.QUOTE_CUTS_WORD,
            id="from inside a word",
        ),
        pytest.param(
            "SEAL-2#0",
            SENTENCE,
            Reason.QUOTE_IN_OTHER_SOURCE,
            id="words of another retrieved source",
        ),
    ],
)
def test_promise_3_a_quotation_that_breaks_one_rule_is_refused_by_its_name(
    bench, chunk_id, quote, reason
):
    write_document(bench.corpus, "SEAL-2", "The second seal of the pump is spare and yellow.")
    bench.ingest()
    run = bench.answer(QUESTION, make_chat=lambda: saying((chunk_id, quote)))
    assert only(run).reasons == (reason,)
    assert only(run).published == ()
    (row,) = logged(run)["verdicts"]
    assert [item["quote"] for item in row["rejections"]] == [quote]


def test_promise_3_a_quotation_over_the_bound_of_two_chunks_is_refused(tmp_path):
    bench = Workbench(tmp_path)
    bench.embedder.vectors = {"seal": SEAL}
    body = " ".join(f"Rule {number} of the seal of the pump holds." for number in range(40))
    write_document(bench.corpus, "LONG", body)
    bench.ingest()
    with bench.store.open() as snapshot:
        first, second, *_ = snapshot.chunks()
        stored = snapshot.source(first.source_id)
    assert stored is not None
    assert (first.id, second.id) == ("LONG#0", "LONG#1")
    across = stored.text[second.span.start - 40 : first.span.end + 40]
    inside = stored.text[second.span.start : first.span.end]
    assert len(inside.split()) >= 4
    for chunk_id in ("LONG#0", "LONG#1"):
        verdict = only(bench.answer(QUESTION, make_chat=lambda c=chunk_id: saying((c, across))))
        assert verdict.reasons == (Reason.QUOTE_NOT_FOUND,)


def test_promise_3_one_wrong_entry_refuses_the_whole_proposal(bench):
    chat = saying(("SEAL#0", SENTENCE), ("SEAL#0", "The seal is made of solid gold."))
    verdict = only(bench.answer(QUESTION, make_chat=lambda: chat))
    assert verdict.reasons == (Reason.QUOTE_NOT_FOUND,)
    assert verdict.published == ()


# --- Promise 4: no admissible hit, no chat client -------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        pytest.param({"as_of": "2001-01-01"}, None, id="nothing is eligible on that day"),
        pytest.param({"scopes": ("hr",)}, None, id="nothing is eligible in that scope"),
        pytest.param(
            {"text": "Which gaskets?"}, Admission.BELOW_MIN_COSINE, id="a shared term, but too far"
        ),
        pytest.param({"text": "sealant"}, Admission.NO_SHARED_TERM, id="near, but no shared term"),
    ],
)
def test_promise_4_no_chat_client_is_made_when_no_hit_is_admitted(bench, asked, why):
    bench.embedder.vectors = {**bench.embedder.vectors, "gaskets?": [0, 0, 0, 0, 0, 0, 0, 1]}
    run = bench.answer(**({"text": QUESTION} | asked), make_chat=no_chat)
    assert only(run).reasons == (Reason.NO_ADMISSIBLE_HIT,)
    assert run.answers[0].record.calls.chat_calls == 0
    best = {item.chunk_id: item.admission for item in run.answers[0].retrieval.candidates}
    assert best.get("SEAL#0") is why


@pytest.mark.parametrize(
    ("text", "product"),
    [
        pytest.param("How long is the warranty of the GX-999?", None, id="in the question"),
        pytest.param("How long is the warranty?", "GX-999", id="as an option"),
        pytest.param("Is the GX-200 or the GX-999 warranted?", None, id="beside a known one"),
        pytest.param("How long is the warranty of the GX‑999?", None, id="no-break hyphen"),
    ],
)
def test_promise_4_gx_999_makes_no_chat_client_and_embeds_no_question(tmp_path, text, product):
    bench = Workbench(tmp_path)
    shutil.copytree(bundled_corpus(), bench.corpus)
    bench.ingest()
    bench.embedder.requests.clear()
    run = bench.answer(text, product=product, make_chat=no_chat)
    assert only(run).reasons == (Reason.UNKNOWN_PRODUCT,)
    assert "GX-999" in only(run).detail
    assert [request for request in bench.embedder.requests if text in request[0]] == []


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """The bundled corpus under the real composition root and the embedded model."""
    runtime = Runtime.open("offline", tmp_path_factory.mktemp("sample"))
    ingest(ports=runtime.ingesting(bundled_corpus()), run_id=runtime.new_run_id())
    return runtime


def ask(runtime: Runtime, text: str):
    question = resolve_question(
        Asked(text, as_of="2026-12-01"), profile=runtime.profile, clock=runtime.clock
    )
    return answer([question], ports=runtime.answering, ids=RunIds(runtime.new_run_id()))


def test_promise_4_the_composition_root_makes_a_chat_client_only_for_admitted_hits(
    sample, monkeypatch
):
    made = []
    real = Providers.chat

    def counted(self: Providers, profile: Profile) -> Chat:
        made.append(profile.name)
        return real(self, profile)

    monkeypatch.setattr(Providers, "chat", counted)
    refused = [ask(sample, text) for text in ("How do I bake an apple pie?", "What is a GX-999?")]
    assert [only(run).reasons[0].value for run in refused] == [
        "no_admissible_hit",
        "unknown_product",
    ]
    assert made == []
    assert only(ask(sample, "Where can I export CSV in Reporting?")).outcome is Outcome.ANSWERED
    assert made == ["offline"]


def test_two_questions_on_one_runtime_are_both_answered(sample):
    first = ask(sample, "Where can I export CSV in Reporting?")
    second = ask(sample, "Is an expense reimbursed without a receipt?")
    assert only(first).published[0].source_id == "ACME-EXPORT"
    assert only(second).published[0].source_id == "ACME-RECEIPTS"
    assert first.verdicts_path != second.verdicts_path


# --- Promise 5: three outcomes, and a failure is never missing evidence ---------------------------


def lose_index(bench):
    (bench.state / "index.sqlite").unlink()


def damage_texts(bench):
    with closing(sqlite3.connect(bench.state / "index.sqlite")) as connection, connection:
        connection.execute("UPDATE rag_chunk_texts SET text = text || '!'")


def fail_embedder(bench):
    bench.embedder.fail_after = 0


def change_model(bench):
    bench.embedder.model = "another-model"


def spoil_query(bench):
    bench.embedder.spoil = lambda vectors: vectors * 0


def break_rule(bench, monkeypatch):
    def bug(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(ranking, "fuse", bug)


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        pytest.param(lose_index, Reason.NO_INDEX, id="no index"),
        pytest.param(damage_texts, Reason.INTEGRITY, id="stored texts changed"),
        pytest.param(fail_embedder, Reason.PROVIDER, id="the embedder fails"),
        pytest.param(spoil_query, Reason.PROVIDER, id="the embedder gives zeros"),
        pytest.param(change_model, Reason.CONTRACT_MISMATCH, id="another model"),
        pytest.param(break_rule, Reason.INTERNAL, id="a bug"),
    ],
)
def test_promise_5_a_failure_has_its_own_outcome_reason_and_row(bench, harm, reason, monkeypatch):
    if harm is break_rule:
        harm(bench, monkeypatch)
    else:
        harm(bench)
    run = bench.answer(QUESTION, make_chat=no_chat)
    verdict = only(run)
    assert (verdict.outcome, verdict.reasons) == (Outcome.FAILED, (reason,))
    assert "Insufficient evidence" not in verdict.detail
    assert run.answers[0].error is not None
    (row,) = logged(run)["verdicts"]
    assert (row["outcome"], row["reasons"]) == ("failed", [reason.value])


def test_promise_5_a_chat_that_fails_is_a_failure_and_no_refusal(bench):
    class Failing:
        def propose(self, request):
            raise ConnectionError("the line is dead")

    verdict = only(bench.answer(QUESTION, make_chat=Failing))
    assert verdict.outcome is Outcome.FAILED
    assert verdict.published == ()


def test_promise_5_a_failed_question_leaves_the_others_of_its_run_alone(bench):
    ports = bench.retrieval_ports()
    texts = ("Who repairs the roof?", QUESTION)
    asked = [resolve_question(Asked(t), profile=bench.profile, clock=bench.clock) for t in texts]

    class Fragile(KnownVectors):
        def embed(self, texts):
            if texts[0] == "Who repairs the roof?":
                raise ConnectionError("the line is dead")
            return super().embed(texts)

    ports = replace(ports, embedder=Fragile(vectors=bench.embedder.vectors))
    run = answer(
        asked,
        ports=AnswerPorts(ports, lambda: ExtractiveChat(sentences=1), bench.run_log, bench.clock),
        ids=RunIds(RunId("many")),
    )
    assert [item.verdict.outcome for item in run.answers] == [Outcome.FAILED, Outcome.ANSWERED]


# --- Promise 6: an index answers only under its own contract --------------------------------------

ANOTHER: dict[str, object] = {
    "provider": "somebody",
    "endpoint": "http://localhost:1/v1",
    "model": "another-model",
    "model_digest": "ab" * 32,
    "dimension": 9,
    "metric": "dot",
    "document_template": "title: {title} text: {text}",
    "query_template": "query: {text}",
}


@dataclasses.dataclass
class Renamed(KnownVectors):
    """The same vectors under a contract that differs in one field."""

    changes: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def contract(self) -> EmbeddingContract:
        return replace(super().contract, **self.changes)


def test_promise_6_every_field_of_the_embedding_contract_has_its_case():
    assert set(ANOTHER) == {field.name for field in dataclasses.fields(EmbeddingContract)}


@pytest.mark.parametrize("field", ANOTHER)
def test_promise_6_another_embedding_contract_is_refused_before_anything_is_embedded(bench, field):
    ours = getattr(bench.embedder.contract, field)
    other = Renamed(vectors=bench.embedder.vectors, changes={field: ANOTHER[field]})
    bench.embedder = other
    verdict = only(bench.answer(QUESTION, make_chat=no_chat))
    assert verdict.reasons == (Reason.CONTRACT_MISMATCH,)
    assert f"embedding.{field}: index has {ours!r}, profile has {ANOTHER[field]!r}" in (
        verdict.detail
    )
    assert other.requests == []


@pytest.mark.parametrize("what", ["chunking", "splitter", "schema_version"])
def test_promise_6_other_rules_than_the_indexs_are_refused_with_both_sides(
    bench, what, monkeypatch
):
    with bench.store.open() as snapshot:
        ours = getattr(snapshot.manifest.contract, what)
    if what == "chunking":
        bench.profile = uncalibrated(chunking="another")
    else:
        name = {"splitter": "TEXT_RULES_ID", "schema_version": "SCHEMA_VERSION"}[what]
        monkeypatch.setattr(contract, name, "another")
    verdict = only(bench.answer(QUESTION, make_chat=no_chat))
    assert verdict.reasons == (Reason.CONTRACT_MISMATCH,)
    assert f"{what}: index has {ours!r}, profile has 'another'" in verdict.detail


@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("UPDATE rag_chunks SET scope = 'hr' WHERE id = 'SEAL#0'", id="a scope"),
        pytest.param("UPDATE rag_chunks SET status = 'draft'", id="a status"),
        pytest.param("UPDATE rag_chunks SET valid_from = valid_from - 1", id="a date"),
        pytest.param(
            "UPDATE rag_chunk_texts SET text = replace(text, 'blue', 'teal')", id="a text"
        ),
        pytest.param("UPDATE rag_vectors SET vector = zeroblob(32)", id="a vector"),
        pytest.param(
            "UPDATE rag_sources SET text = replace(text, 'gaskets', 'washers')",
            id="a source beside the quotation",
        ),
        pytest.param("DELETE FROM rag_vectors WHERE chunk_id = 'VALVE#0'", id="a missing vector"),
    ],
)
def test_promise_6_stored_content_that_differs_from_its_digests_never_answers(bench, statement):
    with closing(sqlite3.connect(bench.state / "index.sqlite")) as connection, connection:
        assert connection.execute(statement).rowcount > 0
    verdict = only(bench.answer(QUESTION))
    assert (verdict.outcome, verdict.reasons) == (Outcome.FAILED, (Reason.INTEGRITY,))


def test_promise_6_a_refused_profile_leaves_the_index_as_it_was(bench):
    before = only(bench.answer(QUESTION))
    good = bench.embedder
    bench.embedder = Renamed(vectors=good.vectors, changes={"model": "another-model"})
    bench.answer(QUESTION)
    bench.embedder = good
    assert only(bench.answer(QUESTION)) == before
    assert before.published[0].valid_from == date(2025, 1, 1)
