"""Settings that every test shares."""

from __future__ import annotations

from hypothesis import settings

# Derandomised: a property that fails once fails always, on every machine.
settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=200)
settings.load_profile("repeatable")
