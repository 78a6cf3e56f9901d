"""Whatever is done to a corpus folder, the index holds its living documents and nothing else."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from corpora import Workbench, write_document
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from rag_core.errors import ProviderError
from rag_core.types.verdicts import Outcome

IDS = st.sampled_from(["A", "B", "C", "D"])
LENGTHS = st.sampled_from([1, 30, 90])
"""One chunk, two and five."""
WORDS = st.sampled_from(["blue", "green", "red"])


class Corpora(RuleBasedStateMachine):
    """Adds, changes, withdraws and removes documents; ingests, also with a failing embedder."""

    def __init__(self) -> None:
        super().__init__()
        self.bench = Workbench(Path(tempfile.mkdtemp()))
        self.bench.embedder.vectors = {"seal": [1, 0, 0, 0, 0, 0, 0, 0]}
        self.folder: dict[str, tuple[str, str]] = {}
        """What lies in the folder: id to body and status."""
        self.indexed: dict[str, tuple[str, str]] = {}
        """What the last good ingest saw."""

    def teardown(self) -> None:
        shutil.rmtree(self.bench.root)

    @rule(name=IDS, length=LENGTHS, word=WORDS, status=st.sampled_from(["approved", "withdrawn"]))
    def write(self, name: str, length: int, word: str, status: str) -> None:
        body = f"The seal of pump {name} is {word}. " * length
        write_document(self.bench.corpus, name, body, status=status)
        self.folder[name] = (body, status)

    @precondition(lambda self: self.folder)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.folder)))
        (self.bench.corpus / f"{name.lower()}.md").unlink()
        del self.folder[name]

    @precondition(lambda self: self.folder)
    @rule()
    def ingest(self) -> None:
        self.bench.ingest()
        self.indexed = dict(self.folder)

    @precondition(lambda self: self.folder)
    @rule()
    def ingest_with_a_failing_embedder(self) -> None:
        self.bench.embedder.fail_after = len(self.bench.embedder.requests) + 1
        try:
            self.bench.ingest()
            self.indexed = dict(self.folder)  # nothing was missing
        except ProviderError:
            pass
        finally:
            self.bench.embedder.fail_after = None

    @precondition(lambda self: self.indexed)
    @invariant()
    def every_chunk_has_a_living_document_with_its_text(self) -> None:
        with self.bench.store.open() as snapshot:
            chunks = snapshot.chunks()
            texts = snapshot.texts([chunk.id for chunk in chunks])
            assert {chunk.source_id for chunk in chunks} == set(self.indexed)
            assert set(snapshot.source_ids()) == set(self.indexed)
        for chunk, text in zip(chunks, texts, strict=True):
            body, status = self.indexed[chunk.source_id]
            assert f"{body}\n"[chunk.span.start : chunk.span.end] == text
            assert chunk.governance.status == status
        for name, (body, _) in self.indexed.items():
            ends = [chunk.span.end for chunk in chunks if chunk.source_id == name]
            assert max(ends) == len(body) + 1

    @precondition(lambda self: self.indexed)
    @invariant()
    def only_living_approved_documents_answer(self) -> None:
        approved = {name for name, (_, status) in self.indexed.items() if status == "approved"}
        verdict = self.bench.answer("What colour is the seal of the pump?").answers[0].verdict
        assert verdict.outcome is (Outcome.ANSWERED if approved else Outcome.REFUSED)
        assert {text.source_id for text in verdict.published} <= approved


TestNoChunkIsWithoutALiveDocument = Corpora.TestCase
TestNoChunkIsWithoutALiveDocument.settings = settings(max_examples=12, stateful_step_count=14)
