"""Opens runtimes whose addresses and keys may stand in Prefect Secret blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from flows.environment import api_configured, prepare_prefect
from rag_core.errors import UsageError
from rag_core.runtime import Runtime, StatePaths, state_root

if TYPE_CHECKING:
    import os


def open_runtime(profile: str, state: str | os.PathLike[str] | None = None) -> Runtime:
    """`Runtime.open`, with a reader of `block:NAME` references.

    Raises:
        UsageError: If the profile is unknown or breaks a rule.
    """
    paths = StatePaths(state_root(state))
    return Runtime.open(profile, state, read_block=lambda name: _read_block(name, paths))


def _read_block(name: str, paths: StatePaths) -> str:
    """The value of a Secret block on the configured server.

    Raises:
        UsageError: If no server is configured, or it has no such block; no value is shown.
    """
    if not api_configured():
        raise UsageError(
            f"block:{name}: Secret blocks need a Prefect server, and PREFECT_API_URL is not set. "
            "Set it, or name an environment variable with env:NAME"
        )
    prepare_prefect(paths, quiet=True)
    from prefect.blocks.system import Secret

    try:
        # Typed as maybe a coroutine; called from synchronous code it is the block itself.
        value = cast("Secret[Any]", Secret.load(name)).get()
    except Exception as error:  # noqa: BLE001 - Prefect's errors share no base; values stay out
        raise UsageError(
            f"block:{name}: the Prefect server gave no Secret block of that name "
            f"({type(error).__name__}). Create it under Blocks, type Secret"
        ) from None
    if not isinstance(value, str) or not value:
        raise UsageError(f"block:{name}: holds no text. Store the bare value as text in it")
    return value
