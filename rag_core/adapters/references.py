"""Where an address or a key stands: in an environment variable, or in a Prefect Secret block."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from rag_core.errors import UsageError

OLLAMA_PORT: Final = 11434
"""Ollama's own default, which its variable OLLAMA_HOST may leave out."""

LOOPBACK: Final = "127.0.0.1"
_OWN: Final = {"0.0.0.0": LOOPBACK, "::": "::1"}  # noqa: S104 - compared, never bound


def resolve(reference: str, *, read_block: Callable[[str], str] | None = None) -> str:
    """The text that `env:NAME` or `block:NAME` names; anything else is the text itself.

    Raises:
        UsageError: If the variable is not set, or blocks cannot be read here; values stay out.
    """
    kind, separator, name = reference.partition(":")
    if separator and kind == "env":
        value = os.environ.get(name, "").strip()
        if not value:
            raise UsageError(
                f"{reference}: the environment variable {name} is not set, and the profile reads "
                "an address or a key from it. Set it, or name another one in the profile"
            )
        return value
    if separator and kind == "block":
        if read_block is None:
            raise UsageError(
                f"{reference}: Prefect Secret blocks can be read by `rag` and by flows only. "
                "Name an environment variable with env:NAME"
            )
        value = read_block(name).strip()
        if not value:
            raise UsageError(f"{reference}: the block is empty. Save the address or key in it")
        return value
    return reference


def openai_endpoint(value: str) -> str:
    """The base address of an OpenAI-compatible API, such as `https://host/v1`.

    Raises:
        UsageError: If it is no http or https address; it is not repeated, it may hold a password.
    """
    return _checked(value, "https://host/v1")


def ollama_endpoint(value: str) -> str:
    """The base address of an Ollama server; takes what OLLAMA_HOST takes, `host` and `host:port`.

    Raises:
        UsageError: If it is no address; it is not repeated, it may hold a password.
    """
    if "://" in value:
        return _checked(value, "http://host:11434")
    parts = urlsplit(
        _checked(f"http://{LOOPBACK if value[:1] == ':' else ''}{value}", "host:11434")
    )
    # A server told to listen on all addresses is reached on this machine's own.
    host = _OWN.get(parts.hostname or "", parts.hostname or "")
    userinfo, at, _ = parts.netloc.rpartition("@")
    named = f"[{host}]" if ":" in host else host
    netloc = f"{userinfo}{at}{named}:{parts.port or OLLAMA_PORT}"
    return urlunsplit(parts._replace(netloc=netloc))


def _checked(value: str, example: str) -> str:
    try:
        parts = urlsplit(value)
        sound = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        sound = None
    if not sound or any(char.isspace() or not char.isprintable() for char in value):
        raise UsageError(
            "endpoint: the profile's address of a provider is no http or https address; want "
            f"{example}. Correct the profile, or the variable or block that it names"
        )
    return value if parts.query else value.rstrip("/")
