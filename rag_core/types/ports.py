"""What verbs need from the world. Adapters fill these; only `runtime` knows which."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from rag_core.types.chunks import Chunk, EmbeddedBatch
from rag_core.types.corpus import Corpus, Finding, ProductSheet, SourceFile
from rag_core.types.ids import ChunkId, Digest, RunId, SourceId
from rag_core.types.index import (
    EmbeddingContract,
    Manifest,
    SourceText,
    StageRef,
    StoredChunk,
    ValidatedBuild,
)
from rag_core.types.messages import ChatMessage, Completion, ToolSpec
from rag_core.types.proposals import ChatReply, ChatRequest, ToolStep
from rag_core.types.questions import Question
from rag_core.types.records import AnswerRecords, IngestRecord
from rag_core.types.retrieval import EligibleSet, Ranking

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from pathlib import Path
    from typing import Any

    from rag_core.types.chunks import FloatMatrix, FloatVector


class Clock(Protocol):
    """Time comes in through here, so that tests can stop it."""

    def now(self) -> datetime:
        """The current instant, in UTC."""

    def seconds(self) -> float:
        """A monotonic reading for durations."""


class Progress(Protocol):
    """Told how far a long step is; shown by the command line and by flows."""

    def __call__(self, step: str, done: int, total: int) -> None:
        """`done` of `total` units of `step` are finished."""


class Embedder(Protocol):
    """Turns rendered texts into vectors, in order. Safe to call from several threads."""

    @property
    def contract(self) -> EmbeddingContract:
        """The space of the vectors; a provider that reports a model digest is asked for it once.

        Raises:
            ProviderError: If the provider cannot be asked.
        """

    @property
    def concurrency(self) -> int:
        """How many calls of `embed` may usefully run at once; 1 for a model in this process."""

    def forget(self) -> None:
        """Ask the provider again, at the next use, for what it said of its model."""

    def windows(self, texts: Sequence[str]) -> tuple[int, ...]:
        """How many inputs of a batch each text costs; 1 unless longer than the model's window."""

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """One vector per text in the same order, shape (len(texts), dimension), float32.

        Raises:
            RejectedTextError: If the provider refuses or cuts one of the texts; the text is named
                by its position and digest, never printed.
            ProviderError: If the model fails or its reply breaks a rule.
        """


class ChatModel(Protocol):
    """A chat model behind a provider's wire. It keeps nothing between calls."""

    @property
    def name(self) -> str:
        """Provider and model, for messages."""

    def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        schema: Mapping[str, Any] | None = None,
        tools: Sequence[ToolSpec] = (),
    ) -> Completion:
        """The model's next turn: JSON of `schema` where one is given, a call where tools are.

        Whether the model obeyed is for the caller to check.

        Raises:
            ProviderError: If the provider fails, or its reply is not of its own protocol.
        """

    def check(self) -> str:
        """What a person wants to know of a provider that is ready, in a few words.

        Raises:
            ProviderError: If it cannot be reached or lacks the model.
        """


class Chat(Protocol):
    """Proposes evidence for a question."""

    def call_tool(self, question: Question) -> ToolStep:
        """The first step of the variant `tool`: the question alone, and the tool to call.

        Raises:
            ProviderError: If the provider fails.
        """

    def propose(self, request: ChatRequest) -> ChatReply:
        """The model's raw reply, to be read by `rules.proposals`.

        Raises:
            ProviderError: If the provider fails.
        """


class CorpusReader(Protocol):
    """Reads a corpus folder."""

    def scan(self) -> tuple[SourceFile, ...]:
        """Every file of the folder that the corpus takes, in ordinal order of path.

        Raises:
            UsageError: If the folder does not exist or cannot be read.
        """

    def read(self, files: Sequence[SourceFile]) -> tuple[Corpus | None, tuple[Finding, ...]]:
        """The corpus, or None when a finding is an error; all findings at once, sorted."""


class IndexSnapshot(Protocol):
    """One generation of the index, seen in a single read transaction."""

    @property
    def manifest(self) -> Manifest:
        """The manifest; its digests, counts, root and signature have been verified."""

    def chunks(self) -> tuple[StoredChunk, ...]:
        """All chunk rows in ordinal order of id, metadata digests verified."""

    def texts(self, chunk_ids: Sequence[ChunkId]) -> tuple[str, ...]:
        """Chunk texts in the order asked for, digests verified."""

    def vectors(self, chunk_ids: Sequence[ChunkId]) -> FloatMatrix:
        """Shape (len(chunk_ids), dimension), float32, in the order asked for, verified."""

    def vectors_by_key(self, keys: Sequence[Digest]) -> Mapping[Digest, FloatVector]:
        """The vectors that are stored under these keys; verified; absent keys are left out."""

    def source(self, source_id: SourceId) -> SourceText | None:
        """A stored document, digest verified; None if there is none."""

    def source_ids(self) -> tuple[SourceId, ...]:
        """All stored source ids in ordinal order."""

    def product(self, code: str) -> ProductSheet | None:
        """A stored product sheet; None if there is none."""


