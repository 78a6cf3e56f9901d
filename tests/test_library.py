"""The product as a Python library, on the bundled corpus with the embedded models."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import pytest

import rag_core
from rag_core import (
    CorpusError,
    Index,
    NoIndexError,
    Outcome,
    Reason,
    UsageError,
    Variant,
    ingest_corpus,
    open_index,
)
from rag_core.runtime import bundled_corpus

QUESTION = "Where can I export CSV in Reporting?"
EXAMPLE = Path(__file__).parents[1] / "examples" / "ask.py"


@pytest.fixture(scope="module")
def state(tmp_path_factory) -> Path:
    """The bundled corpus, ingested."""
    root: Path = tmp_path_factory.mktemp("state")
    assert ingest_corpus(bundled_corpus(), state=root).outcome == "committed"
    return root


@pytest.fixture
def index(state):
    with open_index(state) as opened:
        yield opened


def test_an_open_index_answers_with_exact_quotations(index):
    verdict = index.ask(QUESTION, as_of="2026-12-01").verdict
    assert verdict.outcome is Outcome.ANSWERED
    source = bundled_corpus() / verdict.published[0].path
    assert verdict.published[0].text in source.read_text("utf-8")


def test_a_refusal_is_a_verdict_with_its_reason(index):
    verdict = index.ask("How do I bake an apple pie?").verdict
    assert (verdict.outcome, verdict.reasons) == (Outcome.REFUSED, (Reason.NO_ADMISSIBLE_HIT,))


def test_a_day_may_be_a_date(index):
    text, day = (index.ask(QUESTION, as_of=d) for d in ("2026-12-01", date(2026, 12, 1)))
    assert text.question == day.question


def test_an_answer_is_recorded_before_it_is_returned(index, state):
    row = index.ask(QUESTION).record
    (written,) = (state / "runs" / "verdicts").rglob(f"{row.run_id}.parquet")
    assert written.is_file()


@pytest.mark.parametrize("variant", Variant)
def test_a_variant_may_be_chosen_per_question(index, variant):
    answered = index.ask(QUESTION, variant=variant)
    assert answered.verdict.outcome is Outcome.ANSWERED
    assert answered.record.variant == variant.value


def test_the_manifest_says_what_the_index_holds(index):
    assert index.manifest.counts.chunks == 28
    assert index.manifest.contract.embedding.provider == "embedded"


def test_an_async_caller_awaits_the_same_answer(index):
    async def ask_twice():
        return await asyncio.gather(*(index.ask_async(QUESTION) for _ in range(2)))

    one, other = asyncio.run(ask_twice())
    assert one.verdict == other.verdict == index.ask(QUESTION).verdict
    assert one.record.run_id != other.record.run_id


def test_threads_may_share_one_index(index):
    questions = [QUESTION, "How do I bake an apple pie?"] * 8
    alone = {text: index.ask(text).verdict for text in questions}
    with open_index(index._runtime.paths.root) as fresh, ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda text: fresh.ask(text).verdict, questions))
    assert together == [alone[text] for text in questions]


def test_without_an_index_opening_fails_and_creates_none(tmp_path):
    with pytest.raises(NoIndexError, match="rag ingest"):
        open_index(tmp_path / "state")
    assert not (tmp_path / "state").exists()


def test_a_question_that_breaks_a_rule_raises_before_anything_is_recorded(index, state):
    before = sorted((state / "runs").rglob("*.parquet"))
    with pytest.raises(UsageError, match="as-of"):
        index.ask(QUESTION, as_of="yesterday")
    assert sorted((state / "runs").rglob("*.parquet")) == before


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        pytest.param({"question": None}, "question: want text, found NoneType", id="no question"),
        pytest.param({"question": 5}, "question: want text, found int", id="a number"),
        pytest.param({"scopes": "public"}, "scopes: want a list", id="one scope as text"),
        pytest.param({"scopes": [1]}, "scopes: want a list", id="a number as scope"),
        pytest.param({"product": 5}, "product: want text", id="a number as product"),
        pytest.param({"background": b"x"}, "background: want text", id="bytes"),
        pytest.param({"variant": "tools"}, "variant: want one of direct", id="a variant misspelt"),
        pytest.param({"variant": 1}, "variant: want one of direct", id="a number as variant"),
        pytest.param({"as_of": 20261201}, "as_of: want text", id="a number as day"),
    ],
)
def test_an_argument_of_another_type_is_named_before_anything_is_asked(index, arguments, named):
    with pytest.raises(UsageError, match=named):
        index.ask(**{"question": QUESTION, **arguments})


def test_a_variant_may_be_named_by_its_text(index):
    assert index.ask(QUESTION, variant="tool").record.calls.tool_calls == 1


def test_a_profile_may_be_a_path(state, tmp_path):
    own = tmp_path / "own.toml"
    own.write_text('extends = "offline"\nname = "own"\n')
    with open_index(state, profile=own) as index:
        assert index.ask(QUESTION).record.profile == "own"
    with pytest.raises(UsageError, match="profile: want text or a Path, found bytes"):
        open_index(state, profile=b"own.toml")  # type: ignore[arg-type]


def test_an_error_is_raised_and_never_returned_as_a_refusal(state, tmp_path):
    other = tmp_path / "other.toml"
    other.write_text(
        'extends = "offline"\nname = "other"\n[embedding]\nquery_template = "q: {text}"\n'
    )
    with (
        open_index(state, profile=str(other)) as index,
        pytest.raises(rag_core.ContractMismatchError, match="query_template"),
    ):
        index.ask(QUESTION)


def test_a_corpus_with_a_fault_raises_with_its_findings(tmp_path):
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "a.md").write_text("no front matter")
    with pytest.raises(CorpusError) as caught:
        ingest_corpus(tmp_path / "corpus", state=tmp_path / "state")
    assert [finding.path for finding in caught.value.findings] == ["a.md"]


def test_every_public_name_is_there_and_documented():
    for name in rag_core.__all__:
        assert getattr(rag_core, name).__doc__, name
    assert rag_core.Index is Index


def test_a_name_that_is_not_public_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'open_indx'"):
        getattr(rag_core, "open_indx")  # noqa: B009 - misspelt on purpose


def test_the_package_alone_imports_neither_numpy_nor_a_model():
    code = "import sys, rag_core; sys.exit(any(m in sys.modules for m in ('numpy', 'pyarrow')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def run_example(question: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(EXAMPLE), str(bundled_corpus()), question]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_example_script_answers_and_refuses(tmp_path):
    answered = run_example(QUESTION, tmp_path)
    assert (answered.returncode, answered.stderr) == (0, "")
    assert answered.stdout.startswith("[ACME-EXPORT#0] In Reporting")
    refused = run_example("How do I bake an apple pie?", tmp_path)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == "Insufficient evidence: no admissible retrieved excerpts.\n"


def test_the_example_script_has_fifteen_lines():
    code = EXAMPLE.read_text("utf-8").splitlines()
    assert len(code) == 15
