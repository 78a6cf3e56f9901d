"""The data dictionary lists what the code has: nothing missing, nothing that is gone.

Everything is read from where the code declares it: tables from SQLite, columns from Arrow, codes
from enums, classes, models and commands. What has no declaration (finding codes, environment
variables, artifact keys, state names) is read from the syntax tree.
"""

from __future__ import annotations

import ast
import inspect
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import typer
from pydantic import BaseModel

import flows
import rag_core
from flows.cli import INTERRUPTED_EXIT, app
from rag_core import errors
from rag_core.adapters import run_log_schemas, stage_schemas
from rag_core.adapters.corpus_config import _Config, _Default
from rag_core.adapters.front_matter import FrontMatter
from rag_core.adapters.product_sheets import _FactModel, _SheetModel
from rag_core.adapters.profile_files import load_profile
from rag_core.adapters.sqlite_schema import INDEXES, create_tables
from rag_core.types.corpus import Severity, Status
from rag_core.types.profiles import Profile
from rag_core.types.proposals import ProposalStyle, Variant
from rag_core.types.questions import Ineligible
from rag_core.types.retrieval import Admission
from rag_core.types.verdicts import Flag, MatchKind, Outcome, Reason

ROOT = Path(__file__).parents[2]
DICTIONARY = ROOT / "docs" / "data-dictionary.md"
CODE = (Path(rag_core.__file__).parent, Path(flows.__file__).parent)

HEADING = re.compile(r"(#+) (.+)")
NAME = re.compile(r"`([^`]+)`")


def documented(*headings: str) -> dict[str, list[str]]:
    """The rows of the tables right below a heading, by the first cell's code word."""
    place: list[str] = []
    rows: dict[str, list[str]] = {}
    for line in DICTIONARY.read_text("utf-8").splitlines():
        if found := HEADING.fullmatch(line):
            level = len(found[1]) - 2
            place = [*place[:level], found[2].replace("`", "")]
        elif place == list(headings) and line.startswith("| `"):
            cells = [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)]
            name = NAME.match(cells[1])
            assert name is not None, line
            assert name[1] not in rows, f"twice in {headings}: {name[1]}"
            rows[name[1]] = cells[1:-1]
    return rows


def sections(heading: str) -> set[str]:
    """The names of the subsections of a heading."""
    text = DICTIONARY.read_text("utf-8")
    body = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return {name.strip("`") for name in re.findall(r"(?m)^### (.+)$", body)}


def trees(*folders: Path) -> Iterator[ast.AST]:
    """The syntax trees of all modules below the folders."""
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            yield ast.parse(path.read_text("utf-8"))


# --- SQLite -----------------------------------------------------------------------------------


def sqlite_columns() -> dict[str, dict[str, str]]:
    connection = sqlite3.connect(":memory:")
    create_tables(connection)
    names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    return {
        table: {
            name: kind if required or key else f"{kind} or null"
            for _, name, kind, required, _, key in connection.execute(f"PRAGMA table_info({table})")
        }
        for (table,) in names
    }


def test_every_sqlite_table_is_documented():
    assert sections("SQLite: the index") == {*sqlite_columns(), "Indexes"}


@pytest.mark.parametrize("table", sqlite_columns())
def test_every_sqlite_column_is_documented_with_its_type(table):
    rows = documented("SQLite: the index", table)
    assert {name: row[1] for name, row in rows.items()} == sqlite_columns()[table]


def test_every_sqlite_index_is_documented():
    assert documented("SQLite: the index", "Indexes").keys() == INDEXES.keys()


# --- Parquet ----------------------------------------------------------------------------------

RUN_LOG = "Parquet: the run log"
STAGES = "Parquet: the stages"
STAGE_SCHEMAS = {
    name.lower(): value
    for name, value in vars(stage_schemas).items()
    if isinstance(value, pa.Schema)
}


def arrow_columns(schema: pa.Schema) -> dict[str, str]:
    """Columns with their types; those of nested records as `column[].field`."""
    return dict(pair for field in schema for pair in _flat(field.name, field.type))


def _flat(name: str, kind: pa.DataType) -> Iterator[tuple[str, str]]:
    if pa.types.is_list(kind) and pa.types.is_struct(kind.value_type):
        yield name, "list of records"
        for field in kind.value_type:
            yield from _flat(f"{name}[].{field.name}", field.type)
    elif pa.types.is_list(kind):
        yield name, f"list of {kind.value_type}"
    else:
        yield name, str(kind)


