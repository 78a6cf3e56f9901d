"""The command line, `rag`. Heavy imports wait until a command runs."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from flows.options import (
    DEFAULT_PROFILE,
    AsOfOption,
    BackgroundOption,
    FlowOption,
    JsonOption,
    ProductOption,
    ProfileOption,
    ScopeOption,
    StateOption,
    VariantOption,
)
from rag_core.errors import RagError, UsageError

INTERRUPTED_EXIT = 130

app = typer.Typer(
    name="rag",
    no_args_is_help=True,
    add_completion=False,
    # Typer's own tracebacks print local variables, and those may hold a key (promise 11).
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Answer questions from governed documents with exact quotations, or refuse with a "
    "reason.\n\nStart with: rag init my-corpus, rag ingest my-corpus, "
    'rag answer "Where can I export CSV in Reporting?"',
    epilog="Exit codes: 0 answered or done, 2 usage, 3 refused, 4 corpus findings, 5 no index or "
    "contract mismatch, 6 integrity, 7 provider, 8 locked, 9 record not written, 1 bug.",
)


def _print_version(value: bool) -> None:
    if value:
        from rag_core.runtime import code_version

        sys.stdout.write(f"evidence-rag {code_version()}\n")
        raise typer.Exit


@app.callback()
def _options(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    del version  # printed by its callback


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(help="New or empty folder.")] = Path("corpus"),
) -> None:
    """Write the sample corpus into a folder."""
    from flows.console import OUT
    from rag_core.runtime import bundled_corpus
    from rag_core.verbs.init import init as run_init

    written = run_init(folder, sample=bundled_corpus())
    OUT.print(f"{len(written)} files written to {folder}. Next: rag ingest {folder}")


@app.command()
def ingest(
    corpus: Annotated[Path, typer.Argument(help="Folder of governed documents.")] = Path("corpus"),
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be embedded; commit nothing.")
    ] = False,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Embed everything again; reuse nothing.")
    ] = False,
    wait: Annotated[
        float, typer.Option("--wait", min=0, help="Seconds to wait for another ingest.")
    ] = 0.0,
    profile: ProfileOption = DEFAULT_PROFILE,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bring the index in line with a corpus folder, all or nothing."""
    from flows.output import show_ingest
    from flows.running import run_ingest

    done = run_ingest(
        corpus=corpus, profile=profile, state=state, dry_run=dry_run, rebuild=rebuild, wait_s=wait
    )
    show_ingest(done, as_json=as_json)


@app.command()
def answer(
    question: Annotated[str, typer.Argument(help="The question; leave out with --questions.")] = "",
    *,
    questions: Annotated[
        Path | None,
        typer.Option(
            "--questions",
            help="File with one question a line, as text or as JSON objects (question, as_of, "
            "scopes, product, background).",
        ),
    ] = None,
    as_of: AsOfOption = None,
    scope: ScopeOption = None,
    product: ProductOption = None,
    background: BackgroundOption = None,
    explain: Annotated[
        str | None,
        typer.Option(
            "--explain", metavar="DOC_ID", help="Say why this document is in the answer or not."
        ),
    ] = None,
    variant: VariantOption = None,
    profile: ProfileOption = DEFAULT_PROFILE,
    state: StateOption = None,
    as_json: JsonOption = False,
    flow: FlowOption = False,
) -> None:
    """Answer with exact quotations, or refuse with a reason (exit code 3)."""
    from flows.blocks import open_runtime
    from flows.output import answer_file, show_answer
    from rag_core.types.proposals import Variant
    from rag_core.types.questions import Asked

    runtime = open_runtime(profile, state)
    typed = Asked(question, as_of, tuple(scope or ()), product, background)
    chosen = Variant(variant) if variant else None
    if questions is not None:
        if question or flow or explain:
            raise UsageError("--questions: leave out the question, --flow and --explain")
        answer_file(questions, typed, runtime, variant=chosen, as_json=as_json)
        return
    from flows.running import run_answer

    run = run_answer(typed, runtime, variant=chosen, profile=profile, as_flow=flow)
    show_answer(run, runtime, explain=explain, as_json=as_json)


@app.command()
def probe(
    question: Annotated[str, typer.Argument(help="The question.")],
    *,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Most hits to show.")] = 10,
    as_of: AsOfOption = None,
    scope: ScopeOption = None,
    product: ProductOption = None,
    background: BackgroundOption = None,
    profile: ProfileOption = DEFAULT_PROFILE,
    state: StateOption = None,
    as_json: JsonOption = False,
    flow: FlowOption = False,
) -> None:
    """Show the best eligible chunks for a question, before any threshold; asks no chat model."""
    from flows.blocks import open_runtime
    from flows.console import print_probe
    from flows.output import print_json
    from flows.running import run_probe
    from rag_core.types.questions import Asked

    runtime = open_runtime(profile, state)
    typed = Asked(question, as_of, tuple(scope or ()), product, background)
    result = run_probe(typed, runtime, profile=profile, limit=limit, as_flow=flow)
    if as_json:
        print_json(result)
    else:
        print_probe(result)


