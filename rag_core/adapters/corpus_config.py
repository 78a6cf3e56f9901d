"""`corpus.yaml`: defaults per glob, exclusions, foreign fields, known products."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated

import regex
from pydantic import BeforeValidator, Field, ValidationError

from rag_core.adapters.fields import Identifier, StrictModel, findings_from, one_line, wrong
from rag_core.adapters.front_matter import FIELD_NAMES, validate_fields
from rag_core.adapters.yaml_tree import YamlError, YamlTree, read_yaml
from rag_core.rules.products import PATTERN_TIMEOUT_S
from rag_core.types.corpus import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Mapping

CONFIG_PATH = "corpus.yaml"
LARGEST_FILE_CHARS = 1_048_576
"""A bound for the parser; ten thousand listed products stay far below it."""
LONGEST_PATTERN = 200
"""Characters of a product pattern; the form of a code is short."""

LARGEST_COUNT = 100
"""Of a repetition in a product pattern; what is compiled grows with it."""

# Escapes beside letters and digits stand for themselves; of the others only plain classes pass.
_REFUSED_IN_PATTERN = (
    (re.compile(r"\(\?(?!:)"), "groups other than (?:…)"),
    (re.compile(r"\\[^dDwWsS\W]"), r"escapes other than \d \w \s and of punctuation"),
    (re.compile(r"\{(?![0-9]+(,[0-9]*)?\})"), "braces other than {n}, {n,} and {n,m}"),
    (re.compile(r"(?<!\[)\^|\$"), "anchors; the pattern always stands for a whole token"),
)
_ESCAPE = re.compile(r"\\.")
_COUNT = re.compile(r"(?<=[{,])[0-9]+(?=[,}])")
# Two libraries read these in two ways, and warn that a later version will read them in a third.
_NESTED_SET = re.compile(r"\[\^?\]?[^\]]*?(\[|--|&&|~~|\|\|)")


@dataclass(frozen=True, slots=True)
class Glob:
    """A path pattern relative to the corpus folder: `*` within a name, `**` across folders."""

    text: str

    def matches(self, path: str) -> bool:
        """Whether the pattern covers the whole relative path."""
        segments = unicodedata.normalize("NFC", path).split("/")
        pattern = (self.text + "**" if self.text.endswith("/") else self.text).split("/")
        # reached[i]: the patterns so far cover exactly the first i segments.
        reached = [True] + [False] * len(segments)
        for part in pattern:
            if part == "**":
                first = reached.index(True) if True in reached else len(reached)
                reached = [index >= first for index in range(len(reached))]
            else:
                reached = [False] + [
                    before and fnmatchcase(name, part)
                    for before, name in zip(reached, segments, strict=False)
                ]
        return reached[-1]


@dataclass(frozen=True, slots=True)
class CorpusConfig:
    """What `corpus.yaml` says; everything empty without one."""

    defaults: tuple[tuple[Glob, Mapping[str, object]], ...] = ()
    exclude: tuple[Glob, ...] = ()
    ignore_fields: frozenset[str] = frozenset()
    products: tuple[str, ...] = ()
    product_pattern: str | None = None

    def defaults_for(self, path: str) -> dict[str, object]:
        """Fields of every matching glob; a later one in the file wins."""
        merged: dict[str, object] = {}
        for glob, fields in self.defaults:
            if glob.matches(path):
                merged.update(fields)
        return merged

    def excludes(self, path: str) -> bool:
        """Whether the path is left out of the corpus."""
        return any(glob.matches(path) for glob in self.exclude)


def _glob(value: object) -> str:
    text = one_line(value)
    parts = text.split("/")
    if text.startswith("/") or {".", ".."} & set(parts) or "" in parts[:-1] or "\\" in text:
        raise wrong(
            f"want a pattern relative to the corpus folder such as drafts/**, found {text!r}"
        )
    return text


def _foreign(value: object) -> str:
    text = one_line(value)
    if text in FIELD_NAMES:
        raise wrong(f"{text!r} is a governance field and cannot be ignored")
    return text


def _pattern(value: object) -> str:
    text = one_line(value)
    if len(text) > LONGEST_PATTERN:
        raise wrong(f"want at most {LONGEST_PATTERN} characters, found {len(text)}")
    for refused, name in _REFUSED_IN_PATTERN:
        if refused.search(text):
            raise wrong(f"{text!r} has what a product pattern may not have: {name}")
    # What could take long to compile goes first.
    if any(int(count) > LARGEST_COUNT for count in _COUNT.findall(text)):
        raise wrong(f"{text!r} repeats more than {LARGEST_COUNT} times")
    if _NESTED_SET.search(_ESCAPE.sub("x", text)):
        raise wrong(
            f"{text!r} has what a product pattern may not have: in a set, another set or one of "
            r"-- && ~~ ||; write a literal [ as \["
        )
    if _nests_repetitions(text):
        raise wrong(f"{text!r} repeats a group that varies itself, which can take forever")
    try:
        re.compile(text)
        compiled = regex.compile(text)
        empty = compiled.fullmatch("", timeout=PATTERN_TIMEOUT_S)
    except (re.error, regex.error, RecursionError, OverflowError) as error:
        raise wrong(f"{text!r} is no regular expression: {error}") from error
    except TimeoutError as error:
        raise wrong(f"{text!r} takes longer than {PATTERN_TIMEOUT_S:g} s; simplify it") from error
    if empty:
        raise wrong(f"{text!r} matches the empty text; every token must have a character")
    return text


def _nests_repetitions(pattern: str) -> bool:
    """Whether a repeated group holds a repetition or a choice, the source of endless backtracking.

    What stays beyond this is polynomial; `rules.products` bounds the time of each use.
    """
    flat = re.sub(r"\[\^?\]?[^\]]*\]", "x", _ESCAPE.sub("x", pattern)).replace("(?:", "(")
    varies = [False]
    for index, sign in enumerate(flat):
        if sign == "(":
            varies.append(False)
        elif sign == ")" and len(varies) > 1:  # what closes too often does not compile
            inner = varies.pop()
            repeated = flat[index + 1 : index + 2] in {"*", "+", "{"}
            if inner and repeated:
                return True
            varies[-1] = varies[-1] or inner
        elif sign in "*+?{|":
            varies[-1] = True
    return False


GlobText = Annotated[str, BeforeValidator(_glob)]
ForeignField = Annotated[str, BeforeValidator(_foreign)]
PatternText = Annotated[str | None, BeforeValidator(_pattern)]


class _Default(StrictModel):
    glob: GlobText
    fields: dict[str, object]


class _Config(StrictModel):
    defaults: list[_Default] = Field(default_factory=list)
    exclude: list[GlobText] = Field(default_factory=list)
    ignore_fields: list[ForeignField] = Field(default_factory=list)
    products: list[Identifier] = Field(default_factory=list)
    product_pattern: PatternText = None


def read_corpus_config(text: str) -> tuple[CorpusConfig, tuple[Finding, ...]]:
    """The configuration, and an error for each thing wrong in it; wrong keys are left out.

    Args:
        text: The normalised text of `corpus.yaml`.
    """
    try:
        tree = read_yaml(text, limit_chars=LARGEST_FILE_CHARS)
    except YamlError as problem:
        error = Finding(Severity.ERROR, problem.code, CONFIG_PATH, problem.message, problem.line)
        return CorpusConfig(), (error,)
    model, findings = _validated(tree)
    defaults: list[tuple[Glob, Mapping[str, object]]] = []
    for index, default in enumerate(model.defaults):
        wrong_fields = _default_findings(default, index, tree)
        findings += wrong_fields
        if not wrong_fields:
            defaults.append((Glob(default.glob), default.fields))
    config = CorpusConfig(
        defaults=tuple(defaults),
        exclude=tuple(Glob(glob) for glob in model.exclude),
        ignore_fields=frozenset(model.ignore_fields),
        products=tuple(sorted(set(model.products))),
        product_pattern=model.product_pattern,
    )
    return config, findings


def _validated(tree: YamlTree) -> tuple[_Config, tuple[Finding, ...]]:
    try:
        return _Config.model_validate(tree.values), ()
    except ValidationError as error:
        found = findings_from(error, path=CONFIG_PATH, tree=tree, options=_options)
        bad = {problem["loc"][0] for problem in error.errors(include_url=False)}
        sound = {key: value for key, value in tree.values.items() if key not in bad}
        return _Config.model_validate(sound), found


def _options(place: tuple[str | int, ...]) -> tuple[str, ...]:
    return tuple((_Default if place[:1] == ("defaults",) else _Config).model_fields)


def _default_findings(default: _Default, index: int, tree: YamlTree) -> tuple[Finding, ...]:
    """Wrong default values, told once here and not for each document; absence is no fault."""
    prefix = ("defaults", index, "fields")
    _, found = validate_fields(default.fields, path=CONFIG_PATH, tree=tree, prefix=prefix)
    return tuple(finding for finding in found if finding.code != "missing_field")
