"""Templates replace their placeholders and read nothing into a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.rules.rendering import render_document, render_query


def test_title_and_text_stand_where_the_template_says():
    assert render_document("{title}\n{text}", title="Export", text="As CSV.") == "Export\nAs CSV."
    assert render_query("query: {text}", "Where?") == "query: Where?"


@pytest.mark.parametrize(
    ("title", "text"),
    [
        pytest.param("{text}", "{title}", id="placeholders in a text are text"),
        pytest.param("{0}", "{", id="lone braces are text"),
        pytest.param("{{", "}}", id="doubled braces stay doubled"),
        pytest.param("\\1", "\\g<0>", id="backslashes are no group references"),
        pytest.param("%s", "{text.__class__}", id="format fields are text"),
    ],
)
def test_what_is_filled_in_is_never_interpreted(title, text):
    assert render_document("{title}|{text}", title=title, text=text) == f"{title}|{text}"
    assert render_query("{text}", text) == text


def test_other_braces_of_a_template_stay():
    assert render_document("{title} {x} {}", title="T", text="-") == "T {x} {}"


def test_a_query_template_that_wants_a_title_is_an_error():
    with pytest.raises(ValueError, match="a question has none"):
        render_query("{title} {text}", "Where?")


@given(st.text())
def test_the_bare_query_template_changes_nothing(text):
    assert render_query("{text}", text) == text
