"""Shows results and errors on the terminal, as tables or as JSON."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import typer

from flows.console import (
    ERR,
    print_answer,
    print_answers,
    print_comparison,
    print_explanation,
    print_findings,
    print_ingest,
    printable,
)
from flows.progress_bar import progress_bar
from flows.views import answer_view, as_plain, compare_view, ingest_view
from rag_core.adapters.question_files import read_questions
from rag_core.errors import CorpusError, RagError, UsageError
from rag_core.types.verdicts import Outcome
from rag_core.verbs.answer import answer as run_answer
from rag_core.verbs.answer_records import RunIds
from rag_core.verbs.explain import explain as run_explain
from rag_core.verbs.requests import resolve_question

if TYPE_CHECKING:
    from pathlib import Path

    from rag_core.runtime import Runtime
    from rag_core.types.proposals import Variant
    from rag_core.types.questions import Asked, Question
    from rag_core.verbs.answer import AnswerRun
    from rag_core.verbs.compare import Comparison
    from rag_core.verbs.ingest import Ingested

REFUSED_EXIT = 3


def print_error(error: RagError) -> None:
    """The findings where there are some, then one message on standard error."""
    if isinstance(error, CorpusError):
        print_findings(error.findings, console=ERR)
    # A class of an adapter is shown as the documented one that it is.
    documented = next(c for c in type(error).__mro__ if c.__module__ == RagError.__module__)
    for line in (f"{documented.__name__}: {error}", *getattr(error, "__notes__", ())):
        ERR.print(printable(line), style="red", soft_wrap=True)


def print_json(value: object) -> None:
    """Any of our values as indented JSON on standard output."""
    _write_json(as_plain(value), indent=2)


def _write_json(value: object, *, indent: int | None = None) -> None:
    # Escapes keep it JSON where the output's encoding lacks a character.
    ascii_only = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    sys.stdout.write(json.dumps(value, ensure_ascii=ascii_only, indent=indent) + "\n")


def show_ingest(done: Ingested, *, as_json: bool) -> None:
    """What an ingest did."""
    if as_json:
        print_json(ingest_view(done))
    else:
        print_ingest(done)


def show_answer(run: AnswerRun, runtime: Runtime, *, explain: str | None, as_json: bool) -> None:
    """One answer, and what became of the document to explain.

    Raises:
        RagError: The failure, if the run failed.
        typer.Exit: With code 3 when refused.
    """
    item = run.answers[0]
    if item.error is not None:
        raise item.error
    explanation = None
    if explain is not None:
        explanation = run_explain(
            explain, item.question, item.retrieval, store=runtime.store, profile=runtime.profile
        )
    if as_json:
        view = answer_view(run, item)
        print_json(view if explanation is None else {**view, "explain": as_plain(explanation)})
    else:
        print_answer(run, item)
        if explanation is not None:
            print_explanation(explanation)
    if item.verdict.outcome is Outcome.REFUSED:
        raise typer.Exit(REFUSED_EXIT)


def show_comparison(result: Comparison, *, as_json: bool) -> None:
    """Rankings and variants.

    Raises:
        RagError: The first failure among the variants, after all were shown.
    """
    if as_json:
        print_json(compare_view(result))
    else:
        print_comparison(result)
    for item in result.run.answers if result.run else ():
        if item.error is not None:
            raise item.error


def answer_file(
    path: Path, defaults: Asked, runtime: Runtime, *, variant: Variant | None, as_json: bool
) -> None:
    """Answer all questions of a file in one run, recorded before the first is shown.

    Raises:
        UsageError: If the file or a question breaks a rule; nothing was asked.
        RagError: The first failure among the answers.
    """
    resolved: list[Question] = []
    for number, asked in enumerate(read_questions(path, defaults=defaults), start=1):
        try:
            question = resolve_question(asked, profile=runtime.profile, clock=runtime.clock)
        except UsageError as error:
            raise UsageError(f"questions {path}: question {number}: {error}") from error
        resolved.append(question)
    with progress_bar(shown=not as_json) as progress:
        run = run_answer(
            resolved,
            ports=runtime.answering,
            ids=RunIds(runtime.new_run_id()),
            variant=variant,
            progress=progress,
        )
    if as_json:
        for item in run.answers:
            _write_json(answer_view(run, item))
    else:
        print_answers(run)
    for item in run.answers:
        if item.error is not None:
            raise item.error
