"""Documents of a public set as a corpus folder that the product's own reader accepts."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

from benchmarks.set_ids import governed_id
from rag_core.adapters.corpus_folder import CorpusFolder
from rag_core.adapters.fields import identifier_or_none
from rag_core.errors import UsageError
from rag_core.types.corpus import Severity

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.devdata import Row
    from rag_core.types.corpus import Corpus

DEFAULT_SCOPE = "public"
DEFAULT_VALID_FROM = "1900-01-01"
_CARRIED = frozenset(
    {
        "canonical",
        "family",
        "lang",
        "product",
        "scope",
        "source",
        "status",
        "superseded_by",
        "valid_from",
        "valid_until",
    }
)
_STATUS = {"active": "approved"}
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A document that our rules refuse, by the set's own id."""

    document_id: str
    reason: str


def write_corpus(documents: Sequence[Row], folder: Path) -> tuple[Corpus, tuple[LeftOut, ...]]:
    """The corpus as the product reads it back from the new `folder`, and what it refuses.

    Raises:
        UsageError: If the folder is refused for something that is no document.
    """
    (folder / "documents").mkdir(parents=True)
    products = {p for row in documents if (p := identifier_or_none(metadata(row).get("product")))}
    if products:
        # Listed, or a question could not name them.
        listed = json.dumps(sorted(products), ensure_ascii=False)
        (folder / "corpus.yaml").write_bytes(f"products: {listed}\n".encode())
    files: dict[str, str] = {}
    left_out: list[LeftOut] = []
    for number, document in enumerate(documents, start=1):
        name = re.sub(r"[^A-Za-z0-9_-]+", "_", document["id"])[:80]
        path = f"documents/{number:05d}-{name}.md"
        try:
            (folder / path).write_bytes(governed_file(document).encode())
            files[path] = document["id"]
        except UnicodeEncodeError:
            left_out.append(LeftOut(document["id"], "a lone surrogate, which UTF-8 cannot hold"))
    corpus, refused = _drop_refused(folder, files)
    return corpus, (*left_out, *refused)


def governed_file(document: Row) -> str:
    """A Markdown file whose body is the document's text, nothing added and nothing trimmed."""
    fields = front_matter(document).items()
    # JSON texts are YAML texts in double quotes.
    lines = (f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in fields)
    return "\n".join(["---", *lines, "---", document["text"]])


def front_matter(document: Row) -> dict[str, object]:
    """The governance fields of a document of a set, defaults filled in."""
    meta = metadata(document)
    status = meta.get("status") or "approved"
    canonical = meta.get("canonical")
    superseded_by = meta.get("superseded_by")
    fields = {
        "id": governed_id(document["id"]),
        "title": document.get("title") or document["id"],
        "scope": scope_of(document),
        "status": _STATUS.get(status, status),
        "canonical": True if canonical is None else canonical,
        "valid_from": meta.get("valid_from") or DEFAULT_VALID_FROM,
        "valid_until": _last_day(meta.get("valid_until")),
        "product": meta.get("product"),
        # Versions of one text: the reader then refuses two that hold on one day.
        "subject": meta.get("family"),
        "superseded_by": governed_id(superseded_by) if superseded_by else None,
        "url": meta.get("source"),
        "language": meta.get("lang"),
    }
    return {key: value for key, value in fields.items() if value is not None}


def metadata(document: Row) -> Row:
    """The set's fields of a document; empty where it has none."""
    return document.get("metadata") or {}


def not_carried(documents: Sequence[Row]) -> tuple[str, ...]:
    """Fields of the set that no field of ours holds, sorted."""
    stated = {key for row in documents for key, value in metadata(row).items() if value is not None}
    return tuple(sorted(stated - _CARRIED))


def scope_of(document: Row) -> str:
    """The document's scope, or the default."""
    return metadata(document).get("scope") or DEFAULT_SCOPE


def _last_day(valid_until: str | None) -> str | None:
    """The day before an exclusive end; what is no day stays, for the corpus reader to refuse."""
    if not valid_until or not _DAY.fullmatch(valid_until):
        return valid_until or None
    try:
        return (date.fromisoformat(valid_until) - timedelta(days=1)).isoformat()
    except (ValueError, OverflowError):
        return valid_until


def _drop_refused(folder: Path, files: dict[str, str]) -> tuple[Corpus, tuple[LeftOut, ...]]:
    """The corpus as read after every file with an error finding was removed."""
    left_out: list[LeftOut] = []
    reader = CorpusFolder(folder)
    while True:
        # Again after each removal: a document may have named one that is gone now.
        corpus, findings = reader.read(reader.scan())
        if corpus is not None:
            return corpus, tuple(left_out)
        errors = [finding for finding in findings if finding.severity is Severity.ERROR]
        refused = {finding.path for finding in errors}
        if not refused <= files.keys():
            raise UsageError(f"{folder}: {errors[0].code}: {errors[0].message}")
        for path in sorted(refused):
            reasons = "; ".join(f"{f.code}: {f.message}" for f in errors if f.path == path)
            left_out.append(LeftOut(files.pop(path), reasons))
            (folder / path).unlink()
