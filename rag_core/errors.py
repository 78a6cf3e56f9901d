"""The error tree. Every error that stops a run is one of these and knows its exit code.

    RagError                    1  a bug, or something nobody foresaw
    ├── UsageError              2  the request asks for what does not exist or is not allowed
    ├── CorpusError             4  the corpus has findings of severity `error`
    ├── NoIndexError            5  nothing was ingested under this state root
    ├── ContractMismatchError   5  the index was built under another contract than the profile's
    ├── StaleIndexError         5  `--require-current`: folder and index differ
    ├── IntegrityError          6  stored content differs from its digests, counts or signature
    ├── ProviderError           7  a model or its server failed
    │   └── RejectedTextError   7  a provider refused or cut one of the texts it was sent
    ├── LockedError             8  another ingest holds the lock
    └── RecordError             9  the run log could not be written, so nothing was shown

A refusal is no error: it is a `Verdict` (exit code 3). Messages say what, where, found against
expected, and the next step. Values of secrets never enter a message (promise 11).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from rag_core.types.corpus import Finding


class RagError(Exception):
    """Base of all errors that this project raises on purpose."""

    exit_code: ClassVar[int] = 1
    reason: ClassVar[str] = "internal"


class UsageError(RagError):
    """The request itself is wrong: an unknown scope, profile, file, source or option value."""

    exit_code = 2
    reason = "usage"


class CorpusError(RagError):
    """The corpus has at least one finding of severity `error`; all findings are attached."""

    exit_code = 4
    reason = "corpus_findings"

    def __init__(self, message: str, findings: tuple[Finding, ...] = ()) -> None:
        super().__init__(message)
        self.findings = findings


class NoIndexError(RagError):
    """There is no index under the state root; answering never creates one."""

    exit_code = 5
    reason = "no_index"


class ContractMismatchError(RagError):
    """Index and profile disagree on a field of the contract; both sides are named."""

    exit_code = 5
    reason = "contract_mismatch"


class StaleIndexError(RagError):
    """The corpus folder has moved on since the index was built (`--require-current`)."""

    exit_code = 5
    reason = "stale_index"


class IntegrityError(RagError):
    """Stored content contradicts its digests, its counts, its schema or its signature."""

    exit_code = 6
    reason = "integrity"


class ProviderError(RagError):
    """An embedding or chat provider failed, or replied with something unusable."""

    exit_code = 7
    reason = "provider"


class RejectedTextError(ProviderError):
    """A provider refused, or read only a part of, one of the texts that it was sent."""

    def __init__(self, message: str, *, position: int) -> None:
        super().__init__(message)
        self.position = position
        """Index of the text in the request, from 0."""


class LockedError(RagError):
    """Another process holds the ingest lock, or the database stayed locked past its timeout."""

    exit_code = 8
    reason = "locked"


class RecordError(RagError):
    """The run log could not be written; the answer is withheld (promise 10)."""

    exit_code = 9
    reason = "record_not_written"
