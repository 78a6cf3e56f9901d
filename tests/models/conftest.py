"""A real model server in a child process, and the product over it under profiles of its own."""

from __future__ import annotations

import json
import os
import selectors
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from corpora import write_document

from rag_core.rules.replies import read_reply
from rag_core.runtime import Runtime
from rag_core.types.proposals import AnswerProposal, ProposalStyle
from rag_core.types.questions import Asked
from rag_core.verbs.answer import answer, answer_in_variants
from rag_core.verbs.answer_records import RunIds
from rag_core.verbs.ingest import ingest
from rag_core.verbs.requests import resolve_question

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rag_core.types.ports import Chat
    from rag_core.types.proposals import ChatReply, ChatRequest, ToolStep, Variant
    from rag_core.types.questions import Question
    from rag_core.verbs.answer import Answered, AnswerPorts
    from rag_core.verbs.ingest import Ingested

PACKAGES = os.environ.get("RAG_TEST_MODELS")
"""The folder into which `make test-models` has installed the server and the model."""

SCRIPT = Path(__file__).with_name("llama_server.py")
MODEL = "smollm2-135m"
START_S = 60.0
"""Loading takes below a second where nothing else runs."""

CORPUS = {
    "SEAL": "The seal of the pump is blue and must never be removed. "
    "A damaged seal is replaced by the service centre within ten days.",
    "BACKUP": "Backups are kept for 35 days on two sites. "
    "The operations team restores a single file within four hours.",
    "PARKING": "Visitors park their cars on level two of the garage. "
    "A parking ticket costs four euros per day.",
    "TRAVEL": "Train tickets are booked in second class. "
    "All flights are booked in economy class, whatever the distance.",
    "LUNCH": "The canteen serves lunch from eleven thirty until two o'clock. "
    "Employees pay with their badge and not in cash.",
    "BADGE": "A lost badge is reported to the front desk on the same day. "
    "The front desk issues a new badge for fifteen euros.",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if PACKAGES:
        return
    reason = "RAG_TEST_MODELS names no folder with a model server: run make test-models"
    for item in items:
        if item.get_closest_marker("models"):
            item.add_marker(pytest.mark.skip(reason=reason))


# --- The server -----------------------------------------------------------------------------------


@dataclass
class LlamaServer:
    """One llama.cpp server; at most one runs at a time, because its threads spin."""

    log: Path
    options: dict[str, object]
    process: subprocess.Popen[str] | None = None
    address: str = ""

    def start(self) -> None:
        """Start it and wait for its address; with a port in `options`, for that one again."""
        words = [f"--{name}={value}" for name, value in self.options.items()]
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, SCRIPT, *words],
                env={**os.environ, "PYTHONPATH": str(PACKAGES)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        try:
            self.address = self._first_line()
        except BaseException:
            self.stop()
            raise

    def _first_line(self) -> str:
        assert self.process is not None
        assert self.process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            ready = selector.select(timeout=START_S)
        line = self.process.stdout.readline().strip() if ready else ""
        if not line.startswith("http://127.0.0.1:"):
            raise RuntimeError(f"no server after {START_S} s:\n{self.log.read_text()[-2000:]}")
        return line

    def restart(self, **changes: object) -> None:
        """The same address with other options: what an operator does behind a name."""
        self.stop()
        self.options = {**self.options, "port": self.address.rpartition(":")[2], **changes}
        self.start()

    def section(self, **keys: object) -> dict[str, object]:
        """A profile's table that names this server and its model."""
        place = {"provider": "openai-compatible", "endpoint": f"{self.address}/v1"}
        return {**place, "model": self.options["alias"], **keys}

    def stop(self) -> None:
        """End it with SIGTERM, or kill it."""
        if self.process is None:
            return
        with self.process as process:  # closes the pipes, and waits
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
        self.process = None


def serving(folder: Path, **options: object) -> Iterator[LlamaServer]:
    server = LlamaServer(folder / "server.log", {"alias": MODEL, **options})
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def embedding_server(tmp_path_factory):
    """Vectors of 576 coordinates; 512 tokens are read of one text."""
    folder = tmp_path_factory.mktemp("embeddings")
    yield from serving(folder, purpose="embeddings", context=512)


@pytest.fixture(scope="module")
def chat_server(tmp_path_factory):
    """Chat. Without a penalty this small a model repeats its first quotation without end."""
    folder = tmp_path_factory.mktemp("chat")
    yield from serving(folder, purpose="chat", **{"repeat-penalty": 1.1})


# --- The product over it --------------------------------------------------------------------------


@dataclass(frozen=True)
class Heard:
    """One exchange of a question's excerpts for a proposal."""

    style: ProposalStyle
    request: ChatRequest
    reply: ChatReply
    seconds: float

    @property
    def proposal(self) -> AnswerProposal | None:
        """What the reply proposes; None if it is malformed."""
        excerpts = self.request.knowledge.excerpts
        read = read_reply(self.reply, style=self.style, excerpts=excerpts)
        return read if isinstance(read, AnswerProposal) else None

    @property
    def exact(self) -> list[bool]:
        """Of each proposed quotation, whether it stands verbatim in the excerpt that it cites."""
        texts = {str(item.chunk_id): item.text for item in self.request.knowledge.excerpts}
        return [bool(quote) and quote in texts.get(cited, "") for cited, quote in self._quotations]

    @property
    def shown(self) -> list[bool]:
        """The same, in any excerpt that was shown."""
        texts = [item.text for item in self.request.knowledge.excerpts]
        return [bool(quote) and any(quote in t for t in texts) for _, quote in self._quotations]

    @property
    def _quotations(self) -> list[tuple[str, str]]:
        entries = self.proposal.evidence if self.proposal else ()
        return [(entry.source_id, entry.quote.strip()) for entry in entries]


MEASURED: list[Heard] = []
"""Exchanges under ordinary settings, for the summary of the run."""


@dataclass
class Listener:
    """The product's own proposer, listened to: nothing of what passes is changed."""

    chat: Chat
    style: ProposalStyle
    heard: list[Heard] = field(default_factory=list)
    tool_steps: list[ToolStep] = field(default_factory=list)

    def call_tool(self, question: Question) -> ToolStep:
        self.tool_steps.append(self.chat.call_tool(question))
        return self.tool_steps[-1]

    def propose(self, request: ChatRequest) -> ChatReply:
        began = time.perf_counter()
        reply = self.chat.propose(request)
        heard = Heard(self.style, request, reply, time.perf_counter() - began)
        self.heard.append(heard)
        return reply


@dataclass
class Desk:
    """One runtime under one profile file, over a corpus folder and a state root."""

    runtime: Runtime
    corpus: Path
    listener: Listener | None = None

    def ingest(self) -> Ingested:
        runtime = self.runtime
        return ingest(ports=runtime.ingesting(self.corpus), run_id=runtime.new_run_id())

    def ports(self) -> AnswerPorts:
        profile = self.runtime.profile
        if profile.chat.provider == "extractive":
            return self.runtime.answering
        if self.listener is None:
            self.listener = Listener(self.runtime.chat, profile.chat.style)
        listener = self.listener
        return replace(self.runtime.answering, make_chat=lambda: listener)

    def question(self, text: str, **asked: Any) -> Question:
        runtime = self.runtime
        return resolve_question(Asked(text, **asked), profile=runtime.profile, clock=runtime.clock)

    def ask(self, *questions: Question | str) -> tuple[Answered, ...]:
        asked = [self.question(q) if isinstance(q, str) else q for q in questions]
        ids = RunIds(self.runtime.new_run_id())
        return answer(asked, ports=self.ports(), ids=ids).answers

    def ask_in(self, variants: Sequence[Variant], text: str) -> dict[Variant, Answered]:
        ids = RunIds(self.runtime.new_run_id())
        run = answer_in_variants(self.question(text), variants, ports=self.ports(), ids=ids)
        return dict(zip(variants, run.answers, strict=True))

    @property
    def heard(self) -> list[Heard]:
        return self.listener.heard if self.listener else []


@pytest.fixture(scope="module")
def desk_at(tmp_path_factory):
    """Opens a runtime over the state of a name; `sections` are tables of its profile."""
    root = tmp_path_factory.mktemp("desks")
    opened: list[Runtime] = []

    def open_desk(state: str, **sections: dict[str, Any]) -> Desk:
        corpus = root / state / "corpus"
        for source_id, body in CORPUS.items():
            write_document(corpus, source_id, body, title=source_id.capitalize())
        profile = root / f"profile-{len(opened)}.toml"
        # Strings, numbers and booleans are the same in JSON and in TOML.
        tables = (
            "\n".join(
                [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in keys.items())]
            )
            for name, keys in sections.items()
        )
        head = 'extends = "offline"\nname = "llama"'
        profile.write_text("\n\n".join((head, *tables)) + "\n", encoding="utf-8")
        opened.append(Runtime.open(str(profile), root / state / "state"))
        return Desk(opened[-1], corpus)

    yield open_desk
    for runtime in opened:
        runtime.close()


# --- What was measured ----------------------------------------------------------------------------


@pytest.fixture(scope="session")
def measured():
    """Takes the exchanges that count for the summary."""
    return MEASURED


def pytest_terminal_summary(terminalreporter: Any) -> None:
    for style in ProposalStyle:
        heard = [item for item in MEASURED if item.style is style]
        if heard:
            terminalreporter.write_line(f"measured, style {style}: {_measures(heard)}")


def _measures(heard: list[Heard]) -> str:
    exact = [one for item in heard for one in item.exact]
    shown = [one for item in heard for one in item.shown]
    latency = statistics.median(item.seconds for item in heard)
    return (
        f"{len(heard)} replies, {sum(item.reply.cut for item in heard)} cut at their limit, "
        f"{sum(item.proposal is not None for item in heard)} a proposal of the schema; "
        f"of {len(exact)} quotations {sum(exact)} stand in the excerpt they cite, "
        f"{sum(shown)} in any; median {latency:.1f} s a reply"
    )
