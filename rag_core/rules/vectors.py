"""What every vector must be before it is used or stored (promise 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_core.errors import ProviderError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_core.types.chunks import FloatMatrix


def check_vectors(
    vectors: FloatMatrix,
    *,
    count: int,
    dimension: int,
    what: str,
    names: Sequence[str] = (),
) -> None:
    """Return nothing if all is well: (count, dimension), float32, finite, no zero row.

    Nothing is filled in or repaired (promise 8).

    Args:
        vectors: As the provider gave them.
        count: How many texts were sent.
        dimension: Of the embedding contract.
        what: Who made them, for the message.
        names: One name per row for the message, such as chunk ids or digests; never texts.

    Raises:
        ProviderError: On the first broken rule, naming the first row that breaks it.
    """
    import numpy as np

    if vectors.shape != (count, dimension):
        raise ProviderError(
            f"{what}: found vectors of shape {vectors.shape}, expected {(count, dimension)}: one "
            "row per text. Check model and dimension in the profile, then run it again"
        )
    if vectors.dtype != np.float32:
        raise ProviderError(f"{what}: found vectors of type {vectors.dtype}, expected float32")
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        row = int(np.argmin(finite))
        raise _row_error(what, row, count, names, "a coordinate that is not a finite number")
    alive = vectors.any(axis=1)
    if not alive.all():
        row = int(np.argmin(alive))
        raise _row_error(what, row, count, names, "a zero vector, which has no direction")


def _row_error(what: str, row: int, count: int, names: Sequence[str], found: str) -> ProviderError:
    name = f" ({names[row]})" if names else ""
    return ProviderError(
        f"{what}: vector {row + 1} of {count}{name}: found {found}, expected finite numbers and a "
        "norm above 0. Run it again; if it stays, change that text or the model"
    )
