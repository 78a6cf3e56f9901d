"""Turns a public question set into a governed corpus folder, a question file and a profile.

    python -m benchmarks.convert_set SET FOLDER

writes FOLDER/corpus (one Markdown file with front matter per document), FOLDER/questions.jsonl
(for `rag answer --questions`), FOLDER/profile.toml (`offline` with the set's scopes) and
FOLDER/mapping.json (our document ids to the set's, question ids in order, documents left out).

What a set leaves out gets a default: title = id, scope `public`, approved, canonical, valid from
1900-01-01. Its `active` is our `approved`, and its `valid_until`, the first day on which a text no
longer holds, becomes the day before. `family`, which versions of one text share, is our `subject`,
`source` our `url`, and a question's `scenario` its background. A document that our rules refuse is
left out and printed, and so is a field that ours do not have. Labels stay behind.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.devdata import DOCUMENTS, QUESTIONS, read_rows, set_folder
from benchmarks.set_corpus import (
    DEFAULT_SCOPE,
    LeftOut,
    metadata,
    not_carried,
    scope_of,
    write_corpus,
)
from benchmarks.set_ids import governed_id
from rag_core.errors import RagError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.devdata import Row

MAPPING = "mapping.json"


@dataclass(frozen=True, slots=True)
class Conversion:
    """A converted set: where its parts lie, and what stands for what."""

    name: str
    folder: Path
    documents: dict[str, str]
    """Our document id to the set's."""
    question_ids: tuple[str, ...]
    """In the order of the question file."""
    left_out: tuple[LeftOut, ...]
    altered: tuple[str, ...]
    """Documents of the set whose stored text differs in more than white space (NFC)."""
    not_carried: tuple[str, ...]
    """Metadata fields of the set that no field of ours holds."""

    @property
    def corpus(self) -> Path:
        """The corpus folder."""
        return self.folder / "corpus"

    @property
    def questions(self) -> Path:
        """The question file, in the form of `rag answer --questions`."""
        return self.folder / QUESTIONS

    @property
    def profile(self) -> Path:
        """The profile that sees all scopes of the set."""
        return self.folder / "profile.toml"


def convert(source: Path, target: Path) -> Conversion:
    """The set in `source`, written below `target`.

    Raises:
        UsageError: If the set cannot be read, or `target` holds something else already.
    """
    documents = read_rows(source / DOCUMENTS)
    questions = read_rows(source / QUESTIONS)
    _clear(target)
    corpus, left_out = write_corpus(documents, target / "corpus")
    # Reversed: of two documents of one id the reader keeps the first.
    rows = {governed_id(row["id"]): row for row in reversed(documents)}
    kept = [(document, rows[document.id]) for document in corpus.documents]
    done = Conversion(
        name=source.name,
        folder=target,
        documents={str(document.id): row["id"] for document, row in kept},
        question_ids=tuple(row["id"] for row in questions),
        left_out=left_out,
        altered=tuple(row["id"] for doc, row in kept if doc.text.split() != row["text"].split()),
        not_carried=not_carried(documents),
    )
    unscoped = any(not metadata(row).get("scope") for row in documents)
    rewritten = (question_line(row, unscoped=unscoped) for row in questions)
    _write(done.questions, "".join(f"{json.dumps(row)}\n" for row in rewritten))
    scopes = {*map(scope_of, documents), *(row["scope"] for row in questions if row.get("scope"))}
    _write(done.profile, _profile(source.name, sorted(scopes)))
    _write(target / MAPPING, _mapping(done))
    return done


def question_line(row: Row, *, unscoped: bool) -> Row:
    """A question for `--questions`; keys that a set leaves out stay out.

    Args:
        row: The question as the set has it.
        unscoped: Whether some document has no scope; to a set, such a text is open to every one.
    """
    scope = row.get("scope")
    fields = {
        "question": row["text"],
        "as_of": row.get("as_of"),
        "scopes": sorted({scope, *([DEFAULT_SCOPE] if unscoped else [])}) if scope else None,
        "product": row.get("product"),
        "background": row.get("scenario"),
    }
    return {key: value for key, value in fields.items() if value}


def report(done: Conversion) -> str:
    """What was converted and what was not, for people."""
    counts = f"{len(done.documents)} documents and {len(done.question_ids)} questions"
    lines = [f"{done.name}: {counts} in {done.folder}; {len(done.left_out)} left out"]
    lines += [f"  left out {item.document_id}: {item.reason}" for item in done.left_out]
    if done.altered:
        lines.append(f"  stored in NFC, other than written: {', '.join(done.altered)}")
    if done.not_carried:
        lines.append(f"  no field of ours: {', '.join(done.not_carried)}")
    return "\n".join(lines)


def _profile(name: str, scopes: Sequence[str]) -> str:
    listed = json.dumps(scopes, ensure_ascii=False)
    lines = (
        'extends = "offline"',
        f"name = {json.dumps(f'set-{name}', ensure_ascii=False)}",
        'description = "The packaged profile offline, with all scopes of a public question set."',
        f"allowed_scopes = {listed}",
        f"default_scopes = {listed}",
    )
    return "\n".join(lines) + "\n"


def _mapping(done: Conversion) -> str:
    content = {
        "set": done.name,
        "documents": done.documents,
        "questions": done.question_ids,
        "left_out": [[item.document_id, item.reason] for item in done.left_out],
    }
    return json.dumps(content, indent=1) + "\n"


def _clear(target: Path) -> None:
    """Make room for a set; only what an earlier conversion wrote is replaced."""
    if target.exists() and not target.is_dir():
        raise UsageError(f"{target}: want a folder, found a file")
    if target.is_dir() and any(target.iterdir()) and not (target / MAPPING).is_file():
        raise UsageError(
            f"{target}: not empty, and not written by an earlier conversion ({MAPPING} is "
            "missing). Name another folder"
        )
    target.mkdir(parents=True, exist_ok=True)
    # First of all, so that an interrupted conversion can be repeated.
    _write(target / MAPPING, "{}\n")
    shutil.rmtree(target / "corpus", ignore_errors=True)


def _write(path: Path, text: str) -> None:
    path.write_bytes(text.encode())


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.convert_set",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("set", help="name of a folder below RAG_DEVDATA")
    parser.add_argument("folder", type=Path, help="new, empty, or of an earlier conversion")
    given = parser.parse_args()
    try:
        print(report(convert(set_folder(given.set), given.folder)))
    except RagError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
