"""Promise 6: an index answers only under its own contract, and under the same model.

Used by every verb that embeds something to hold it against stored vectors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_core.errors import ContractMismatchError, RejectedTextError
from rag_core.rules.dense import cosine
from rag_core.rules.manifest import contract_differences
from rag_core.rules.segmentation import TEXT_RULES_ID
from rag_core.rules.vectors import check_vectors
from rag_core.types.index import SCHEMA_VERSION, Canary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_core.types.chunks import FloatMatrix
    from rag_core.types.index import Manifest
    from rag_core.types.ports import Embedder
    from rag_core.types.profiles import Profile

MIN_CANARY_COSINE = 0.999
"""Below this the model behind the name is another one (DESIGN section 4)."""

CANARY_TEXTS = (
    "Expenses are reimbursed within 30 days of the receipt's date.",
    "Hold the power button for ten seconds to reset the device.",
    "Only the data protection officer may approve an exception.",
)
"""Fixed texts of three kinds: a policy with a number, an instruction, a restriction."""


def require_contract(manifest: Manifest, profile: Profile, embedder: Embedder) -> None:
    """Return when index and profile agree on every field but the corpus digest.

    Raises:
        ContractMismatchError: Naming each field that differs, with both sides.
    """
    differences = _differences(manifest, profile, embedder)
    if differences:
        # A process that has run for long may hold what the provider said before a rebuild.
        embedder.forget()
        differences = _differences(manifest, profile, embedder)
    if differences:
        raise ContractMismatchError(
            f"index and profile {profile.name!r} differ: {'; '.join(differences)}. "
            "Run: rag ingest --rebuild, or use the profile that built the index"
        )


def _differences(manifest: Manifest, profile: Profile, embedder: Embedder) -> tuple[str, ...]:
    return contract_differences(
        manifest.contract,
        embedding=embedder.contract,
        chunking=profile.chunking,
        splitter=TEXT_RULES_ID,
        schema_version=SCHEMA_VERSION,
    )


def require_same_model(manifest: Manifest, embedder: Embedder) -> None:
    """Embed one canary again and compare it with the manifest's vector; one request.

    Raises:
        ContractMismatchError: If the cosine lies below `MIN_CANARY_COSINE`.
        ProviderError: If the embedder fails.
    """
    canary = manifest.canaries[0]
    (now,) = embed_canaries(embedder, (canary.text,))
    require_same_canaries((now,), manifest.canaries, embedder)


def embed_canaries(embedder: Embedder, texts: tuple[str, ...]) -> tuple[Canary, ...]:
    """Fixed texts with their vectors as the model makes them now; one request.

    Raises:
        ProviderError: If the embedder fails.
    """
    vectors = embed_checked(embedder, texts, what="canary")
    return tuple(Canary(text, vectors[i]) for i, text in enumerate(texts))


def same_model(now: Sequence[Canary], then: Sequence[Canary]) -> bool:
    """Whether one model made both, as far as the texts tell that both have."""
    return _least_cosine(now, then) >= MIN_CANARY_COSINE


def require_same_canaries(
    now: Sequence[Canary], then: Sequence[Canary], embedder: Embedder
) -> None:
    """Return when one model made both.

    Raises:
        ContractMismatchError: If a cosine lies below `MIN_CANARY_COSINE`.
    """
    if not same_model(now, then):
        raise ContractMismatchError(
            f"model {embedder.contract.model!r} is not the one that built the index: a canary "
            f"text has cosine {_least_cosine(now, then):.4f} to its stored vector, want at least "
            f"{MIN_CANARY_COSINE}. Run: rag ingest --rebuild"
        )


def _least_cosine(now: Sequence[Canary], then: Sequence[Canary]) -> float:
    stored = {canary.text: canary.vector for canary in then}
    return min((cosine(c.vector, stored[c.text]) for c in now if c.text in stored), default=1.0)


def embed_checked(
    embedder: Embedder, texts: tuple[str, ...], *, what: str, names: tuple[str, ...] = ()
) -> FloatMatrix:
    """One checked vector per text in order, shape (len(texts), dimension), float32.

    Raises:
        RejectedTextError: If the provider refuses or cuts one of the texts.
        ProviderError: If the reply has another count, shape or dimension, or a vector that is
            zero or not finite (promise 8).
    """
    try:
        vectors = embedder.embed(texts)
    except RejectedTextError as error:
        name = f" {names[error.position]}" if names else ""
        raise RejectedTextError(f"{what}{name}: {error}", position=error.position) from error
    dimension = embedder.contract.dimension
    check_vectors(vectors, count=len(texts), dimension=dimension, what=what, names=names)
    return vectors
