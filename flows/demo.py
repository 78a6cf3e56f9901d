"""`make demo`: ingest the bundled corpus and ask four questions, as flows, with real models."""

from __future__ import annotations

import sys

from flows.console import OUT, print_answer, print_ingest
from flows.running import run_answer, run_ingest
from rag_core.errors import RagError
from rag_core.runtime import DEFAULT_PROFILE, Runtime, bundled_corpus
from rag_core.types.questions import Asked

QUESTIONS = (
    "Where can I export CSV in Reporting?",
    "Is an expense reimbursed without a receipt?",
    "How long is the warranty of the GX-200?",
    "How do I bake an apple pie?",
)
"""Two rules, a product fact, and a question that the corpus cannot answer."""


def main() -> None:
    """Run the demo in `./state` (or `RAG_STATE_ROOT`); exits as the failing step would."""
    try:
        _demo()
    except RagError as error:
        OUT.print(f"{type(error).__name__}: {error}", style="red")
        sys.exit(error.exit_code)


def _demo() -> None:
    folder = bundled_corpus()
    OUT.rule(f"ingest {folder.name}/")
    done = run_ingest(
        corpus=folder, profile=DEFAULT_PROFILE, state=None, dry_run=False, rebuild=False, wait_s=0
    )
    print_ingest(done)
    runtime = Runtime.open()
    for question in QUESTIONS:
        OUT.rule(question)
        run = run_answer(
            Asked(question), runtime, variant=None, profile=DEFAULT_PROFILE, as_flow=True
        )
        print_answer(run, run.answers[0])
    OUT.rule("next")
    OUT.print(f"The run log is in {runtime.paths.runs}: one Parquet file per run and table.")
    OUT.print("Try, with .venv/bin on your PATH:")
    for command in (
        'rag answer "What is the meal allowance?" --as-of 2025-05-01 --explain ACME-EXPENSES-2026',
        'rag compare "Where can I export CSV in Reporting?" --variants',
        "rag show product:GX-200",
        "rag audit --corpus corpus",
        "rag init my-corpus && rag ingest my-corpus --dry-run",
    ):
        OUT.print(f"  {command}", soft_wrap=True)


if __name__ == "__main__":
    main()
