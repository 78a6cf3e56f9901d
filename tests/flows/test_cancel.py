"""A cancelled ingest, for real: the flow's process is told to end while it embeds."""

from __future__ import annotations

import signal
import subprocess
import time

import pytest
from corpora import write_document

from rag_core.runtime import Runtime
from rag_core.verbs.ingest import IngestOptions, ingest

pytestmark = [pytest.mark.prefect, pytest.mark.slow]

DOCUMENTS = 1500
"""Some thirty seconds of embedding: enough to be interrupted."""


def test_a_cancelled_ingest_leaves_a_row_and_its_batches_and_frees_the_lock(start_rag, tmp_path):
    for number in range(DOCUMENTS):
        write_document(tmp_path / "corpus", f"D-{number:04}", f"Rule {number} is in force.")
    process = start_rag("ingest", tmp_path / "corpus", "--state", tmp_path / "state")
    wait_for_files(tmp_path / "state" / "stages" / "vectors", process)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) != 0

    runtime = Runtime.open("offline", tmp_path / "state")
    (log,) = (tmp_path / "state" / "runs" / "ingests").rglob("*.parquet")
    row = (runtime.run_log.read_run(log.stem) or {})["ingests"][0]
    assert (row["outcome"], row["reason"]) == ("failed", "cancelled")
    resumed = ingest(
        ports=runtime.ingesting(tmp_path / "corpus"),
        run_id=runtime.new_run_id(),
        options=IngestOptions(dry_run=True),
    )
    assert resumed.plan.reused > 0
    assert resumed.plan.reused + resumed.plan.missing == DOCUMENTS


def wait_for_files(folder, process: subprocess.Popen) -> None:
    deadline = time.monotonic() + 120
    # The first part holds the canaries; the second is the first batch.
    while len(list(folder.glob("part-*.parquet"))) < 2:
        assert process.poll() is None, "the ingest ended before it embedded anything"
        assert time.monotonic() < deadline, "no batch was embedded within 120 s"
        time.sleep(0.2)