@pytest.mark.parametrize("heading", [RUN_LOG, STAGES])
def test_every_parquet_table_is_documented(heading):
    known = run_log_schemas.SCHEMAS if heading == RUN_LOG else STAGE_SCHEMAS
    assert sections(heading) == set(known)


@pytest.mark.parametrize(
    ("heading", "table", "schema"),
    [
        pytest.param(heading, table, schema, id=f"{heading.split()[-1]} {table}")
        for heading, schemas in ((RUN_LOG, run_log_schemas.SCHEMAS), (STAGES, STAGE_SCHEMAS))
        for table, schema in schemas.items()
    ],
)
def test_every_parquet_column_is_documented_with_its_type(heading, table, schema):
    rows = documented(heading, table)
    assert {name: row[1] for name, row in rows.items()} == arrow_columns(schema)


# --- Codes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("heading", "enumeration"),
    [
        pytest.param(heading, enumeration, id=heading)
        for heading, enumeration in (
            ("Outcomes", Outcome),
            ("Reasons", Reason),
            ("Flags", Flag),
            ("Match kinds", MatchKind),
            ("Variants", Variant),
            ("Proposal styles", ProposalStyle),
            ("Admission", Admission),
            ("Ineligibility", Ineligible),
            ("Document status", Status),
            ("Severity", Severity),
        )
    ],
)
def test_every_code_is_documented(heading, enumeration):
    assert documented("Codes", heading).keys() == {code.value for code in enumeration}


def error_classes() -> dict[str, type[errors.RagError]]:
    found = inspect.getmembers(errors, inspect.isclass)
    return {name: kind for name, kind in found if issubclass(kind, errors.RagError)}


def test_every_error_class_is_documented_with_its_exit_code_and_reason():
    rows = documented("Codes", "Errors")
    declared = {
        name: [str(kind.exit_code), f"`{kind.reason}`"] for name, kind in error_classes().items()
    }
    assert {name: row[1:3] for name, row in rows.items()} == declared


def test_every_exit_code_is_documented():
    used = {kind.exit_code for kind in error_classes().values()} | {0, 3, INTERRUPTED_EXIT}
    assert documented("Codes", "Exit codes").keys() == {str(code) for code in used}


def finding_codes() -> set[str]:
    """Every text that reaches a parameter or variable named `code` where findings are made."""
    modules = list(trees(CODE[0]))
    places = {name: place for tree in modules for name, place in _code_parameters(tree)}
    found: set[str] = set()
    for tree in modules:
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                found.update(_passed_code(node, places))
            elif isinstance(node, ast.Assign):
                found.update(_assigned_code(node))
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                if getattr(node.target, "id", "") == "code":
                    found.update(_texts(node.value))
            elif isinstance(node, ast.FunctionDef):
                found.update(_default_code(node))
    return {code for code in found if re.fullmatch(r"[a-z]+(_[a-z]+)+|[a-z]{6,}", code)}


