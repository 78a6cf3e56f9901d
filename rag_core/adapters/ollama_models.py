"""What an Ollama server says about its models; chat and embeddings both ask it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rag_core.adapters.http_replies import names_hint
from rag_core.errors import ProviderError

if TYPE_CHECKING:
    from rag_core.adapters.json_client import JsonClient


_DIGEST: Final = re.compile(r"(?:sha256:)?([0-9a-f]{64})", re.IGNORECASE | re.ASCII)
"""As Ollama writes the SHA-256 of a manifest."""


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A model that the server has."""

    name: str
    digest: str
    """SHA-256 of its manifest, hexadecimal."""


def installed_model(client: JsonClient, model: str) -> InstalledModel:
    """The installed model of this name; a name without a tag means `:latest`, as for Ollama.

    Raises:
        ProviderError: If the server has no such model, or its reply is not Ollama's.
    """
    reply = client.get("/api/tags")
    listed = reply.get("models") if isinstance(reply, dict) else None
    if not isinstance(listed, list):
        raise foreign_reply(client, "/api/tags", "a list of models")
    digests: dict[str, str] = {}
    for entry in listed:
        name, digest = _texts_of(entry, "name", "digest")
        if name and digest:
            digests[name] = digest
    wanted = model if ":" in model.rpartition("/")[2] else f"{model}:latest"
    if wanted not in digests:
        hint = names_hint(wanted, sorted(digests))
        raise ProviderError(
            f"ollama at {client.endpoint}: has no model {wanted!r}{hint}. Run: ollama pull {model}"
        )
    found = _DIGEST.fullmatch(digests[wanted])
    if found is None:  # it is not repeated: it may be anything
        raise foreign_reply(client, "/api/tags", f"a SHA-256 digest of {wanted!r}")
    return InstalledModel(wanted, found[1].lower())


def context_length(client: JsonClient, model: str) -> int | None:
    """Most tokens that the model was made for; None where the server does not say."""
    reply = client.post("/api/show", {"model": model})
    told = reply.get("model_info") if isinstance(reply, dict) else None
    for key, value in told.items() if isinstance(told, dict) else ():
        if key.endswith(".context_length") and type(value) is int and value > 0:
            return value
    return None


def foreign_reply(client: JsonClient, path: str, expected: str) -> ProviderError:
    """The error for a reply that is JSON, but not of Ollama's API."""
    return ProviderError(
        f"ollama at {client.endpoint}{path}: found a reply without {expected}. Check that the "
        "address is that of an Ollama server, and update it"
    )


def _texts_of(entry: Any, *keys: str) -> list[str | None]:  # noqa: ANN401 - parsed JSON
    values = [entry.get(key) if isinstance(entry, dict) else None for key in keys]
    return [value if isinstance(value, str) else None for value in values]
