"""What both chat APIs share: tools on the wire, replies read without trust, refusals explained."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rag_core.adapters.json_client import StatusError
from rag_core.errors import ProviderError
from rag_core.types.messages import ToolCall

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rag_core.types.messages import ToolSpec
    from rag_core.types.profiles import ChatSettings

MAX_TOOL_CALLS: Final = 8
"""The one tool takes no arguments, so that a second call already adds nothing; more are ignored."""

_MOST_ID_CHARS: Final = 128
"""Longer ids than any provider makes; such a one is replaced."""

_COUNT_LIMIT: Final = 2**63
"""No column of integers holds it."""

_MAX_NESTING: Final = 100
"""Of arguments that are sent back; far below what the JSON encoder can nest."""

_REFUSED: Final = frozenset({400, 413, 422, 500, 501})
"""Statuses by which servers refuse what they do not support, or a prompt that is too long."""

_NO_TOOLS: Final = (
    'set chat.variant = "direct" or "context" in the profile, or name a model in chat.model that '
    "can call tools"
)
_NO_SCHEMA: Final = (
    "if this server or model enforces no JSON schema, name another one (chat.provider, "
    "chat.model), or update it"
)
_SCHEMA_WORDS: Final = ("response_format", "schema", "format", "grammar", "structured")


@dataclass(frozen=True, slots=True)
class Place:
    """Whom a message is about: provider, model and address, without keys."""

    provider: str
    model: str
    endpoint: str
    path: str

    def __str__(self) -> str:
        return f"{self.provider} {self.model} at {self.endpoint}{self.path}"

    def broken(self, found: str, expected: str) -> ProviderError:
        """The error for a reply that is JSON, but not of the provider's protocol."""
        return ProviderError(
            f"{self}: found {found}, expected {expected}. Check that chat.provider and "
            "chat.endpoint in the profile belong together"
        )


def model_of(settings: ChatSettings) -> str:
    """The model's name; every profile with a chat model has one.

    Raises:
        ValueError: If it has none.
    """
    if settings.model is None:
        raise ValueError(f"chat.model: provider {settings.provider!r} needs one, found none")
    return settings.model


def wire_tool(tool: ToolSpec) -> dict[str, Any]:
    """A tool as both APIs take it."""
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
    }
    return {"type": "function", "function": function}


def sendable_arguments(call: ToolCall) -> dict[str, Any]:
    """A call's arguments as an object; none where the model's own text is no JSON object.

    Servers refuse a history with broken arguments, and nothing here has acted upon them.
    """
    text = call.arguments
    if text.count("{") + text.count("[") > _MAX_NESTING:
        return {}
    try:
        value = json.loads(text, parse_constant=_no_constant)
        json.dumps(value, allow_nan=False)  # `1e999` is read as infinity
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def text_of(message: Mapping[str, Any], place: Place) -> str:
    """The content of a message as it stands; empty where the model only called tools.

    Reasoning in other fields is not read. A refusal in a field of its own is what was said.

    Raises:
        ProviderError: If there is no content, or it is no text.
    """
    content = message.get("content")
    if content is None:
        if not ({"content", "tool_calls"} & message.keys()):
            raise place.broken("a message without content", "text or a tool call")
        refusal = message.get("refusal")
        return refusal if isinstance(refusal, str) else ""
    if isinstance(content, list):
        return "".join(_text_of_part(part, place) for part in content)
    if not isinstance(content, str):
        raise place.broken(f"content of type {type(content).__name__}", "text")
    return content


def calls_of(message: Mapping[str, Any], place: Place) -> tuple[ToolCall, ...]:
    """The first tool calls of a message in order; their arguments stay text, whatever it is.

    Ids are unique: one that is empty, endless, unprintable or used before is replaced.

    Raises:
        ProviderError: If they are no list, or one has no name.
    """
    calls = message.get("tool_calls")
    if calls is None:
        return ()
    if not isinstance(calls, list):
        raise place.broken(f"tool calls of type {type(calls).__name__}", "a list")
    read: dict[str, ToolCall] = {}
    for call in calls[:MAX_TOOL_CALLS]:
        done = _call_of(call, read, place)
        read[done.id] = done
    return tuple(read.values())


def count_of(value: object) -> int | None:
    """A count of tokens; None where the provider tells none, or one that no record can hold."""
    return value if type(value) is int and 0 <= value < _COUNT_LIMIT else None


def check_room(input_tokens: int | None, settings: ChatSettings, place: Place) -> None:
    """Make sure that the prompt was read whole: one that fills the context was cut, or may be.

    Raises:
        ProviderError: If it fills `chat.context_tokens`.
    """
    if input_tokens is not None and input_tokens >= settings.context_tokens:
        raise ProviderError(
            f"{place}: found a prompt of {input_tokens} tokens, expected fewer than "
            f"chat.context_tokens ({settings.context_tokens}): the server may have cut it. Raise "
            "that in the profile if model and server have more, or ask with less background"
        )


def explained(error: StatusError, place: Place, *, tools: bool, schema: bool) -> StatusError:
    """The refusal with the next step that its words call for; the same error where none does."""
    step = _step_for(error.said.casefold(), tools=tools, schema=schema)
    if error.status not in _REFUSED or step is None:
        return error
    return StatusError(
        f"{place}: found {error.status}: {error.said}, expected 200. Next: {step}",
        status=error.status,
        said=error.said,
    )


def _step_for(said: str, *, tools: bool, schema: bool) -> str | None:
    if "context" in said or "too long" in said:
        return (
            "ask with less background, or give the model a longer context (chat.context_tokens "
            "in the profile, and the server's own limit)"
        )
    if tools and "tool" in said:
        return _NO_TOOLS
    if schema and any(word in said for word in _SCHEMA_WORDS):
        return _NO_SCHEMA
    return None


def _text_of_part(part: object, place: Place) -> str:
    text = part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None
    if not isinstance(text, str):
        raise place.broken("content with a part that is no text", "text")
    return text


def _call_of(call: object, used: Mapping[str, ToolCall], place: Place) -> ToolCall:
    function = call.get("function") if isinstance(call, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(call, dict) or not isinstance(function, dict):
        raise place.broken("a tool call without a function", "its name and arguments")
    if not isinstance(name, str) or not name:
        raise place.broken("a tool call without a name", "its name and arguments")
    arguments = function.get("arguments")
    return ToolCall(
        id=_id_of(call.get("id"), used),
        name=name,
        arguments=arguments if isinstance(arguments, str) else _as_text(arguments, place),
    )


def _id_of(told: object, used: Mapping[str, ToolCall]) -> str:
    given = told if isinstance(told, str) and told.isprintable() else ""
    if 0 < len(given) <= _MOST_ID_CHARS and given not in used:
        return given
    numbers = range(len(used) + 1, 2 * len(used) + 2)
    return next(name for name in map("call-{}".format, numbers) if name not in used)


def _as_text(arguments: object, place: Place) -> str:
    """Arguments that came parsed, as JSON text again."""
    try:
        return "" if arguments is None else json.dumps(arguments, ensure_ascii=False)
    except RecursionError:
        raise place.broken("a tool call nested too deeply", "flat arguments") from None


def _no_constant(name: str) -> Any:  # noqa: ANN401 - json's hook; it never returns
    raise ValueError(f"{name} is no JSON number")
