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


def environment(**extra: str) -> dict[str, str]:
    """The environment of a command: nothing of Prefect or ours, a terminal of 100 columns."""
    blocked = ("PREFECT_", "RAG_")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(blocked)}
    return {**clean, "COLUMNS": "100", "NO_COLOR": "1", **extra}


@pytest.fixture
def start_rag(tmp_path):
    """Starts `rag ARGS` and returns its process, which ends with the test."""
    started = []

    def start(*args: object) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [COMMAND, *map(str, args)],
            cwd=tmp_path,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture(scope="session")
def rag(tmp_path_factory):
    """Runs `rag ARGS` in a process of its own, in an empty folder, with a clean environment."""
    folder = tmp_path_factory.mktemp("cwd")

    def run(*args: object, **extra: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [COMMAND, *map(str, args)],
            cwd=folder,
            env=environment(**extra),
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )

    return run
