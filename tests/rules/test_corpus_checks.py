"""What governance forbids across documents."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import make_document, make_governance
from rag_core.rules.corpus_checks import DeclaredId, corpus_findings
from rag_core.types.corpus import Severity, Status


def check(*documents, declared=None, known_products=(), lines=None):
    names = [DeclaredId(document.id, document.path, 2) for document in documents]
    return corpus_findings(
        documents,
        declared=[*names, *(declared or [])],
        known_products=known_products,
        lines=lines or {},
    )


def codes(*documents, **more):
    return [(finding.code, finding.path) for finding in check(*documents, **more)]


def doc(name, *, subject=None, superseded_by=None, language="en", **governance):
    return make_document(
        "text",
        id=name,
        governance=make_governance(**governance),
        subject=subject,
        superseded_by=superseded_by,
        language=language,
    )


def test_a_sound_document_has_no_finding():
    assert check(doc("A")) == ()


def test_a_second_use_of_an_id_names_the_first_file():
    second = replace(doc("A"), path="b.md")
    (finding,) = check(doc("A"), second)
    assert (finding.code, finding.path, finding.line, finding.field) == (
        "duplicate_id", "b.md", 2, "id",
    )  # fmt: skip
    assert "A.md" in finding.message


def test_every_further_use_of_an_id_is_reported():
    copies = [replace(doc("A"), path=path) for path in ("b.md", "c.md")]
    assert codes(doc("A"), *copies) == [("duplicate_id", "b.md"), ("duplicate_id", "c.md")]


def test_an_id_in_a_file_that_is_wrong_elsewhere_still_counts():
    broken = DeclaredId(doc("A").id, "z.md", 2)
    assert codes(doc("A"), declared=[broken]) == [("duplicate_id", "z.md")]


def test_superseded_by_names_a_document_of_the_corpus():
    (finding,) = check(doc("POLICY-1", superseded_by="POLICY-3"), doc("POLICY-2"))
    assert finding.code == "unknown_successor"
    assert finding.message.endswith("names no document of this corpus; close matches: POLICY-2")


def test_a_successor_whose_file_is_wrong_elsewhere_is_no_unknown_one():
    broken = DeclaredId(doc("B").id, "B.md", 2)
    assert codes(doc("A", superseded_by="B"), declared=[broken]) == []


@pytest.mark.parametrize(
    ("links", "ring"),
    [
        pytest.param({"A": "A"}, "A → A", id="a document that replaces itself"),
        pytest.param({"B": "A", "A": "B"}, "A → B → A", id="two that replace each other"),
        pytest.param({"C": "A", "A": "B", "B": "C"}, "A → B → C → A", id="three in a ring"),
        pytest.param({"A": "C", "B": "C", "C": "B"}, "B → C → B", id="a tail that leads into one"),
    ],
)
def test_a_supersession_cycle_is_one_error(links, ring):
    day = {"valid_until": date(2025, 6, 30)}
    found = check(*(doc(name, superseded_by=by, **day) for name, by in links.items()))
    cycles = [finding for finding in found if finding.code == "supersession_cycle"]
    assert [ring in finding.message for finding in cycles] == [True]


def test_two_separate_cycles_are_two_errors():
    documents = [doc(a, superseded_by=b) for a, b in ("AB", "BA", "CD", "DC")]
    assert [code for code, _ in codes(*documents)].count("supersession_cycle") == 2


def test_a_superseded_document_says_until_when_it_held():
    found = check(doc("A", status=Status.SUPERSEDED), lines={"A.md": {"status": 5}})
    assert [(f.code, f.line, f.field) for f in found] == [("missing_valid_until", 5, "valid_until")]


def test_validity_does_not_end_before_it_begins():
    wrong = doc("A", valid_from=date(2025, 1, 2), valid_until=date(2025, 1, 1))
    assert codes(wrong) == [("invalid_interval", "A.md")]


def test_one_day_is_a_valid_interval():
    assert codes(doc("A", valid_from=date(2025, 1, 1), valid_until=date(2025, 1, 1))) == []


FIRST = {"valid_from": date(2025, 1, 1), "valid_until": date(2025, 12, 31), "subject": "trips"}


@pytest.mark.parametrize(
    ("second", "clash"),
    [
        pytest.param({"valid_from": date(2025, 12, 31)}, True, id="one shared day"),
        pytest.param({"valid_from": date(2026, 1, 1)}, False, id="one ends the day before"),
        pytest.param({"valid_from": date(2025, 6, 1), "scope": "hr"}, False, id="other scope"),
        pytest.param({"valid_from": date(2025, 6, 1), "product": "GX"}, False, id="other product"),
        pytest.param(
            {"valid_from": date(2025, 6, 1), "subject": "cars"}, False, id="other subject"
        ),
        pytest.param({"valid_from": date(2025, 6, 1), "subject": None}, False, id="no subject"),
        pytest.param({"valid_from": date(2025, 6, 1), "canonical": False}, False, id="a copy"),
        pytest.param({"valid_from": date(2025, 6, 1), "status": Status.DRAFT}, False, id="a draft"),
        pytest.param(
            {"valid_from": date(2025, 6, 1), "status": Status.WITHDRAWN}, False, id="withdrawn"
        ),
        pytest.param(
            {
                "valid_from": date(2025, 6, 1),
                "valid_until": date(2025, 6, 2),
                "status": Status.SUPERSEDED,
            },
            True,
            id="a superseded one inside its interval",
        ),
    ],
)
def test_two_canonical_documents_of_one_subject_share_no_day(second, clash):
    other = doc("B", **{"subject": "trips", **second})
    found = codes(doc("A", **FIRST), other, known_products=["GX"])
    assert found == ([("two_canonical", "B.md")] if clash else [])


def test_a_clash_is_found_behind_a_short_document_in_between():
    long = doc("A", subject="trips")
    short = doc("B", subject="trips", valid_from=date(2025, 2, 1), valid_until=date(2025, 2, 2))
    late = doc("C", subject="trips", valid_from=date(2026, 1, 1))
    assert codes(long, short, late) == [("two_canonical", "B.md"), ("two_canonical", "C.md")]


@given(
    st.lists(st.tuples(st.integers(1, 20), st.none() | st.integers(0, 10)), min_size=2, max_size=6)
)
def test_canonical_clashes_are_found_exactly_when_some_pair_shares_a_day(intervals):
    documents = [
        doc(
            f"D{number}",
            subject="trips",
            valid_from=date(2025, 1, start),
            valid_until=None if length is None else date(2025, 1, start + length),
        )
        for number, (start, length) in enumerate(intervals)
    ]
    spans = [(start, 99 if length is None else start + length) for start, length in intervals]
    shared = any(max(a[0], b[0]) <= min(a[1], b[1]) for i, a in enumerate(spans) for b in spans[:i])
    assert bool(codes(*documents)) == shared


@pytest.mark.parametrize(
    ("until", "start", "expected"),
    [
        pytest.param(date(2025, 12, 31), date(2026, 1, 1), [], id="the next day is seamless"),
        pytest.param(date(2025, 12, 31), date(2026, 1, 2), ["successor_gap"], id="a day missing"),
        pytest.param(date(2026, 1, 1), date(2026, 1, 1), ["successor_overlap"], id="a day twice"),
        pytest.param(None, date(2026, 1, 1), ["successor_overlap"], id="no end at all"),
        pytest.param(date.max, date(2026, 1, 1), ["successor_overlap"], id="the calendar's end"),
    ],
)
def test_a_gap_or_overlap_with_the_successor_is_a_notice(until, start, expected):
    old = doc("A", valid_until=until, superseded_by="B")
    found = check(old, doc("B", valid_from=start))
    assert [finding.code for finding in found] == expected
    assert all(finding.severity is Severity.NOTICE for finding in found)


def test_an_undeclared_language_is_a_notice():
    (finding,) = check(doc("A", language=None))
    assert (finding.severity, finding.code) == (Severity.NOTICE, "undeclared_language")


def test_a_product_that_no_question_can_name_is_a_notice_with_close_matches():
    (finding,) = check(doc("A", product="GX-20O"), known_products=["GX-200"])
    assert (finding.severity, finding.code) == (Severity.NOTICE, "unlisted_product")
    assert finding.message.endswith("; close matches: GX-200")


def test_all_findings_come_at_once_in_order_of_path_line_and_code():
    documents = [
        doc("B", status=Status.SUPERSEDED, superseded_by="NONE"),
        doc("A", valid_from=date(2025, 2, 1), valid_until=date(2025, 1, 1), superseded_by="A"),
    ]
    lines = {"A.md": {"valid_until": 6, "superseded_by": 9}, "B.md": {"status": 4}}
    assert codes(*documents, lines=lines) == [
        ("invalid_interval", "A.md"),
        ("supersession_cycle", "A.md"),
        ("unknown_successor", "B.md"),
        ("missing_valid_until", "B.md"),
    ]
