"""The profiles on the page about providers load, and its tables say what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rag_core.adapters.profile_files import load_profile
from rag_core.registry import CHAT_MODELS, EMBEDDERS
from rag_core.types.profiles import HttpSettings

PAGE = (Path(__file__).parents[2] / "docs/guides/providers.md").read_text("utf-8")
PROFILES = dict(re.findall(r"(?ms)^```toml (\S+)\n(.*?)^```$", PAGE))


@pytest.mark.parametrize("name", PROFILES)
def test_every_profile_of_the_page_can_be_copied(name, tmp_path):
    path = tmp_path / name
    path.write_text(PROFILES[name], "utf-8")
    assert load_profile(str(path)).name == name.removesuffix(".toml")


def test_every_provider_has_a_profile_to_copy(tmp_path):
    used = set()
    for name, text in PROFILES.items():
        path = tmp_path / name
        path.write_text(text, "utf-8")
        profile = load_profile(str(path))
        used |= {("embedding", profile.embedding.provider), ("chat", profile.chat.provider)}
    chats = {*CHAT_MODELS, "extractive"}
    assert used == {("embedding", n) for n in EMBEDDERS} | {("chat", n) for n in chats}


def test_the_limits_of_requests_are_listed_with_their_defaults():
    section = PAGE.split("\n## Limits and retries\n")[1].split("\n## ")[0]
    rows = re.findall(r"(?m)^\| `(\w+)` \| ([\d.]+) \|", section)
    defaults = {name: field.default for name, field in HttpSettings.model_fields.items()}
    assert {name: float(value) for name, value in rows} == defaults


@pytest.mark.parametrize("profile", ["offline", "ollama"])
def test_the_thresholds_of_the_page_are_those_of_the_profile(profile):
    (row,) = re.findall(rf"(?m)^\| .*\(`{profile}`\) \| (.*)$", PAGE)
    cosine, abstention = row.split("|")[:2]
    settings = load_profile(profile)
    assert cosine.strip().startswith(str(settings.retrieval.min_cosine))
    threshold = settings.abstention.threshold
    assert ('`"off"`' if threshold is None else f"{threshold:.2f}") in abstention
