"""Small corpus folders on disk, and runtimes over them, for tests of whole verbs."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from fakes import KnownVectors, StoppedClock

from rag_core.adapters.corpus_folder import CorpusFolder
from rag_core.adapters.exact_scan import ExactScan
from rag_core.adapters.extractive import ExtractiveChat
from rag_core.adapters.ingest_lock import IngestLock
from rag_core.adapters.profile_files import load_profile
from rag_core.adapters.run_log import RunLogFolder
from rag_core.adapters.sqlite_index import SqliteIndex
from rag_core.adapters.stages import StageFolder
from rag_core.types.ids import RunId
from rag_core.types.profiles import Profile
from rag_core.types.questions import Asked, Question
from rag_core.verbs.answer import AnswerPorts, AnswerRun, answer
from rag_core.verbs.answer_records import RunIds
from rag_core.verbs.ingest import Ingested, IngestOptions, ingest
from rag_core.verbs.ingest_vectors import IngestPorts
from rag_core.verbs.ranking import ProcessMemory, RetrievalPorts
from rag_core.verbs.requests import resolve_question


def write_document(
    folder: Path,
    source_id: str,
    body: str,
    *,
    title: str = "A title",
    extra: str = "",
    **fields: str,
) -> Path:
    """One Markdown document with complete front matter; `fields` replace single values."""
    values = {
        "scope": "public",
        "status": "approved",
        "canonical": "true",
        "valid_from": "2025-01-01",
        "language": "en",
    } | fields
    lines = [f"{name}: {value}" for name, value in values.items()]
    front = "\n".join(["---", f"id: {source_id}", f"title: {title}", *lines])
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{source_id.lower()}.md"
    path.write_text(f"{front}\n{extra}---\n{body}\n", encoding="utf-8")
    return path


def uncalibrated(**changes: object) -> Profile:
    """The offline profile with an admission that known vectors can meet, and no abstention."""
    profile = load_profile("offline")
    retrieval = profile.retrieval.model_copy(update={"min_cosine": 0.4})
    abstention = profile.abstention.model_copy(update={"threshold": None})
    return profile.model_copy(update={"retrieval": retrieval, "abstention": abstention} | changes)


@dataclass
class Workbench:
    """A corpus folder, a state root, and the verbs over them with replaceable parts."""

    root: Path
    embedder: KnownVectors = field(default_factory=KnownVectors)
    profile: Profile = field(default_factory=uncalibrated)
    clock: StoppedClock = field(default_factory=StoppedClock)
    key: bytes | None = None
    runs: int = 0

    @property
    def corpus(self) -> Path:
        return self.root / "corpus"

    @property
    def state(self) -> Path:
        return self.root / "state"

    @property
    def store(self) -> SqliteIndex:
        return SqliteIndex(self.state / "index.sqlite", key=self.key)

    @property
    def stages(self) -> StageFolder:
        return StageFolder(self.state / "stages", secret=self.key)

    @property
    def run_log(self) -> RunLogFolder:
        return RunLogFolder(self.state / "runs")

    def ingest_ports(self) -> IngestPorts:
        return IngestPorts(
            profile=self.profile,
            corpus=CorpusFolder(self.corpus),
            embedder=self.embedder,
            store=self.store,
            stages=self.stages,
            run_log=self.run_log,
            clock=self.clock,
            lock=lambda: IngestLock(self.state / "ingest.lock", timeout_s=0),
            code_version="test",
            signing_key=self.key,
        )

    def ingest(self, **options: bool) -> Ingested:
        return ingest(
            ports=self.ingest_ports(), run_id=self.run_id(), options=IngestOptions(**options)
        )

    def retrieval_ports(self) -> RetrievalPorts:
        return RetrievalPorts(self.profile, self.store, self.embedder, ExactScan(), ProcessMemory())

    def answer_ports(self, make_chat=None) -> AnswerPorts:
        return AnswerPorts(
            retrieval=self.retrieval_ports(),
            make_chat=make_chat or (lambda: ExtractiveChat(sentences=3)),
            run_log=self.run_log,
            clock=self.clock,
        )

    def question(self, text: str, **asked: object) -> Question:
        return resolve_question(Asked(text, **asked), profile=self.profile, clock=self.clock)

    def answer(self, text: str, *, make_chat=None, variant=None, **asked: object) -> AnswerRun:
        return answer(
            [self.question(text, **asked)],
            ports=self.answer_ports(make_chat),
            ids=RunIds(self.run_id()),
            variant=variant,
        )

    def run_id(self) -> RunId:
        self.runs += 1
        return RunId(f"run-{self.runs}")


PUMP_QUESTION = "What colour is the seal of the pump?"
PUMP_SENTENCE = "The seal of the pump is blue and never removed."


def pump_bench(root: Path) -> Workbench:
    """Two ingested documents, of which SEAL answers `PUMP_QUESTION` and VALVE is far from it."""
    bench = Workbench(root)
    bench.embedder.vectors = {
        "seal": [1, 0, 0, 0, 0, 0, 0, 0],
        "valve": [0, 1, 0, 0, 0, 0, 0, 0],
    }
    write_document(bench.corpus, "SEAL", PUMP_SENTENCE)
    write_document(bench.corpus, "VALVE", "The valve opens at five bar and closes at two.")
    bench.ingest()
    return bench


def pump_proposal(*evidence: tuple[str, str], can_answer: bool = True) -> str:
    """A reply in the style `quotes`; without evidence, the sentence that answers."""
    entries = [
        {"source_id": source_id, "quote": quote}
        for source_id, quote in evidence or (("SEAL#0", PUMP_SENTENCE),)
    ]
    return json.dumps({"can_answer": can_answer, "evidence": entries})
