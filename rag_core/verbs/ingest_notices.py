"""Notices that need more than the corpus: the profile's scopes, the model's window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_core.rules.close_matches import close_matches_hint
from rag_core.types.corpus import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rag_core.types.chunks import Chunk
    from rag_core.types.corpus import Corpus
    from rag_core.types.profiles import Profile


def scope_notices(corpus: Corpus, profile: Profile) -> Iterator[Finding]:
    """A notice for each document that no question under this profile can see."""
    for document in corpus.documents:
        scope = document.governance.scope
        if scope not in profile.allowed_scopes:
            hint = close_matches_hint(scope, profile.allowed_scopes)
            yield Finding(
                Severity.NOTICE,
                "unreachable_scope",
                document.path,
                f"profile {profile.name} does not allow scope {scope!r}, so it answers nothing "
                f"from this document{hint}",
                field="scope",
            )


def window_notices(
    corpus: Corpus, chunks: Sequence[Chunk], windows: Sequence[int]
) -> Iterator[Finding]:
    """A notice for each chunk that is longer than the model reads at once."""
    paths = {document.id: document.path for document in corpus.documents}
    for chunk, count in zip(chunks, windows, strict=True):
        if count > 1:
            yield Finding(
                Severity.NOTICE,
                "token_windows",
                paths[chunk.source_id],
                f"{chunk.id} is longer than the model reads at once; its vector is the mean of "
                f"{count} token windows",
            )
