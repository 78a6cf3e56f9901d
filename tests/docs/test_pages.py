"""What pages refer to exists: files, tests, make targets, profiles, exit codes."""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from pathlib import Path

import pytest

import rag_core
from rag_core import errors
from rag_core.adapters.profile_files import packaged_profiles

ROOT = Path(__file__).parents[2]
INSTALLED = Path(rag_core.__file__).parents[1]
"""Where the code is: here, or in an environment when the wheel is tested."""
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
ADRS = sorted((ROOT / "docs" / "adr").glob("*.md"))


def page_id(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def text_of(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def functions_of(path: str) -> set[str]:
    tree = ast.parse(text_of(path))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_the_readme_opens_with_the_table_of_promises():
    lines = text_of("README.md").splitlines()
    assert lines[2] == "| # | promised | checked by | outside the promise |"
    numbers = re.findall(r"(?m)^\| (\d+) \| ", text_of("README.md").split("\n## ")[0])
    assert numbers == [str(number) for number in range(1, 13)]


def test_every_test_that_a_promise_names_exists():
    table = text_of("README.md").split("\n## ")[0]
    places = re.findall(r"`(tests/[\w/]+\.py)`: ((?:`test_\w+`(?:, )?)+)", table)
    assert len(places) >= 12
    for path, names in places:
        missing = set(re.findall(r"test_\w+", names)) - functions_of(path)
        assert not missing, f"{path} has no {missing}"


def test_every_test_named_to_be_run_exists():
    defined = {name for path in (ROOT / "tests").rglob("test_*.py")
               for name in functions_of(page_id(path))}  # fmt: skip
    named = re.findall(r'-k (test_\w+)"', text_of("README.md"))
    assert len(named) == 2
    assert set(named) <= defined


@pytest.mark.parametrize("path", PAGES, ids=page_id)
def test_every_relative_link_leads_somewhere(path):
    links = re.findall(r"\]\(([^)#]+)\)", path.read_text("utf-8"))
    broken = [
        link
        for link in links
        if not link.startswith("https://") and not (path.parent / link).exists()
    ]
    assert not broken


@pytest.mark.parametrize("path", PAGES, ids=page_id)
def test_every_file_of_ours_that_a_page_names_exists(path):
    names = re.findall(
        r"`((?:rag_core|flows|tests|docs|rules|adapters|benchmarks)/[\w./]*\w/?)`",
        path.read_text("utf-8"),
    )
    bases = (ROOT, INSTALLED, INSTALLED / "rag_core")
    missing = [n for n in names if not any((base / n).exists() for base in bases)]
    assert not missing


@pytest.mark.parametrize("path", PAGES, ids=page_id)
def test_no_page_holds_a_path_of_one_machine(path):
    assert not re.findall(r"(?<![\w.])/(?:home|tmp|root|work|Users)/\S*", path.read_text("utf-8"))


@pytest.mark.parametrize("path", PAGES, ids=page_id)
def test_every_make_target_that_a_page_names_exists(path):
    targets = set(re.findall(r"(?m)^([a-z-]+):", text_of("Makefile")))
    code = re.findall(r"`([^`]*)`|(?m:^)(make .*)", path.read_text("utf-8"))
    named = {name for parts in code for name in re.findall(r"^make ([a-z-]+)", "".join(parts))}
    assert named <= targets


def test_every_packaged_profile_is_in_the_readme():
    section = text_of("README.md").split("\n## Profiles\n")[1].split("\n## ")[0]
    assert set(re.findall(r"(?m)^\| `([\w-]+)` \|", section)) == set(packaged_profiles())


def test_every_exit_code_is_in_the_readme():
    known = inspect.getmembers(errors, inspect.isclass)
    codes = {kind.exit_code for _, kind in known if issubclass(kind, errors.RagError)} | {0, 3}
    section = text_of("README.md").split("| exit code | meaning |")[1].split("\n\n")[0]
    assert {int(code) for code in re.findall(r"(?m)^\| (\d+) \|", section)} == codes


def test_the_changelog_names_the_version():
    version = tomllib.loads(text_of("pyproject.toml"))["project"]["version"]
    assert version in text_of("CHANGELOG.md")


def test_records_are_numbered_without_a_gap():
    numbers = [path.name[:4] for path in ADRS]
    assert numbers == [f"{number:04}" for number in range(1, len(ADRS) + 1)]


@pytest.mark.parametrize("path", ADRS, ids=page_id)
def test_a_record_has_its_number_and_its_three_parts(path):
    text = path.read_text("utf-8")
    assert text.startswith(f"# {int(path.name[:4])}. ")
    assert re.findall(r"(?m)^## (.+)$", text) == ["Context", "Decision", "Consequences"]
