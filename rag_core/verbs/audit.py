"""Check everything that is stored against its digests, and the folder against the index.

Reads all rows, loads no model, changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rag_core.errors import CorpusError, IntegrityError, StaleIndexError
from rag_core.rules.chunking import chunk_document
from rag_core.rules.products import render_facts
from rag_core.types.corpus import Document, ProductSheet

if TYPE_CHECKING:
    from rag_core.types.ids import SourceId
    from rag_core.types.index import Manifest
    from rag_core.types.ports import CorpusReader, IndexSnapshot, IndexStore, RunLog


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was checked; `problem` is empty when it holds."""

    name: str
    promise: str
    found: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Drift:
    """How the corpus folder has moved on since the ingest."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


@dataclass(frozen=True, slots=True)
class Audit:
    """All checks in order, and the drift where a folder was given."""

    manifest: Manifest
    checks: tuple[Check, ...]
    drift: Drift | None

    @property
    def problems(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if check.problem)


def audit(*, store: IndexStore, run_log: RunLog, corpus: CorpusReader | None = None) -> Audit:
    """Every check, also after one has failed.

    Raises:
        NoIndexError: If nothing was ingested.
        IntegrityError: If the manifest itself cannot be trusted; then nothing else can.
    """
    with store.open() as snapshot:
        checks = [
            Check("manifest", "6", "digests, counts, root and signature agree"),
            _guarded("texts and offsets", "1", lambda: _texts(snapshot)),
            _guarded("vectors", "8", lambda: _vectors(snapshot)),
            _guarded("chunks are what the rules cut", "1", lambda: _chunking(snapshot)),
            _guarded("product facts", "1", lambda: _facts(snapshot)),
            _newest_generation(snapshot.manifest, run_log),
        ]
        drift = _drift(snapshot, corpus) if corpus is not None else None
        return Audit(snapshot.manifest, tuple(checks), drift)


def require_clean(result: Audit, *, require_current: bool) -> None:
    """Return when no check failed and, if asked for, the folder has not moved on.

    Raises:
        IntegrityError: Naming the first failed check.
        StaleIndexError: If `require_current` and folder and index differ.
    """
    if result.problems:
        first = result.problems[0]
        raise IntegrityError(
            f"audit: {len(result.problems)} of {len(result.checks)} checks failed, the first is "
            f"{first.name}: {first.problem}. Run: rag ingest --rebuild"
        )
    if require_current and result.drift:
        drift = result.drift
        raise StaleIndexError(
            f"audit: the folder has {len(drift.added)} added, {len(drift.removed)} removed and "
            f"{len(drift.changed)} changed documents since the index was built. Run: rag ingest"
        )


def _guarded(name: str, promise: str, check: Callable[[], str]) -> Check:
    try:
        return Check(name, promise, check())
    except IntegrityError as error:
        return Check(name, promise, "", str(error))


def _texts(snapshot: IndexSnapshot) -> str:
    rows = snapshot.chunks()
    texts = dict(zip((r.id for r in rows), snapshot.texts([r.id for r in rows]), strict=True))
    for source_id in snapshot.source_ids():
        source = _document(snapshot, source_id)
        for row in (row for row in rows if row.source_id == source_id):
            if source.text[row.span.start : row.span.end] != texts[row.id]:
                raise IntegrityError(
                    f"{row.id}: its text does not stand at {row.span.start}..{row.span.end} "
                    f"of {source_id}"
                )
    return f"{len(rows)} chunks of {len(snapshot.source_ids())} sources stand at their offsets"


def _vectors(snapshot: IndexSnapshot) -> str:
    rows = snapshot.chunks()
    matrix = snapshot.vectors([row.id for row in rows])
    return f"{matrix.shape[0]} vectors of dimension {matrix.shape[1]} match their digests"


def _chunking(snapshot: IndexSnapshot) -> str:
    rows = snapshot.chunks()
    stored = {(row.id, row.span, row.heading_path) for row in rows}
    cut = {
        (chunk.id, chunk.span, chunk.heading_path)
        for source_id in snapshot.source_ids()
        for chunk in chunk_document(_document(snapshot, source_id))
    }
    if stored != cut:
        first = min(stored ^ cut)
        raise IntegrityError(f"{first[0]}: stored chunks differ from what the rules cut")
    return f"{len(rows)} chunks are exactly those that the rules cut"


def _facts(snapshot: IndexSnapshot) -> str:
    products = [s for s in snapshot.source_ids() if s.startswith("product:")]
    for source_id in products:
        document = _document(snapshot, source_id)
        if document.sheet is None or render_facts(document.sheet) != document.text:
            raise IntegrityError(f"{source_id}: its text is not what its stored facts render to")
    return f"{len(products)} sheets render to their stored texts"


def _newest_generation(manifest: Manifest, run_log: RunLog) -> Check:
    name, promise = "newest generation", "12"
    latest = run_log.latest_generation()
    if latest is None:
        return Check(name, promise, "no ingest in this run log to compare with")
    run_id, digest = latest
    if digest == manifest.generation_digest:
        return Check(name, promise, f"the live index is that of run {run_id}")
    if digest == manifest.previous_generation:
        # A commit is durable before its record: a run killed in between leaves no row.
        return Check(name, promise, f"the live index is one commit newer than run {run_id}")
    return Check(
        name,
        promise,
        "",
        f"the live index is generation {manifest.generation_digest[:12]}, the log's last commit "
        f"is {digest[:12]} of run {run_id}: an older index was put back, or the log is another's",
    )


def _drift(snapshot: IndexSnapshot, corpus: CorpusReader) -> Drift:
    current, findings = corpus.read(corpus.scan())
    if current is None:
        raise CorpusError("audit: the corpus folder has errors; drift cannot be told", findings)
    stored = {source_id: _document(snapshot, source_id) for source_id in snapshot.source_ids()}
    folder = {document.id: document for document in current.documents}
    both = folder.keys() & stored.keys()
    return Drift(
        added=tuple(sorted(folder.keys() - stored.keys())),
        removed=tuple(sorted(stored.keys() - folder.keys())),
        changed=tuple(sorted(i for i in both if not _same_content(folder[i], stored[i]))),
    )


def _document(snapshot: IndexSnapshot, source_id: SourceId) -> Document:
    """A stored source as the document that it was made from.

    Raises:
        IntegrityError: If there is no such source.
    """
    source = snapshot.source(source_id)
    if source is None:
        raise IntegrityError(f"{source_id}: listed, but not stored")
    return Document(
        id=source.id,
        title=source.title,
        governance=source.governance,
        text=source.text,
        sentences=source.sentences,
        headings=source.headings,
        language=source.language,
        subject=source.subject,
        superseded_by=source.superseded_by,
        url=source.url,
        path=source.path,
        file_digest=source.file_digest,
        sheet=_sheet(snapshot, source_id),
    )


def _sheet(snapshot: IndexSnapshot, source_id: SourceId) -> ProductSheet | None:
    kind, _, code = source_id.partition(":")
    return snapshot.product(code) if kind == "product" and code else None


def _same_content(left: Document, right: Document) -> bool:
    """Equal but for file name and bytes, which newlines and encodings may change."""
    return replace(left, path=right.path, file_digest=right.file_digest) == right
