"""YAML as plain values: how deep it may nest, and what opens nothing."""

from __future__ import annotations

import pytest

from rag_core.adapters import yaml_tree
from rag_core.adapters.yaml_tree import DEEPEST, YamlError, read_yaml

LIMIT = 100_000


def refused(text):
    with pytest.raises(YamlError) as caught:
        read_yaml(text, limit_chars=LIMIT)
    return (caught.value.code, caught.value.line, caught.value.message)


@pytest.mark.parametrize("sign", ["[", "{", "{a: ", "[{a: "])
def test_brackets_that_nest_too_deep_are_refused_with_their_line(sign):
    code, line, message = refused(f"a: 1\nx: {sign * 15_000}")
    assert (code, line) == ("yaml_syntax", 2)
    assert message.endswith(f": nested deeper than {DEEPEST} levels")


def test_scanning_stops_at_the_bracket_that_nests_too_deep(monkeypatch):
    opened = []

    class Counting(yaml_tree._ShallowScanner):
        def fetch_flow_collection_start(self, token_class, to_push):
            super().fetch_flow_collection_start(token_class, to_push)
            opened.append(to_push)

    monkeypatch.setattr(yaml_tree, "_ShallowScanner", Counting)
    assert refused("x: " + "[" * 50_000)[2].startswith(f"column {4 + DEEPEST + 1}: ")
    assert len(opened) == DEEPEST + 1


def test_brackets_on_lines_of_their_own_are_counted_alike():
    assert refused("x: " + "[\n " * 5_000)[1] == 1 + DEEPEST + 1


def test_a_value_at_the_deepest_level_is_read():
    tree = read_yaml("x: " + "[" * 7 + "1, 2" + "]" * 7, limit_chars=LIMIT)
    assert str(tree.values["x"]).count("[") == 7
    tree = read_yaml("{a: " * 8 + "1" + "}" * 8, limit_chars=LIMIT)
    assert str(tree.values).count("{") == 8


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param(f'x: "{"[" * 50}"', "[" * 50, id="in double quotes"),
        pytest.param(f"x: '{'{' * 50}'", "{" * 50, id="in single quotes"),
        pytest.param(f"x: a {'[0, 5[ ' * 50}b", f"a {'[0, 5[ ' * 50}b", id="in a plain text"),
        pytest.param(f"x: |\n  {'[' * 50}\n", "[" * 50 + "\n", id="in a block text"),
        pytest.param(f"x: a # {'[' * 50}", "a", id="in a comment"),
    ],
)
def test_a_bracket_that_opens_nothing_is_not_counted(text, value):
    assert read_yaml(text, limit_chars=LIMIT).values == {"x": value}


def test_lists_beside_each_other_are_not_nested():
    tree = read_yaml(f"x: [{'[a], ' * 200}]", limit_chars=LIMIT)
    assert tree.values == {"x": [["a"]] * 200}


def test_endless_combining_marks_by_escape_are_an_error_with_their_line():
    code, line, message = refused('a: 1\nx: "e' + "\\u0301" * 31 + '"')
    assert (code, line) == ("oversized_grapheme", 2)
    assert message == "column 4: 31 combining marks in a row, at most 30 are read"
