"""The labelled questions of the bundled corpus, through the real embedded model.

The promises hold for every question. How many answerable questions are answered is a measured
floor (docs/quality.md), so that a change which loses answers is seen.
"""

from __future__ import annotations

import json

import pytest

from rag_core.runtime import Runtime, bundled_corpus
from rag_core.types.questions import Asked
from rag_core.types.verdicts import Outcome, Reason
from rag_core.verbs.answer import answer
from rag_core.verbs.answer_records import RunIds
from rag_core.verbs.ingest import ingest
from rag_core.verbs.requests import resolve_question

TODAY = "2026-12-01"
QUESTIONS = [
    json.loads(line)
    for line in (bundled_corpus() / "questions.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    """The verdict of every question, by id, from one run over one index."""
    runtime = Runtime.open("offline", tmp_path_factory.mktemp("questions"))
    ingest(ports=runtime.ingesting(bundled_corpus()), run_id=runtime.new_run_id())
    asked = [
        Asked(q["question"], q["as_of"] or TODAY, tuple(q["scopes"] or ()), q["product"])
        for q in QUESTIONS
    ]
    resolved = [resolve_question(a, profile=runtime.profile, clock=runtime.clock) for a in asked]
    run = answer(resolved, ports=runtime.answering, ids=RunIds(runtime.new_run_id()))
    return {q["id"]: item.verdict for q, item in zip(QUESTIONS, run.answers, strict=True)}


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """The stored text of every document, by id."""
    runtime = Runtime.open("offline", tmp_path_factory.mktemp("sources"))
    reader = runtime.corpus(bundled_corpus())
    corpus, _ = reader.read(reader.scan())
    assert corpus is not None
    return {document.id: document.text for document in corpus.documents}


def of_kind(*kinds: str) -> list:
    return [pytest.param(q, id=q["id"]) for q in QUESTIONS if q["kind"] in kinds]


def has_gold(question: dict, verdict) -> bool:
    """Every different gold text is quoted; a text under two ids may come from either."""
    wanted = {gold["text"] for gold in question["gold"]}
    places = {(gold["source_id"], gold["text"]) for gold in question["gold"]}
    found = {
        text
        for source_id, text in places
        for published in verdict.published
        if published.source_id == source_id
        and " ".join(text.split()) in " ".join(published.text.split())
    }
    return found == wanted


def test_at_least_sixty_questions_of_every_kind_are_labelled():
    assert len(QUESTIONS) >= 60
    assert {q["kind"] for q in QUESTIONS} >= {
        "answerable", "paraphrase", "out_of_corpus", "near_miss", "as_of_past", "as_of_future",
        "wrong_scope", "unknown_product", "exception_needed", "shared_paragraph", "product",
    }  # fmt: skip


@pytest.mark.parametrize("question", [pytest.param(q, id=q["id"]) for q in QUESTIONS])
def test_nothing_forbidden_is_quoted_and_nothing_fails(question, verdicts):
    verdict = verdicts[question["id"]]
    assert verdict.outcome is not Outcome.FAILED
    assert {text.source_id for text in verdict.published} & set(question["forbidden"]) == set()


@pytest.mark.parametrize("question", [pytest.param(q, id=q["id"]) for q in QUESTIONS])
def test_every_published_text_is_a_slice_of_the_stored_source(question, verdicts, sources):
    for text in verdicts[question["id"]].published:
        assert sources[text.source_id][text.span.start : text.span.end] == text.text


@pytest.mark.parametrize("question", of_kind("out_of_corpus", "wrong_scope"))
def test_what_the_corpus_may_not_answer_is_refused(question, verdicts):
    assert verdicts[question["id"]].outcome is Outcome.REFUSED


@pytest.mark.parametrize("question", of_kind("unknown_product"))
def test_an_unknown_product_is_its_own_refusal(question, verdicts):
    assert verdicts[question["id"]].reasons == (Reason.UNKNOWN_PRODUCT,)


def test_measured_floors_of_right_and_wrong_answers_hold(verdicts):
    """57 of 68 answerable questions are answered with all their gold; 9 of 38 others are too."""
    right = [q["id"] for q in QUESTIONS if q["answerable"] and has_gold(q, verdicts[q["id"]])]
    wrong = [q["id"] for q in QUESTIONS if not q["answerable"] and verdicts[q["id"]].published]
    assert len(right) >= 57, sorted({q["id"] for q in QUESTIONS if q["answerable"]} - set(right))
    assert len(wrong) <= 9, wrong


def test_the_question_of_the_readme_is_answered_by_acme_export(verdicts):
    question = QUESTIONS[0]
    assert question["question"] == "Where can I export CSV in Reporting?"
    published = verdicts[question["id"]].published
    assert {text.source_id for text in published} == {"ACME-EXPORT"}
    assert published[0].text == question["gold"][0]["text"]
