"""Which vectors an ingest has, which it needs, and where it finds them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rag_core.errors import ContractMismatchError, IntegrityError
from rag_core.rules.batching import batch_inputs, shards_of
from rag_core.rules.digests import embedding_key
from rag_core.rules.rendering import render_document
from rag_core.types.chunks import EmbeddedBatch, EmbeddingInput
from rag_core.types.index import (
    Canary,
    Manifest,
    StageRef,
)
from rag_core.verbs.contract import (
    CANARY_TEXTS,
    embed_canaries,
    require_same_canaries,
    same_model,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from rag_core.types.chunks import Chunk, ChunkBatch, FloatMatrix, FloatVector
    from rag_core.types.ids import Digest
    from rag_core.types.ports import (
        Clock,
        CorpusReader,
        Embedder,
        IndexStore,
        RunLog,
        StageStore,
    )
    from rag_core.types.profiles import Profile


@dataclass(frozen=True, slots=True)
class IngestPorts:
    """What an ingest needs from the world."""

    profile: Profile
    corpus: CorpusReader
    embedder: Embedder
    store: IndexStore
    stages: StageStore
    run_log: RunLog
    clock: Clock
    lock: Callable[[], AbstractContextManager[object]]
    """Held for the whole ingest; raises `LockedError` when another one holds it."""
    code_version: str
    signing_key: bytes | None = field(default=None, repr=False)
    """Left out of the repr: ports are handed to tasks, whose arguments may be logged."""


@dataclass(frozen=True, slots=True)
class EmbeddingPlan:
    """Which texts must be embedded, and what that costs."""

    chunks: int
    distinct: int
    """Distinct rendered texts among them."""
    reused: int
    """Distinct texts whose vector is kept, from the live index or from stages."""
    shards: tuple[tuple[ChunkBatch, ...], ...]

    @property
    def missing(self) -> int:
        """Texts to embed."""
        return sum(len(batch.inputs) for shard in self.shards for batch in shard)

    @property
    def requests(self) -> int:
        """Embedding requests, canaries apart."""
        return sum(len(shard) for shard in self.shards)


def plan_embedding(
    chunks_ref: StageRef, *, ports: IngestPorts, rebuild: bool, live: Manifest | None
) -> EmbeddingPlan:
    """The batches that are missing; equal rendered texts are embedded once."""
    chunks = ports.stages.get_chunks(chunks_ref)
    rendered, names = _rendered(chunks, ports)
    known = {} if rebuild else known_vectors(tuple(rendered), ports=ports, live=live)
    missing = {key: text for key, text in rendered.items() if key not in known}
    windows = ports.embedder.windows(tuple(missing.values()))
    inputs = [
        EmbeddingInput(key, text, count, names[key])
        for (key, text), count in zip(missing.items(), windows, strict=True)
    ]
    return EmbeddingPlan(
        chunks=len(chunks),
        distinct=len(rendered),
        reused=len(known),
        shards=shards_of(batch_inputs(inputs)),
    )


def known_vectors(
    keys: Sequence[Digest], *, ports: IngestPorts, live: Manifest | None
) -> Mapping[Digest, FloatVector]:
    """Vectors already computed under these keys: the live index first, then stages."""
    found: dict[Digest, FloatVector] = {}
    if live is not None:
        with ports.store.open() as snapshot:
            found.update(snapshot.vectors_by_key(keys))
    rest = [key for key in keys if key not in found]
    if rest:
        found.update(ports.stages.find_vectors(rest))
    return found


def stored_vectors(
    chunks: Sequence[Chunk], *, ports: IngestPorts, live: Manifest | None
) -> tuple[tuple[Digest, ...], FloatMatrix]:
    """Each chunk's key, and its vector from the live index or from stages.

    Raises:
        IntegrityError: If a chunk has none.
    """
    keys = tuple(_key(_rendered_text(chunk, ports), ports) for chunk in chunks)
    found = known_vectors(tuple(dict.fromkeys(keys)), ports=ports, live=live)
    lost = [str(c.id) for c, key in zip(chunks, keys, strict=True) if key not in found]
    if lost:
        raise IntegrityError(
            f"stages: {len(lost)} of {len(chunks)} chunks have no vector after embedding, "
            f"the first is {lost[0]}. Run rag ingest again"
        )
    dimension = ports.embedder.contract.dimension
    matrix = np.empty((len(keys), dimension), dtype=np.float32)
    for row, key in enumerate(keys):
        matrix[row] = found[key]
    return keys, matrix


def token_windows(chunks: Sequence[Chunk], *, ports: IngestPorts) -> tuple[int, ...]:
    """How many token windows the model needs for each chunk."""
    return ports.embedder.windows(tuple(_rendered_text(chunk, ports) for chunk in chunks))


def meet_model(ports: IngestPorts, *, live: Manifest | None, rebuild: bool) -> tuple[Canary, ...]:
    """The model's canaries as they are now, staged with what it will make; one request.

    Staged vectors that another model made are dropped: a contract cannot tell them apart where a
    model was swapped behind its name.

    Raises:
        ContractMismatchError: If the live index is another model's and `rebuild` is false.
        ProviderError: If the embedder fails.
    """
    texts = tuple(canary.text for canary in live.canaries) if live else CANARY_TEXTS
    now = embed_canaries(ports.embedder, texts)
    if live is not None and not rebuild:
        require_same_canaries(now, live.canaries, ports.embedder)
    staged = _staged_canaries(ports, texts)
    if rebuild or len(staged) < len(now) or not same_model(now, staged):
        ports.stages.drop_vectors()
        keys = tuple(_key(text, ports) for text in texts)
        vectors = np.array([canary.vector for canary in now], dtype=np.float32)
        ports.stages.put_vectors(EmbeddedBatch(keys, vectors, tuple(1 for _ in keys)))
    return now


def require_same_model_still(ports: IngestPorts, met: Sequence[Canary]) -> None:
    """Return when the model is still the one that was met before the first batch; one request.

    Raises:
        ContractMismatchError: If it was swapped meanwhile; its staged vectors are dropped.
        ProviderError: If the embedder fails.
    """
    now = embed_canaries(ports.embedder, (met[0].text,))
    if not same_model(now, met):
        ports.stages.drop_vectors()
        raise ContractMismatchError(
            f"model {ports.embedder.contract.model!r} was swapped while this ingest ran: its "
            "vectors are of two models and were dropped; the index is as it was. "
            "Run rag ingest again, with --rebuild where it asks for it"
        )


def canaries_for(ports: IngestPorts, *, live: Manifest | None) -> tuple[Canary, ...]:
    """The live index's canaries under the same contract, else those staged at the beginning.

    Raises:
        IntegrityError: If none are staged.
    """
    if live is not None:
        return live.canaries
    staged = _staged_canaries(ports, CANARY_TEXTS)
    if len(staged) < len(CANARY_TEXTS):
        raise IntegrityError("stages: the canaries of this ingest are gone. Run rag ingest again")
    return staged


def _staged_canaries(ports: IngestPorts, texts: Sequence[str]) -> tuple[Canary, ...]:
    keys = {_key(text, ports): text for text in texts}
    found = ports.stages.find_vectors(tuple(keys))
    return tuple(Canary(text, found[key]) for key, text in keys.items() if key in found)


def _rendered(
    chunks: Sequence[Chunk], ports: IngestPorts
) -> tuple[dict[Digest, str], dict[Digest, str]]:
    """Rendered texts and the first chunk of each, by key."""
    texts: dict[Digest, str] = {}
    names: dict[Digest, str] = {}
    for chunk in chunks:
        text = _rendered_text(chunk, ports)
        key = _key(text, ports)
        texts.setdefault(key, text)
        names.setdefault(key, chunk.id)
    return texts, names


def _rendered_text(chunk: Chunk, ports: IngestPorts) -> str:
    template = ports.profile.embedding.document_template
    return render_document(template, title=chunk.title, text=chunk.text)


def _key(rendered: str, ports: IngestPorts) -> Digest:
    return embedding_key(ports.embedder.contract, rendered)
