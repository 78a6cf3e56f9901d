"""The steps of an ingest. Each takes references and gives a reference; content stays staged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rag_core.errors import CorpusError, IntegrityError, NoIndexError
from rag_core.rules.batching import batch_inputs, shards_of
from rag_core.rules.chunking import chunk_document
from rag_core.rules.digests import canonical_json, corpus_digest, embedding_key, sha256_hex
from rag_core.rules.manifest import validate_build
from rag_core.rules.rendering import render_document
from rag_core.rules.segmentation import SPLITTER_ID
from rag_core.types.chunks import EmbeddedBatch, EmbeddingInput
from rag_core.types.index import (
    SCHEMA_VERSION,
    Canary,
    IndexBuild,
    IndexContract,
    Manifest,
    StageRef,
)
from rag_core.verbs.contract import CANARY_TEXTS, embed_checked

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
    signing_key: bytes | None = None


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


def normalize(*, ports: IngestPorts) -> StageRef:
    """The staged corpus of the folder as it is now.

    Raises:
        CorpusError: If any finding is an error; all findings are attached.
    """
    files = ports.corpus.scan()
    # The profile's first language splits the sentences of documents that declare none.
    rules = (ports.code_version, SPLITTER_ID, ports.profile.languages[0])
    digest = _stage_key(rules, tuple((f.path, sha256_hex(f.content)) for f in files))
    staged = ports.stages.find_corpus(digest)
    if staged is not None:
        return staged
    corpus, findings = ports.corpus.read(files)
    if corpus is None:
        errors = sum(finding.severity == "error" for finding in findings)
        noun = "finding" if errors == 1 else "findings"
        raise CorpusError(
            f"corpus: {errors} {noun} of severity error; nothing was embedded and the index is "
            "as it was. Correct the files and run rag ingest again",
            findings,
        )
    return ports.stages.put_corpus(digest, corpus, findings)


def chunk(corpus_ref: StageRef, *, ports: IngestPorts) -> StageRef:
    """The staged chunks of a staged corpus, sources in ordinal order, parts from 0."""
    rules = (ports.code_version, ports.profile.chunking, SPLITTER_ID)
    digest = _stage_key(rules, corpus_ref.digest)
    staged = ports.stages.find_chunks(digest)
    if staged is not None:
        return staged
    corpus, _ = ports.stages.get_corpus(corpus_ref)
    chunks = tuple(chunk for document in corpus.documents for chunk in chunk_document(document))
    return ports.stages.put_chunks(digest, chunks)


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


def embed_shard(
    shard: Sequence[ChunkBatch], *, ports: IngestPorts, tell: Callable[[int], None]
) -> int:
    """Embed the batches of one shard, each durable before the next; returns inputs embedded.

    Raises:
        ProviderError: If a request fails; the batches before it stay staged.
    """
    done = 0
    for batch in shard:
        texts = tuple(item.text for item in batch.inputs)
        names = tuple(item.name for item in batch.inputs)
        vectors = embed_checked(ports.embedder, texts, what="chunk", names=names)
        keys = tuple(item.key for item in batch.inputs)
        windows = tuple(item.windows for item in batch.inputs)
        ports.stages.put_vectors(EmbeddedBatch(keys, vectors, windows))
        done += len(texts)
        tell(done)
    ports.stages.merge_vectors()
    return done


def validate(
    corpus_ref: StageRef,
    chunks_ref: StageRef,
    *,
    ports: IngestPorts,
    live: Manifest | None,
    rebuild: bool,
) -> tuple[StageRef, bool]:
    """The staged, validated build, and whether the live index already holds the same.

    Raises:
        IntegrityError: If counts, vectors, ids or offsets contradict each other.
    """
    corpus, findings = ports.stages.get_corpus(corpus_ref)
    chunks = ports.stages.get_chunks(chunks_ref)
    contract = IndexContract(
        embedding=ports.embedder.contract,
        chunking=ports.profile.chunking,
        splitter=SPLITTER_ID,
        schema_version=SCHEMA_VERSION,
        corpus_digest=corpus_digest(corpus),
    )
    keys, vectors = _vectors_of(chunks, ports=ports, live=None if rebuild else live)
    build = IndexBuild(
        corpus=corpus,
        chunks=chunks,
        vectors=vectors,
        vector_keys=keys,
        windows=ports.embedder.windows(tuple(_rendered_text(c, ports) for c in chunks)),
        contract=contract,
        canaries=_canaries(ports, live=None if rebuild else live),
        notices=findings,
    )
    validated = validate_build(
        build,
        previous=live.generation_digest if live else None,
        code_version=ports.code_version,
        created_at=ports.clock.now(),
        key=ports.signing_key,
    )
    same = (
        live is not None
        and not rebuild
        and live.root == validated.manifest.root
        and live.contract_digest == validated.manifest.contract_digest
    )
    return ports.stages.put_build(validated, corpus=corpus_ref, chunks=chunks_ref), same


def commit(build_ref: StageRef, *, ports: IngestPorts) -> Manifest:
    """Replace the index by a staged build in one transaction; returns the new manifest.

    Raises:
        LockedError: If the database stays locked.
        IntegrityError: If what was written does not read back as the manifest says.
    """
    validated = ports.stages.get_build(build_ref)
    before = _live_keys(ports)
    ports.store.commit(validated)
    # Only after the commit: shards that neither this nor the last generation uses.
    ports.stages.prune((before, validated.build.vector_keys))
    return validated.manifest


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


def _vectors_of(
    chunks: Sequence[Chunk], *, ports: IngestPorts, live: Manifest | None
) -> tuple[tuple[Digest, ...], FloatMatrix]:
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


def _canaries(ports: IngestPorts, *, live: Manifest | None) -> tuple[Canary, ...]:
    """The live index's canaries under the same contract, else new ones: one request."""
    if live is not None:
        return live.canaries
    vectors = embed_checked(ports.embedder, CANARY_TEXTS, what="canary")
    return tuple(Canary(text, vectors[i]) for i, text in enumerate(CANARY_TEXTS))


def _live_keys(ports: IngestPorts) -> tuple[Digest, ...]:
    try:
        with ports.store.open() as snapshot:
            return tuple(chunk.vector_key for chunk in snapshot.chunks())
    except (NoIndexError, IntegrityError):
        return ()


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


def _stage_key(rules: tuple[str, ...], content: object) -> Digest:
    """An artifact is named by its input and by the rules, code version included, that made it."""
    return sha256_hex(canonical_json([rules, content]))


def _key(rendered: str, ports: IngestPorts) -> Digest:
    return embedding_key(ports.embedder.contract, rendered)
