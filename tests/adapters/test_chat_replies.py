"""Parts of chat replies are taken out as they stand, or named as what they are not."""

from __future__ import annotations

import pytest

from rag_core.adapters.chat_replies import (
    MAX_TOOL_CALLS,
    Place,
    calls_of,
    check_room,
    count_of,
    explained,
    sendable_arguments,
    text_of,
)
from rag_core.adapters.json_client import StatusError
from rag_core.errors import ProviderError
from rag_core.types.messages import ToolCall
from rag_core.types.profiles import ChatSettings

PLACE = Place("ollama", "tiny", "http://localhost:1234", "/api/chat")
SETTINGS = ChatSettings(
    provider="ollama", model="tiny", endpoint="http://localhost:1234", context_tokens=1000
)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        pytest.param({"content": " as it is\n"}, " as it is\n", id="a text keeps its white space"),
        pytest.param({"content": None, "tool_calls": []}, "", id="null beside calls is nothing"),
        pytest.param({"tool_calls": []}, "", id="calls alone are no words"),
        pytest.param({"content": None, "refusal": "I will not."}, "I will not.", id="a refusal"),
        pytest.param({"content": "yes", "refusal": "no"}, "yes", id="a text goes before a refusal"),
        pytest.param({"content": None, "refusal": 7}, "", id="a refusal that is no text"),
        pytest.param({"content": []}, "", id="no parts"),
    ],
)
def test_a_message_says(message, text):
    assert text_of(message, PLACE) == text


@pytest.mark.parametrize(
    "message",
    [
        pytest.param({}, id="empty"),
        pytest.param({"thinking": "hm"}, id="thoughts alone"),
        pytest.param({"content": True}, id="a truth value"),
        pytest.param({"content": {"text": "x"}}, id="an object"),
        pytest.param({"content": ["x"]}, id="a bare part"),
        pytest.param(
            {"content": [{"type": "image_url", "text": "x"}]}, id="a part of another type"
        ),
        pytest.param({"content": [{"type": "text"}]}, id="a part without text"),
    ],
)
def test_a_message_without_text_is_of_another_protocol(message):
    with pytest.raises(ProviderError, match="ollama tiny at http://localhost:1234/api/chat: found"):
        text_of(message, PLACE)


def test_as_many_calls_as_allowed_are_read_and_numbered_where_they_have_no_id():
    listed = [{"function": {"name": "f"}}] * MAX_TOOL_CALLS
    calls = calls_of({"tool_calls": listed}, PLACE)
    assert [call.id for call in calls] == [f"call-{n}" for n in range(1, MAX_TOOL_CALLS + 1)]
    assert {call.arguments for call in calls} == {""}


def test_an_id_of_the_provider_is_kept_and_an_empty_one_is_made_up():
    listed = [{"id": "abc", "function": {"name": "f"}}, {"id": "", "function": {"name": "f"}}]
    assert [call.id for call in calls_of({"tool_calls": listed}, PLACE)] == ["abc", "call-2"]


@pytest.mark.parametrize(
    ("given", "used"),
    [
        pytest.param(["a", "a", "a"], ["a", "call-2", "call-3"], id="one for all"),
        pytest.param(["call-2", "", ""], ["call-2", "call-3", "call-4"], id="one of ours"),
        pytest.param(["", "call-1"], ["call-1", "call-2"], id="one of ours later"),
        pytest.param(["x" * 128, "y" * 129], ["x" * 128, "call-2"], id="endless"),
        pytest.param(["a\n", "\ud800", 7], ["call-1", "call-2", "call-3"], id="no text to show"),
    ],
)
def test_every_call_has_an_id_of_its_own(given, used):
    listed = [{"id": told, "function": {"name": "f"}} for told in given]
    assert [call.id for call in calls_of({"tool_calls": listed}, PLACE)] == used


@pytest.mark.parametrize(("told", "count"), [(2**63 - 1, 2**63 - 1), (2**63, None)])
def test_a_count_is_one_that_a_column_of_integers_holds(told, count):
    assert count_of(told) == count


def test_parsed_arguments_nested_beyond_reason_are_of_another_protocol():
    nested: object = {}
    for _ in range(5_000):
        nested = [nested]
    with pytest.raises(ProviderError, match="nested too deeply"):
        calls_of({"tool_calls": [{"function": {"name": "f", "arguments": nested}}]}, PLACE)


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        pytest.param('{"a": [1]}', {"a": [1]}, id="an object"),
        pytest.param("", {}, id="nothing"),
        pytest.param("{broken", {}, id="broken"),
        pytest.param('["a"]', {}, id="a list"),
        pytest.param('{"a": NaN}', {}, id="NaN, which could not be sent"),
        pytest.param('{"a": 1e999}', {}, id="a number beyond all, which could not be sent"),
        pytest.param('{"a": ' + "[" * 5_000, {}, id="nested beyond reason"),
        pytest.param('{"a": ' + "9" * 5_000 + "}", {}, id="a number beyond the digit limit"),
    ],
)
def test_only_arguments_that_any_server_reads_are_sent_back(text, sent):
    assert sendable_arguments(ToolCall("call-1", "f", text)) == sent


@pytest.mark.parametrize("tokens", [None, 0, 999])
def test_a_prompt_below_the_context_was_read_whole(tokens):
    check_room(tokens, SETTINGS, PLACE)


@pytest.mark.parametrize("tokens", [1000, 4096])
def test_a_prompt_that_fills_the_context_names_the_key_and_both_sides(tokens):
    with pytest.raises(ProviderError, match=rf"{tokens} tokens.*chat\.context_tokens \(1000\)"):
        check_room(tokens, SETTINGS, PLACE)


@pytest.mark.parametrize(
    ("status", "said", "step"),
    [
        pytest.param(400, "tiny does not support tools", "chat.variant", id="no tools"),
        pytest.param(500, "tools param requires --jinja flag", "chat.variant", id="tools are off"),
        pytest.param(400, "'response_format' is invalid", "JSON schema", id="no response format"),
        pytest.param(422, "unsupported grammar", "JSON schema", id="no grammar"),
        pytest.param(400, "maximum context length is 512", "context_tokens", id="too long"),
        pytest.param(
            400, "prompt with tools is too long", "context_tokens", id="length goes first"
        ),
    ],
)
def test_a_refusal_gets_the_step_that_its_words_call_for(status, said, step):
    told = explained(StatusError("x", status=status, said=said), PLACE, tools=True, schema=True)
    assert (told.status, told.said) == (status, said)
    assert f"found {status}: {said}, expected 200. Next: " in str(told)
    assert step in str(told)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        pytest.param(401, "no tools for this key", id="a key"),
        pytest.param(404, "model toolformer not found", id="a model"),
        pytest.param(400, "temperature is not supported", id="another setting"),
    ],
)
def test_any_other_refusal_stays_as_it_is(status, said):
    error = StatusError("as it was", status=status, said=said)
    assert explained(error, PLACE, tools=True, schema=True) is error


def test_what_was_not_asked_for_is_not_blamed():
    error = StatusError("as it was", status=400, said="tools and formats are not supported")
    assert explained(error, PLACE, tools=False, schema=False) is error
