"""A reply is a proposal or malformed; nothing is repaired."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.rules.proposals import (
    MAX_REPLY_BYTES,
    PROPOSAL_SCHEMA,
    parse_reply,
    quote_schema,
)
from rag_core.types.proposals import AnswerProposal, Evidence, MalformedReply

ENTRY = '{"source_id": "A#0", "quote": "the seal is blue"}'
WHOLE = f'{{"can_answer": true, "evidence": [{ENTRY}]}}'


def test_a_proposal_is_read_as_it_stands():
    assert parse_reply(WHOLE) == AnswerProposal(True, (Evidence("A#0", "the seal is blue"),))


def test_white_space_around_the_object_is_json():
    assert parse_reply(f"\n {WHOLE}\n") == parse_reply(WHOLE)


def test_a_declined_question_may_still_list_evidence():
    reply = f'{{"can_answer": false, "evidence": [{ENTRY}]}}'
    assert parse_reply(reply) == AnswerProposal(False, (Evidence("A#0", "the seal is blue"),))


def test_yes_without_evidence_is_well_formed_and_left_to_the_gate():
    assert parse_reply('{"can_answer": true, "evidence": []}') == AnswerProposal(True, ())


def test_a_line_break_and_a_tab_inside_a_quote_are_kept():
    reply = '{"can_answer": true, "evidence": [{"source_id": "A#0", "quote": "a\\n\\tb"}]}'
    assert parse_reply(reply) == AnswerProposal(True, (Evidence("A#0", "a\n\tb"),))


def quoting(escaped: str) -> str:
    """A reply whose quotation is this text between JSON's quotation marks."""
    return WHOLE.replace("the seal is blue", escaped)


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        pytest.param("", "the reply is not one JSON object", id="empty"),
        pytest.param("Yes, it is blue.", "the reply is not one JSON object", id="prose"),
        pytest.param(f"```json\n{WHOLE}\n```", "the reply is not one JSON", id="code fence"),
        pytest.param(f"{WHOLE} Hope it helps!", "Extra data", id="trailing prose"),
        pytest.param(f"{WHOLE}{WHOLE}", "Extra data", id="two objects"),
        pytest.param(f"\ufeff{WHOLE}", "the reply is not one JSON", id="byte order mark"),
        pytest.param(WHOLE[:-3], "the reply is not one JSON", id="cut off"),
        pytest.param(WHOLE.replace('"', "'"), "the reply is not one JSON", id="single quotes"),
        pytest.param(WHOLE.replace("]}", ",]}"), "the reply is not one", id="trailing comma"),
        pytest.param(f"[{WHOLE}]", "the reply:", id="a list around it"),
        pytest.param("null", "the reply:", id="null"),
        pytest.param("true", "the reply:", id="a bare boolean"),
        pytest.param("NaN", "NaN is no JSON number", id="NaN"),
        pytest.param(
            '{"can_answer": NaN, "evidence": []}', "NaN is no JSON number", id="NaN inside"
        ),
        pytest.param('{"can_answer": -Infinity, "evidence": []}', "-Infinity is no", id="infinity"),
        pytest.param("1" * 5000, "the reply is not one JSON", id="a number beyond the digit limit"),
        pytest.param(
            '{"can_answer": true, "can_answer": false, "evidence": []}',
            "a key stands twice",
            id="duplicate key",
        ),
        pytest.param(
            WHOLE.replace('"quote"', '"quote": "x", "quote"'),
            "a key stands twice",
            id="duplicate key in an entry",
        ),
        pytest.param('{"can_answer": true}', "evidence: Field required", id="no evidence key"),
        pytest.param('{"evidence": []}', "can_answer: Field required", id="no can_answer key"),
        pytest.param(
            WHOLE.replace('"quote": "the seal is blue"', '"quote": null'),
            "evidence.0.quote: ",
            id="null for a quote",
        ),
        pytest.param(
            '{"can_answer": "true", "evidence": []}', "can_answer: ", id="a word for a boolean"
        ),
        pytest.param('{"can_answer": 1, "evidence": []}', "can_answer: ", id="1 for a boolean"),
        pytest.param('{"can_answer": true, "evidence": {}}', "evidence: ", id="no list"),
        pytest.param('{"can_answer": true, "evidence": null}', "evidence: ", id="null for a list"),
        pytest.param(
            WHOLE.replace("true", 'true, "note": 1'), "note: Extra inputs", id="extra key"
        ),
        pytest.param(
            WHOLE.replace('"quote"', '"page": 2, "quote"'),
            "evidence.0.page: Extra inputs",
            id="extra key in an entry",
        ),
        pytest.param(
            f'{{"can_answer": true, "evidence": [{", ".join([ENTRY] * 4)}]}}',
            "evidence: List should have at most 3 items",
            id="four entries",
        ),
        pytest.param(quoting("a\nb"), "Invalid control character", id="raw line feed"),
        pytest.param(quoting("a\x00b"), "Invalid control character", id="raw NUL"),
        pytest.param(
            quoting("a\\u0000b"),
            "evidence.0.quote: Value error, control character U+0000",
            id="escaped NUL",
        ),
        pytest.param(quoting("a\\u0008b"), "control character U+0008", id="escaped backspace"),
        pytest.param(quoting("a\x86b"), "control character U+0086", id="C1 control"),
        pytest.param(quoting("a\\ud800b"), "control character U+D800", id="lone surrogate"),
        pytest.param(
            WHOLE.replace("A#0", "A\\u0007"), "evidence.0.source_id: ", id="bell in an id"
        ),
        pytest.param("[" * 60_000, "the reply is nested too deeply", id="deep lists"),
        pytest.param('{"a":' * 12_000, "the reply is nested too deeply", id="deep objects"),
        pytest.param(" " * (64 * 1024) + WHOLE, "the reply is over 65536 bytes", id="huge"),
        pytest.param("é" * (32 * 1024 + 1), "the reply is over", id="bytes count, not letters"),
    ],
)
def test_a_malformed_reply_is_named_and_not_repaired(reply, problem):
    result = parse_reply(reply)
    assert isinstance(result, MalformedReply)
    assert problem in result.problem


