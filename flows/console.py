"""What the command line prints. Document text is printed as it is, never read as markup."""

from __future__ import annotations

import unicodedata
from collections import Counter
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from flows.views import ranking_rows, variant_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date

    from rag_core.types.corpus import Finding
    from rag_core.types.verdicts import Published
    from rag_core.verbs.answer import Answered, AnswerRun
    from rag_core.verbs.audit import Audit
    from rag_core.verbs.compare import Comparison
    from rag_core.verbs.explain import Explanation
    from rag_core.verbs.ingest import Ingested
    from rag_core.verbs.probe import Probe

_INDENT = (0, 0, 0, 4)

OUT = Console(markup=False, emoji=False, highlight=False)
ERR = Console(markup=False, emoji=False, highlight=False, stderr=True)


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """A table that folds long cells instead of cutting them."""
    shown = Table(title=title, title_justify="left", header_style="bold", expand=False)
    for column in columns:
        shown.add_column(column, overflow="fold")
    for row in rows:
        shown.add_row(*(Text(printable(str(cell))) for cell in row))
    return shown


def printable(text: str) -> str:
    """The text with control characters as escapes: none of them reaches the terminal."""
    return "".join(
        char if char in "\n\t" or unicodedata.category(char) != "Cc" else f"\\x{ord(char):02x}"
        for char in text
    )


def validity(valid_from: date, valid_until: date | None) -> str:
    """`2025-01-01 to 2025-12-31`, or `from 2025-01-01` where open."""
    return f"{valid_from} to {valid_until}" if valid_until else f"from {valid_from}"


def print_answer(run: AnswerRun, item: Answered) -> None:
    """A verdict with its quotations, each with its place and validity; context once a source."""
    verdict, row = item.verdict, item.record
    if verdict.published:
        OUT.print("Answered", style="bold green")
        seen: set[str] = set()
        for text in verdict.published:
            _print_published(text, with_context=text.sentence_cut or text.source_id not in seen)
            seen.add(text.source_id)
    else:
        OUT.print(verdict.outcome.value.capitalize(), style="bold yellow")
        OUT.print(printable(verdict.detail))
        OUT.print(f"reason: {', '.join(reason.value for reason in verdict.reasons)}", style="dim")
    OUT.print()
    facts = [
        f"as of {row.as_of}",
        f"scopes {', '.join(row.scopes)}",
        f"{row.eligible} of {row.indexed} chunks eligible",
    ]
    if row.chat_model is not None:
        facts.append(f"proposer {row.chat_provider} {row.chat_model}")
    if row.variant != "direct":
        facts.append(f"variant {row.variant}")
    if row.top_cosine is not None:
        facts.append(f"best cosine {row.top_cosine:.2f} (least {row.min_cosine:.2f})")
    if row.top_sentence_score is not None and row.abstain_threshold is not None:
        scores = f"{row.top_sentence_score:.2f} (least {row.abstain_threshold:.2f})"
        facts.append(f"best sentence score {scores}")
    OUT.print(" · ".join(facts), style="dim")
    if row.indexed == 0 and row.generation_digest is not None:
        hint = f"profile {row.profile!r} may see no document of this index: is it the right one?"
        OUT.print(printable(hint), style="yellow")
    if verdict.flags:
        OUT.print(f"flags: {', '.join(flag.value for flag in verdict.flags)}", style="dim")
    OUT.print(f"run {row.run_id}, recorded in {run.verdicts_path}", style="dim", soft_wrap=True)


def _print_published(text: Published, *, with_context: bool) -> None:
    OUT.print()
    OUT.print(Text(str(text)))
    lines = [
        f"{text.title} · {text.path}, characters {text.span.start} to {text.span.end}",
        f"valid {validity(text.valid_from, text.valid_until)} · {text.match.value} match",
    ]
    if text.sentence_cut:
        lines.append("the chunk cuts a sentence of it; the rest stands in the context")
    if text.heading_path:
        lines.append(f"under {' > '.join(text.heading_path)}")
    for line in lines:
        OUT.print(_indented(line, "cyan"))
    if text.context and with_context:
        context = " ".join(text.context.split())
        OUT.print(_indented(f"context, not quoted: {context}", "dim"))


def _indented(line: str, style: str) -> Padding:
    return Padding(Text(line, style=style), _INDENT, expand=False)


def print_answers(run: AnswerRun) -> None:
    """Many answers as one table."""
    rows = [
        (
            item.record.question_index + 1,
            item.question.text,
            item.verdict.outcome.value,
            _tally(text.chunk_id for text in item.verdict.published)
            or ", ".join(reason.value for reason in item.verdict.reasons),
        )
        for item in run.answers
    ]
    OUT.print(table("Answers", ("#", "question", "outcome", "quoted or reason"), rows))
    OUT.print(f"recorded in {run.verdicts_path}", style="dim", soft_wrap=True)


def _tally(names: Iterable[str]) -> str:
    """`A#0, B#1 (2)`: each name once, with its count where it is more than one."""
    counts = Counter(names)
    return ", ".join(name if n == 1 else f"{name} ({n})" for name, n in counts.items())


def print_explanation(explanation: Explanation) -> None:
    """Why a document came into the answer or not."""
    OUT.print(f"\n{printable(explanation.source_id)}:", style="bold")
    for step in explanation.steps:
        OUT.print(f"  {step}")


