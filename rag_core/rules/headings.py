"""Markdown headings of a text, and the path of headings above an offset (DESIGN section 3)."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from markdown_it import MarkdownIt

from rag_core.types.corpus import Heading

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, MutableMapping, Sequence

    from markdown_it.token import Token

    # Link reference definitions of the document, which headings may use.
    _Environment = MutableMapping[str, Any]


def markdown_headings(text: str) -> tuple[Heading, ...]:
    """The ATX and setext headings of a Markdown text with LF line ends, in order.

    CommonMark decides: what stands in a code block, a quotation or a list item structures that and
    not the document, and is left out. A heading starts where its (first) line starts; its text is
    the words without markup, and a heading without words is left out.
    """
    environment: _Environment = {}
    tokens = _block_parser().parse(text, environment)
    starts = _line_starts(text)
    return tuple(
        Heading(start=starts[opening.map[0]], level=int(opening.tag[1:]), text=words)
        for opening, inline in pairwise(tokens)
        if opening.type == "heading_open" and opening.level == 0 and opening.map
        if (words := _words(inline.content, environment))
    )


def heading_path(headings: Sequence[Heading], offset: int) -> tuple[str, ...]:
    """The texts of the headings that hold at an offset, outermost first.

    A heading holds from the start of its line until the next heading of its level or above.
    """
    path: list[Heading] = []
    for heading in headings:
        if heading.start > offset:
            break
        while path and path[-1].level >= heading.level:
            path.pop()
        path.append(heading)
    return tuple(heading.text for heading in path)


@cache
def _block_parser() -> MarkdownIt:
    """Finds blocks only: reading the inline markup of whole documents would be wasted."""
    return MarkdownIt("commonmark").disable(["inline", "text_join"])


@cache
def _inline_parser() -> MarkdownIt:
    return MarkdownIt("commonmark")


def _words(markup: str, environment: _Environment) -> str:
    tokens = _inline_parser().parseInline(markup, environment)
    return " ".join("".join(_plain(tokens)).split())


def _plain(tokens: Iterable[Token]) -> Iterator[str]:
    for token in tokens:
        if token.children:
            yield from _plain(token.children)
        elif token.type in {"softbreak", "hardbreak"}:
            yield " "
        elif token.type in {"text", "code_inline"}:
            yield token.content


def _line_starts(text: str) -> list[int]:
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    return starts
