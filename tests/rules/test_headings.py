"""Markdown headings and the path that a chunk carries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.rules.headings import heading_path, markdown_headings
from rag_core.types.corpus import Heading


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("# One\n\n## Two ##\n", [(0, 1, "One"), (7, 2, "Two")], id="ATX"),
        pytest.param("a\n\nOne\n===\n\nTwo\n---", [(3, 1, "One"), (12, 2, "Two")], id="setext"),
        pytest.param("One\nwrapped\n===", [(0, 1, "One wrapped")], id="a setext of two lines"),
        pytest.param("   # One", [(0, 1, "One")], id="an indented one starts with its line"),
        pytest.param("é\n\n# Ü", [(3, 1, "Ü")], id="offsets are code points"),
        pytest.param("\U0001f600\n# One", [(2, 1, "One")], id="also beyond the basic plane"),
        pytest.param("# A *b* `c` [d](e) &amp; ![f](g)", [(0, 1, "A b c d & f")], id="no markup"),
        pytest.param("# A [b]\n\n[b]: /c", [(0, 1, "A b")], id="a link defined elsewhere"),
        pytest.param("# a_b *", [(0, 1, "a_b *")], id="signs that are no markup"),
        pytest.param("```\n# no\n```\n# yes", [(13, 1, "yes")], id="not inside a fence"),
        pytest.param("~~~\n# no", [], id="nor an open one"),
        pytest.param("    # no", [], id="nor in indented code"),
        pytest.param("> # no\n\n- # no", [], id="nor in quotations and items"),
        pytest.param("#no\n####### no", [], id="nor without a space, nor of level 7"),
        pytest.param("#\n\n# \n", [], id="nor without words"),
        pytest.param("", [], id="nothing"),
    ],
)
def test_headings_are_found_as_commonmark_says(text, expected):
    assert markdown_headings(text) == tuple(Heading(*each) for each in expected)


@given(st.text("#=-`>a \n\t*[]()é"))
def test_headings_start_at_lines_in_order(text):
    starts = [heading.start for heading in markdown_headings(text)]
    assert starts == sorted(set(starts))
    assert all(start == 0 or text[start - 1] == "\n" for start in starts)


HEADINGS = (
    Heading(10, 1, "A"),
    Heading(20, 2, "B"),
    Heading(30, 3, "C"),
    Heading(40, 2, "D"),
    Heading(50, 1, "E"),
    Heading(60, 3, "F"),
)


@pytest.mark.parametrize(
    ("offset", "path"),
    [
        pytest.param(9, (), id="before the first"),
        pytest.param(10, ("A",), id="from the start of its line"),
        pytest.param(19, ("A",), id="until the next"),
        pytest.param(35, ("A", "B", "C"), id="outermost first"),
        pytest.param(45, ("A", "D"), id="a sibling replaces, and what lay below goes"),
        pytest.param(55, ("E",), id="a new top clears"),
        pytest.param(99, ("E", "F"), id="a level may be skipped"),
    ],
)
def test_a_heading_holds_until_the_next_of_its_level_or_above(offset, path):
    assert heading_path(HEADINGS, offset) == path


@pytest.mark.parametrize("unit", ["[", ">", "*a ", "- ", "`a"])
@pytest.mark.timeout(60)  # where the work were not bounded, it would not end
def test_headings_of_a_hostile_text_are_found_to_its_end(unit):
    markdown_headings("# " + unit * (100_000 // len(unit)))
