"""The steps of an ingest. Each takes references and gives a reference; content stays staged."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING

from rag_core.errors import CorpusError, IntegrityError, NoIndexError
from rag_core.rules.chunking import chunk_document
from rag_core.rules.digests import corpus_digest, input_digest, sha256_hex
from rag_core.rules.findings import sort_findings
from rag_core.rules.manifest import validate_build
from rag_core.rules.segmentation import TEXT_RULES_ID
from rag_core.types.chunks import EmbeddedBatch
from rag_core.types.index import (
    SCHEMA_VERSION,
    IndexBuild,
    IndexContract,
    Manifest,
    StageRef,
)
from rag_core.verbs.concurrently import results_in_order
from rag_core.verbs.contract import embed_checked
from rag_core.verbs.ingest_notices import scope_notices, window_notices
from rag_core.verbs.ingest_vectors import (
    IngestPorts,
    canaries_for,
    stored_vectors,
    token_windows,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_core.types.chunks import ChunkBatch
    from rag_core.types.ids import Digest


def normalize(*, ports: IngestPorts, rebuild: bool) -> StageRef:
    """The staged corpus of the folder as it is now; a rebuild reads every file again.

    Raises:
        CorpusError: If any finding is an error; all findings are attached.
    """
    files = ports.corpus.scan()
    # The profile's first language splits the sentences of documents that declare none.
    rules = f"{ports.code_version} {TEXT_RULES_ID} {ports.profile.languages[0]}"
    digest = input_digest(rules, ((f.path, sha256_hex(f.content)) for f in files))
    staged = None if rebuild else ports.stages.find_corpus(digest)
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


def chunk(corpus_ref: StageRef, *, ports: IngestPorts, rebuild: bool) -> StageRef:
    """The staged chunks of a staged corpus, sources in ordinal order, parts from 0."""
    rules = f"{ports.code_version} {TEXT_RULES_ID} {ports.profile.chunking}"
    digest = input_digest(rules, ((corpus_ref.kind, corpus_ref.digest),))
    staged = None if rebuild else ports.stages.find_chunks(digest)
    if staged is not None:
        return staged
    corpus, _ = ports.stages.get_corpus(corpus_ref)
    chunks = tuple(chunk for document in corpus.documents for chunk in chunk_document(document))
    return ports.stages.put_chunks(digest, chunks)


def embed_shard(
    shard: Sequence[ChunkBatch], *, ports: IngestPorts, tell: Callable[[int], None]
) -> int:
    """Embed the batches of one shard, each durable once it is there; returns inputs embedded.

    As many requests run at once as the embedder allows.

    Raises:
        ProviderError: If a request fails; finished batches stay staged.
    """

    def embed(batch: ChunkBatch) -> int:
        texts = tuple(item.text for item in batch.inputs)
        names = tuple(item.name for item in batch.inputs)
        vectors = embed_checked(ports.embedder, texts, what="chunk", names=names)
        keys = tuple(item.key for item in batch.inputs)
        windows = tuple(item.windows for item in batch.inputs)
        with guard:
            if not ended:
                ports.stages.put_vectors(EmbeddedBatch(keys, vectors, windows))
        return len(texts)

    done, ended, guard = 0, False, Lock()
    try:
        for count in results_in_order(embed, shard, workers=ports.embedder.concurrency):
            done += count
            tell(done)
    finally:
        with guard:  # what is still on its way belongs to nobody's ingest any more
            ended = True
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
        splitter=TEXT_RULES_ID,
        schema_version=SCHEMA_VERSION,
        corpus_digest=corpus_digest(corpus),
    )
    keys, vectors = stored_vectors(chunks, ports=ports, live=None if rebuild else live)
    windows = token_windows(chunks, ports=ports)
    build = IndexBuild(
        corpus=corpus,
        chunks=chunks,
        vectors=vectors,
        vector_keys=keys,
        windows=windows,
        contract=contract,
        canaries=canaries_for(ports, live=None if rebuild else live),
        notices=sort_findings(
            (
                *findings,
                *scope_notices(corpus, ports.profile),
                *window_notices(corpus, chunks, windows),
            )
        ),
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


def _live_keys(ports: IngestPorts) -> tuple[Digest, ...]:
    try:
        with ports.store.open() as snapshot:
            return tuple(chunk.vector_key for chunk in snapshot.chunks())
    except (NoIndexError, IntegrityError):
        return ()
