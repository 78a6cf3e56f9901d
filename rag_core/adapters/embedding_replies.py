"""What both embedding APIs share: rows of numbers to vectors, refused texts and cut texts found."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from rag_core.adapters.json_client import StatusError
from rag_core.errors import ProviderError, RejectedTextError
from rag_core.rules.vectors import check_vectors

if TYPE_CHECKING:
    from rag_core.types.chunks import FloatMatrix

REFUSED = frozenset({400, 413, 422, 500})
"""Statuses that one text of a request may cause."""

PLAIN_WORD = "word"
"""No model that works refuses it."""

SPECIAL_TOKENS = 2
"""Most tokens that stand for no byte of a text: one at each end."""

Ask = Callable[[Sequence[str]], tuple[list[Any], int | None]]
"""Sends texts; returns one row per text in order, and the tokens that the server counted."""


def embed_by(
    ask: Ask, texts: Sequence[str], *, what: str, dimension: int, context_tokens: int | None
) -> FloatMatrix:
    """One vector per text in order, shape (len(texts), dimension), float32.

    Args:
        ask: Sends a request.
        texts: Rendered texts; without any, nothing is sent.
        what: Provider and model, for messages.
        dimension: Of the embedding contract.
        context_tokens: Most tokens that the model reads; None where nobody says.

    Raises:
        RejectedTextError: If one text is refused, or was read only in part.
        ProviderError: If the request fails for another reason, or the reply breaks a rule.
    """
    import numpy as np

    if not texts:
        return np.empty((0, dimension), dtype=np.float32)
    try:
        rows, tokens = ask(texts)
    except StatusError as error:
        if error.status not in REFUSED:
            raise
        raise _refused_text(ask, texts, error, what) from None
    vectors = _matrix(rows, texts, what, dimension)
    _check_read(ask, texts, tokens, what, context_tokens)
    return vectors


def name_of(text: str, position: int, count: int) -> str:
    """`text 3 of 16 (sha256 …)`: enough to find a text that is not to be printed."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"text {position + 1} of {count} (sha256 {digest[:16]})"


def _matrix(rows: list[Any], texts: Sequence[str], what: str, dimension: int) -> FloatMatrix:
    import numpy as np

    if len(rows) != len(texts):
        raise ProviderError(
            f"{what}: found {len(rows)} vectors for {len(texts)} texts, expected one each. "
            "Run it again; if it stays, this server cannot be used"
        )
    for position, row in enumerate(rows):
        problem = _problem_of(row, dimension)
        if problem is not None:
            raise ProviderError(
                f"{what}: {name_of(texts[position], position, len(texts))}: found {problem}, "
                f"expected {dimension} finite numbers. Check model and dimension in the profile"
            )
    with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, and is named
        vectors = np.array(rows, dtype=np.float64).astype(np.float32)
    names = tuple(name_of(text, at, len(texts)) for at, text in enumerate(texts))
    check_vectors(vectors, count=len(texts), dimension=dimension, what=what, names=names)
    return vectors


def _problem_of(row: object, dimension: int) -> str | None:
    if not isinstance(row, list):
        return f"a value of type {type(row).__name__}"
    if len(row) != dimension:
        return f"{len(row)} coordinates"
    for value in row:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return f"a coordinate of type {type(value).__name__}"
        if isinstance(value, int) and abs(value) > 10**300:
            return "a coordinate without bound"
        if not math.isfinite(value):
            return "a coordinate that is not a finite number"
    return None


def _refused_text(ask: Ask, texts: Sequence[str], error: StatusError, what: str) -> ProviderError:
    """The error that names the text which caused the refusal, else the refusal itself.

    Each text is sent alone until one is refused; then a plain word must pass, because a server
    or a model that refuses everything says nothing about that text.
    """
    for position, text in enumerate(texts):
        alone = error if len(texts) == 1 else _refusal_of(ask, text)
        if alone is not None:
            if alone.status in REFUSED and _refusal_of(ask, PLAIN_WORD) is None:
                return _rejected(text, position, len(texts), _refusal(alone, what))
            return alone
    return error


def _refusal_of(ask: Ask, text: str) -> StatusError | None:
    try:
        ask((text,))
    except StatusError as error:
        return error
    return None


def _refusal(error: StatusError, what: str) -> str:
    said = f": {error.said}" if error.said else ""
    return f"{what} refused it ({error.status}{said})"


def _check_read(
    ask: Ask, texts: Sequence[str], tokens: int | None, what: str, context: int | None
) -> None:
    """Make sure that no text was cut: a cut one alone costs as many tokens as the model reads.

    Each token stands for at least one byte, so that a short text cannot be cut, and each of the
    other texts costs at least one token, so that a small sum shows that none was. A batch beyond
    both bounds costs one more request for each long text, because the server tells sums only.
    """
    if context is None or tokens is None or tokens < context + len(texts) - 1:
        return
    for position, text in enumerate(texts):
        if len(text.encode("utf-8", "surrogatepass")) <= context - SPECIAL_TOKENS:
            continue
        try:
            alone = tokens if len(texts) == 1 else ask((text,))[1]
        except StatusError as error:
            if error.status not in REFUSED:
                raise
            refused = _rejected(text, position, len(texts), _refusal(error, what))
            raise refused from None
        if alone is not None and alone >= context:
            why = f"{what} read {alone} tokens of it, all that it can, so it may have cut it"
            raise _rejected(text, position, len(texts), why)


def _rejected(text: str, position: int, count: int, why: str) -> RejectedTextError:
    return RejectedTextError(
        f"{name_of(text, position, count)}: {why}. Shorten or correct that text, or use a model "
        "that reads it",
        position=position,
    )
