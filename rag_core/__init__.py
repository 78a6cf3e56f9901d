"""Evidence-gated RAG: answers that are exact quotations of governed documents, or refusals.

The names below are the library; `rag_core.library` says how they are used. They are imported at
first use, so that `rag --help` waits for neither numpy nor a model.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rag_core.errors import (
        ContractMismatchError,
        CorpusError,
        IntegrityError,
        LockedError,
        NoIndexError,
        ProviderError,
        RagError,
        RecordError,
        UsageError,
    )
    from rag_core.library import Index, ingest_corpus, open_index
    from rag_core.types.proposals import Variant
    from rag_core.types.verdicts import Flag, MatchKind, Outcome, Published, Reason, Verdict
    from rag_core.verbs.answer import Answered
    from rag_core.verbs.ingest import Ingested

__all__ = [
    "Answered",
    "ContractMismatchError",
    "CorpusError",
    "Flag",
    "Index",
    "Ingested",
    "IntegrityError",
    "LockedError",
    "MatchKind",
    "NoIndexError",
    "Outcome",
    "ProviderError",
    "Published",
    "RagError",
    "Reason",
    "RecordError",
    "UsageError",
    "Variant",
    "Verdict",
    "ingest_corpus",
    "open_index",
]

_HOMES = {
    "rag_core.library": ("Index", "ingest_corpus", "open_index"),
    "rag_core.types.proposals": ("Variant",),
    "rag_core.types.verdicts": (
        "Flag", "MatchKind", "Outcome", "Published", "Reason", "Verdict",
    ),
    "rag_core.verbs.answer": ("Answered",),
    "rag_core.verbs.ingest": ("Ingested",),
}  # fmt: skip

if not TYPE_CHECKING:  # a type checker reads the imports above, and so finds misspelt names

    def __getattr__(name: str) -> Any:  # noqa: ANN401 - any of the names above
        if name not in __all__:
            raise AttributeError(f"module 'rag_core' has no attribute {name!r}")
        homes = (home for home, names in _HOMES.items() if name in names)
        return getattr(import_module(next(homes, "rag_core.errors")), name)
