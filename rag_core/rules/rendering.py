"""Templates of an embedding profile, filled in one pass: braces in a text are text."""

from __future__ import annotations

import re

_PLACEHOLDER = re.compile(r"\{(title|text)\}")


def render_document(template: str, *, title: str, text: str) -> str:
    """The template with `{title}` and `{text}` replaced; nothing inside either is interpreted."""
    values = {"title": title, "text": text}
    return _PLACEHOLDER.sub(lambda match: values[match[1]], template)


def render_query(template: str, text: str) -> str:
    """The template with `{text}` replaced; nothing inside the question is interpreted.

    Raises:
        ValueError: If the template asks for `{title}`, which a question does not have.
    """
    if "{title}" in template:
        raise ValueError("query template: want {text} alone, found {title}: a question has none")
    return _PLACEHOLDER.sub(lambda _: text, template)
