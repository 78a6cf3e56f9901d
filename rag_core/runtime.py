"""The composition root: a profile and a state root become filled ports.

With `registry`, the only module that knows which adapter stands behind which port.
"""

from __future__ import annotations

import os
import uuid
from dataclasses import dataclass, field
from functools import cached_property
from importlib import metadata, resources
from pathlib import Path
from typing import TYPE_CHECKING

from rag_core.adapters.corpus_folder import CorpusFolder
from rag_core.adapters.exact_scan import ExactScan
from rag_core.adapters.ingest_lock import IngestLock
from rag_core.adapters.profile_files import load_profile
from rag_core.adapters.run_log import RunLogFolder
from rag_core.adapters.sqlite_index import SqliteIndex
from rag_core.adapters.stages import StageFolder
from rag_core.adapters.system_clock import SystemClock
from rag_core.errors import UsageError
from rag_core.registry import Providers, ReadBlock
from rag_core.types.ids import RunId
from rag_core.verbs.answer import AnswerPorts
from rag_core.verbs.doctor import (
    HealthCheck,
    check_chat,
    check_embedder,
    check_index,
    check_lock,
    check_state,
)
from rag_core.verbs.ingest_vectors import IngestPorts
from rag_core.verbs.ranking import ProcessMemory, RetrievalPorts

if TYPE_CHECKING:
    from rag_core.types.ports import Chat, Clock, CorpusReader, Embedder, IndexStore, RunLog
    from rag_core.types.profiles import Profile

DEFAULT_PROFILE = "offline"
STATE_VARIABLE = "RAG_STATE_ROOT"
KEY_VARIABLE = "RAG_INDEX_KEY"


@dataclass(frozen=True, slots=True)
class StatePaths:
    """Where everything that a run writes lies, below one root."""

    root: Path

    @property
    def index(self) -> Path:
        """The SQLite file; other modules may keep tables of their own in it."""
        return self.root / "index.sqlite"

    @property
    def lock(self) -> Path:
        """Held by the one running ingest."""
        return self.root / "ingest.lock"

    @property
    def stages(self) -> Path:
        """Staged artifacts: safe to delete while no ingest runs."""
        return self.root / "stages"

    @property
    def runs(self) -> Path:
        """The run log."""
        return self.root / "runs"

    @property
    def prefect(self) -> Path:
        """Prefect's home."""
        return self.root / "prefect"


def state_root(given: str | os.PathLike[str] | None = None) -> Path:
    """The state root: the given one, else `RAG_STATE_ROOT`, else `./state`; absolute.

    Raises:
        UsageError: If it names an unknown user's home, or is not UTF-8: the log records paths.
    """
    named = os.fspath(given or os.environ.get(STATE_VARIABLE) or "state")
    try:
        named.encode()
        return Path(named).expanduser().absolute()
    except (RuntimeError, UnicodeEncodeError) as error:
        raise UsageError(f"state root {named!r}: no usable path. Name another folder") from error


def bundled_corpus() -> Path:
    """The sample corpus: package data in a wheel, the `corpus/` folder in a checkout.

    Raises:
        UsageError: If neither is there.
    """
    packaged = Path(str(resources.files("rag_core") / "bundled_corpus"))
    checkout = Path(__file__).resolve().parent.parent / "corpus"
    for folder in (packaged, checkout):
        if (folder / "corpus.yaml").is_file():
            return folder
    raise UsageError(f"the sample corpus is missing: looked in {packaged} and {checkout}")


def code_version() -> str:
    """The version of the installed distribution, as manifests record it."""
    return metadata.version("evidence-rag")


def new_run_id(clock: Clock) -> RunId:
    """A fresh id that sorts by time: `20261130T221500Z-1a2b3c4d`."""
    return RunId(f"{clock.now():%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:8]}")


@dataclass(frozen=True)
class Runtime:
    """Filled ports for one profile and one state root; adapters are made at first use."""

    profile: Profile
    paths: StatePaths
    clock: Clock = field(default_factory=SystemClock)
    providers: Providers = field(default_factory=Providers)

    @classmethod
    def open(
        cls,
        profile: str = DEFAULT_PROFILE,
        state: str | os.PathLike[str] | None = None,
        *,
        read_block: ReadBlock | None = None,
    ) -> Runtime:
        """The runtime of a profile (name or path) and a state root; touches no index.

        Raises:
            UsageError: If the profile is unknown or breaks a rule.
        """
        return cls(
            load_profile(profile), StatePaths(state_root(state)), providers=Providers(read_block)
        )

    @cached_property
    def store(self) -> IndexStore:
        """The SQLite index; opened per use."""
        return SqliteIndex(self.paths.index, key=signing_key())

    @cached_property
    def run_log(self) -> RunLog:
        """The Parquet run log."""
        return RunLogFolder(self.paths.runs)

    @cached_property
    def embedder(self) -> Embedder:
        """The profile's embedder; its model is loaded, or its server asked, at first use."""
        return self.providers.embedder(self.profile)

    @cached_property
    def chat(self) -> Chat:
        """The profile's proposer; made when there is something to propose from."""
        return self.providers.chat(self.profile)

    @cached_property
    def retrieval(self) -> RetrievalPorts:
        """Ports of retrieval; one memory per runtime."""
        return RetrievalPorts(self.profile, self.store, self.embedder, ExactScan(), ProcessMemory())

    @cached_property
    def answering(self) -> AnswerPorts:
        """Ports of answering; the chat client is made only when it is needed (promise 4)."""
        return AnswerPorts(
            retrieval=self.retrieval,
            make_chat=lambda: self.chat,
            run_log=self.run_log,
            clock=self.clock,
        )

    def corpus(self, folder: str | os.PathLike[str]) -> CorpusReader:
        """A reader of this corpus folder."""
        return CorpusFolder(Path(folder), default_language=self.profile.languages[0])

    def ingesting(
        self, folder: str | os.PathLike[str], *, lock_timeout_s: float = 0.0
    ) -> IngestPorts:
        """Ports of an ingest of this folder; a second ingest waits `lock_timeout_s`, then ends."""
        return IngestPorts(
            profile=self.profile,
            corpus=self.corpus(folder),
            embedder=self.embedder,
            store=self.store,
            stages=StageFolder(self.paths.stages, secret=signing_key()),
            run_log=self.run_log,
            clock=self.clock,
            lock=lambda: IngestLock(self.paths.lock, timeout_s=lock_timeout_s),
            code_version=code_version(),
            signing_key=signing_key(),
        )

    def health(self) -> tuple[HealthCheck, ...]:
        """The checks of `rag doctor` that need no Prefect, in the order of their use."""
        checks = [
            check_embedder(lambda: self.embedder),
            check_chat(lambda: self.providers.chat_model(self.profile)),
            check_state(self.paths.root),
            check_index(self.store, self.profile, lambda: self.embedder),
        ]
        if self.paths.root.is_dir():
            checks.append(check_lock(lambda: IngestLock(self.paths.lock, timeout_s=0)))
        return tuple(checks)

    def close(self) -> None:
        """Close the connections to providers; a later use opens them again."""
        self.providers.close()

    def new_run_id(self) -> RunId:
        """A fresh run id."""
        return new_run_id(self.clock)


def signing_key() -> bytes | None:
    """The index key from `RAG_INDEX_KEY`, or None; never printed (promise 11)."""
    value = os.environ.get(KEY_VARIABLE)
    return os.fsencode(value) if value else None
