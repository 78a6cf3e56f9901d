"""Measurements on public data; not part of the distribution."""
