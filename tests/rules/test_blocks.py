"""Logical blocks: what a sentence never reaches across."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.rules.blocks import block_ranges

KINDS = (
    *(
        "",
        " ",
        "# H",
        "text",
        "more text.",
        "- item",
        "  wrapped",
        "2. two",
        "1) one",
        "(a) letter",
    ),
    *(
        "key: value",
        "x = 1",
        "| a | b |",
        "a\tb",
        "---",
        "===",
        "```",
        "~~~py",
        "> quoted",
        "(a) b",
    ),
)
LINES = st.lists(st.sampled_from(KINDS)).map("\n".join)


def blocks(text: str) -> list[str]:
    return [text[start:end] for start, end in block_ranges(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("one\ntwo", ["one\ntwo"], id="a hard-wrapped paragraph stays joined"),
        pytest.param("one\n\n \ntwo", ["one", "two"], id="a blank line ends a block"),
        pytest.param("text\n## Head\nbody", ["text", "## Head", "body"], id="a heading is alone"),
        pytest.param("#tag\nbody", ["#tag\nbody"], id="a hash without a space is no heading"),
        pytest.param("Head\n====\nbody", ["Head", "====", "body"], id="an underline is alone"),
        pytest.param("a\n* * *\nb", ["a", "* * *", "b"], id="a rule of signs is alone"),
        pytest.param("- one\n  wrapped\n- two", ["- one\n  wrapped", "- two"], id="list items"),
        pytest.param("1. one\n2. two", ["1. one", "2. two"], id="numbered items"),
        pytest.param("(a) one\n(b) two", ["(a) one", "(b) two"], id="lettered items"),
        pytest.param("i) one\nii) two", ["i) one", "ii) two"], id="Roman items"),
        pytest.param("– one\n– two", ["– one", "– two"], id="dashed items"),
        pytest.param("These:\n- one\n- two", ["These:", "- one", "- two"], id="a lead-in is apart"),
        pytest.param(
            "no more than\n20. After that",
            ["no more than\n20. After that"],
            id="a wrapped number is no item",
        ),
        pytest.param("as said in\n(b) above", ["as said in\n(b) above"], id="nor a wrapped letter"),
        pytest.param("the word\n– so it is", ["the word\n– so it is"], id="nor a wrapped dash"),
        pytest.param(
            "text\n1. one\n2. two", ["text", "1. one", "2. two"], id="a first item is one"
        ),
        pytest.param(
            "| a | b |\n|---|---|\n| c | d |",
            ["| a | b |", "|---|---|", "| c | d |"],
            id="table rows with outer bars",
        ),
        pytest.param("a | b\n--|--\nc | d", ["a | b", "--|--", "c | d"], id="and without"),
        pytest.param("a\tb\nc\td", ["a\tb", "c\td"], id="rows of a table with tabs"),
        pytest.param("\tindented\ntext", ["\tindented\ntext"], id="a leading tab is no row"),
        pytest.param("limit: 5\nunit: kg", ["limit: 5", "unit: kg"], id="keys with a colon"),
        pytest.param("a = 1\nb=2", ["a = 1", "b=2"], id="keys with an equals sign"),
        pytest.param("Settings\na: 1\nb: 2", ["Settings", "a: 1", "b: 2"], id="keys below a line"),
        pytest.param(
            "what we call\nthe rule: each counts\nfor all",
            ["what we call\nthe rule: each counts\nfor all"],
            id="one colon inside a paragraph is prose",
        ),
        pytest.param("Note: this is\nwrapped", ["Note: this is\nwrapped"], id="a wrapped value"),
        pytest.param("see https://x.y\nand go", ["see https://x.y\nand go"], id="no key in a URL"),
        pytest.param(
            "```py\na = 1\n\n# no heading\n```\ntext",
            ["```py", "a = 1", "# no heading", "```", "text"],
            id="each fenced line is a block",
        ),
        pytest.param(
            "~~~\na\n```\n~~~\nb\nc", ["~~~", "a", "```", "~~~", "b\nc"], id="own fence ends"
        ),
        pytest.param("```\na\nb", ["```", "a", "b"], id="an open fence runs to the end"),
        pytest.param("", [], id="nothing"),
        pytest.param("\n \n", [], id="white space only"),
    ],
)
def test_a_text_falls_into_its_logical_blocks(text, expected):
    assert blocks(text) == expected


@given(LINES)
def test_blocks_are_ordered_and_hold_every_line_that_is_not_blank(text):
    ranges = list(block_ranges(text))
    assert ranges == sorted(ranges)
    assert all(left[1] < right[0] for left, right in pairwise(ranges))
    held = [line for block in blocks(text) for line in block.split("\n")]
    assert held == [line for line in text.split("\n") if line.strip()]


@pytest.mark.parametrize(
    "line", ["a: b\n", "\t", "a\t", "- ", " |", "a" * 38 + " ", "`", "- \n", "1", "#", "=\n"]
)
@pytest.mark.timeout(60)  # where the work were not bounded, it would not end
def test_blocks_of_a_hostile_text_are_found_to_its_end(line):
    text = line * (300_000 // len(line))
    list(block_ranges(text))
