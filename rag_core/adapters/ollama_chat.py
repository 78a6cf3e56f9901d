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
from rag_core.adapters.ollama_models import context_length, foreign_reply, installed_model
from rag_core.errors import ProviderError
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
            ProviderError: If it cannot be reached, lacks the model, or the model has a shorter
                context than the profile says.
        """
        found = installed_model(self._client, self._model)
        most = context_length(self._client, self._model)
        if most is not None and most < self._settings.context_tokens:
            raise ProviderError(
                f"{self.name} at {self._client.endpoint}: found a context of {most} tokens, "
                f"expected chat.context_tokens ({self._settings.context_tokens}). Set "
                f"chat.context_tokens = {most} in the profile, or use another model"
            )
        told = self._client.get("/api/version")
        version = told.get("version") if isinstance(told, dict) else None
        if not isinstance(version, str) or not version:
            raise foreign_reply(self._client, "/api/version", "a version")
        return (
            f"{self.name} at {self._client.endpoint}, digest {found.digest[:12]}, "
            f"version {ascii(version[:20])[1:-1]}"
        )

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
