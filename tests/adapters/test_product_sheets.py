"""Product fact sheets: facts as written, quoted like a document."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import digest_of, make_governance
from rag_core.adapters.product_sheets import read_sheet, sheet_document
from rag_core.types.corpus import Fact, ProductSheet, Severity

HEAD = """code: GX-200
title: Field gauge
scope: public
status: approved
canonical: true
valid_from: 2026-01-15
"""
FACTS = """facts:
  - name: warranty
    value: 24
    unit: months
    note: from the date of delivery
  - name: protection rating
    value: IP67
"""


def read(text, **more):
    return read_sheet(text, path="products/a.yaml", **more)


def told(text, **more):
    return [(f.code, f.line, f.field) for f in read(text, **more).findings]


def value_of(written):
    (fact,) = read(f"{HEAD}facts:\n  - name: n\n    value: {written}\n").sheet.facts
    return fact.value


def test_a_sheet_is_read_with_governance_and_facts():
    assert read(HEAD + FACTS).sheet == ProductSheet(
        code="GX-200",
        title="Field gauge",
        governance=make_governance(valid_from=date(2026, 1, 15), product="GX-200"),
        facts=(
            Fact("warranty", "24", "months", "from the date of delivery"),
            Fact("protection rating", "IP67"),
        ),
    )


@pytest.mark.parametrize(
    "written",
    ["24", "24.0", "2.50", "-5", "+5", "1e3", "007", "0x1F", ".5", "1_000", "2026-01-15", "yes"],
)
def test_a_value_is_rendered_as_it_is_written(written):
    assert value_of(written) == written


def test_a_quoted_value_loses_its_quotation_marks_only():
    assert value_of('"24.0"') == "24.0"


def test_a_sheet_becomes_a_document_of_one_sentence_per_fact():
    sheet = read(HEAD + FACTS).sheet
    document = sheet_document(sheet, path="products/a.yaml", file_digest=digest_of("x"))
    assert (document.id, document.title, document.sheet) == ("product:GX-200", "Field gauge", sheet)
    assert document.governance.product == "GX-200"
    assert [document.text[span.start : span.end] for span in document.sentences] == [
        "GX-200: the warranty is 24 months (from the date of delivery).",
        "GX-200: the protection rating is IP67.",
    ]


def test_a_sheet_without_a_title_is_called_by_its_code():
    assert read(HEAD.replace("title: Field gauge\n", "") + FACTS).sheet.title == "GX-200"


def test_defaults_fill_in_governance_and_leave_out_what_a_sheet_does_not_know():
    text = HEAD.replace("scope: public\n", "") + FACTS
    sheet = read(text, defaults={"scope": "hr", "language": "en"}).sheet
    assert sheet.governance.scope == "hr"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(FACTS, ("missing_field", 1, "code"), id="no head"),
        pytest.param(HEAD, ("missing_field", 1, "facts"), id="no facts"),
        pytest.param(HEAD + "facts: []", ("invalid_field", 7, "facts"), id="an empty list"),
        pytest.param(
            HEAD + "facts:\n- name: n", ("missing_field", 8, "facts.0.value"), id="no value"
        ),
        pytest.param(
            HEAD + "facts:\n- name: n\n  value: true",
            ("invalid_field", 9, "facts.0.value"),
            id="a truth value",
        ),
        pytest.param(
            HEAD + "facts:\n- name: n\n  value:",
            ("invalid_field", 9, "facts.0.value"),
            id="nothing",
        ),
        pytest.param(
            HEAD + "facts:\n- name: n\n  value: 1\n  units: m",
            ("unknown_field", 10, "facts.0.units"),
            id="a misspelled field of a fact",
        ),
        pytest.param(
            HEAD + "languages: en\n" + FACTS, ("unknown_field", 7, "languages"), id="head"
        ),
        pytest.param(
            HEAD + FACTS + "  - name: warranty\n    value: 12\n",
            ("invalid_field", 7, "facts"),
            id="a fact of two values",
        ),
        pytest.param("%YAML 1.1\n---\n" + HEAD + FACTS, ("yaml_syntax", 2, None), id="a directive"),
        pytest.param(
            HEAD + FACTS + "---\ncode: B\n", ("yaml_syntax", 14, None), id="two documents"
        ),
        pytest.param(
            HEAD.replace("GX-200", "GX:200") + FACTS, ("invalid_field", 1, "code"), id="code"
        ),
    ],
)
def test_a_wrong_sheet_is_an_error_with_line_and_field(text, expected):
    result = read(text)
    assert result.sheet is None
    assert expected in told(text)


def test_a_misspelled_field_of_a_fact_names_the_close_match():
    (finding,) = read(HEAD + "facts:\n- name: n\n  value: 1\n  units: m").findings
    assert finding.message.endswith("; close matches: unit")


def test_a_sheet_that_nests_too_deep_is_an_error_with_file_and_line():
    (finding,) = read(HEAD + "facts: " + "[" * 50_000).findings
    assert (finding.code, finding.path, finding.line) == ("yaml_syntax", "products/a.yaml", 7)


def test_the_code_of_a_sheet_that_is_wrong_elsewhere_is_known():
    assert read(HEAD).declared_code == "GX-200"


@given(st.text(max_size=200))
def test_any_text_gives_a_sheet_or_findings_and_no_exception(text):
    for whole in (text, HEAD + text, HEAD + "facts:\n  - name: " + text):
        result = read(whole)
        errors = [f for f in result.findings if f.severity is Severity.ERROR]
        assert (result.sheet is None) == bool(errors)
