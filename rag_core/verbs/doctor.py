"""Checks of the installation and the state, each with what to do when it is wrong."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_core.errors import LockedError, NoIndexError, ProviderError, RagError, UsageError
from rag_core.verbs.contract import (
    CANARY_TEXTS,
    embed_checked,
    require_contract,
    require_same_model,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from rag_core.types.ports import ChatModel, Embedder, IndexStore
    from rag_core.types.profiles import Profile

MIN_FREE_BYTES = 500_000_000
"""Room for an index of some 50,000 chunks beside the old one."""

_AS_IT_SAYS = "do what the message says, then run rag doctor again"


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """One check; `next_step` is empty when all is well."""

    name: str
    ok: bool
    found: str
    next_step: str = ""
    exit_code: int = 0
    """That of the error behind it."""


def check_embedder(embedder: Callable[[], Embedder]) -> HealthCheck:
    """Whether the embedder can be made, is ready, and gives a text a sound vector."""
    name = "embedding model"
    try:
        made = embedder()
        vectors = embed_checked(made, CANARY_TEXTS[:1], what="check")
        contract = made.contract
    except RagError as error:
        return HealthCheck(name, False, str(error), _AS_IT_SAYS, error.exit_code)
    digest = f", digest {contract.model_digest[:12]}" if contract.model_digest else ""
    where = f" at {contract.endpoint}" if contract.endpoint else ""
    found = f"{contract.provider} {contract.model}{where}, dimension {vectors.shape[1]}{digest}"
    return HealthCheck(name, True, found)


def check_chat(make_model: Callable[[], ChatModel | None]) -> HealthCheck:
    """Whether the chat model's provider is ready; no question is asked."""
    name = "chat model"
    try:
        model = make_model()
        found = "none: the extractive proposer quotes" if model is None else model.check()
    except RagError as error:
        return HealthCheck(name, False, str(error), _AS_IT_SAYS, error.exit_code)
    return HealthCheck(name, True, found)


def check_state(root: Path) -> HealthCheck:
    """Whether the state root can be written and has room."""
    name = "state root"
    nearest = root
    while not nearest.exists() and nearest != nearest.parent:
        nearest = nearest.parent
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        step = "name a folder of yours with --state or RAG_STATE_ROOT"
        return HealthCheck(
            name, False, f"{root}: not a writable folder", step, UsageError.exit_code
        )
    free = shutil.disk_usage(nearest).free
    if free < MIN_FREE_BYTES:
        found = f"{root}: {free / 1e6:,.0f} MB free"
        return HealthCheck(
            name,
            False,
            found,
            "make room, or name another folder with --state",
            UsageError.exit_code,
        )
    return HealthCheck(name, True, f"{root}: writable, {free / 1e9:,.1f} GB free")


def check_index(
    store: IndexStore, profile: Profile, embedder: Callable[[], Embedder]
) -> HealthCheck:
    """Whether there is an index, whole, of this profile's contract and of its model."""
    name = "index"
    try:
        with store.open() as snapshot:
            manifest = snapshot.manifest
            require_contract(manifest, profile, embedder())
            require_same_model(manifest, embedder())
    except NoIndexError:
        return HealthCheck(name, True, "none yet", "run: rag ingest")
    except (ProviderError, UsageError) as error:
        found = "whole, but not compared with an embedding model that is not ready"
        return HealthCheck(name, False, found, _AS_IT_SAYS, error.exit_code)
    except RagError as error:
        step = "run: rag ingest --rebuild"
        return HealthCheck(name, False, str(error), step, error.exit_code)
    counts = manifest.counts
    found = (
        f"{counts.sources} sources, {counts.chunks} chunks, generation "
        f"{manifest.generation_digest[:12]} of {manifest.created_at:%Y-%m-%d %H:%M} UTC"
    )
    return HealthCheck(name, True, found)


def check_lock(lock: Callable[[], AbstractContextManager[object]]) -> HealthCheck:
    """Whether an ingest runs now; a lock of a dead process is free by itself."""
    name = "ingest lock"
    try:
        with lock():
            return HealthCheck(name, True, "free")
    except LockedError:
        return HealthCheck(name, True, "held: an ingest runs now")