def _code_parameters(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Callables with a parameter `code`, and its place among the arguments of a call."""
    yield "Finding", 1
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for part in node.body:
                if isinstance(part, ast.FunctionDef) and part.name == "__init__":
                    names = [argument.arg for argument in part.args.args[1:]]
                    if "code" in names:
                        yield node.name, names.index("code")
        if isinstance(node, ast.FunctionDef) and node.name != "__init__":
            names = [argument.arg for argument in node.args.args if argument.arg != "self"]
            if "code" in names:
                yield node.name, names.index("code")


def _passed_code(node: ast.Call, places: dict[str, int]) -> Iterator[str]:
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name in places:
        given = [keyword.value for keyword in node.keywords if keyword.arg == "code"]
        given += node.args[places[name] : places[name] + 1]
        for value in given:
            yield from _texts(value)


def _assigned_code(node: ast.Assign) -> Iterator[str]:
    target = node.targets[0]
    if isinstance(target, ast.Name) and target.id == "code":
        yield from _texts(node.value)
    if isinstance(target, ast.Tuple) and getattr(target.elts[0], "id", "") == "code":
        choices = [node.value]
        while choices:
            value = choices.pop()
            if isinstance(value, ast.IfExp):
                choices += [value.body, value.orelse]
            elif isinstance(value, ast.Tuple):
                yield from _texts(value.elts[0])


def _default_code(node: ast.FunctionDef) -> Iterator[str]:
    named = node.args.args[len(node.args.args) - len(node.args.defaults) :]
    for argument, default in zip(named, node.args.defaults, strict=True):
        if argument.arg == "code":
            yield from _texts(default)


def _texts(value: ast.AST) -> Iterator[str]:
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value


def test_every_finding_code_is_documented():
    assert set(documented("Codes", "Findings")) == finding_codes()


# --- Files that people write ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("heading", "model"),
    [
        pytest.param("Front matter", FrontMatter, id="front matter"),
        pytest.param("Product sheets", _SheetModel, id="product sheet"),
        pytest.param("Facts of a sheet", _FactModel, id="fact"),
        pytest.param("`corpus.yaml`", _Config, id="corpus.yaml"),
        pytest.param("Defaults of `corpus.yaml`", _Default, id="defaults"),
    ],
)
def test_every_field_of_a_corpus_is_documented_and_marked_where_required(heading, model):
    rows = documented("Corpus files", heading.replace("`", ""))
    declared = {
        name: "required" if field.is_required() else "optional"
        for name, field in model.model_fields.items()
    }
    assert {name: row[1] for name, row in rows.items()} == declared


def profile_keys(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from profile_keys(field.annotation, f"{prefix}{name}.")
        else:
            yield prefix + name


def test_every_profile_key_is_documented_with_its_value_in_offline():
    profile = load_profile("offline").model_dump(mode="json")

    def value_of(key: str) -> str:
        value: Any = profile
        for part in key.split("."):
            value = value[part]
        return repr(value) if key != "description" else "a sentence"

    rows = documented("Profiles")
    declared = {key: value_of(key) for key in profile_keys(Profile)}
    shown = {key: row[1] for key, row in rows.items() if key != "extends"}
    assert "extends" in rows
    assert {key: _comparable(value) for key, value in shown.items()} == {
        key: _comparable(value) for key, value in declared.items()
    }


def _comparable(value: str) -> object:
    """`true` and `["en"]` as TOML writes them equal `True` and `['en']`; what is absent is None."""
    plain = value.strip("`").replace("true", "True").replace("false", "False")
    plain = plain.replace("absent", "None")
    try:
        return ast.literal_eval(plain)
    except (SyntaxError, ValueError):
        return plain


# --- Surroundings -----------------------------------------------------------------------------

VARIABLE = re.compile(r"(RAG|PREFECT)_[A-Z_0-9]+|DO_NOT_TRACK")


def test_every_environment_variable_is_documented():
    used = {
        node.value
        for tree in trees(*CODE, ROOT / "benchmarks")
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and VARIABLE.fullmatch(node.value)
    }
    assert set(documented("Environment variables")) == used


def flow_calls(name: str) -> Iterator[ast.Call]:
    for tree in trees(CODE[1]):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == name:
                yield node


def test_every_state_name_of_a_flow_is_documented():
    from flows.ingest import _STATE_NAMES

    named = [
        node.value
        for call in flow_calls("Completed")
        for keyword in call.keywords
        if keyword.arg == "name"
        for node in ast.walk(keyword.value)
        if isinstance(node, ast.Constant)
    ]
    assert set(documented("Prefect", "State names")) == {
        *named,
        *_STATE_NAMES.values(),
        "Failed",
    }


def test_every_artifact_key_is_documented():
    keys = {
        ast.literal_eval(keyword.value)
        for function in ("create_markdown_artifact", "create_table_artifact")
        for call in flow_calls(function)
        for keyword in call.keywords
        if keyword.arg == "key"
    }
    assert set(documented("Prefect", "Artifacts")) == keys


def test_every_task_is_documented():
    from flows.tasks import TASKS

    assert set(documented("Prefect", "Tasks")) == {task.name for task in TASKS.values()}


def test_every_verb_is_documented_with_its_options():
    group = typer.main.get_command(app)
    rows = documented("Command line")
    declared = {
        name: [
            option
            for parameter in command.params
            if parameter.param_type_name == "option"
            for option in parameter.opts
        ]
        for name, command in group.commands.items()  # type: ignore[attr-defined]
    }
    shown = {name: NAME.findall(row[2]) for name, row in rows.items()}
    assert {n: sorted(o) for n, o in shown.items()} == {n: sorted(o) for n, o in declared.items()}
