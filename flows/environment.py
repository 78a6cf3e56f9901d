"""Settings that Prefect must find in the environment before it is imported.

`[tool.prefect]` in pyproject.toml says the same for people who work in a checkout; a wheel has
no such file, so the command line sets them here. What the user has set wins.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

from rag_core.errors import UsageError

if TYPE_CHECKING:
    from rag_core.runtime import StatePaths

_DEFAULTS = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    # The V2 UI calls an outside analytics host at every load.
    "PREFECT_SERVER_UI_V2_ENABLED": "false",
    # The default of 20 s is too short for a first start on a busy machine.
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    "PREFECT_RUNNER_POLL_FREQUENCY": "2",
}


def prepare_prefect(paths: StatePaths, *, quiet: bool) -> None:
    """Point Prefect's home and results below the state root, and switch telemetry off.

    Must run before the first `import prefect`. `quiet` keeps Prefect's own log lines off the
    terminal, where the command line shows its own progress.

    Raises:
        UsageError: If the state root cannot be written.
    """
    try:
        paths.prefect.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"state root {paths.root}: cannot be written ({error.strerror}). "
            "Name a folder of yours with --state"
        ) from error
    os.environ.setdefault("PREFECT_HOME", str(paths.prefect))
    os.environ.setdefault("PREFECT_LOCAL_STORAGE_PATH", str(paths.root / "results"))
    for name, value in _DEFAULTS.items():
        os.environ.setdefault(name, value)
    if quiet:
        # An error is told once, by the command line, and not as Prefect's traceback before it.
        os.environ.setdefault("PREFECT_LOGGING_LEVEL", "CRITICAL")
        # Its queues warn of events still to be sent when a run ends; these loggers stand apart.
        for name in ("EventsWorker", "APILogWorker"):
            logging.getLogger(name).setLevel(logging.CRITICAL)


def api_configured() -> bool:
    """Whether a Prefect server is named in the environment."""
    return bool(os.environ.get("PREFECT_API_URL"))
