"""The product as a Python library: bring an index in line with a folder, open it, ask.

    with open_index(state="state") as index:
        answered = index.ask("Where can I export CSV in Reporting?")
        for text in answered.verdict.published:
            print(text)

What the command line does is done here too: answers are recorded before they are returned.
"""

from __future__ import annotations

import asyncio
import os
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from rag_core.errors import UsageError
from rag_core.rules.close_matches import close_matches_hint
from rag_core.runtime import DEFAULT_PROFILE, Runtime
from rag_core.types.proposals import Variant
from rag_core.types.questions import Asked
from rag_core.verbs.answer import Answered, answer
from rag_core.verbs.answer_records import RunIds
from rag_core.verbs.ingest import Ingested, IngestOptions, ingest
from rag_core.verbs.requests import resolve_question

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from rag_core.types.index import Manifest

    StrPath = str | os.PathLike[str]


class Index:
    """An index that answers under one profile; may be shared between threads.

    Made by `open_index`. It holds a loaded model and the connections to its providers, so that a
    program keeps one open for as long as it asks.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def __enter__(self) -> Index:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections to providers; the index itself is opened for each question."""
        self._runtime.close()

    @property
    def manifest(self) -> Manifest:
        """What the index holds now: its contract, counts and digests.

        Raises:
            NoIndexError, IntegrityError: As `open_index`.
        """
        with self._runtime.store.open() as snapshot:
            return snapshot.manifest

    def ask(
        self,
        question: str,
        *,
        as_of: date | str | None = None,
        scopes: Sequence[str] = (),
        product: str | None = None,
        background: str | None = None,
        variant: Variant | str | None = None,
    ) -> Answered:
        """The verdict on one question, answered or refused, recorded before it is returned.

        Args:
            question: In plain words.
            as_of: Day to answer for, `YYYY-MM-DD` where it is text; today in the profile's zone.
            scopes: Scopes to search, all of them allowed by the profile; its defaults if empty.
            product: Product code; wins over codes in the question.
            background: The asker's situation.
            variant: How the proposer gets its excerpts; the profile's.

        Raises:
            UsageError: If an argument breaks a rule; then nothing was asked or recorded.
            RagError: What stopped the answer; it is recorded as `failed`, never as a refusal.
        """
        runtime = self._runtime
        asked = _asked(question, as_of, scopes, product, background)
        chosen = _variant(variant)
        run = answer(
            [resolve_question(asked, profile=runtime.profile, clock=runtime.clock)],
            ports=runtime.answering,
            ids=RunIds(runtime.new_run_id()),
            variant=chosen,
        )
        answered = run.answers[0]
        if answered.error is not None:
            raise answered.error
        return answered

    async def ask_async(
        self,
        question: str,
        *,
        as_of: date | str | None = None,
        scopes: Sequence[str] = (),
        product: str | None = None,
        background: str | None = None,
        variant: Variant | str | None = None,
    ) -> Answered:
        """`ask` in a worker thread, so that the event loop goes on meanwhile.

        Models, SQLite and Parquet block, so there is no faster way to await them. A cancelled
        await ends at once; its thread finishes and records the answer that nobody reads.
        """
        return await asyncio.to_thread(
            self.ask,
            question,
            as_of=as_of,
            scopes=scopes,
            product=product,
            background=background,
            variant=variant,
        )


def open_index(state: StrPath | None = None, *, profile: StrPath = DEFAULT_PROFILE) -> Index:
    """The index below a state root (default: `RAG_STATE_ROOT`, else `./state`), verified.

    Args:
        state: The state root that an ingest wrote.
        profile: Packaged profile name, or path of a `.toml` file.

    Raises:
        UsageError: If the profile is unknown or breaks a rule.
        NoIndexError: If nothing was ingested there.
        IntegrityError: If what is stored contradicts its digests.
    """
    runtime = _runtime(profile, state)
    with runtime.store.open():
        return Index(runtime)


def ingest_corpus(
    folder: StrPath,
    *,
    state: StrPath | None = None,
    profile: StrPath = DEFAULT_PROFILE,
    rebuild: bool = False,
) -> Ingested:
    """Bring the index in line with a corpus folder, all or nothing; without Prefect.

    Raises:
        UsageError: If folder or profile are not there or break a rule.
        CorpusError: If a document breaks a rule; all findings are attached.
        RagError: What else stopped it; the previous index still answers.
    """
    runtime = _runtime(profile, state)
    try:
        return ingest(
            ports=runtime.ingesting(folder),
            run_id=runtime.new_run_id(),
            options=IngestOptions(rebuild=rebuild),
        )
    finally:
        runtime.close()


def _runtime(profile: StrPath, state: StrPath | None) -> Runtime:
    named = _path("profile", profile)
    root = None if state is None else _path("state", state)
    return Runtime.open(named, root)


def _path(name: str, value: object) -> str:
    if not isinstance(value, (str, Path)):
        raise UsageError(f"{name}: want text or a Path, found {type(value).__name__}")
    return os.fspath(value)


def _asked(
    question: object, as_of: object, scopes: object, product: object, background: object
) -> Asked:
    """What a caller without a type checker passed, as the types that `ask` promises."""
    day = as_of.isoformat() if isinstance(as_of, date) else as_of
    texts = {"as_of": day, "product": product, "background": background}
    for name, value in {"question": question, **texts}.items():
        if not isinstance(value, str) and (value is not None or name == "question"):
            raise UsageError(f"{name}: want text, found {type(value).__name__}")
    # A single text is a sequence too, of letters.
    if not isinstance(scopes, (list, tuple)) or not all(isinstance(s, str) for s in scopes):
        raise UsageError(f"scopes: want a list or tuple of texts, found {type(scopes).__name__}")
    return Asked(question, day, tuple(scopes), product, background)  # type: ignore[arg-type]


def _variant(value: object) -> Variant | None:
    if value is None:
        return None
    try:
        return Variant(str(value))
    except ValueError:
        known = [variant.value for variant in Variant]
        hint = close_matches_hint(str(value), known)
        raise UsageError(f"variant: want one of {', '.join(known)}{hint}") from None
