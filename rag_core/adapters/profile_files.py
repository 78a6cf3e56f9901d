"""Reads profiles: packaged ones by name, own ones by path, with one level of `extends`."""

from __future__ import annotations

import json
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rag_core.adapters.boundary_errors import explained
from rag_core.errors import UsageError
from rag_core.types.profiles import Profile

_SUFFIX = ".toml"


def packaged_profiles() -> tuple[str, ...]:
    """Names of the packaged profiles, sorted."""
    folder = resources.files("rag_core") / "profiles"
    names = (item.name for item in folder.iterdir())
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX)))


def load_profile(name: str) -> Profile:
    """The profile of this packaged name, or of this path when it ends with `.toml`.

    Raises:
        UsageError: If there is no such profile, or its file breaks a rule; the key is named.
    """
    settings = _settings(name)
    if name.endswith(_SUFFIX):
        # Records must not name a packaged profile where another one was used.
        settings.setdefault("name", Path(name).stem)
    base = settings.pop("extends", None)
    if base is not None:
        settings = _merged(_base_settings(name, base), settings)
    try:
        # Strict mode takes tuples from JSON arrays, not from Python lists.
        return Profile.model_validate_json(json.dumps(settings, default=str))
    except ValidationError as error:
        raise UsageError(f"profile {name}: {_explained(error)}") from error


def _base_settings(name: str, base: object) -> dict[str, Any]:
    if not isinstance(base, str) or base not in packaged_profiles():
        known = ", ".join(packaged_profiles())
        raise UsageError(f"profile {name}: extends: want one of {known}, found {base!r}")
    settings = _settings(base)
    nested = settings.pop("extends", None)
    return settings if nested is None else _merged(_settings(nested), settings)


def _settings(name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(_text(name))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"profile {name}: not TOML: {error}") from error


def _text(name: str) -> str:
    if name.endswith(_SUFFIX):
        try:
            return Path(name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            cause = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise UsageError(f"profile {name}: cannot be read: {cause}") from error
    if name not in packaged_profiles():
        known = ", ".join(packaged_profiles())
        raise UsageError(
            f"profile {name!r}: unknown; packaged are {known}. Own profiles are given as a path "
            "that ends with .toml"
        )
    return (resources.files("rag_core") / "profiles" / f"{name}{_SUFFIX}").read_text("utf-8")


def _merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in changes.items():
        old = merged.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            merged[key] = _merged(old, value)
        else:
            merged[key] = value
    return merged


def _explained(error: ValidationError) -> str:
    return "; ".join(explained(item, Profile) for item in error.errors(include_url=False))
