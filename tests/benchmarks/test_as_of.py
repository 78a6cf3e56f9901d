"""Answers for a past day are checked against the version of that day, apart from the product."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.as_of import as_of_answers, versions_of_the_day
from benchmarks.convert_set import convert
from benchmarks.devdata import VARIABLE, devdata_root, read_rows
from benchmarks.measures import measure
from benchmarks.quality import is_sound
from rag_core.adapters.corpus_folder import CorpusFolder
from rag_core.adapters.profile_files import load_profile
from rag_core.adapters.question_files import read_questions
from rag_core.adapters.system_clock import SystemClock
from rag_core.rules.eligibility import ineligibility
from rag_core.rules.products import eligibility_rule
from rag_core.types.questions import Asked
from rag_core.verbs.requests import resolve_question

if TYPE_CHECKING:
    from benchmarks.convert_set import Conversion
    from rag_core.types.corpus import Corpus
    from rag_core.types.profiles import Profile

TEXT = "The lamp burns for nine hours."


def version(valid_from: str | None, valid_until: str | None = None, **metadata: Any) -> Any:
    fields = {"family": "lamp", "valid_from": valid_from, "valid_until": valid_until, **metadata}
    return {"id": f"lamp@{valid_from}", "text": TEXT, "metadata": fields}


def asked(as_of: str | None) -> Any:
    return {"id": f"q-{as_of}", "text": "How long?", "as_of": as_of, "answerable": True}


def accepted(*source_ids: str) -> Any:
    evidence = [{"source_id": source_id, "quote": TEXT} for source_id in source_ids]
    row = {"question_id": "q", "reason": "answered", "evidence": evidence, "latency_s": 0.002}
    return {**row, "verdict": "accepted"}


def without_answer(verdict: str) -> Any:
    return {**accepted(), "verdict": verdict, "reason": "no_admissible_hit", "detail": ""}


LAMP = (version("2024-01-01", "2024-06-15"), version("2024-06-15"))


# --- The version of a day -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("day", "found"),
    [
        pytest.param("2023-12-31", set(), id="before the first version"),
        pytest.param("2024-01-01", {"lamp@2024-01-01"}, id="first day of the first"),
        pytest.param("2024-06-14", {"lamp@2024-01-01"}, id="last day of the first"),
        pytest.param("2024-06-15", {"lamp@2024-06-15"}, id="the end is the successor's first day"),
        pytest.param("2030-01-01", {"lamp@2024-06-15"}, id="the last stays in force"),
    ],
)
def test_one_version_of_a_text_is_in_force_on_a_day(day, found):
    assert versions_of_the_day(LAMP, day) == found


def test_a_version_that_nobody_ended_is_over_when_the_next_begins():
    assert versions_of_the_day((version("2024-01-01"), LAMP[1]), "2024-07-01") == {
        "lamp@2024-06-15"
    }


def test_after_the_last_version_ended_there_is_none():
    assert versions_of_the_day(LAMP[:1], "2024-06-15") == set()


def test_documents_without_a_family_are_texts_of_their_own():
    documents = [{**version("2024-01-01"), "id": name, "metadata": {}} for name in ("a", "b")]
    assert versions_of_the_day(documents, "1800-01-01") == {"a", "b"}


# --- Counting -------------------------------------------------------------------------------------


def test_an_answer_from_an_older_version_is_counted():
    found = as_of_answers(
        [accepted("lamp@2024-01-01"), accepted("lamp@2024-06-15", "lamp@2024-01-01")],
        documents=LAMP,
        questions=[asked("2024-02-01"), asked("2024-07-01")],
    )
    assert found is not None
    assert (found.of_the_day, found.answers, found.kept) == (1, 2, False)
    assert "as-of: 1 of 2 answers from the version of that day" in str(found)


@pytest.mark.parametrize(
    ("row", "refused"),
    [
        pytest.param(without_answer("refused"), 1, id="refused"),
        pytest.param(without_answer("failed"), 0, id="a failure is no refusal"),
        pytest.param(accepted("lamp@2024-01-01"), 0, id="answered"),
    ],
)
def test_a_question_from_before_any_version_must_be_refused(row, refused):
    found = as_of_answers([row], documents=LAMP, questions=[asked("2023-01-01")])
    assert found is not None
    assert (found.unheld, found.unheld_refused) == (1, refused)
    assert found.kept is (refused == 1)


def test_questions_without_a_day_are_not_counted():
    rows = [accepted("lamp@2024-01-01")]
    assert as_of_answers(rows, documents=LAMP, questions=[asked(None)]) is None


def test_a_set_with_an_answer_from_another_day_is_not_sound(tmp_path, monkeypatch, capsys):
    # Nobody ended the first version: by its own interval it may be quoted, by its successor not.
    documents = [version("2024-01-01"), LAMP[1]]
    questions = [asked("2024-07-01")]
    (tmp_path / "lamps").mkdir()
    for name, rows in (("documents", documents), ("questions", questions)):
        lines = "".join(f"{json.dumps(row)}\n" for row in rows)
        (tmp_path / "lamps" / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    old, new = [accepted("lamp@2024-01-01")], [accepted("lamp@2024-06-15")]
    assert measure(old, documents=documents, questions=questions).kept_promises
    assert is_sound("lamps", old) is False
    assert "as-of: 0 of 1 answers" in capsys.readouterr().out
    assert is_sound("lamps", new) is True


# --- Real data ------------------------------------------------------------------------------------


@pytest.mark.devdata
def test_on_every_day_exactly_the_schedules_of_that_day_are_eligible(tmp_path):
    source = devdata_root() / "release_schedules_asof"
    if not source.is_dir():
        where = os.environ.get(VARIABLE) or "its default place"
        pytest.skip(
            f"no question sets: release_schedules_asof is missing below {VARIABLE} ({where})"
        )
    documents = read_rows(source / "documents.jsonl")
    gold = [set(row["gold_doc_ids"]) for row in read_rows(source / "questions.jsonl")]
    done = convert(source, tmp_path / "schedules")
    assert (len(done.documents), done.left_out) == (32, ())
    corpus, findings = (reader := CorpusFolder(done.corpus)).read(reader.scan())
    assert corpus is not None, findings
    profile = load_profile(str(done.profile))
    questions = read_questions(done.questions, defaults=Asked(""))
    admitted = [eligible(done, corpus, profile, asked) for asked in questions]
    for asked, found, wanted in zip(questions, admitted, gold, strict=True):
        assert found == versions_of_the_day(documents, asked.as_of or "")
        assert wanted <= found
    # Two questions are from before the first schedule; eight schedules have versions.
    sizes = [len(found) for found in admitted]
    assert (len(sizes), sizes.count(0), max(sizes)) == (68, 2, 8)
    # No question falls on a bound, so the bounds are asked for themselves.
    starts = {date.fromisoformat(row["metadata"]["valid_from"]) for row in documents}
    for day in sorted({*starts, *(start - timedelta(days=1) for start in starts)}):
        found = eligible(done, corpus, profile, replace(questions[0], as_of=day.isoformat()))
        assert found == versions_of_the_day(documents, day.isoformat())


def eligible(done: Conversion, corpus: Corpus, profile: Profile, asked: Asked) -> set[str]:
    """Ids of the set's documents that the product's own rule admits for a question."""
    question = resolve_question(asked, profile=profile, clock=SystemClock())
    rule, unknown = eligibility_rule(question, known=corpus.known_products, pattern=None)
    assert unknown == ()
    return {
        done.documents[str(document.id)]
        for document in corpus.documents
        if ineligibility(document.governance, rule) is None
    }
