"""YAML 1.2 as plain values with the line of every key; anything clever in it is refused.

Read from parser events, so that no tag is ever constructed, no alias expanded, and a number
keeps the form in which its author wrote it.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ruamel.yaml import YAML, events
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.scanner import Scanner, ScannerError

from rag_core.rules.normalization import normalize_text

if TYPE_CHECKING:
    from collections.abc import Iterator

DEEPEST = 8
"""Levels of nesting; ours need 4, foreign front matter rarely more."""

# The core schema of YAML 1.2 (section 10.3.2), without infinity and not-a-number.
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_NUMBER = re.compile(
    r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+|[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?",
    re.ASCII,
)
# What ruamel.yaml was seen to raise beside its own errors, such as for the escape "\U00110000".
_PARSER_FAULTS = (YAMLError, ValueError, LookupError, TypeError, AttributeError, AssertionError)
_TOO_DEEP = f"nested deeper than {DEEPEST} levels"
_QUOTE_REFERENCES = "; put a value that starts with * or & in quotes"

Path = tuple[str | int, ...]
"""Keys and positions that lead to a value."""


@dataclass(frozen=True, slots=True)
class Number:
    """A YAML number as it is written: `24` stays `24`, `2.50` stays `2.50`."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class YamlTree:
    """A mapping of plain values (str, bool, None, `Number`, list, dict) and its lines."""

    values: dict[str, object]
    lines: dict[Path, int]

    def line(self, path: Path) -> int | None:
        """The line of the longest part of the path that has one."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return None


class YamlError(Exception):
    """The text is no YAML that we accept; says where."""

    def __init__(self, message: str, line: int, code: str = "yaml_syntax") -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.code = code


def read_yaml(text: str, *, first_line: int = 1, limit_chars: int) -> YamlTree:
    """The mapping that the text holds, empty for an empty text; strings are normalised.

    Args:
        text: Normalised YAML.
        first_line: The number, in its file, of the text's first line.
        limit_chars: Most characters to parse at all.

    Raises:
        YamlError: If the text is too long, is not one YAML mapping, nests deeper than `DEEPEST`,
            repeats a key, or has an anchor, alias, tag, directive or control character.
    """
    if len(text) > limit_chars:
        raise YamlError(
            f"{len(text)} characters of YAML; at most {limit_chars} are read",
            first_line,
            "yaml_too_large",
        )
    try:
        parser = YAML(typ="safe", pure=True)
        parser.Scanner = _ShallowScanner
        parsed = tuple(parser.parse(io.StringIO(text)))
    except MarkedYAMLError as error:
        # What is never closed shows at the end, but its author looks for where it opens.
        unclosed = "stream end" in str(error.problem) or "end of stream" in str(error.problem)
        marks = (error.problem_mark, error.context_mark)
        mark = next((mark for mark in (marks[::-1] if unclosed else marks) if mark), None)
        line, column = (mark.line, mark.column) if mark is not None else (0, 0)
        problem = ", ".join(part for part in (error.context, error.problem) if part)
        if "alias" in problem or "anchor" in problem:
            problem += _QUOTE_REFERENCES
        raise YamlError(f"column {column + 1}: {problem}", first_line + line) from error
    except _PARSER_FAULTS as error:
        # These carry no mark that could be trusted.
        position = getattr(error, "position", 0)
        before = text[:position] if isinstance(position, int) else ""
        raise YamlError(
            f"not readable as YAML: {str(error).splitlines()[0] if str(error) else 'no reason'}",
            first_line + before.count("\n"),
        ) from error
    return _Builder(iter(parsed), first_line).tree()


class _ShallowScanner(Scanner):
    """Stops at the bracket that nests too deep; each token costs time per open bracket.

    Counted here and not in the text, where brackets in quotation marks and comments open nothing.
    """

    def fetch_flow_collection_start(self, token_class: type, to_push: str) -> None:
        """Raises `ScannerError` where `_Builder` would find the place too deep in any case."""
        if self.flow_level > DEEPEST:  # one more than this is open where the root is in braces
            raise ScannerError(None, None, _TOO_DEEP, self.reader.get_mark())
        super().fetch_flow_collection_start(token_class, to_push)


@dataclass(slots=True)
class _Builder:
    """Turns events into values; recursion is bounded by `DEEPEST`."""

    stream: Iterator[events.Event]
    first_line: int
    lines: dict[Path, int] = field(default_factory=dict)

    def tree(self) -> YamlTree:
        values: dict[str, object] | None = None
        for event in self.stream:
            if isinstance(event, events.DocumentStartEvent):
                if event.version is not None or event.tags:
                    raise self._fault(event, "directives (%) are not accepted")
                if values is not None:
                    raise self._fault(event, "a second document starts here; want one mapping")
                values = self._root(next(self.stream))
        return YamlTree(values or {}, self.lines)

    def _root(self, event: events.Event) -> dict[str, object]:
        value = self._value(event, ())
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self._fault(event, "want `field: value` lines, found something else")
        return value

    def _value(self, event: events.Event, path: Path) -> object:
        self._refuse_references(event)
        if len(path) > DEEPEST:
            raise self._fault(event, _TOO_DEEP)
        if isinstance(event, events.ScalarEvent):
            return self._scalar(event)
        if isinstance(event, events.SequenceStartEvent):
            return self._sequence(path)
        return self._mapping(path)

    def _sequence(self, path: Path) -> list[object]:
        items: list[object] = []
        while not isinstance(event := next(self.stream), events.SequenceEndEvent):
            place = (*path, len(items))
            self.lines[place] = self._line(event)
            items.append(self._value(event, place))
        return items

    def _mapping(self, path: Path) -> dict[str, object]:
        entries: dict[str, object] = {}
        while not isinstance(event := next(self.stream), events.MappingEndEvent):
            self._refuse_references(event)
            key = self._scalar(event) if isinstance(event, events.ScalarEvent) else None
            if not isinstance(key, str):
                raise self._fault(event, "a field's name must be text")
            if key in entries:
                before = self.lines[(*path, key)]
                raise self._fault(
                    event, f"field `{key}` stands twice, first in line {before}", "duplicate_field"
                )
            self.lines[(*path, key)] = self._line(event)
            entries[key] = self._value(next(self.stream), (*path, key))
        return entries

    def _scalar(self, event: events.ScalarEvent) -> object:
        raw = str(event.value)
        if event.implicit[0]:  # a plain scalar: the only kind whose type is read off its form
            if raw in _NULL:
                return None
            if raw in _BOOL:
                return _BOOL[raw]
            if _NUMBER.fullmatch(raw):
                return Number(raw)
        normalized = normalize_text(raw)
        if normalized.problems:  # brought in by an escape such as "\0"
            problem = normalized.problems[0]
            raise self._fault(event, problem.message, problem.code)
        return normalized.text

    def _refuse_references(self, event: events.Event) -> None:
        if isinstance(event, events.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise self._fault(event, "anchors and aliases are not accepted" + _QUOTE_REFERENCES)
        if getattr(event, "tag", None) is not None:
            raise self._fault(event, "tags (!) are not accepted; quote a value that starts with !")

    def _fault(self, event: events.Event, message: str, code: str = "yaml_syntax") -> YamlError:
        mark = event.start_mark
        return YamlError(f"column {mark.column + 1}: {message}", self._line(event), code)

    def _line(self, event: events.Event) -> int:
        return self.first_line + int(event.start_mark.line)
