"""Chat with a model of an Ollama server, by its own API: it fails where it would cut a prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rag_core.adapters.chat_replies import (
    Place,
    calls_of,
    check_room,
    count_of,
    explained,
    model_of,
    sendable_arguments,
    text_of,
    wire_tool,
)
from rag_core.adapters.json_client import StatusError
from rag_core.adapters.ollama_models import context_length, installed_model
from rag_core.types.messages import Completion

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rag_core.adapters.json_client import JsonClient
    from rag_core.types.messages import ChatMessage, ToolSpec
    from rag_core.types.profiles import ChatSettings

PATH: Final = "/api/chat"

NOT_FOUND: Final = 404
"""What Ollama says of a model that was never pulled."""


class OllamaChat:
    """Implements `ChatModel`. Nothing is sent before the first use, and nothing is kept.

    Args:
        settings: The profile's chat section.
        client: Of the server that it names.
    """

    def __init__(self, settings: ChatSettings, client: JsonClient) -> None:
        self._settings = settings
        self._client = client
        self._model = model_of(settings)
        self._place = Place(settings.provider, self._model, client.endpoint, PATH)

    @property
    def name(self) -> str:
        """Provider and model."""
        return f"{self._settings.provider} {self._model}"

    def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        schema: Mapping[str, Any] | None = None,
        tools: Sequence[ToolSpec] = (),
    ) -> Completion:
        """The model's next turn, as `ChatModel` says.

        Raises:
            ProviderError: If the server fails, lacks the model, cut the prompt, or its reply is
                not of its own protocol.
        """
        try:
            reply = self._client.post(PATH, self._body(messages, schema, tools))
        except StatusError as error:
            raise self._refusal(error, tools=bool(tools), schema=schema is not None) from None
        if not isinstance(reply, dict) or not isinstance(reply.get("message"), dict):
            raise self._place.broken("a reply without a message", "one message")
        if reply.get("done") is not True:
            raise self._place.broken("a reply that is not done", "a whole one")
        message = reply["message"]
        done = Completion(
            text=text_of(message, self._place),
            tool_calls=calls_of(message, self._place),
            cut=reply.get("done_reason") == "length",
            input_tokens=count_of(reply.get("prompt_eval_count")),
            output_tokens=count_of(reply.get("eval_count")),
        )
        check_room(done.input_tokens, self._settings, self._place)
        return done

    def check(self) -> str:
        """Model, address, digest and version of a server that is ready.

        Raises:
            ProviderError: If it cannot be reached or lacks the model.
        """
        found = installed_model(self._client, self._model)
        where = f"{self.name} at {self._client.endpoint}"
        return f"{where}, digest {found.digest[:12]}, {self._version()}{self._short_context()}"

    def _short_context(self) -> str:
        """A warning where the model reads less than the profile says; a longer prompt fails."""
        most = context_length(self._client, self._model)
        if most is None or most >= self._settings.context_tokens:
            return ""
        asked = self._settings.context_tokens
        return f"; it reads {most} tokens, fewer than chat.context_tokens ({asked})"

    def _version(self) -> str:
        """What the server calls itself; some that speak this API have no such page."""
        try:
            told = self._client.get("/api/version")
        except StatusError:
            told = None
        version = told.get("version") if isinstance(told, dict) else None
        if isinstance(version, str) and version and version.isprintable():
            return f"Ollama {version[:20]}"
        return "Ollama of unknown version"

    def _body(
        self,
        messages: Sequence[ChatMessage],
        schema: Mapping[str, Any] | None,
        tools: Sequence[ToolSpec],
    ) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [_wire_message(message) for message in messages],
            "stream": False,
            # A prompt beyond the context is an error, neither cut nor shifted out of it.
            "truncate": False,
            "shift": False,
            "options": {
                "temperature": 0,
                "seed": 0,
                "num_predict": self._settings.max_tokens,
                "num_ctx": self._settings.context_tokens,
            },
        }
        if schema is not None:
            body["format"] = dict(schema)
        if tools:
            body["tools"] = [wire_tool(tool) for tool in tools]
        return body

    def _refusal(self, error: StatusError, *, tools: bool, schema: bool) -> StatusError:
        if error.status == NOT_FOUND and self._model in error.said:
            return StatusError(
                f"{self._place}: found {error.status}: {error.said}, expected 200. "
                f"Run: ollama pull {self._model}",
                status=error.status,
                said=error.said,
            )
        return explained(error, self._place, tools=tools, schema=schema)


def _wire_message(message: ChatMessage) -> dict[str, Any]:
    wire: dict[str, Any] = {"role": message.role.value, "content": message.text}
    if message.tool_calls:
        wire["tool_calls"] = [
            {"function": {"name": call.name, "arguments": sendable_arguments(call)}}
            for call in message.tool_calls
        ]
    if message.answers is not None:
        wire["tool_name"] = message.answers.name  # Ollama pairs by name, it has no ids
    return wire