@app.command()
def compare(
    question: Annotated[str, typer.Argument(help="The question.")],
    *,
    variants: Annotated[
        bool,
        typer.Option(
            "--variants", help="Also answer in the variants direct, tool and context; recorded."
        ),
    ] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Most hits of each ranking.")] = 10,
    as_of: AsOfOption = None,
    scope: ScopeOption = None,
    product: ProductOption = None,
    background: BackgroundOption = None,
    profile: ProfileOption = DEFAULT_PROFILE,
    state: StateOption = None,
    as_json: JsonOption = False,
    flow: FlowOption = False,
) -> None:
    """Show dense, lexical and fused rankings side by side, and on request the three variants."""
    from flows.blocks import open_runtime
    from flows.output import show_comparison
    from flows.running import run_compare
    from rag_core.types.proposals import Variant
    from rag_core.types.questions import Asked

    runtime = open_runtime(profile, state)
    typed = Asked(question, as_of, tuple(scope or ()), product, background)
    chosen = tuple(Variant) if variants else ()
    result = run_compare(
        typed, runtime, variants=chosen, profile=profile, limit=limit, as_flow=flow
    )
    show_comparison(result, as_json=as_json)


@app.command()
def audit(
    *,
    corpus: Annotated[
        Path | None, typer.Option("--corpus", help="Corpus folder to compare with the index.")
    ] = None,
    require_current: Annotated[
        bool, typer.Option("--require-current", help="Exit 5 when folder and index differ.")
    ] = False,
    profile: ProfileOption = DEFAULT_PROFILE,
    state: StateOption = None,
    as_json: JsonOption = False,
    flow: FlowOption = False,
) -> None:
    """Recompute every stored digest; needs no model and changes nothing."""
    from flows.blocks import open_runtime
    from flows.console import print_audit
    from flows.output import print_json
    from flows.running import run_audit
    from flows.views import audit_view
    from rag_core.verbs.audit import require_clean

    if require_current and corpus is None:
        raise UsageError("--require-current: name the folder to compare with --corpus")
    runtime = open_runtime(profile, state)
    result = run_audit(runtime, profile=profile, corpus=corpus, as_flow=flow)
    if as_json:
        print_json(audit_view(result))
    else:
        print_audit(result)
    require_clean(result, require_current=require_current)


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="Document id, product:CODE, or run id.")],
    *,
    profile: ProfileOption = DEFAULT_PROFILE,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print a stored document, product or run; needs no model."""
    from flows.blocks import open_runtime
    from flows.output import print_json
    from flows.showing import print_shown
    from rag_core.verbs.show import show as run_show

    runtime = open_runtime(profile, state)
    shown = run_show(name, store=runtime.store, run_log=runtime.run_log, profile=runtime.profile)
    if as_json:
        print_json(shown)
    else:
        print_shown(shown)


@app.command()
def doctor(
    *,
    profile: ProfileOption = DEFAULT_PROFILE,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check models, state, locks and Prefect, and say what to do about what is wrong."""
    from flows.blocks import open_runtime
    from flows.console import OUT, table
    from flows.output import print_json
    from flows.running import prefect_check

    runtime = open_runtime(profile, state)
    checks = (*runtime.health(), prefect_check())
    if as_json:
        print_json(checks)
    else:
        rows = [("ok" if c.ok else "PROBLEM", c.name, c.found, c.next_step) for c in checks]
        OUT.print(table("Doctor", ("", "check", "found", "next step"), rows))
    problems = [check for check in checks if not check.ok]
    if problems:
        raise typer.Exit(problems[0].exit_code)


@app.command()
def serve(
    corpus: Annotated[Path, typer.Argument(help="Folder that ingests read.")] = Path("corpus"),
    *,
    cron: Annotated[
        str | None, typer.Option("--cron", help="Schedule of ingests, such as '0 3 * * *'.")
    ] = None,
    timezone: Annotated[
        str, typer.Option("--timezone", help="IANA zone of --cron, such as Europe/Berlin.")
    ] = "UTC",
    limit: Annotated[int, typer.Option("--limit", min=1, help="Most runs at once.")] = 4,
    profile: ProfileOption = DEFAULT_PROFILE,
    state: StateOption = None,
) -> None:
    """Serve the flows: start and schedule them from the Prefect UI. Ends with Ctrl-C."""
    from flows.running import run_serve

    run_serve(
        corpus=corpus, profile=profile, state=state, cron=cron, timezone=timezone, limit=limit
    )


def main() -> None:
    """Run the command line; errors become one clear message and their exit code."""
    _prepare_streams()
    with _exit_codes():
        if any(_is_undecodable(argument) for argument in sys.argv):
            raise UsageError("arguments: hold bytes that are not UTF-8. Write them as UTF-8")
        app(standalone_mode=True)


def _prepare_streams() -> None:
    """Print what a terminal's encoding lacks as escapes: an answer is never lost half way."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _is_undecodable(argument: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in argument)


@contextmanager
def _exit_codes() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED_EXIT)
    except RagError as error:
        from flows.output import print_error

        print_error(error)
        sys.exit(error.exit_code)
    except OSError as error:
        # What was to be shown is in the run log already.
        sys.stderr.write(f"output cannot be written: {error.strerror}\n")
        sys.exit(1)


if __name__ == "__main__":
    main()
