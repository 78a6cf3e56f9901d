"""Flows on a real temporary Prefect server: states, task names, artifacts, and the same records."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from corpora import Workbench, write_document
from fakes import StoppedClock
from pydantic import SecretStr

from rag_core.errors import CorpusError, NoIndexError, UsageError
from rag_core.runtime import Runtime, bundled_corpus
from rag_core.types.ids import RunId
from rag_core.types.questions import Asked
from rag_core.types.verdicts import Outcome
from rag_core.verbs import answer as answering
from rag_core.verbs import ingest_steps as ingesting
from rag_core.verbs.answer_records import RunIds
from rag_core.verbs.requests import resolve_question
from rag_core.verbs.steps import call_plainly

pytestmark = pytest.mark.prefect

CSV_QUESTION = "Where can I export CSV in Reporting?"


@pytest.fixture(scope="module")
def prefect_api():
    """One temporary server for this module; no heartbeat thread, no log upload."""
    from prefect.settings import (
        PREFECT_FLOWS_HEARTBEAT_FREQUENCY,
        PREFECT_LOGGING_TO_API_ENABLED,
        temporary_settings,
    )
    from prefect.testing.utilities import prefect_test_harness

    with (
        prefect_test_harness(server_startup_timeout=120),
        temporary_settings(
            {PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None, PREFECT_LOGGING_TO_API_ENABLED: False}
        ),
    ):
        yield


@pytest.fixture(scope="module")
def state(prefect_api, tmp_path_factory):
    """A state root that the ingest flow itself has filled."""
    from flows.ingest import ingest

    root = tmp_path_factory.mktemp("flows") / "state"
    final = ingest(corpus=str(bundled_corpus()), state=str(root), return_state=True)
    assert final.name == "Committed"
    return str(root)


def task_names(flow_run_id):
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId
    from prefect.client.schemas.sorting import TaskRunSort

    with get_client(sync_client=True) as client:
        runs = client.read_task_runs(
            flow_run_filter=FlowRunFilter(id=FlowRunFilterId(any_=[flow_run_id])),
            sort=TaskRunSort.EXPECTED_START_TIME_ASC,
        )
    return [run.name for run in runs]


def artifact(key: str):
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey
    from prefect.client.schemas.sorting import ArtifactSort

    with get_client(sync_client=True) as client:
        found = client.read_artifacts(
            artifact_filter=ArtifactFilter(key=ArtifactFilterKey(any_=[key])),
            sort=ArtifactSort.CREATED_DESC,
        )
    return found[0]


def test_an_answered_question_ends_as_answered(state):
    from flows.answer import answer

    final = answer(CSV_QUESTION, as_of="2026-12-01", state=state, return_state=True)
    assert (final.name, final.type.value) == ("Answered", "COMPLETED")
    run: Any = final.result()
    assert run.answers[0].verdict.published[0].source_id == "ACME-EXPORT"


def test_a_refused_question_ends_as_refused_and_completed(state):
    from flows.answer import answer

    final = answer("How do I bake an apple pie?", state=state, return_state=True)
    assert (final.name, final.type.value) == ("Refused", "COMPLETED")


def test_a_failed_question_fails_its_run_with_the_error(prefect_api, tmp_path):
    from flows.answer import answer

    final = answer(CSV_QUESTION, state=str(tmp_path), return_state=True)
    assert final.type.value == "FAILED"
    with pytest.raises(NoIndexError):
        final.result()


def test_the_steps_are_task_runs_under_their_names(state):
    from flows.answer import answer

    final = answer(CSV_QUESTION, as_of="2026-12-01", state=state, return_state=True)
    run: Any = final.result()
    flow_run_id = run.answers[0].record.flow_run_id
    wanted = {"retrieve", "chat", "gate", "record"}
    deadline = time.monotonic() + 60
    # Task runs reach the server as events, a moment after the run that they belong to.
    while set(task_names(flow_run_id)) < wanted and time.monotonic() < deadline:
        time.sleep(0.2)
    assert set(task_names(flow_run_id)) == wanted


def test_the_run_name_is_a_digest_and_never_the_question(state):
    from prefect.client.orchestration import get_client

    from flows.answer import answer

    final = answer(CSV_QUESTION, state=state, return_state=True)
    with get_client(sync_client=True) as client:
        flow_run_id = final.state_details.flow_run_id
        assert flow_run_id is not None
        name = client.read_flow_run(flow_run_id).name
    assert name == "answer-f02ed28f"


def test_the_verdict_is_an_artifact(state):
    from flows.answer import answer

    answer(CSV_QUESTION, as_of="2026-12-01", state=state)
    found = artifact("answer-verdict")
    assert found.data.startswith("# Answered")
    assert found.description.endswith("answered")


def test_the_manifest_and_the_findings_are_artifacts(state):
    assert "generation digest" in artifact("ingest-manifest").data
    assert artifact("ingest-findings").description.endswith("corpus findings")


def test_findings_of_a_failed_ingest_are_an_artifact_too(prefect_api, tmp_path):
    from flows.ingest import ingest

    write_document(tmp_path / "corpus", "BAD", "Text.", status="aproved")
    final = ingest(
        corpus=str(tmp_path / "corpus"), state=str(tmp_path / "state"), return_state=True
    )
    with pytest.raises(CorpusError):
        final.result()
    assert "aproved" in artifact("ingest-findings").data


def test_an_unchanged_corpus_ends_as_unchanged(state):
    from flows.ingest import ingest

    final = ingest(corpus=str(bundled_corpus()), state=state, return_state=True)
    assert final.name == "Unchanged"


def test_probe_and_audit_are_flows_with_artifacts(state):
    from flows.audit import audit
    from flows.probe import probe

    assert probe(CSV_QUESTION, state=state, limit=3).hits[0].chunk_id == "ACME-EXPORT#0"
    assert audit(corpus=str(bundled_corpus()), state=state).problems == ()
    assert "3" in str(artifact("probe-ranking").data)
    assert artifact("audit-checks").description.startswith("0 of")


def test_a_flow_and_a_plain_call_leave_equal_records(state):
    from flows.tasks import run_as_task

    records = []
    for run_step in (call_plainly, in_a_flow(run_as_task)):
        runtime = replace(Runtime.open("offline", state), clock=StoppedClock())
        question = resolve_question(
            Asked(CSV_QUESTION, "2026-12-01"), profile=runtime.profile, clock=runtime.clock
        )
        run = answering.answer(
            [question],
            ports=runtime.answering,
            ids=RunIds(runtime.new_run_id()),
            run_step=run_step,
        )
        records.append(replace(run.answers[0].record, run_id=RunId("same")))
    assert records[0] == records[1]


def in_a_flow(run_step):
    """Each step as a task inside a flow of its own: a bare task call would start a server."""
    from prefect import flow

    def call(label, step, /, *args, **kwargs):
        @flow(name="one-step", persist_result=False)
        def one_step():
            return run_step(label, step, *args, **kwargs)

        return one_step()

    return call


def test_task_functions_are_the_steps_of_rag_core():
    from flows import tasks

    assert tasks.commit.fn is ingesting.commit
    assert tasks.gate.fn is answering.gate
    assert {task.name for task in tasks.TASKS.values()} >= {
        "normalize", "chunk", "embed shard", "validate", "commit",
        "retrieve", "chat", "gate", "record",
    }  # fmt: skip


def test_task_functions_run_without_a_server_through_fn(tmp_path):
    from flows import tasks

    bench = Workbench(tmp_path)
    write_document(bench.corpus, "SEAL", "The seal of the pump is blue and never removed.")
    ports = bench.ingest_ports()
    corpus_ref = tasks.normalize.fn(ports=ports, rebuild=False)
    chunks_ref = tasks.chunk.fn(corpus_ref, ports=ports, rebuild=False)
    assert (corpus_ref.rows, chunks_ref.rows) == (1, 1)


def test_no_question_outlives_the_run_in_prefect_results(state):
    assert not list(Path(state).glob("results/**/*"))


def test_an_answer_through_the_command_line_survives_a_dead_prefect_server(rag, state):
    done = rag("answer", CSV_QUESTION, "--state", state, PREFECT_API_URL="http://127.0.0.1:9/api")
    assert done.returncode == 0, done.stderr
    assert "continuing without it" in done.stderr


def test_outcomes_are_three():
    assert {outcome.value for outcome in Outcome} == {"answered", "refused", "failed"}


def test_compare_shows_rankings_and_variants_as_artifacts(state):
    from flows.compare import compare

    result = compare(CSV_QUESTION, variants=True, as_of="2026-12-01", state=state)
    assert result.run is not None
    assert [item.record.variant for item in result.run.answers] == ["direct", "tool", "context"]
    rankings = json.loads(artifact("compare-rankings").data)
    best = rankings[0]
    assert (best["chunk"], best["fused"], best["dense"]) == ("ACME-EXPORT#0", 1, 1)
    assert best["in or out"] == "admitted"
    variants = artifact("compare-variants").data
    assert "| tool | answered |  | 1 | 1 | 1 | 0 | 2 | 0 |" in variants
    assert variants.count("> In Reporting, open the Export menu") == 3


def test_a_variant_is_a_parameter_of_the_answer_flow(state):
    from flows.answer import answer

    final = answer(CSV_QUESTION, variant="tool", state=state, return_state=True)
    run: Any = final.result()
    assert run.answers[0].record.variant == "tool"
    assert run.answers[0].record.calls.tool_calls == 1


def test_a_key_in_a_secret_block_is_read_by_its_name(prefect_api, tmp_path, monkeypatch):
    from prefect.blocks.system import Secret

    from flows import blocks

    Secret(value=SecretStr("s3cret")).save("provider-key")
    monkeypatch.setattr(blocks, "api_configured", lambda: True)
    read_block = blocks.open_runtime("offline", tmp_path).providers.read_block
    assert read_block is not None
    assert read_block("provider-key") == "s3cret"
    with pytest.raises(UsageError, match="block:nope: the Prefect server gave no Secret block"):
        read_block("nope")


def test_a_secret_block_needs_a_configured_server(tmp_path, monkeypatch):
    from flows import blocks

    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    read_block = blocks.open_runtime("offline", tmp_path).providers.read_block
    assert read_block is not None
    with pytest.raises(UsageError, match="PREFECT_API_URL is not set"):
        read_block("provider-key")
