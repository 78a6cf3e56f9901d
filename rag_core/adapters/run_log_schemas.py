"""Arrow schemas of the run log, one version for all.

Column names are documented in `docs/data-dictionary.md`; a test compares both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

RUN_LOG_VERSION: Final = 2
"""In the metadata of every file as `rag.schema_version`; raised with any change of a column."""

ADDED: Final[Mapping[int, frozenset[str]]] = {
    2: frozenset({"chat_provider", "chat_model", "proposal_style"}),
}
"""Columns by the version that brought them; older files lack them, and read as null."""

_TIME = pa.timestamp("us", tz="UTC")
_TEXTS = pa.list_(pa.string())
_TIMINGS = pa.list_(pa.struct([("step", pa.string()), ("ms", pa.float64())]))
_PUBLISHED = pa.struct(
    [
        ("chunk_id", pa.string()),
        ("source_id", pa.string()),
        ("title", pa.string()),
        ("text", pa.string()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("quote_start", pa.int64()),
        ("quote_end", pa.int64()),
        ("match", pa.string()),
        ("sentence_cut", pa.bool_()),
        ("context", pa.string()),
        ("heading_path", _TEXTS),
        ("scope", pa.string()),
        ("valid_from", pa.date32()),
        ("valid_until", pa.date32()),
        ("path", pa.string()),
        ("url", pa.string()),
        ("source_digest", pa.string()),
        ("file_digest", pa.string()),
    ]
)
_REJECTION = pa.struct(
    [
        ("reason", pa.string()),
        ("source_id", pa.string()),
        ("quote", pa.string()),
        ("nearest", pa.string()),
    ]
)
_FINDING = pa.struct(
    [
        ("severity", pa.string()),
        ("code", pa.string()),
        ("path", pa.string()),
        ("message", pa.string()),
    ]
)


def _schema(table: str, columns: Sequence[tuple[str, pa.DataType]]) -> pa.Schema:
    metadata = {"rag.table": table, "rag.schema_version": str(RUN_LOG_VERSION)}
    return pa.schema(columns, metadata=metadata)


HITS = _schema(
    "hits",
    [
        ("run_id", pa.string()),
        ("question_index", pa.int64()),
        ("chunk_id", pa.string()),
        ("source_id", pa.string()),
        ("rank", pa.int64()),
        ("fused_score", pa.float64()),
        ("cosine", pa.float64()),
        ("dense_rank", pa.int64()),
        ("lexical_rank", pa.int64()),
        ("lexical_score", pa.int64()),
        ("shared_terms", pa.int64()),
        ("admission", pa.string()),
    ],
)
VERDICTS = _schema(
    "verdicts",
    [
        ("run_id", pa.string()),
        ("question_index", pa.int64()),
        ("flow_run_id", pa.string()),
        ("started_at", _TIME),
        ("question", pa.string()),
        ("background", pa.string()),
        ("question_digest", pa.string()),
        ("as_of", pa.string()),
        ("scopes", _TEXTS),
        ("product", pa.string()),
        ("variant", pa.string()),
        ("profile", pa.string()),
        ("chat_provider", pa.string()),
        ("chat_model", pa.string()),
        ("proposal_style", pa.string()),
        ("contract_digest", pa.string()),
        ("generation_digest", pa.string()),
        ("outcome", pa.string()),
        ("reasons", _TEXTS),
        ("detail", pa.string()),
        ("flags", _TEXTS),
        ("published", pa.list_(_PUBLISHED)),
        ("rejections", pa.list_(_REJECTION)),
        ("min_cosine", pa.float64()),
        ("abstain_threshold", pa.float64()),
        ("indexed", pa.int64()),
        ("eligible", pa.int64()),
        ("top_cosine", pa.float64()),
        ("top_sentence_score", pa.float64()),
        ("host_calls", pa.int64()),
        ("chat_calls", pa.int64()),
        ("repair_calls", pa.int64()),
        ("tool_calls", pa.int64()),
        ("context_calls", pa.int64()),
        ("embedding_calls", pa.int64()),
        ("input_tokens", pa.int64()),
        ("output_tokens", pa.int64()),
        ("timings_ms", _TIMINGS),
    ],
)
INGESTS = _schema(
    "ingests",
    [
        ("run_id", pa.string()),
        ("flow_run_id", pa.string()),
        ("started_at", _TIME),
        ("profile", pa.string()),
        ("outcome", pa.string()),
        ("reason", pa.string()),
        ("contract_digest", pa.string()),
        ("generation_digest", pa.string()),
        ("previous_generation", pa.string()),
        ("sources", pa.int64()),
        ("chunks", pa.int64()),
        ("vectors", pa.int64()),
        ("products", pa.int64()),
        ("embedded", pa.int64()),
        ("reused", pa.int64()),
        ("requests", pa.int64()),
        ("findings", pa.list_(_FINDING)),
        ("timings_ms", _TIMINGS),
    ],
)

SCHEMAS: Final[Mapping[str, pa.Schema]] = {"hits": HITS, "verdicts": VERDICTS, "ingests": INGESTS}
"""Table → schema; the partition column `date` (UTC day of the start) comes from the path."""

COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    table: tuple(schema.names) for table, schema in SCHEMAS.items()
}