class IndexStore(Protocol):
    """The SQLite index. Methods raise `NoIndexError`, `IntegrityError` or `LockedError`."""

    def open(self) -> AbstractContextManager[IndexSnapshot]:
        """A snapshot of the live generation, verified as DESIGN section 4 says.

        Raises:
            NoIndexError: If nothing was ingested.
            IntegrityError: If manifest, counts, root or signature disagree.
        """

    def commit(self, validated: ValidatedBuild) -> None:
        """Replace the rows of our tables in one transaction (promise 7).

        Raises:
            LockedError: If the database stays locked past the timeout.
            IntegrityError: If the rows read back before COMMIT differ from the manifest.
        """


class VectorRanker(Protocol):
    """Exact dense ranking (promise 9); a faster one must agree with the plain scan bit for bit."""

    def rank(self, query: FloatVector, snapshot: IndexSnapshot, eligible: EligibleSet) -> Ranking:
        """All eligible chunks by cosine, best first; ties in ordinal order of chunk id."""


class StageStore(Protocol):
    """Content-addressed Parquet artifacts below `state/stages/`."""

    def put_corpus(self, digest: Digest, corpus: Corpus, findings: Sequence[Finding]) -> StageRef:
        """Stage documents and product rules under the digest of their input."""

    def find_corpus(self, digest: Digest) -> StageRef | None:
        """The artifact under this digest, if it is whole."""

    def get_corpus(self, ref: StageRef) -> tuple[Corpus, tuple[Finding, ...]]:
        """What `put_corpus` was given.

        Raises:
            IntegrityError: If the artifact's bytes differ from when it was staged.
        """

    def put_chunks(self, digest: Digest, chunks: Sequence[Chunk]) -> StageRef:
        """Stage chunks in their order."""

    def find_chunks(self, digest: Digest) -> StageRef | None:
        """The artifact under this digest, if it is whole."""

    def get_chunks(self, ref: StageRef) -> tuple[Chunk, ...]:
        """What `put_chunks` was given.

        Raises:
            IntegrityError: If the artifact's bytes differ from when it was staged.
        """

    def put_vectors(self, batch: EmbeddedBatch) -> StageRef:
        """Make one finished batch durable as a part file."""

    def merge_vectors(self) -> StageRef | None:
        """Merge part files into one shard; None if there are none."""

    def drop_vectors(self) -> None:
        """Delete all staged vectors: a rebuild reuses nothing."""

    def find_vectors(self, keys: Sequence[Digest]) -> Mapping[Digest, FloatVector]:
        """Staged vectors under these keys, from shards and parts; damaged rows count as absent."""

    def put_build(
        self, validated: ValidatedBuild, *, corpus: StageRef, chunks: StageRef
    ) -> StageRef:
        """Stage the validated manifest and all vectors; texts stay in the named artifacts."""

    def get_build(self, ref: StageRef) -> ValidatedBuild:
        """What `put_build` was given, put together again from its three artifacts.

        Raises:
            IntegrityError: If an artifact's bytes differ from when it was staged.
        """

    def clean_temporary(self) -> int:
        """Remove temporary names that a killed run left; returns how many."""

    def prune(self, keep: Sequence[Sequence[Digest]]) -> int:
        """Delete shards that the given generations do not use, and old documents and chunks.

        Returns how many shards went.
        """


class RunLog(Protocol):
    """The Parquet run log. Methods raise `RecordError` where it cannot be written."""

    def write_answers(self, records: AnswerRecords) -> tuple[Path, Path]:
        """Write hits, then verdicts (whose rename is the commit); returns both paths."""

    def write_ingest(self, record: IngestRecord) -> Path:
        """Write one ingest."""

    def latest_generation(self) -> tuple[RunId, Digest] | None:
        """The last ingest that left a live generation: its run and generation digest."""

    def read_run(self, run_id: RunId) -> Mapping[str, list[Mapping[str, object]]] | None:
        """Rows of a run per table (`hits`, `verdicts`, `ingests`); None if unknown."""
