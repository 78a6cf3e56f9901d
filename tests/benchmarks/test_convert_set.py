"""A public question set becomes a corpus, a question file and a profile that ours accept."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.convert_set import Conversion, convert, question_line, report
from benchmarks.devdata import VARIABLE, devdata_root, read_rows, set_folder
from benchmarks.measures import may_see, measure, percentile
from benchmarks.set_corpus import front_matter, governed_file
from benchmarks.set_ids import governed_id
from rag_core.adapters.corpus_folder import CorpusFolder
from rag_core.adapters.fields import identifier_or_none
from rag_core.adapters.profile_files import load_profile
from rag_core.adapters.question_files import read_questions
from rag_core.errors import UsageError
from rag_core.types.questions import Asked

if TYPE_CHECKING:
    from pathlib import Path

    from rag_core.types.corpus import Document

QUESTION = {"id": "q-1", "text": "How long does the lamp burn?", "answerable": True}


def doc(id: str = "lamp", text: str = "The lamp burns for nine hours.", **metadata: Any) -> Any:  # noqa: A002
    return {"id": id, "title": "The lamp", "text": text, "metadata": metadata}


def write_set(folder: Path, documents: list[Any], questions: list[Any]) -> Path:
    source = folder / "invented"
    source.mkdir()
    for name, rows in (("documents", documents), ("questions", questions)):
        lines = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
        # A lone surrogate becomes its JSON escape.
        (source / f"{name}.jsonl").write_bytes(lines.encode("utf-8", "backslashreplace"))
    return source


def converted(
    folder: Path, *documents: Any, questions: tuple[Any, ...] = (QUESTION,)
) -> Conversion:
    return convert(write_set(folder, list(documents), list(questions)), folder / "out")


def stored(done: Conversion) -> dict[str, Document]:
    reader = CorpusFolder(done.corpus)
    corpus, findings = reader.read(reader.scan())
    assert corpus is not None, findings
    return {str(document.id): document for document in corpus.documents}


# --- Documents ------------------------------------------------------------------------------------


def test_absent_fields_get_the_documented_defaults():
    assert front_matter({"id": "lamp", "text": "It burns."}) == {
        "id": "lamp",
        "title": "lamp",
        "scope": "public",
        "status": "approved",
        "canonical": True,
        "valid_from": "1900-01-01",
    }


def test_an_explicit_null_is_an_absent_field():
    fields = ("scope", "status", "canonical", "valid_from", "valid_until", "product", "lang")
    nulls = {**doc(), "metadata": dict.fromkeys(fields)}
    assert front_matter(nulls) == {**front_matter({"id": "lamp"}), "title": "The lamp"}


def test_what_a_set_states_is_kept():
    fields = front_matter(
        doc(
            scope="hr",
            status="withdrawn",
            canonical=False,
            valid_from="2024-02-01",
            product="L-1",
            lang="en",
        )
    )
    assert fields == {
        "id": "lamp",
        "title": "The lamp",
        "scope": "hr",
        "status": "withdrawn",
        "canonical": False,
        "valid_from": "2024-02-01",
        "product": "L-1",
        "language": "en",
    }


def test_active_becomes_approved():
    assert front_matter(doc(status="active"))["status"] == "approved"


def test_the_family_of_versions_becomes_their_subject_and_a_source_the_url():
    fields = front_matter(doc(family="lamp-rule", source="https://example.org/lamp"))
    assert (fields["subject"], fields["url"]) == ("lamp-rule", "https://example.org/lamp")


def test_of_two_versions_that_hold_on_one_day_one_is_left_out(tmp_path):
    old = doc("old", family="lamp", valid_from="2024-01-01", valid_until="2024-06-16")
    new = doc("new", family="lamp", valid_from="2024-06-15")
    assert converted(tmp_path, old, new).left_out[0].reason.startswith("two_canonical")


def test_versions_that_follow_each_other_are_both_kept(tmp_path):
    old = doc("old", family="lamp", valid_from="2024-01-01", valid_until="2024-06-15")
    new = doc("new", family="lamp", valid_from="2024-06-15")
    assert sorted(stored(converted(tmp_path, old, new))) == ["new", "old"]


def test_metadata_that_no_field_of_ours_holds_is_named(tmp_path):
    done = converted(tmp_path, doc(domain="light", version="2", product="L-1", lang=None))
    assert done.not_carried == ("domain", "version")
    assert "no field of ours: domain, version" in report(done)


@pytest.mark.parametrize(
    ("exclusive", "inclusive"),
    [
        pytest.param("2024-06-15", "2024-06-14", id="within a month"),
        pytest.param("2024-03-01", "2024-02-29", id="into a leap day"),
        pytest.param("2025-01-01", "2024-12-31", id="into the year before"),
        pytest.param("2024-13-01", "2024-13-01", id="no day of the calendar stays for the reader"),
        pytest.param("2024-06-15T00:00", "2024-06-15T00:00", id="a date-time stays for the reader"),
    ],
)
def test_an_exclusive_end_becomes_the_day_before(exclusive, inclusive):
    assert front_matter(doc(valid_until=exclusive))["valid_until"] == inclusive


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("\n\n  The lamp burns.  \n\n", id="white space at both ends"),
        pytest.param("---\nid: other\n---\nThe lamp burns.", id="a front matter of its own"),
        pytest.param("# Lamps\n\nThe “lamp” burns 9\u00a0h – é, 灯.", id="marks and letters"),
    ],
)
def test_the_text_goes_through_unchanged(tmp_path, text):
    done = converted(tmp_path, doc(text=text))
    assert stored(done)["lamp"].text == text
    assert done.altered == ()


def test_a_file_ends_as_the_text_ends():
    assert governed_file(doc(text="No line end")).endswith("\n---\nNo line end")


def test_a_text_that_normalisation_changes_is_named(tmp_path):
    done = converted(tmp_path, doc(text="Cafe\u0301 is open."), doc(id="tea", text="Tea is hot."))
    assert stored(done)["lamp"].text == "Café is open."
    assert done.altered == ("lamp",)
    assert "other than written: lamp" in report(done)


def test_a_title_with_yaml_signs_is_read_back_as_written(tmp_path):
    title = 'Lamps: "two" & *three* # {four} \\ 灯'
    done = converted(tmp_path, {**doc(), "title": title})
    assert stored(done)["lamp"].title == title


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        pytest.param(doc("bad", text=" \n"), "empty_document", id="no text"),
        pytest.param(doc("bad", text="a\x00b"), "control_character", id="a NUL"),
        pytest.param(doc("bad", text="a\ud800b"), "lone surrogate", id="a lone surrogate"),
        pytest.param(doc("bad", status="rejected"), "invalid_field", id="an unknown status"),
        pytest.param(doc("bad", status="superseded"), "missing_valid_until", id="an open end"),
        pytest.param(
            doc("bad", valid_from="2024-01-01", valid_until="2024-01-01"),
            "invalid_interval",
            id="not one valid day",
        ),
        pytest.param(doc("bad", valid_from="last year"), "invalid_field", id="no date"),
        pytest.param(doc("bad", product="two words"), "invalid_field", id="no product code"),
    ],
)
def test_what_our_rules_refuse_is_left_out_and_printed(tmp_path, refused, reason):
    done = converted(tmp_path, doc(), refused)
    assert list(done.documents.values()) == ["lamp"]
    assert [item.document_id for item in done.left_out] == ["bad"]
    assert reason in done.left_out[0].reason
    assert f"left out bad: {done.left_out[0].reason}" in report(done)
    assert list(stored(done)) == ["lamp"]


def test_a_document_that_names_one_left_out_is_left_out_too(tmp_path):
    old = doc("old", status="superseded", valid_until="2024-01-01", superseded_by="new")
    done = converted(tmp_path, doc(), old, doc("new", text=" "))
    assert sorted(item.document_id for item in done.left_out) == ["new", "old"]


def test_of_two_documents_of_one_id_the_first_stays(tmp_path):
    done = converted(tmp_path, doc(text="The first lamp."), doc(text="The second lamp."))
    assert stored(done)["lamp"].text == "The first lamp."
    assert [item.document_id for item in done.left_out] == ["lamp"]


def test_products_are_listed_so_that_a_question_can_name_them(tmp_path):
    done = converted(tmp_path, doc(product="L-1"), doc("oil", product="O-2"))
    reader = CorpusFolder(done.corpus)
    corpus, _ = reader.read(reader.scan())
    assert corpus is not None
    assert corpus.known_products == ("L-1", "O-2")


# --- Ids ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("original", "governed"),
    [
        pytest.param("squad-Steam_engine-0", "squad-Steam_engine-0", id="a sound id stays"),
        pytest.param("été.1", "été.1", id="letters outside ASCII stay"),
        pytest.param("pep-0537@2018-01-31", "pep-0537@2018-01-31", id="an at sign stays"),
        pytest.param("a b#c:d", "a@u20.b@u23.c@u3a.d", id="refused characters become code points"),
        pytest.param("a@u20.b", "a@u40.u20.b", id="what looks like an escape is escaped"),
        pytest.param("-a", "_@u2d.a", id="the first character is a letter, digit or underscore"),
        pytest.param("_ a", "_@u5f.@u20.a", id="a first underscore announces an escape"),
        pytest.param("e\u0301", "e@u301.", id="decomposed letters do not meet composed ones"),
    ],
)
def test_an_id_takes_the_form_of_our_rule(original, governed):
    assert governed_id(original) == governed


def test_an_id_that_is_too_long_becomes_its_digest():
    assert governed_id("a" * 129).startswith("sha256-")
    assert governed_id("a" * 128) == "a" * 128


@given(st.lists(st.text(alphabet="a_@u-.2# é\u0301/", min_size=1, max_size=7), unique=True))
def test_different_ids_stay_different_and_sound(originals):
    governed = [governed_id(original) for original in originals]
    assert len(set(governed)) == len(originals)
    assert all(identifier_or_none(governed_one) == governed_one for governed_one in governed)


def test_the_mapping_file_leads_back_to_the_ids_of_the_set(tmp_path):
    done = converted(tmp_path, doc("a/b"), doc("c"), doc("bad", text=""))
    mapping = json.loads((done.folder / "mapping.json").read_text(encoding="utf-8"))
    assert mapping["documents"] == {"a@u2f.b": "a/b", "c": "c"}
    assert mapping["questions"] == ["q-1"]
    assert [entry[0] for entry in mapping["left_out"]] == ["bad"]
    assert sorted(stored(done)) == sorted(mapping["documents"])


def test_a_successor_is_named_by_its_mapped_id():
    assert front_matter(doc(superseded_by="a/b"))["superseded_by"] == "a@u2f.b"


# --- Questions and profile ------------------------------------------------------------------------


def test_questions_are_read_by_the_command_line_in_the_order_of_the_set(tmp_path):
    questions = (
        QUESTION,
        {
            "id": "q-2",
            "text": "Two\u2028lines?",
            "scope": "hr",
            "as_of": "2024-05-01",
            "product": "L-1",
            "scenario": "I have two lamps.",
        },
    )
    done = converted(tmp_path, doc(scope="hr"), questions=questions)
    assert done.question_ids == ("q-1", "q-2")
    assert read_questions(done.questions, defaults=Asked("")) == (
        Asked("How long does the lamp burn?"),
        Asked("Two\u2028lines?", "2024-05-01", ("hr",), "L-1", "I have two lamps."),
    )


def test_labels_of_a_question_do_not_reach_the_product(tmp_path):
    labels = {
        "type": "conditional",
        "label": "Entailment",
        "hypothesis": "The lamp burns for nine hours.",
        "gold_answers": ["nine hours"],
        "wrong_answers": ["ten hours"],
        "must_also_quote_one_of": ["unless it is wet"],
        "yes_no": ["yes"],
    }
    done = converted(tmp_path, doc(), questions=({**QUESTION, **labels},))
    assert read_rows(done.questions) == [{"question": QUESTION["text"]}]


def test_a_text_without_a_scope_is_open_to_a_question_of_any_scope():
    asked = {"text": "How long?", "scope": "hr"}
    assert question_line(asked, unscoped=True)["scopes"] == ["hr", "public"]
    assert question_line(asked, unscoped=False)["scopes"] == ["hr"]
    assert "scopes" not in question_line({"text": "How long?", "scope": None}, unscoped=True)


def test_the_profile_sees_the_scopes_of_all_documents_and_questions(tmp_path):
    asked = {**QUESTION, "scope": "board"}
    done = converted(tmp_path, doc(scope="hr"), doc("b"), questions=(asked,))
    profile = load_profile(str(done.profile))
    assert profile.allowed_scopes == ("board", "hr", "public")
    assert profile.default_scopes == ("board", "hr", "public")
    assert profile.retrieval == load_profile("offline").retrieval


# --- Folders --------------------------------------------------------------------------------------


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "own.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="not empty, and not written by an earlier conversion"):
        converted(tmp_path, doc())
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["own.txt"]


def test_a_second_conversion_replaces_the_first(tmp_path):
    converted(tmp_path, doc(), doc("gone"))
    source = tmp_path / "invented"
    (source / "documents.jsonl").write_text(json.dumps(doc()), encoding="utf-8")
    assert list(stored(convert(source, tmp_path / "out"))) == ["lamp"]


def test_an_unknown_set_is_named_with_those_that_exist(tmp_path, monkeypatch):
    write_set(tmp_path, [doc()], [QUESTION])
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert set_folder("invented") == tmp_path / "invented"
    with pytest.raises(UsageError, match=r"set 'invent': .* found there: invented"):
        set_folder("invent")


def test_a_line_that_is_no_json_is_named(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"id": "a"}\n\n{"id"\n', encoding="utf-8")
    with pytest.raises(UsageError, match=r"rows\.jsonl:3: not JSON"):
        read_rows(tmp_path / "rows.jsonl")


# --- Measures -------------------------------------------------------------------------------------


def prediction(*quotes: tuple[str, str], verdict: str = "accepted", ms: float = 2.0) -> Any:
    evidence = [{"source_id": source_id, "quote": quote} for source_id, quote in quotes]
    return {
        "verdict": verdict,
        "reason": "answered" if verdict == "accepted" else "declined",
        "evidence": evidence,
        "latency_s": ms / 1e3,
    }


@pytest.mark.parametrize(
    ("metadata", "asked", "visible"),
    [
        pytest.param({}, {"as_of": "2024-01-01", "scope": "hr"}, True, id="no rule"),
        pytest.param({"scope": "hr"}, {"scope": "it"}, False, id="another scope"),
        pytest.param({"status": "withdrawn"}, {}, False, id="withdrawn"),
        pytest.param({"canonical": False}, {}, False, id="a copy"),
        pytest.param({"product": "L-1"}, {"product": "L-2"}, False, id="another product"),
        pytest.param({}, {"product": "L-2"}, True, id="of no product"),
        pytest.param({"status": "superseded"}, {"type": "as_of_superseded"}, True, id="past rule"),
        pytest.param({"status": "superseded"}, {}, False, id="superseded"),
        pytest.param({"valid_from": "2024-01-02"}, {"as_of": "2024-01-01"}, False, id="too early"),
        pytest.param({"valid_from": "2024-01-01"}, {"as_of": "2024-01-01"}, True, id="first day"),
        pytest.param({"valid_until": "2024-01-01"}, {"as_of": "2024-01-01"}, False, id="over"),
        pytest.param({"valid_until": "2024-01-02"}, {"as_of": "2024-01-01"}, True, id="last day"),
    ],
)
def test_eligibility_is_counted_by_the_rule_of_the_sets(metadata, asked, visible):
    assert may_see(asked, doc(**metadata)) is visible


def test_an_altered_quotation_and_an_ineligible_source_are_counted():
    documents = [doc(text="The lamp burns\nfor nine hours."), doc("hr", scope="hr", text="Secret.")]
    found = measure(
        [
            prediction(("lamp", "The lamp burns for nine hours.")),
            prediction(("lamp", "The lamp burns for ten hours."), ("hr", "Secret.")),
        ],
        documents=documents,
        questions=[QUESTION, {**QUESTION, "scope": "it"}],
    )
    assert (found.quotes, found.verbatim, found.ineligible) == (3, 2, 1)
    assert (found.words_p50, found.words_p95) == (7, 6)
    assert not found.kept_promises


def test_a_failed_question_breaks_the_run():
    failed = {**prediction(verdict="failed"), "reason": "provider"}
    found = measure([failed], documents=[doc()], questions=[QUESTION])
    assert (found.failed, found.outcomes) == (1, (("provider", 1),))
    assert not found.kept_promises


def test_percentiles_are_the_scorers():
    assert percentile([4, 1, 3, 2], 0.5) == 3
    assert percentile(range(1, 101), 0.95) == 95
    assert percentile([], 0.95) == 0


# --- Real data ------------------------------------------------------------------------------------


@pytest.mark.devdata
def test_clapnq_is_converted_whole(tmp_path):
    source = devdata_root() / "clapnq"
    if not source.is_dir():
        where = os.environ.get(VARIABLE) or "its default place"
        pytest.skip(f"no question sets: clapnq is missing below {VARIABLE} ({where})")
    documents = read_rows(source / "documents.jsonl")
    done = convert(source, tmp_path / "clapnq")
    read = stored(done)
    assert (len(read), len(done.question_ids)) == (155, 153)
    assert (done.left_out, done.altered) == ((), ())
    assert {row["id"]: row["text"] for row in documents} == {
        done.documents[source_id]: document.text for source_id, document in read.items()
    }
    assert len(read_questions(done.questions, defaults=Asked(""))) == 153
