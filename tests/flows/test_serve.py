"""`rag serve` against a real Prefect server: a deployment run answers, another one ingests."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from rag_core.errors import UsageError
from rag_core.runtime import bundled_corpus

pytestmark = [pytest.mark.prefect, pytest.mark.slow]

BIN = Path(sys.executable).parent


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for(check, *, seconds: float, what: str):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = check()
        if found:
            return found
        time.sleep(0.5)
    raise AssertionError(f"{what}: not within {seconds} s")


def healthy(api: str) -> bool:
    try:
        return httpx.get(f"{api}/health", timeout=2).is_success
    except httpx.HTTPError:
        return False


def post(api: str, path: str, body: dict) -> Any:
    def accepted():
        reply = httpx.post(f"{api}{path}", json=body, timeout=30)
        # A server on SQLite answers 503 while its own event writers hold the database.
        if reply.status_code == httpx.codes.SERVICE_UNAVAILABLE:
            return None
        return reply.raise_for_status()

    return wait_for(accepted, seconds=60, what=f"POST {path}").json()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server and `rag serve` beside it; both end with the module."""
    root = tmp_path_factory.mktemp("served")
    port = free_port()
    api = f"http://127.0.0.1:{port}/api"
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PREFECT_", "RAG_"))}
    env |= {
        "PREFECT_HOME": str(root / "prefect"),
        "PREFECT_API_URL": api,
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
    }
    log = (root / "log.txt").open("wb")
    started = []

    def start(*command: object) -> None:
        started.append(
            subprocess.Popen(
                [str(part) for part in command],
                cwd=root,
                env=env,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        )

    try:
        start(BIN / "prefect", "server", "start", "--port", port)
        wait_for(lambda: healthy(api), seconds=120, what="the server's health")
        start(
            BIN / "rag", "serve", bundled_corpus(), "--state", root / "state",
            "--cron", "0 3 * * *", "--timezone", "Europe/Berlin",
        )  # fmt: skip
        wait_for(
            lambda: len(post(api, "/deployments/filter", {})) == 5,
            seconds=120,
            what="five deployments",
        )
        yield api
    finally:
        # Nothing of this server is kept: no need to wait for its orderly end.
        for process in reversed(started):
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        log.close()


def run_deployment(api: str, name: str, parameters: dict) -> Any:
    deployment = httpx.get(f"{api}/deployments/name/{name}", timeout=30).json()
    run = post(api, f"/deployments/{deployment['id']}/create_flow_run", {"parameters": parameters})

    def finished():
        reply = httpx.get(f"{api}/flow_runs/{run['id']}", timeout=30)
        if reply.status_code == httpx.codes.SERVICE_UNAVAILABLE:
            return None
        found = reply.raise_for_status().json()
        return found if found["state_type"] in {"COMPLETED", "FAILED", "CRASHED"} else None

    return wait_for(finished, seconds=180, what=f"the end of {name}")


def test_ingest_and_answer_run_from_their_deployments(served):
    ingested = run_deployment(served, "ingest/ingest", {})
    assert ingested["state"]["name"] == "Committed"
    answered = run_deployment(
        served, "answer/answer", {"question": "Where can I export CSV in Reporting?"}
    )
    assert answered["state"]["name"] == "Answered"


def test_the_ingest_is_scheduled_in_its_iana_zone(served):
    deployment = httpx.get(f"{served}/deployments/name/ingest/ingest", timeout=30).json()
    schedule = deployment["schedules"][0]["schedule"]
    assert (schedule["cron"], schedule["timezone"]) == ("0 3 * * *", "Europe/Berlin")


def test_parameters_of_the_form_keep_their_order_and_are_described(served):
    deployment = httpx.get(f"{served}/deployments/name/answer/answer", timeout=30).json()
    properties = deployment["parameter_openapi_schema"]["properties"]
    ordered = sorted(properties, key=lambda name: properties[name]["position"])
    assert ordered == [
        "question",
        "as_of",
        "scopes",
        "product",
        "background",
        "variant",
        "profile",
        "state",
    ]
    assert all(properties[name].get("description") for name in ordered)


@pytest.mark.parametrize(
    ("cron", "timezone"),
    [
        pytest.param("every day", "UTC", id="no cron expression"),
        pytest.param("0 3 * * *", "Berlin", id="no IANA zone"),
    ],
)
def test_a_wrong_schedule_is_a_usage_error(cron, timezone):
    from flows.serve import ServeOptions, serve_flows

    options = ServeOptions("corpus", "offline", "state", cron=cron, timezone=timezone)
    with pytest.raises(UsageError):
        serve_flows(options)
