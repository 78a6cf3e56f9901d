"""Every step of a flow as a Prefect task, wrapped once. No logic lives here.

`run_as_task` is the `RunStep` that flows hand to the verbs. Arguments are passed as `quote`d
values: Prefect would otherwise walk them element by element. Nothing is cached or persisted by
Prefect; the staged artifacts and the run log are the only memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.utilities.annotations import quote

from rag_core.verbs import answer as answering
from rag_core.verbs import audit as auditing
from rag_core.verbs import ingest_steps as ingesting
from rag_core.verbs import probe as probing
from rag_core.verbs import propose as proposing
from rag_core.verbs import retrieve as retrieving

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")

normalize = task(name="normalize", cache_policy=NO_CACHE)(ingesting.normalize)
chunk = task(name="chunk", cache_policy=NO_CACHE)(ingesting.chunk)
embed_shard = task(name="embed shard", cache_policy=NO_CACHE)(ingesting.embed_shard)
validate = task(name="validate", cache_policy=NO_CACHE)(ingesting.validate)
commit = task(name="commit", cache_policy=NO_CACHE)(ingesting.commit)
retrieve = task(name="retrieve", cache_policy=NO_CACHE)(retrieving.retrieve)
chat = task(name="chat", cache_policy=NO_CACHE)(proposing.propose)
gate = task(name="gate", cache_policy=NO_CACHE)(answering.gate)
record = task(name="record", cache_policy=NO_CACHE)(answering.record)
probe = task(name="probe", cache_policy=NO_CACHE)(probing.probe)
audit = task(name="audit", cache_policy=NO_CACHE)(auditing.audit)

TASKS: dict[Callable[..., Any], Any] = {
    wrapped.fn: wrapped
    for wrapped in (
        normalize, chunk, embed_shard, validate, commit, retrieve, chat, gate, record, probe, audit,
    )
}  # fmt: skip


def run_as_task(label: str, step: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a step as its task, the task run named `label`; raises what the step raises."""
    named = TASKS[step].with_options(task_run_name=label)
    quoted = {name: quote(value) for name, value in kwargs.items()}
    result: R = named(*map(quote, args), **quoted)
    return result
