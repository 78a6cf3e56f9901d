"""Identities. All are plain strings at run time, and distinct to the type checker.

Order everywhere is ordinal: Python compares strings by code point, so `A#10` precedes `A#2`.
"""

from __future__ import annotations

from typing import NewType

SourceId = NewType("SourceId", str)
"""A document's id as its author wrote it, or `product:CODE` for a product fact sheet."""

ChunkId = NewType("ChunkId", str)
"""`sourceId#part`, parts counted from 0."""

Digest = NewType("Digest", str)
"""A SHA-256 in 64 lower-case hexadecimal digits."""

RunId = NewType("RunId", str)
"""Names one answer or ingest in the run log; letters, digits and hyphens only."""
