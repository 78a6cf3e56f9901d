"""Windows of 600 code points with 80 of overlap, and the chunks made of them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import make_document, make_governance
from rag_core.rules.chunking import CHARS_600, chunk_document, cut_windows, oversized_grapheme
from rag_core.rules.segmentation import grapheme_bounds
from rag_core.types.corpus import Document, Heading

FLAG = "\U0001f1e9\U0001f1ea"
FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467"


def marked(length: int) -> str:
    """One grapheme of so many code points."""
    return "a" + "\u0301" * (length - 1)


# Long graphemes, so that few of them fill a window and every branch of the rule is reached.
TEXTS = st.lists(
    st.one_of(
        st.integers(1, 700).map(lambda length: "x" * length),
        st.sampled_from([1, 2, 79, 80, 81, 300, 519, 520, 521, 590, 599, 600]).map(marked),
        st.integers(1, 90).map(lambda count: FLAG * count),
    ),
    max_size=8,
).map("".join)


def test_the_rule_is_named_after_its_sizes():
    assert CHARS_600 == "chars-600-overlap-80-v1"


@pytest.mark.parametrize(
    ("text", "windows"),
    [
        pytest.param("", [], id="an empty text has no window"),
        pytest.param("x", [(0, 1)], id="a short text is one"),
        pytest.param("x" * 600, [(0, 600)], id="600 is still one"),
        pytest.param("x" * 601, [(0, 600), (520, 601)], id="601 is two"),
        pytest.param("x" * 1120, [(0, 600), (520, 1120)], id="1,120 is two"),
        pytest.param("x" * 1500, [(0, 600), (520, 1120), (1040, 1500)], id="1,500 is three"),
        pytest.param(
            "x" * 599 + FLAG + "y" * 100, [(0, 599), (519, 701)], id="a flag is not cut at the end"
        ),
        pytest.param("x" * 519 + FLAG + "y" * 100, [(0, 600), (519, 621)], id="nor at the start"),
        pytest.param(
            "x" * 597 + FAMILY + "y" * 20, [(0, 597), (517, 622)], id="a family of five neither"
        ),
        pytest.param(
            "x" * 100 + marked(590) + "y" * 10,
            [(0, 100), (90, 690), (100, 700)],
            id="a start that would not get past the window before is moved on",
        ),
        pytest.param(
            marked(600) + marked(600), [(0, 600), (600, 1200)], id="graphemes that fill a window"
        ),
        pytest.param(
            "x" * 50 + marked(600) + "y",
            [(0, 50), (50, 650), (650, 651)],
            id="no overlap where the rule leaves no room",
        ),
    ],
)
def test_windows_are_cut_at_exact_offsets(text, windows):
    assert [(span.start, span.end) for span in cut_windows(text)] == windows


@given(TEXTS)
def test_windows_cover_the_text_in_order_and_none_lies_inside_the_one_before(text):
    windows = cut_windows(text)
    assert [span.start for span in windows[:1]] == [0] * bool(text)
    assert [span.end for span in windows[-1:]] == [len(text)] * bool(text)
    for left, right in pairwise(windows):
        assert left.start < right.start <= left.end < right.end


@given(TEXTS)
def test_windows_are_cut_on_grapheme_bounds_and_hold_at_most_600_code_points(text):
    bounds = set(grapheme_bounds(text))
    for span in cut_windows(text):
        assert {span.start, span.end} <= bounds
        assert 1 <= len(span) <= 600


@given(TEXTS)
def test_a_window_is_as_long_and_overlaps_as_closely_as_bounds_allow(text):
    bounds = grapheme_bounds(text)
    windows = cut_windows(text)
    for span in windows:
        beyond = min((bound for bound in bounds if bound > span.end), default=len(text))
        assert span.end == len(text) or beyond > span.start + 600
    for left, right in pairwise(windows):
        later = [bound for bound in bounds if left.start < bound <= left.end]
        earliest = max((bound for bound in later if bound <= left.end - 80), default=later[0])
        beyond = min(bound for bound in bounds if bound > left.end)
        assert right.start == min(b for b in later if b >= earliest and beyond - b <= 600)


def test_a_grapheme_longer_than_a_window_is_an_error_that_names_its_offset():
    text = "ab" + marked(601)
    assert oversized_grapheme(text) == 2
    with pytest.raises(ValueError, match=r"^offset 2: a grapheme is longer than 600 code points"):
        cut_windows(text)


def test_a_grapheme_of_600_is_not_oversized():
    assert oversized_grapheme("ab" + marked(600)) is None


def test_a_chunk_carries_what_its_document_says_of_it():
    plain = make_document("x" * 700, id="RULES", title="Rules", language="de")
    document = Document(
        id=plain.id, title=plain.title, governance=make_governance(scope="staff"), text=plain.text,
        sentences=plain.sentences, headings=(Heading(0, 1, "A"), Heading(520, 2, "B")),
        language=plain.language, subject=None, superseded_by=None, url=None, path=plain.path,
        file_digest=plain.file_digest,
    )  # fmt: skip
    first, second = chunk_document(document)
    assert (first.id, second.id) == ("RULES#0", "RULES#1")
    assert (first.part, second.part) == (0, 1)
    assert (first.text, second.text) == ("x" * 600, "x" * 180)
    assert (first.heading_path, second.heading_path) == (("A",), ("A", "B"))
    assert {(c.source_id, c.title, c.governance.scope, c.language) for c in (first, second)} == {
        ("RULES", "Rules", "staff", "de")
    }


def test_a_document_without_text_has_no_chunks():
    assert chunk_document(make_document("")) == ()


@given(TEXTS)
def test_a_chunk_s_text_stands_at_its_span(text):
    for part, chunk in enumerate(chunk_document(make_document(text))):
        assert chunk.text == text[chunk.span.start : chunk.span.end]
        assert chunk.id == f"DOC#{part}"
