"""A file of questions: every line counts, every mistake is named by its line."""

from __future__ import annotations

import pytest

from rag_core.adapters.question_files import read_questions
from rag_core.errors import UsageError
from rag_core.types.questions import Asked

DEFAULTS = Asked("", as_of="2026-12-01", scopes=("public",), product="GX-100")


def read(tmp_path, content: bytes):
    path = tmp_path / "questions.txt"
    path.write_bytes(content)
    return read_questions(path, defaults=DEFAULTS)


def test_plain_lines_take_the_command_lines_settings(tmp_path):
    asked = read(tmp_path, b"First?\n\nSecond?\n")
    assert asked == (
        Asked("First?", "2026-12-01", ("public",), "GX-100"),
        Asked("Second?", "2026-12-01", ("public",), "GX-100"),
    )


def test_a_json_line_overrides_what_it_names(tmp_path):
    line = b'{"question": "Q?", "as_of": "2024-01-01", "scopes": ["hr"], "background": "I drive."}'
    assert read(tmp_path, line) == (Asked("Q?", "2024-01-01", ("hr",), "GX-100", "I drive."),)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"\xef\xbb\xbfOne?\r\nTwo?\r\n", id="byte order mark and CRLF"),
        pytest.param(b"One?\nTwo?", id="no newline at the end"),
    ],
)
def test_newlines_and_byte_order_mark_do_not_matter(tmp_path, content):
    assert [asked.text for asked in read(tmp_path, content)] == ["One?", "Two?"]


@pytest.mark.parametrize("separator", ["\u2028", "\x85", "\x0b"])
def test_only_a_line_feed_ends_a_line(tmp_path, separator):
    content = f'{{"question": "One{separator}two?"}}'.replace("\x0b", "\\u000b")
    assert [asked.text for asked in read(tmp_path, content.encode())] == [f"One{separator}two?"]


@pytest.mark.parametrize(
    ("content", "named"),
    [
        pytest.param(b'Fine?\n{"question": 5}', ":2: question", id="a wrong type"),
        pytest.param(b'{"question": "Q?", "scope": ["hr"]}', ":1: scope", id="an unknown key"),
        pytest.param(b'{"question": "Q?", "scopes": []}', ":1: scopes", id="an empty filter"),
        pytest.param(b'{"question": "Q?", "question": "R?"}', "twice", id="a key twice"),
        pytest.param(b'{"question": "Q?"', ":1: not JSON", id="broken JSON"),
        pytest.param(b"{" * 100_000, ":1: not JSON", id="deep nesting"),
        pytest.param(b"\xff\xfe", "cannot be read", id="not UTF-8"),
        pytest.param(b"\n \n", "found 0", id="no question"),
    ],
)
def test_a_mistake_names_its_line(tmp_path, content, named):
    with pytest.raises(UsageError, match=named):
        read(tmp_path, content)


def test_a_missing_file_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        read_questions(tmp_path / "none", defaults=DEFAULTS)
