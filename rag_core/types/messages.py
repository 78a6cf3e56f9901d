"""One exchange with a chat model, whatever its provider's wire looks like."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


class Role(StrEnum):
    """Who speaks."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that a model asks the host to make."""

    id: str
    """Pairs the call with its result; made up by the adapter where the provider has none."""
    name: str
    arguments: str
    """JSON text as the model wrote it; nothing in it is trusted or acted upon."""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One turn of a conversation that is sent whole, every time."""

    role: Role
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    """Of an assistant's turn."""
    answers: ToolCall | None = None
    """Of a tool's turn: the call whose result `text` is."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool that a model may call."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON schema of the arguments, an object."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What a chat model said, unread."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    cut: bool = False
    """The provider stopped at its output limit: the text is not whole."""
    input_tokens: int | None = None
    output_tokens: int | None = None
