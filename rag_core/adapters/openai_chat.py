"""Chat with a model of any server that speaks OpenAI's `/v1/chat/completions`."""

from __future__ import annotations

import json
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
from rag_core.adapters.http_replies import names_hint
from rag_core.adapters.json_client import StatusError
from rag_core.types.messages import Completion

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rag_core.adapters.json_client import JsonClient
    from rag_core.types.messages import ChatMessage, ToolSpec
    from rag_core.types.profiles import ChatSettings

PATH: Final = "/chat/completions"
MODELS_PATH: Final = "/models"

_CUT: Final = frozenset({"length", "content_filter"})
"""Reasons to finish after which a text is not whole."""


class OpenAiChat:
    """Implements `ChatModel`. Nothing is sent before the first use, and nothing is kept.

    Args:
        settings: The profile's chat section.
        client: Of the server that it names; its address ends with the API's version.
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
            ProviderError: If the server fails, the prompt fills the context, or the reply is not
                of the server's own protocol.
        """
        try:
            reply = self._client.post(PATH, self._body(messages, schema, tools))
        except StatusError as error:
            told = explained(error, self._place, tools=bool(tools), schema=schema is not None)
            raise told from None
        choice = self._choice_of(reply)
        message, finish = choice.get("message"), choice.get("finish_reason")
        if not isinstance(message, dict):
            raise self._place.broken("a choice without a message", "one message")
        usage = reply.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        done = Completion(
            text=text_of(message, self._place),
            tool_calls=calls_of(message, self._place),
            cut=isinstance(finish, str) and finish in _CUT,
            input_tokens=count_of(usage.get("prompt_tokens")),
            output_tokens=count_of(usage.get("completion_tokens")),
        )
        check_room(done.input_tokens, self._settings, self._place)
        return done

    def check(self) -> str:
        """Model and address of a server that answers, and whether it lists the model.

        A model that is not listed is no error: some servers list other names than they take.

        Raises:
            ProviderError: If it cannot be reached, or its list is not of its own protocol.
        """
        reply = self._client.get(MODELS_PATH)
        data = reply.get("data") if isinstance(reply, dict) else None
        if not isinstance(data, list):
            place = Place(self._settings.provider, self._model, self._client.endpoint, MODELS_PATH)
            raise place.broken("a reply without a list of data", "the models of the server")
        ids = [entry.get("id") for entry in data if isinstance(entry, dict)]
        names = sorted({name for name in ids if isinstance(name, str)})
        return f"{self.name} at {self._client.endpoint}, {self._listed(names)}"

    def _listed(self, names: Sequence[str]) -> str:
        if self._model in names:
            return "listed by the server"
        if not names:
            return "which lists no models"
        hint = names_hint(self._model, names)
        return (
            f"not among the {len(names)} models that the server lists{hint}; some servers take "
            "names that they do not list"
        )

    def _choice_of(self, reply: object) -> dict[str, Any]:
        choices = reply.get("choices") if isinstance(reply, dict) else None
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            return choices[0]
        failed = isinstance(reply, dict) and reply.get("error") is not None
        found = "an error in a reply of success" if failed else "a reply without a choice"
        raise self._place.broken(found, "at least one choice")

    def _body(
        self,
        messages: Sequence[ChatMessage],
        schema: Mapping[str, Any] | None,
        tools: Sequence[ToolSpec],
    ) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [_wire_message(message) for message in messages],
            "temperature": 0,
            "max_tokens": self._settings.max_tokens,
        }
        if schema is not None:
            asked = {"name": "proposal", "strict": True, "schema": dict(schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": asked}
        if tools:
            body["tools"] = [wire_tool(tool) for tool in tools]
            body["tool_choice"] = "required"
        return body


def _wire_message(message: ChatMessage) -> dict[str, Any]:
    wire: dict[str, Any] = {"role": message.role.value, "content": message.text}
    if message.tool_calls:
        wire["content"] = message.text or None
        wire["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(sendable_arguments(call))},
            }
            for call in message.tool_calls
        ]
    if message.answers is not None:
        wire["tool_call_id"] = message.answers.id
    return wire