def test_a_reply_of_exactly_the_limit_is_read():
    reply = WHOLE + " " * (MAX_REPLY_BYTES - len(WHOLE))
    assert isinstance(parse_reply(reply), AnswerProposal)


def test_a_problem_repeats_little_of_the_reply():
    reply = json.dumps({"can_answer": True, "evidence": [], "\x1b[31m" + "x" * 5000: 1})
    result = parse_reply(reply)
    assert isinstance(result, MalformedReply)
    assert result.problem.isprintable()
    assert len(result.problem) < 120


def test_the_schema_is_flat_and_says_what_the_reader_accepts():
    assert "$" not in json.dumps(PROPOSAL_SCHEMA)
    entry = PROPOSAL_SCHEMA["properties"]["evidence"]["items"]
    assert PROPOSAL_SCHEMA["required"] == list(PROPOSAL_SCHEMA["properties"])
    assert entry["required"] == list(entry["properties"])
    assert PROPOSAL_SCHEMA["additionalProperties"] is entry["additionalProperties"] is False
    smallest = {"can_answer": True, "evidence": [dict.fromkeys(entry["required"], "x")] * 3}
    assert isinstance(parse_reply(json.dumps(smallest)), AnswerProposal)


stored_text = st.text(st.characters(exclude_categories=("Cc", "Cs"), include_characters="\t\n"))
proposals = st.builds(
    AnswerProposal,
    st.booleans(),
    st.lists(st.builds(Evidence, stored_text, stored_text), max_size=3).map(tuple),
)


def written(proposal: AnswerProposal, *, ascii_only: bool) -> str:
    entries = [{"source_id": e.source_id, "quote": e.quote} for e in proposal.evidence]
    value = {"can_answer": proposal.can_answer, "evidence": entries}
    return json.dumps(value, ensure_ascii=ascii_only)


@given(proposals, st.booleans())
def test_a_written_proposal_reads_back_the_same(proposal, ascii_only):
    assert parse_reply(written(proposal, ascii_only=ascii_only)) == proposal


@given(proposals, st.text(min_size=1).filter(lambda text: text.strip(" \t\n\r")))
def test_nothing_may_follow_a_proposal(proposal, tail):
    assert isinstance(parse_reply(written(proposal, ascii_only=True) + tail), MalformedReply)


@given(st.text())
def test_any_text_gets_an_answer_and_no_exception(text):
    assert isinstance(parse_reply(text), MalformedReply)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
near_proposals = st.fixed_dictionaries(
    {},
    optional={
        "can_answer": st.booleans() | json_values,
        "evidence": st.lists(
            st.fixed_dictionaries(
                {}, optional={"source_id": st.text() | json_values, "quote": st.text()}
            )
        )
        | json_values,
        "extra": json_values,
    },
)


@given(json_values | near_proposals)
def test_any_json_is_a_proposal_of_its_own_words_or_malformed(value):
    result = parse_reply(json.dumps(value))
    if isinstance(result, AnswerProposal):
        assert json.loads(written(result, ascii_only=True)) == value
    else:
        assert result.problem.isprintable()


def test_other_line_ends_in_a_quotation_are_left_to_the_gate():
    reply = parse_reply(quoting("the seal\\r\\nis blue"))
    assert isinstance(reply, AnswerProposal)
    assert reply.evidence[0].quote == "the seal\r\nis blue"


def test_a_schema_for_some_chunks_names_them_as_the_only_sources():
    entry = quote_schema(("A#0", "B#2"))["properties"]["evidence"]["items"]
    assert entry["properties"]["source_id"] == {"type": "string", "enum": ["A#0", "B#2"]}
    original = PROPOSAL_SCHEMA["properties"]["evidence"]["items"]["properties"]
    assert original["source_id"] == {"type": "string"}


def test_a_schema_for_no_chunk_is_an_error():
    with pytest.raises(ValueError, match="want at least one chunk id"):
        quote_schema(())
