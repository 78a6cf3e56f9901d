"""Files of a corpus one after the other, each by its format, into documents and findings."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import regex

from rag_core.adapters.decoding import decode_file
from rag_core.adapters.front_matter import FrontMatter, read_front_matter
from rag_core.adapters.product_sheets import read_sheet, sheet_document, sheet_id
from rag_core.rules.chunking import oversized_grapheme
from rag_core.rules.corpus_checks import DeclaredId, corpus_findings
from rag_core.rules.headings import markdown_headings
from rag_core.rules.segmentation import sentence_spans
from rag_core.types.corpus import Corpus, Document, Finding, Governance, Severity, SourceFile
from rag_core.types.ids import Digest, SourceId

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rag_core.adapters.corpus_config import CorpusConfig

MARKDOWN = frozenset({".md", ".markdown"})
TEXTS = MARKDOWN | {".txt"}
SHEETS_FOLDER = "products"
SHEET_SUFFIX = ".yaml"

# A letter, digit or symbol that has a shape: fillers and the blank Braille pattern have none.
_VISIBLE = regex.compile(r"(?![\p{Default_Ignorable_Code_Point}\u2800])[\p{L}\p{N}\p{S}]")


def is_document(path: str) -> bool:
    """Whether the path is of a format that becomes a document: a governed text or a sheet."""
    return _suffix(path) in TEXTS or _is_sheet(path)


@dataclass(slots=True)
class CorpusReading:
    """What comes together while the files are read one after the other."""

    config: CorpusConfig
    default_language: str | None
    documents: list[Document] = field(default_factory=list)
    declared: list[DeclaredId] = field(default_factory=list)
    codes: set[str] = field(default_factory=set)
    lines: dict[str, Mapping[str, int]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    @property
    def known_products(self) -> tuple[str, ...]:
        """Codes with a sheet, also one that is wrong elsewhere, or listed; in ordinal order."""
        return tuple(sorted({*self.codes, *self.config.products}))

    def corpus(self, findings: tuple[Finding, ...]) -> tuple[Corpus | None, tuple[Finding, ...]]:
        """The corpus beside its findings; None if one is an error."""
        if any(finding.severity is Severity.ERROR for finding in findings):
            return None, findings
        documents = tuple(sorted(self.documents, key=lambda document: document.id))
        return Corpus(documents, self.known_products, self.config.product_pattern), findings

    def read(self, file: SourceFile) -> tuple[Finding, ...]:
        """Take in one file; returns what is to be said about it."""
        if not is_document(file.path):
            return (_unknown_format(file.path),)
        decoded = decode_file(file)
        if decoded.text is None:
            return decoded.findings
        read = self._read_text if _suffix(file.path) in TEXTS else self._read_sheet
        return (*decoded.findings, *read(file, decoded.text))

    def _read_text(self, file: SourceFile, text: str) -> tuple[Finding, ...]:
        governed = read_front_matter(
            text,
            path=file.path,
            defaults=self.config.defaults_for(file.path),
            ignore_fields=self.config.ignore_fields,
        )
        self._declare(governed.declared_id, file.path, governed.lines, "id")
        if governed.fields is None:
            return (*governed.findings, *self._interval_findings(governed.readable, file.path))
        findings = _body_findings(governed.body, file.path, governed.body_line)
        # Its fields are checked against other documents also where its text cannot be taken.
        body = "" if findings else governed.body
        self.documents.append(self._document(governed.fields, body, file))
        return findings

    def _read_sheet(self, file: SourceFile, text: str) -> tuple[Finding, ...]:
        read = read_sheet(text, path=file.path, defaults=self.config.defaults_for(file.path))
        if read.declared_code is not None:
            self.codes.add(read.declared_code)
            self._declare(sheet_id(read.declared_code), file.path, read.lines, "code")
        if read.sheet is not None:
            self.documents.append(
                sheet_document(read.sheet, path=file.path, file_digest=_digest(file))
            )
        return (*read.findings, *self._interval_findings(read.readable, file.path))

    def _interval_findings(self, readable: Governance | None, path: str) -> tuple[Finding, ...]:
        """What the corpus' own rules say about the interval of a file that is wrong elsewhere."""
        if readable is None:
            return ()
        stand_in = Document(
            id=SourceId(path),
            title="",
            governance=readable,
            text="",
            sentences=(),
            headings=(),
            language="und",  # BCP 47: undetermined, so that no notice asks for it
            subject=None,
            superseded_by=None,
            url=None,
            path=path,
            file_digest=Digest(""),
        )
        # Alone, so that it is nobody's successor, holder or duplicate.
        return corpus_findings((stand_in,), declared=(), known_products=(), lines=self.lines)

    def _declare(
        self, source_id: SourceId | None, path: str, lines: Mapping[str, int], key: str
    ) -> None:
        self.lines[path] = lines
        if source_id is not None:
            self.declared.append(DeclaredId(source_id, path, lines.get(key)))

    def _document(self, fields: FrontMatter, body: str, file: SourceFile) -> Document:
        language = fields.language or self.default_language
        markdown = _suffix(file.path) in MARKDOWN
        return Document(
            id=SourceId(fields.id),
            title=fields.title,
            governance=fields.governance,
            text=body,
            sentences=sentence_spans(body, language),
            headings=markdown_headings(body) if markdown else (),
            language=fields.language,
            subject=fields.subject,
            superseded_by=SourceId(fields.superseded_by) if fields.superseded_by else None,
            url=fields.url,
            path=file.path,
            file_digest=_digest(file),
        )


def _is_sheet(path: str) -> bool:
    place = PurePosixPath(path)
    return place.parent == PurePosixPath(SHEETS_FOLDER) and place.suffix == SHEET_SUFFIX


def _suffix(path: str) -> str:
    return PurePosixPath(path).suffix.lower()


def _digest(file: SourceFile) -> Digest:
    return Digest(hashlib.sha256(file.content).hexdigest())


def _unknown_format(path: str) -> Finding:
    hint = "read are .md, .markdown, .txt and products/*.yaml"
    if path.startswith(f"{SHEETS_FOLDER}/") and _suffix(path) in {".yml", ".yaml"}:
        hint = "product sheets stand directly in products/ and end in .yaml"
    return Finding(Severity.NOTICE, "unknown_format", path, f"left out: unknown format; {hint}")


def _body_findings(body: str, path: str, first_line: int) -> tuple[Finding, ...]:
    """An error where the body cannot be cut into chunks."""
    if _VISIBLE.search(body) is None:
        message = (
            "no letter, digit or symbol follows the front matter; add the text, or exclude the file"
        )
        return (Finding(Severity.ERROR, "empty_document", path, message, first_line),)
    offset = oversized_grapheme(body)
    if offset is None:
        return ()
    line = first_line + body.count("\n", 0, offset)
    message = f"offset {offset} of the text: one character with more marks than a chunk can hold"
    return (Finding(Severity.ERROR, "oversized_grapheme", path, message, line),)
