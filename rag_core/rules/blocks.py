r"""Logical blocks of a text: what a sentence never reaches across.

A blank line ends a block. A Markdown heading, a rule of signs, a table row and each line between
code fences are a block each; a list item and a `key: value` line begin one. All other lines
continue the block above them, because a hard-wrapped paragraph is one text. Where a mark could as
well stand inside a wrapped sentence ("... no more than\n20. After that"), only a first mark
(a bullet, 1, a or i) interrupts the paragraph, as in CommonMark.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_RULE = re.compile(r"[-=*_~`+|:#][-=*_~`+|:#\s]{2,}$")
_CELL_BAR = re.compile(r"[ \t]\|[ \t]")
_FENCE = re.compile(r"[ \t]*(`{3,}(?=[^`]*$)|~{3,})")
_FIRST_ITEM = re.compile(r"[ \t]*(?:[-*+•‣◦▪]|\(?1[.)]|\(?[aAiI]\))[ \t]+\S")
_ANY_ITEM = re.compile(
    r"[ \t]*(?:[-*+•‣◦▪–—]|\(?[0-9]{1,9}[.)]|\(?(?:[a-zA-Z]|[ivxIVX]{2,5})\))[ \t]+\S"
)
_PAIR = re.compile(r"[ \t]*([\w\"'][\w \"'./()-]{0,39}?)[ \t]*(?::[ \t]+|=[ \t]*)[^\s=]")
_KEY_WORDS = 4  # more words before a colon are a sentence, not a key


class _Kind(Enum):
    TEXT = "continues the block above"
    ITEM = "begins a list item"
    PAIR = "begins a key and its value"
    ALONE = "is a block of its own"
    BLANK = "ends a block"


def block_ranges(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each block in order, in code points; together all but blank lines."""
    lines = text.split("\n")
    opened: int | None = None
    start = end = 0
    for line, kind in zip(lines, _kinds(lines), strict=True):
        if opened is not None and kind is not _Kind.TEXT:
            yield opened, end
            opened = None
        end = start + len(line)
        if kind is _Kind.ALONE:
            yield start, end
        elif opened is None and kind is not _Kind.BLANK:
            opened = start
        start = end + 1
    if opened is not None:
        yield opened, end


def _kinds(lines: Sequence[str]) -> Iterator[_Kind]:
    """What each line does to the blocks, seen from above."""
    fence = ""
    above = _Kind.BLANK
    for number, line in enumerate(lines):
        if not line or line.isspace():
            kind = _Kind.BLANK
        elif fence:
            kind = _Kind.ALONE
            fence = "" if _closes(line, fence) else fence
        elif mark := _FENCE.match(line):
            kind = _Kind.ALONE
            fence = mark[1]
        else:
            kind = _kind_of(lines, number, above)
        yield kind
        if kind is not _Kind.TEXT or above in {_Kind.BLANK, _Kind.ALONE}:
            above = kind


def _closes(line: str, fence: str) -> bool:
    mark = line.strip()
    return len(mark) >= len(fence) and mark == fence[0] * len(mark)


def _kind_of(lines: Sequence[str], number: int, above: _Kind) -> _Kind:
    line = lines[number]
    stripped = line.strip()
    wrapped = above in {_Kind.TEXT, _Kind.PAIR}
    if _HEADING.match(line) or _RULE.match(stripped):
        return _Kind.ALONE
    if (_FIRST_ITEM if wrapped else _ANY_ITEM).match(line):
        return _Kind.ITEM
    if stripped.startswith("|") or "\t" in stripped or _CELL_BAR.search(stripped):
        return _Kind.ALONE
    if _is_pair(line):
        # One line with a colon inside a paragraph is prose; two in a row are a list of settings.
        opens = above in {_Kind.BLANK, _Kind.ALONE}
        beside = (*lines[max(number - 1, 0) : number], *lines[number + 1 : number + 2])
        if opens or any(map(_is_pair, beside)):
            return _Kind.PAIR
    return _Kind.TEXT


def _is_pair(line: str) -> bool:
    found = _PAIR.match(line)
    return found is not None and len(found[1].split()) <= _KEY_WORDS
