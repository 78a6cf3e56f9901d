"""A real index of the bundled corpus, and the installed command line over it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rag_core.runtime import Runtime, bundled_corpus
from rag_core.verbs.ingest import ingest

COMMAND = Path(sys.executable).parent / "rag"


@pytest.fixture(scope="session")
def sample_state(tmp_path_factory):
    """A state root with the bundled corpus ingested by the embedded model."""
    state = tmp_path_factory.mktemp("sample") / "state"
    runtime = Runtime.open("offline", state)
    ingest(ports=runtime.ingesting(bundled_corpus()), run_id=runtime.new_run_id())
    return state


@pytest.fixture(scope="session")
def rag(tmp_path_factory):
    """Runs `rag ARGS` in a process of its own, in an empty folder, with a clean environment."""
    folder = tmp_path_factory.mktemp("cwd")
    blocked = ("PREFECT_", "RAG_")
    env = {k: v for k, v in os.environ.items() if not k.startswith(blocked)}

    def run(*args: object, **extra: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [COMMAND, *map(str, args)],
            cwd=folder,
            env={**env, "COLUMNS": "100", "NO_COLOR": "1", **extra},
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )

    return run
