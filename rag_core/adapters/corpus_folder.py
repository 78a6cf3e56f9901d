"""A folder of governed files as a corpus: walked, read and checked, all findings at once."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from rag_core.adapters.corpus_config import CONFIG_PATH, CorpusConfig, Glob, read_corpus_config
from rag_core.adapters.corpus_reading import CorpusReading, is_document
from rag_core.adapters.decoding import decode_file
from rag_core.errors import UsageError
from rag_core.rules.corpus_checks import corpus_findings
from rag_core.rules.findings import sort_findings
from rag_core.types.corpus import Corpus, Finding, Severity, SourceFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LARGEST_FILE_BYTES = 20_000_000
"""A governed text is far smaller; what is larger is an export, or no text."""

# What corpus.yaml could have explained, had it been sound: left out while it has errors.
_EXPLAINED_BY_CONFIG = frozenset(
    {"missing_front_matter", "missing_field", "missing_valid_until", "unknown_field"}
)
# Controls, line ends, and what turns the direction of the text around it.
_UNSHOWN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


class CorpusFolder:
    """Reads a corpus folder; fills the port `CorpusReader`."""

    def __init__(self, path: Path, *, default_language: str | None = None) -> None:
        """Name the folder; nothing is read yet.

        Args:
            path: The folder.
            default_language: For sentence bounds of documents that declare no language.
        """
        self._root = path
        self._default_language = default_language
        self._names: dict[str, str] = {}

    def scan(self) -> tuple[SourceFile, ...]:
        """Every file that is not hidden, in ordinal order of path.

        Files of unknown format, and what is no file of this folder (links that leave it, linked
        folders, devices), come without content; `read` tells why. Of a file beyond the limit
        just enough is read to show that it is.

        Raises:
            UsageError: If the folder does not exist or cannot be read.
        """
        if not self._root.is_dir():
            raise UsageError(
                f"{self._root}: want a folder with documents, found none. "
                "Name another folder, or run: rag init"
            )
        try:
            return tuple(sorted(map(self._load, self._walk()), key=lambda file: file.path))
        except OSError as error:
            raise UsageError(
                f"{self._root}: the corpus folder cannot be read: {error}. Check its permissions"
            ) from error

    def read(self, files: Sequence[SourceFile]) -> tuple[Corpus | None, tuple[Finding, ...]]:
        """The corpus, or None when a finding is an error; all findings at once, sorted.

        Args:
            files: What `scan` returned.
        """
        ordered = sorted(files, key=lambda file: file.path)
        config, config_findings = self._config(ordered)
        reading = CorpusReading(config, self._default_language)
        taken = [file for file in ordered if file.path != CONFIG_PATH]
        for file in taken:
            if not config.excludes(file.path):
                problem = self._place_problem(file)
                reading.findings.extend([problem] if problem else reading.read(file))
        findings = [
            *reading.findings,
            *_unused_globs(config, taken),
            *corpus_findings(
                reading.documents,
                declared=reading.declared,
                known_products=reading.known_products,
                lines=reading.lines,
            ),
        ]
        if not any(is_document(file.path) and not config.excludes(file.path) for file in taken):
            message = "no document; add .md, .markdown or .txt files with front matter"
            findings.append(Finding(Severity.ERROR, "empty_corpus", ".", message))
        if any(finding.severity is Severity.ERROR for finding in config_findings):
            findings = [f for f in findings if f.code not in _EXPLAINED_BY_CONFIG]
        return reading.corpus(sort_findings([*config_findings, *findings]))

    def _walk(self) -> Iterator[str]:
        """Relative paths of what is not hidden, with forward slashes."""
        for folder, names, files in os.walk(self._root, onerror=_raise):
            below = Path(folder).relative_to(self._root)
            links = [name for name in names if (Path(folder) / name).is_symlink()]
            names[:] = [name for name in names if not _hidden(name) and name not in links]
            for name in (*files, *links):
                if not _hidden(name):
                    yield (below / name).as_posix()

    def _load(self, path: str) -> SourceFile:
        content = b""
        if is_document(path) or path == CONFIG_PATH:
            empty = SourceFile(path, b"")
            if self._place_problem(empty) is None:
                with (self._root / path).open("rb") as file:
                    content = file.read(LARGEST_FILE_BYTES + 1)
        legible = _legible(path)
        self._names[legible] = path
        return SourceFile(legible, content)

    def _place_problem(self, file: SourceFile) -> Finding | None:
        """Why the path is no readable file of this folder; None if it is one, or is absent."""
        place = self._root / self._names.get(file.path, file.path)
        remedy = "copy the file into the folder, or name the path under `exclude` in corpus.yaml"
        code, message = "", ""
        if place.is_symlink() and not place.exists():
            code, message = "broken_link", f"links to nothing; {remedy}"
        elif place.is_symlink() and not place.resolve().is_relative_to(self._root.resolve()):
            code, message = "link_outside", f"links to a place outside the corpus folder; {remedy}"
        elif place.is_symlink() and place.is_dir():
            code, message = "linked_folder", f"links to a folder, which is not followed; {remedy}"
        elif os.path.lexists(place) and not place.is_file():
            code, message = "unreadable_file", f"is no regular file; {remedy}"
        elif os.path.lexists(place) and not os.access(place, os.R_OK):
            code, message = "unreadable_file", "cannot be read; check its permissions"
        elif len(file.content) > LARGEST_FILE_BYTES:
            limit = LARGEST_FILE_BYTES // 1_000_000
            code, message = "file_too_large", f"is larger than {limit} MB; split it or exclude it"
        return Finding(Severity.ERROR, code, file.path, message) if code else None

    def _config(self, files: Sequence[SourceFile]) -> tuple[CorpusConfig, tuple[Finding, ...]]:
        findings = tuple(
            Finding(
                Severity.ERROR,
                "misnamed_config",
                file.path,
                f"is not read; rename it to {CONFIG_PATH}",
            )
            for file in files
            if file.path != CONFIG_PATH and file.path.lower() in {CONFIG_PATH, "corpus.yml"}
        )
        file = next((file for file in files if file.path == CONFIG_PATH), None)
        if file is None:
            return CorpusConfig(), findings
        problem = self._place_problem(file)
        if problem is not None:
            return CorpusConfig(), (*findings, problem)
        decoded = decode_file(file)
        if decoded.text is None:
            return CorpusConfig(), (*findings, *decoded.findings)
        config, wrong = read_corpus_config(decoded.text)
        return config, (*findings, *decoded.findings, *wrong)


def _legible(path: str) -> str:
    """The path as findings and records may show it, escapes for what is no UTF-8 and controls."""
    decoded = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return _UNSHOWN.sub(lambda match: match[0].encode("unicode_escape").decode(), decoded)


def _raise(error: OSError) -> None:
    raise error


def _hidden(name: str) -> bool:
    return name.startswith(".")


def _unused_globs(config: CorpusConfig, files: Sequence[SourceFile]) -> Iterator[Finding]:
    """A notice per pattern that covers no file: a slip in it would leave its rule idle."""
    patterns = [*config.exclude, *(glob for glob, _ in config.defaults)]
    for text in sorted({glob.text for glob in patterns}):
        if not any(Glob(text).matches(file.path) for file in files):
            message = f"pattern {text!r} covers no file of this folder; patterns start at its root"
            yield Finding(Severity.NOTICE, "unused_pattern", CONFIG_PATH, message)
