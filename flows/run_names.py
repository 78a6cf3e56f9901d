"""Names of flow runs. They are listed everywhere, so a question enters only as a short digest."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from prefect import runtime


def question_run_name() -> str:
    """The flow's name and 8 digits of the question's SHA-256, such as `answer-f02ed28f`."""
    parameters: dict[str, Any] = runtime.flow_run.parameters
    digest = hashlib.sha256(str(parameters.get("question")).encode()).hexdigest()
    return f"{runtime.flow_run.flow_name}-{digest[:8]}"


def corpus_run_name() -> str:
    """The flow's name and the corpus folder's, such as `ingest-corpus`."""
    parameters: dict[str, Any] = runtime.flow_run.parameters
    return f"{runtime.flow_run.flow_name}-{Path(str(parameters.get('corpus'))).name}"
