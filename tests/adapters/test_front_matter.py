"""Governance fields at the head of a file: what is not exactly right is told, with its place."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.adapters.front_matter import FIELD_NAMES, read_front_matter
from rag_core.types.corpus import Severity, Status

SOUND = {
    "id": "DOC-1",
    "title": "A title",
    "scope": "public",
    "status": "approved",
    "canonical": "true",
    "valid_from": "2025-01-01",
}


def text_of(body="The body.\n", **fields):
    """A sound file; a field set to None is left out, any other replaces or follows."""
    lines = [f"{key}: {value}" for key, value in {**SOUND, **fields}.items() if value is not None]
    return "\n".join(["---", *lines, "---", body])


def read(text, **more):
    return read_front_matter(text, path="a.md", **more)


def told(text, **more):
    return [(f.code, f.line, f.field) for f in read(text, **more).findings]


def message(text, **more):
    (finding,) = read(text, **more).findings
    assert (finding.severity, finding.path) == (Severity.ERROR, "a.md")
    return finding.message


def test_all_fields_are_read_with_their_types():
    more = {
        "valid_until": "2025-12-31",
        "product": "GX-200",
        "subject": "trips",
        "superseded_by": "DOC-2",
        "url": "https://acme.example/a",
        "language": "de-CH",
    }
    assert read(text_of(**more)).fields.model_dump() == {
        **SOUND,
        **more,
        "status": Status.APPROVED,
        "canonical": True,
        "valid_from": date(2025, 1, 1),
        "valid_until": date(2025, 12, 31),
        "language": "de",
    }


def test_the_body_is_kept_as_written_behind_the_closing_line():
    governed = read(text_of(body="\n# Title\n\n---\n\ttext  \n"))
    assert (governed.body, governed.body_line) == ("\n# Title\n\n---\n\ttext  \n", 9)


@pytest.mark.parametrize("name", list(SOUND))
def test_a_missing_required_field_is_an_error_that_names_it(name):
    assert told(text_of(**{name: None})) == [("missing_field", 1, name)]


@pytest.mark.parametrize("name", FIELD_NAMES)
@pytest.mark.parametrize("value", ["", '""', "' '", "~", "[a]", "{a: b}", "1", '"two\\nlines"'])
def test_an_empty_or_wrongly_typed_value_is_an_error_with_its_line(name, value):
    text = text_of(**{**dict.fromkeys(SOUND), **SOUND, name: value})
    line = text.split("\n").index(f"{name}: {value}") + 1
    assert told(text) == [("invalid_field", line, name)]


def test_a_misspelled_field_is_unknown_and_missing_with_the_close_match():
    text = text_of(valid_from=None, valid_form="2025-01-01")
    assert told(text) == [("missing_field", 1, "valid_from"), ("unknown_field", 7, "valid_form")]
    unknown = read(text).findings[1]
    assert unknown.message == "unknown field `valid_form`; close matches: valid_from"


def test_a_misspelled_optional_field_never_leaves_a_rule_open():
    assert told(text_of(valid_untill="2025-02-01")) == [("unknown_field", 8, "valid_untill")]


def test_a_field_in_other_case_is_unknown_with_the_close_match():
    assert "close matches: language" in message(text_of(Language="en"))


def test_a_foreign_field_passes_only_where_it_is_ignored():
    text = text_of(layout="post", tags="[a, {b: c}]")
    assert [code for code, _, _ in told(text)] == ["unknown_field", "unknown_field"]
    assert told(text, ignore_fields={"layout", "tags"}) == []


def test_all_problems_of_a_file_come_at_once():
    text = text_of(title=None, canonical="yes", valid_from="soon", extra="1")
    assert sorted(told(text)) == [
        ("invalid_field", 5, "canonical"),
        ("invalid_field", 6, "valid_from"),
        ("missing_field", 1, "title"),
        ("unknown_field", 7, "extra"),
    ]


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("2025-01-01", id="plain"),
        pytest.param('"2025-01-01"', id="in double quotes"),
        pytest.param("'2025-01-01'", id="in single quotes"),
    ],
)
def test_a_plain_day_is_a_date_quoted_or_not(value):
    assert read(text_of(valid_from=value)).fields.valid_from == date(2025, 1, 1)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("2025-01-01T00:00:00Z", id="date-time"),
        pytest.param("2025-01-01 00:00:00", id="date-time with a space"),
        pytest.param('"2025-01-01T00:00"', id="quoted date-time"),
    ],
)
def test_a_date_time_is_refused_by_name(value):
    assert "found the date-time" in message(text_of(valid_from=value))


@pytest.mark.parametrize(
    "value",
    [
        "2025-1-1", "20250101", "01.01.2025", "2025-01", "2025-W01-1", "2025-02-29", "2025-13-01",
        "0000-01-01", "today", "2025-01-01Z", "٢٠٢٥-٠١-٠١", "-2025-01-01",
    ],
)  # fmt: skip
def test_anything_but_a_day_of_the_calendar_is_refused(value):
    assert told(text_of(valid_from=value)) == [("invalid_field", 7, "valid_from")]


@pytest.mark.parametrize("value", ["yes", "no", "on", "off", "'true'", '"false"', "y"])
def test_a_canonical_that_is_a_text_is_refused_with_a_hint(value):
    assert "in YAML 1.2 yes, no, on, off and anything in quotes are texts" in message(
        text_of(canonical=value)
    )


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("A", id="one letter"),
        pytest.param("_a.b@c-d", id="all signs"),
        pytest.param("Überblick", id="letters of any script"),
        pytest.param("नीति-1", id="letters with marks"),
        pytest.param("a" * 128, id="128 characters"),
    ],
)
def test_ids_are_letters_digits_and_four_signs(value):
    assert read(text_of(id=value)).fields.id == value


@pytest.mark.parametrize("value", ["a#1", "a:b", "-a", ".a", "a b", "a/b", "a" * 129, '"a\\tb"'])
def test_other_ids_are_refused(value):
    assert [code for code, _, _ in told(text_of(id=value))] == ["invalid_field"]


def test_an_unknown_status_names_the_four_and_the_close_match():
    found = message(text_of(status="aproved"))
    assert found == (
        "`status`: want one of draft, approved, superseded, withdrawn; "
        'found the text "aproved"; close matches: approved'
    )


@pytest.mark.parametrize(
    ("value", "tag"), [("en", "en"), ("EN", "en"), ("no", "no"), ("zh-Hant", "zh")]
)
def test_the_language_is_kept_as_its_primary_tag(value, tag):
    assert read(text_of(language=value)).fields.language == tag


def test_a_language_by_its_english_name_is_refused():
    assert "want a language tag" in message(text_of(language="English"))


def test_escapes_are_brought_to_nfc():
    assert read(text_of(title='"cafe\\u0301"')).fields.title == "café"


@pytest.mark.parametrize("escape", ["\\0", "\\x1b", "\\ud800", "\\a"])
def test_a_control_character_by_escape_is_an_error(escape):
    assert told(text_of(title=f'"a{escape}"')) == [("control_character", 3, None)]


@pytest.mark.parametrize(
    ("block", "line"),
    [
        pytest.param("id: &a DOC\ntitle: *a", 2, id="an anchor"),
        pytest.param("id: DOC\ntitle: *a", 3, id="an alias"),
        pytest.param("id: DOC\ntitle: !!str 5", 3, id="a tag"),
        pytest.param("id: DOC\ntitle: !!python/object:os.system x", 3, id="a constructor"),
        pytest.param("id: DOC\n<<: {title: x}\ntitle: [a", 4, id="an open bracket"),
        pytest.param("id: DOC\n\ttitle: x", 3, id="a tab for indentation"),
        pytest.param("id: a: b", 2, id="two colons"),
        pytest.param('id: "DOC', 2, id="an open quotation mark"),
        pytest.param("- id\n- title", 2, id="a list"),
        pytest.param("just text", 2, id="a text"),
        pytest.param("id: DOC\n? [a]\n: b", 3, id="a list as a key"),
        pytest.param("1: x", 2, id="a number as a key"),
        pytest.param('id: "\\U00110000"', 2, id="an escape beyond Unicode"),
        pytest.param("id: DOC\ntitle: \ufffe", 3, id="a noncharacter"),
        pytest.param("a: " + "[" * 500 + "]" * 500, 2, id="deep nesting"),
    ],
)
def test_what_is_no_plain_yaml_is_an_error_with_its_line(block, line):
    (finding,) = read(f"---\n{block}\n---\nBody").findings
    assert (finding.severity, finding.code) == (Severity.ERROR, "yaml_syntax")
    assert finding.line == line


def test_nesting_without_end_is_an_error_with_file_and_line():
    text = text_of(title="[" * 4_000)
    assert told(text) == [("yaml_syntax", 3, None)]
    assert message(text) == "front matter, column 17: nested deeper than 8 levels"


def test_a_syntax_error_names_line_and_column():
    assert message("---\nid: DOC\ntitle: a: b\n---\n").startswith("front matter, column 9: ")


def test_a_field_that_stands_twice_is_an_error():
    text = text_of().replace("scope: public\n", "scope: public\nscope: hr\n")
    assert told(text) == [("duplicate_field", 5, None)]
    assert "first in line 4" in message(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("", "the file is empty", id="an empty file"),
        pytest.param("# Readme\n", "the first line is '# Readme'", id="a plain file"),
        pytest.param("\n" + text_of(), "the first line is blank", id="a blank line before it"),
        pytest.param(" " + text_of(), "the first line is ' ---'", id="an indented opening"),
    ],
)
def test_a_file_without_front_matter_is_an_error_with_the_way_out(text, found):
    assert told(text) == [("missing_front_matter", 1, None)]
    assert found in message(text)
    assert "`exclude` in corpus.yaml" in message(text)


def test_defaults_never_stand_in_for_a_missing_block():
    assert told("Just text.", defaults={**SOUND, "canonical": True}) == [
        ("missing_front_matter", 1, None)
    ]


def test_defaults_fill_in_what_a_block_leaves_out_and_its_own_values_win():
    text = "---\nid: X\nscope: hr\n---\nBody"
    fields = read(text, defaults={**SOUND, "canonical": True}).fields
    assert (fields.id, fields.scope, fields.title) == ("X", "hr", "A title")


def test_an_explicit_empty_value_does_not_fall_back_to_a_default():
    text = text_of(valid_until="")
    assert told(text, defaults={"valid_until": "2025-12-31"}) == [
        ("invalid_field", 8, "valid_until")
    ]


def test_front_matter_that_is_not_closed_is_an_error():
    assert told(text_of().replace("\n---\n", "\n----\n")) == [("unclosed_front_matter", 1, None)]


def test_a_huge_block_is_not_parsed():
    assert told(f"---\nid: {'a' * 70_000}\n---\n") == [("yaml_too_large", 2, None)]


def test_the_id_of_a_file_that_is_wrong_elsewhere_is_known():
    governed = read(text_of(scope=None))
    assert (governed.declared_id, governed.fields) == ("DOC-1", None)


YAML_BITS = st.lists(
    st.sampled_from(
        [*FIELD_NAMES, ":", ": ", "\n", " ", "- ", "---", "'", '"', "[", "]", "{", "}", "&a", "*a",
         "!t", "|", ">", "#", "%", "? ", "@", "`", "\\", "true", "2025-01-01", "~", "\t", ",", "é",
         "\\x", "\\U", "<<", "..."]
    ),
    max_size=40,
).map("".join)  # fmt: skip


def whole_or_refused(governed):
    errors = [finding for finding in governed.findings if finding.severity is Severity.ERROR]
    return (governed.fields is None) == bool(errors)


@given(st.text(max_size=300) | YAML_BITS)
def test_any_block_gives_fields_or_findings_and_no_exception(block):
    assert whole_or_refused(read(f"---\n{block}\n---\nBody"))


@given(st.text(max_size=300))
def test_any_text_gives_fields_or_findings_and_no_exception(text):
    assert whole_or_refused(read(text))


@given(st.sampled_from(list(SOUND)), YAML_BITS)
def test_any_value_of_a_field_gives_fields_or_findings(name, value):
    assert whole_or_refused(read(text_of(**{name: value})))