def print_findings(findings: Sequence[Finding], *, console: Console = OUT) -> None:
    """All findings as a table, errors first as they are sorted."""
    if not findings:
        return
    rows = [
        (
            finding.severity.value,
            finding.path + (f":{finding.line}" if finding.line else ""),
            _named(finding),
        )
        for finding in findings
    ]
    console.print(table("Findings", ("severity", "where", "what"), rows))


def _named(finding: Finding) -> str:
    """The message with its code, and its field first where the message does not name it."""
    field = finding.field
    prefix = f"`{field}`: " if field and f"`{field}`" not in finding.message else ""
    return f"{prefix}{finding.message} ({finding.code})"


def counted(count: int, noun: str) -> str:
    """`1 chunk`, `2 chunks`: nouns that take an s."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def print_ingest(done: Ingested) -> None:
    """What an ingest found, planned and did."""
    plan, manifest = done.plan, done.manifest
    print_findings(done.findings)
    work = (
        f"{counted(plan.missing, 'text')} in {counted(plan.requests, 'request')}, "
        f"{counted(plan.reused, 'vector')} reused ({counted(plan.chunks, 'chunk')}, "
        f"{counted(plan.distinct, 'different text')})"
    )
    if done.outcome == "dry_run":
        OUT.print(f"Dry run: would embed {work}. Nothing was embedded or committed.")
        return
    OUT.print(done.outcome.capitalize(), style="bold green")
    OUT.print(f"embedded {work}")
    if manifest is not None:
        counts = manifest.counts
        OUT.print(
            f"index: {counted(counts.sources, 'source')} "
            f"({counted(counts.products, 'product sheet')}), "
            f"{counted(counts.chunks, 'chunk')}, generation {manifest.generation_digest[:12]}"
        )
    OUT.print(f"run {done.record.run_id}", style="dim")


def print_probe(result: Probe) -> None:
    """The dense ranking as a table."""
    rows = [
        (
            hit.rank,
            hit.chunk_id,
            f"{hit.cosine:.4f}",
            "" if hit.shared_terms is None else hit.shared_terms,
            hit.admission.value if hit.admission else "not a candidate",
            hit.title,
        )
        for hit in result.hits
    ]
    columns = ("rank", "chunk", "cosine", "terms", "admission", "title")
    OUT.print(table("Dense ranking, no threshold applied", columns, rows))
    if result.unknown_products:
        named = ", ".join(result.unknown_products)
        OUT.print(f"an answer would refuse: unknown product {named}", style="yellow")
    OUT.print(f"{result.eligible} of {result.indexed} chunks eligible", style="dim")


def print_comparison(result: Comparison) -> None:
    """Three rankings side by side, then the variants with what each published."""
    rows = ranking_rows(result)
    if rows:
        shown = [["" if cell is None else cell for cell in row.values()] for row in rows]
        OUT.print(table("Rank of each hit in the three rankings", tuple(rows[0]), shown))
    retrieval = result.retrieval
    OUT.print(f"{retrieval.eligible} of {retrieval.indexed} chunks eligible", style="dim")
    if retrieval.refusal is not None:
        reason = f"{retrieval.refusal.value}{_in_brackets(retrieval.refusal_detail)}"
        OUT.print(f"refused before any proposal: {printable(reason)}", style="yellow")
    if result.run is None:
        return
    answers = result.run.answers
    columns = tuple(variant_row(answers[0]))
    OUT.print(
        table(
            "Variants, with accepted quotations and calls",
            columns,
            [tuple(variant_row(a).values()) for a in answers],
        )
    )
    shown_by: dict[tuple[str, ...], str] = {}
    for item in answers:
        variant, texts = item.record.variant, tuple(map(str, item.verdict.published))
        if item.error is not None:
            OUT.print(printable(f"{variant}: {item.error}"), style="red")
        elif texts in shown_by:
            OUT.print(f"{variant}: the same as {shown_by[texts]}", style="bold")
        elif texts:
            shown_by[texts] = variant
            OUT.print(f"{variant}:", style="bold")
            for text in texts:
                OUT.print(_indented(text, "cyan"))
    run_id = answers[0].record.run_id
    OUT.print(f"run {run_id}, recorded in {result.run.verdicts_path}", style="dim", soft_wrap=True)


def _in_brackets(detail: str) -> str:
    return f" ({detail})" if detail else ""


def print_audit(result: Audit) -> None:
    """Each check with what was found, and the drift."""
    rows = [
        (
            "FAILED" if check.problem else "ok",
            check.name,
            check.promise,
            check.problem or check.found,
        )
        for check in result.checks
    ]
    OUT.print(table("Audit", ("", "check", "promise", "found"), rows))
    drift = result.drift
    if drift is None:
        OUT.print("no corpus folder compared; name one with --corpus", style="dim")
        return
    if not drift:
        OUT.print("the corpus folder holds what was ingested")
        return
    drifted = [
        (kind, source_id)
        for kind, ids in (
            ("added", drift.added),
            ("removed", drift.removed),
            ("changed", drift.changed),
        )
        for source_id in ids
    ]
    OUT.print(table("Drift since the ingest", ("", "document"), drifted))
    OUT.print("To bring the index in line, run rag ingest on this folder")
