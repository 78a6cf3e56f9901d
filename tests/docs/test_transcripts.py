"""What README and guides show is what happens: their commands are run and their output compared.

A fenced block whose first line names a file (```yaml handbook/corpus.yaml) is written to that
file. The lines after `$ ` in a `console` block are run in order in one folder; what follows must
be their output, where `...` stands for anything. `sql` blocks are run by DuckDB, and the `text`
block after them is their result. What changes from run to run (ids, digests, days, figures with a
decimal point) is compared by its form.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BASH = shutil.which("bash") or "/bin/bash"
BLOCK = re.compile(r"(?ms)^```(\w+)(?: ([^\n]+))?\n(.*?)^```$")
LINES = str.maketrans(dict.fromkeys("─━│┃┏┓┗┛┡┩┳┻╇┴┬┌┐└┘├┤┼╞╡╪╭╮╰╯", " "))
CHANGING = (
    (re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{8}"), "RUN"),
    (re.compile(r"\b[0-9a-f]{12,64}\b"), "DIGEST"),
    (re.compile(r"(?<=as of )\d{4}-\d\d-\d\d"), "DAY"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC"), "TIME"),
    (re.compile(r"\d+\.\d+"), "FIGURE"),
)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the rest of its first line, and its lines."""

    language: str
    path: str
    body: str


def blocks(page: str) -> list[Block]:
    return [Block(*found) for found in BLOCK.findall((ROOT / page).read_text("utf-8"))]


def plain(text: str) -> str:
    """The words of an output, without the lines of tables and with changing parts by form."""
    text = text.translate(LINES)
    for pattern, name in CHANGING:
        text = pattern.sub(name, text)
    return " ".join(text.split())


def assert_shown(shown: str, printed: str, command: str) -> None:
    parts = [re.escape(part.strip()) for part in plain(shown).split("...")]
    wanted = r"\s*.*?\s*".join(parts)
    assert re.fullmatch(wanted, plain(printed), re.DOTALL), f"{command}\n{shown}\n---\n{printed}"


def commands(block: Block) -> list[tuple[str, str]]:
    """Each command with the output that the page shows after it."""
    parts = re.split(r"(?m)^\$ ", block.body.replace("\\\n", ""))
    assert not parts[0].strip(), f"output before a command:\n{parts[0]}"
    return [(line, rest) for line, _, rest in (part.partition("\n") for part in parts[1:])]


class Terminal:
    """One folder and one environment in which a page's commands follow each other."""

    def __init__(self, folder: Path) -> None:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PREFECT_", "RAG_"))}
        path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
        shape = {"COLUMNS": "100", "NO_COLOR": "1", "PYTHONUNBUFFERED": "1", "PATH": path}
        self._environment = kept | shape
        self._folder = folder
        self._status = 0

    def run(self, command: str) -> str:
        done = subprocess.run(
            [BASH, "-c", f"(exit {self._status}); {command}"],
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=240,
        )
        self._status = done.returncode
        return done.stdout


def query(sql: str, folder: Path) -> str:
    """The result as DuckDB prints it, paths relative to the folder."""
    code = "import sys, duckdb; duckdb.sql(sys.stdin.read()).show(max_width=100)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, input=sql, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    return done.stdout


@pytest.mark.slow
@pytest.mark.prefect
@pytest.mark.parametrize(
    "page", ["README.md", "docs/guides/own-documents.md", "docs/guides/variants.md"]
)
def test_every_command_of_the_page_prints_what_the_page_shows(page, tmp_path):
    terminal = Terminal(tmp_path)
    sql = None
    for block in blocks(page):
        if block.path:
            (tmp_path / block.path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / block.path).write_text(block.body, "utf-8")
        elif block.language == "console":
            for command, shown in commands(block):
                assert_shown(shown, terminal.run(command), command)
        elif block.language == "sql":
            sql = block.body
        elif block.language == "text" and sql is not None:
            assert_shown(block.body, query(sql, tmp_path), sql)
            sql = None
    assert sql is None, f"a query without a result: {sql}"


def test_the_readme_has_two_queries_with_their_results():
    languages = [block.language for block in blocks("README.md")]
    assert languages.count("sql") == 2
    pairs = itertools.pairwise(languages)
    assert all(after == "text" for before, after in pairs if before == "sql")


def test_an_elision_stands_for_any_output():
    assert_shown("one ... four", "one two three four", "x")
    with pytest.raises(AssertionError):
        assert_shown("one ... four", "one two three", "x")
