"""Look at what is stored: a document, a product, or a past run. Needs no model and loads none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_core.errors import NoIndexError, UsageError
from rag_core.rules.close_matches import close_matches
from rag_core.types.ids import RunId, SourceId
from rag_core.verbs.explain import visible_sources
from rag_core.verbs.retrieve import stored_source

if TYPE_CHECKING:
    from rag_core.types.corpus import ProductSheet
    from rag_core.types.index import SourceText, StoredChunk
    from rag_core.types.ports import IndexStore, RunLog
    from rag_core.types.profiles import Profile


@dataclass(frozen=True, slots=True)
class ShownSource:
    """A stored document with its chunks, and its sheet when it is a product."""

    source: SourceText
    chunks: tuple[StoredChunk, ...]
    sheet: ProductSheet | None


@dataclass(frozen=True, slots=True)
class ShownRun:
    """The rows that a run left in the log, per table."""

    run_id: RunId
    tables: Mapping[str, list[Mapping[str, object]]]


def show(
    name: str, *, store: IndexStore, run_log: RunLog, profile: Profile
) -> ShownSource | ShownRun:
    """The document or product of this id, or else the run of this id.

    Raises:
        UsageError: If there is neither in what the profile may see; close matches are named.
        IntegrityError: If the stored document differs from its digest.
    """
    known: tuple[str, ...] = ()
    try:
        with store.open() as snapshot:
            known = visible_sources(snapshot, profile)
            if name in known:
                source = stored_source(snapshot, SourceId(name))
                chunks = tuple(c for c in snapshot.chunks() if c.source_id == name)
                code = name.removeprefix("product:")
                sheet = snapshot.product(code) if code != name else None
                return ShownSource(source, chunks, sheet)
    except NoIndexError:
        # A run may be in the log of a state root whose index is gone.
        known = ()
    tables = run_log.read_run(RunId(name))
    if tables is not None:
        return ShownRun(RunId(name), tables)
    near = close_matches(name, known)
    hint = f" Close matches: {', '.join(near)}." if near else ""
    raise UsageError(
        f"show {name!r}: no document, product or run of this id.{hint} "
        f"There are {len(known)} documents and products; run ids are printed with each answer"
    )
