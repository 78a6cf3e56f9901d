from __future__ import annotations

import signal
import subprocess
import sys
import threading

import pytest

from rag_core.adapters.ingest_lock import IngestLock
from rag_core.errors import LockedError, UsageError

HOLD = """
import sys, time
from pathlib import Path
from rag_core.adapters.ingest_lock import IngestLock
with IngestLock(Path(sys.argv[1]), timeout_s=0):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state" / "ingest.lock"


@pytest.fixture
def holder(path):
    """Another process that holds the lock until it is killed."""
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_second_ingest_ends_at_once_and_names_the_lock(path, holder):
    with pytest.raises(LockedError) as caught, IngestLock(path, timeout_s=0):
        pass
    assert str(path) in str(caught.value)
    assert "Wait until that ingest ends, then run: rag ingest" in str(caught.value)
    assert caught.value.exit_code == 8


def test_a_second_ingest_waits_as_long_as_it_was_told(path, holder):
    with pytest.raises(LockedError, match=r"waited 0\.3 s"), IngestLock(path, timeout_s=0.3):
        pass


def test_a_second_ingest_that_waits_gets_the_lock_when_the_first_ends(path, holder):
    timer = threading.Timer(0.3, holder.kill)
    timer.start()
    with IngestLock(path, timeout_s=30):
        pass
    timer.join()


def test_a_killed_holder_leaves_no_lock(path, holder):
    holder.send_signal(signal.SIGKILL)
    assert holder.wait() == -signal.SIGKILL
    with IngestLock(path, timeout_s=0):
        pass


def test_a_left_over_lock_file_is_no_lock(path):
    path.parent.mkdir()
    path.touch()
    with IngestLock(path, timeout_s=0):
        pass


def test_an_error_inside_releases_the_lock(path):
    with pytest.raises(KeyboardInterrupt), IngestLock(path, timeout_s=0):
        raise KeyboardInterrupt
    with IngestLock(path, timeout_s=0):
        pass


def test_the_lock_may_be_left_in_another_thread(path):
    lock = IngestLock(path, timeout_s=0)
    thread = threading.Thread(target=lock.__enter__)
    thread.start()
    thread.join()
    with pytest.raises(LockedError), IngestLock(path, timeout_s=0):
        pass
    lock.__exit__(None, None, None)
    with IngestLock(path, timeout_s=0):
        pass


def test_a_lock_that_cannot_be_made_is_a_usage_error(tmp_path):
    (tmp_path / "state").write_text("a file")
    with (
        pytest.raises(UsageError, match="cannot lock"),
        IngestLock(tmp_path / "state" / "ingest.lock", timeout_s=0),
    ):
        pass
