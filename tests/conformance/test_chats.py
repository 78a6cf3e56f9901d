"""What every chat model keeps, and what it survives on the real wire of its provider.

Runs over all of `registry.CHAT_MODELS`: a new provider inherits the suite by being registered.
"""

from __future__ import annotations

import json
import logging
import signal
import threading
import time
import traceback

import pytest
from model_server import Fault, Turn

from rag_core.adapters.chat_replies import MAX_TOOL_CALLS
from rag_core.errors import ProviderError
from rag_core.registry import CHAT_MODELS
from rag_core.rules.prompts import RETRIEVE_KNOWLEDGE
from rag_core.rules.proposals import PROPOSAL_SCHEMA, parse_reply
from rag_core.types.messages import ChatMessage, Role, ToolCall
from rag_core.types.proposals import AnswerProposal, Evidence, MalformedReply

PROVIDERS = sorted(CHAT_MODELS)
KEY = "sk-very-secret-0123"
ASKED = (
    ChatMessage(Role.SYSTEM, "Quote the excerpts."),
    ChatMessage(Role.USER, "What colour is the seal?"),
)
PROPOSAL = '{"can_answer": true, "evidence": [{"source_id": "SEAL#0", "quote": "It is blue."}]}'


@pytest.fixture
def make_model(connect, make_settings):
    def make(provider, *, api_key=None, **limits):
        client = connect(provider, api_key=api_key, **limits)
        settings = make_settings["chat"](provider)
        return CHAT_MODELS[provider](settings, lambda *_: client)

    return make


@pytest.fixture(params=PROVIDERS)
def provider(request) -> str:
    name: str = request.param
    return name


@pytest.fixture
def model(make_model, provider):
    return make_model(provider)


def message_of(reply):
    """The assistant's message in a reply of either API."""
    return reply["message"] if "message" in reply else reply["choices"][0]["message"]


# --- What it keeps ----------------------------------------------------------------------------


def test_a_reply_comes_back_unread_with_its_tokens(model, server):
    server.script.append(Turn(PROPOSAL))
    done = model.complete(ASKED, schema=PROPOSAL_SCHEMA)
    assert (done.text, done.tool_calls, done.cut) == (PROPOSAL, (), False)
    assert (done.input_tokens, done.output_tokens) == (40, 7)
    evidence = (Evidence("SEAL#0", "It is blue."),)
    assert parse_reply(done.text) == AnswerProposal(True, evidence)


def test_a_tool_call_comes_back_with_its_name_and_arguments_as_text(model, server):
    server.script.append(Turn(tools=(("retrieve_knowledge", '{"query": "x"}'),)))
    (call,) = model.complete(ASKED, tools=(RETRIEVE_KNOWLEDGE,)).tool_calls
    assert (call.name, json.loads(call.arguments)) == ("retrieve_knowledge", {"query": "x"})
    assert call.id


def test_several_tool_calls_keep_their_order_and_have_ids_of_their_own(model, server):
    server.script.append(Turn(tools=(("retrieve_knowledge", "{}"), ("other", "{}"))))
    calls = model.complete(ASKED, tools=(RETRIEVE_KNOWLEDGE,)).tool_calls
    assert [call.name for call in calls] == ["retrieve_knowledge", "other"]
    assert len({call.id for call in calls}) == 2


def test_words_instead_of_a_tool_call_are_no_call(model, server):
    server.script.append(Turn("The seal is blue, I am sure."))
    done = model.complete(ASKED, tools=(RETRIEVE_KNOWLEDGE,))
    assert (done.tool_calls, done.text) == ((), "The seal is blue, I am sure.")


def test_a_reply_at_the_output_limit_is_marked_as_cut(model, server):
    server.script.append(Turn(PROPOSAL[:40], cut=True))
    assert model.complete(ASKED, schema=PROPOSAL_SCHEMA).cut


def test_a_schema_that_the_server_ignores_is_left_to_the_reader(model, server):
    server.script.append(Turn("Sure! The seal is blue."))
    done = model.complete(ASKED, schema=PROPOSAL_SCHEMA)
    assert isinstance(parse_reply(done.text), MalformedReply)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a\u0007b\u0000", id="control characters"),
        pytest.param("a\ud800", id="a lone surrogate"),
        pytest.param("ﬁ \u202e \U0001f600", id="any script"),
        pytest.param("", id="nothing"),
    ],
)
def test_text_passes_through_as_it_is(model, server, text):
    server.script.append(Turn(text))
    assert model.complete(ASKED).text == text


def test_two_questions_on_one_model_share_nothing(model, server):
    server.script.append(Turn(PROPOSAL))
    first, second = model.complete(ASKED), model.complete(ASKED)
    assert first == second
    assert server.requests[0].body == server.requests[1].body


def test_a_null_for_text_reads_as_none(model, server):
    server.change = lambda reply: message_of(reply).__setitem__("content", None)
    assert model.complete(ASKED).text == ""


def test_text_in_parts_is_joined(model, server):
    parts = [{"type": "text", "text": "The seal "}, {"type": "text", "text": "is blue."}]
    server.change = lambda reply: message_of(reply).__setitem__("content", parts)
    assert model.complete(ASKED).text == "The seal is blue."


def test_thoughts_beside_the_text_are_ignored(model, server):
    def think(reply):
        message_of(reply).update({"thinking": "hm", "reasoning_content": "hm"})

    server.change = think
    server.script.append(Turn(PROPOSAL))
    assert model.complete(ASKED).text == PROPOSAL


@pytest.mark.parametrize("count", [None, "7", -1, 7.5, True, 2**63])
def test_a_count_that_is_none_is_not_told(model, server, count):
    def miscount(reply):
        usage = {"prompt_tokens": count, "completion_tokens": count}
        reply.update({"prompt_eval_count": count, "eval_count": count, "usage": usage})

    server.change = miscount
    done = model.complete(ASKED)
    assert (done.input_tokens, done.output_tokens) == (None, None)


def test_a_check_says_where_the_model_is_without_asking_it_anything(model, server, provider):
    said = model.check()
    assert server.url in said
    assert "test" in said
    assert all(not path.endswith(("chat", "completions")) for path in server.paths())


# --- Replies of another protocol --------------------------------------------------------------


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param([], id="a list"),
        pytest.param({}, id="nothing that was asked for"),
        pytest.param({"message": None, "choices": []}, id="no choice"),
        pytest.param({"message": "x", "done": True, "choices": ["x"]}, id="no message"),
        pytest.param(
            {"message": {"content": "x"}, "done": False, "choices": [{}]}, id="unfinished"
        ),
        pytest.param(
            {"message": {"content": 7}, "done": True, "choices": [{"message": {"content": 7}}]},
            id="a number for text",
        ),
    ],
)
def test_json_of_another_protocol_is_an_error(model, server, reply):
    server.change = lambda _: reply
    with pytest.raises(ProviderError, match="belong together"):
        model.complete(ASKED)


@pytest.mark.parametrize(
    "calls",
    [
        pytest.param("retrieve_knowledge", id="a text"),
        pytest.param([{"function": {"arguments": "{}"}}], id="no name"),
        pytest.param([{"function": {"name": ""}}], id="an empty name"),
        pytest.param([{"function": "retrieve_knowledge"}], id="no function"),
        pytest.param([None], id="null"),
    ],
)
def test_tool_calls_of_another_form_are_an_error(model, server, calls):
    server.change = lambda reply: message_of(reply).__setitem__("tool_calls", calls)
    with pytest.raises(ProviderError, match="tool call"):
        model.complete(ASKED, tools=(RETRIEVE_KNOWLEDGE,))


def test_calls_beyond_the_most_that_are_read_are_ignored(model, server):
    calls = [{"function": {"name": f"f{n}"}} for n in range(MAX_TOOL_CALLS)]
    listed = [*calls, None]
    server.change = lambda reply: message_of(reply).__setitem__("tool_calls", listed)
    read = model.complete(ASKED, tools=(RETRIEVE_KNOWLEDGE,)).tool_calls
    assert [call.name for call in read] == [f"f{n}" for n in range(MAX_TOOL_CALLS)]


@pytest.mark.parametrize("finish", [["length"], {}, 7, None])
def test_a_reason_to_finish_that_is_no_text_cuts_nothing(model, server, finish):
    def edit(reply):
        reply["done_reason"] = finish
        for choice in reply.get("choices", ()):
            choice["finish_reason"] = finish

    server.change = edit
    assert not model.complete(ASKED).cut


def test_arguments_with_a_number_beyond_all_are_sent_back_as_none(model, server):
    arguments = '{"query": 1e999}'
    calls = [{"id": "a", "function": {"name": "retrieve_knowledge", "arguments": arguments}}]
    server.change = lambda reply: message_of(reply).__setitem__("tool_calls", calls)
    (call,) = model.complete(ASKED, tools=(RETRIEVE_KNOWLEDGE,)).tool_calls
    assistant = ChatMessage(Role.ASSISTANT, "", tool_calls=(call,))
    server.change = None
    model.complete((*ASKED, assistant, ChatMessage(Role.TOOL, "excerpts", answers=call)))
    (sent,) = server.requests[-1].body["messages"][-2]["tool_calls"]
    assert sent["function"]["arguments"] in ({}, "{}")


def test_arguments_that_are_no_json_pass_through_unread(model, server):
    calls = [{"id": "a", "function": {"name": "retrieve_knowledge", "arguments": "{broken"}}]
    server.change = lambda reply: message_of(reply).__setitem__("tool_calls", calls)
    (call,) = model.complete(ASKED, tools=(RETRIEVE_KNOWLEDGE,)).tool_calls
    assert call.arguments == "{broken"
    assistant = ChatMessage(Role.ASSISTANT, "", tool_calls=(call,))
    server.change = None
    model.complete((*ASKED, assistant, ChatMessage(Role.TOOL, "excerpts", answers=call)))


# --- The wire ---------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_is_asked_again_after_the_pause_that_it_names(model, server, pauses, status):
    server.faults.append(Fault(status=status, headers={"Retry-After": "2"}))
    server.script.append(Turn(PROPOSAL))
    assert model.complete(ASKED).text == PROPOSAL
    assert pauses == [2.0]


@pytest.mark.parametrize(
    "fault", [pytest.param(Fault(reset=True), id="reset"), pytest.param(Fault(cut=True), id="cut")]
)
def test_a_broken_connection_is_made_again(model, server, pauses, fault):
    server.faults.append(fault)
    server.script.append(Turn(PROPOSAL))
    assert model.complete(ASKED).text == PROPOSAL
    assert len(pauses) == 1


def test_a_model_that_hangs_is_given_up_in_time_and_not_asked_again(make_model, provider, server):
    model = make_model(provider, timeout_s=1.0)
    server.faults.append(Fault(hang=True))
    with pytest.raises(ProviderError, match=r"no whole reply within 1 s"):
        model.complete(ASKED)
    assert len(server.requests) == 1
    assert model.complete(ASKED).text  # the same client goes on


@pytest.mark.parametrize(
    "body", [pytest.param(b"<html></html>", id="a page"), pytest.param(b'{"mess', id="half of it")]
)
def test_a_body_that_is_no_json_is_an_error(model, server, body):
    server.faults.append(Fault(body=body))
    with pytest.raises(ProviderError, match="no JSON"):
        model.complete(ASKED)


@pytest.mark.parametrize(
    ("said", "step"),
    [
        pytest.param("model does not support tools", "chat.variant", id="no tools"),
        pytest.param("response_format is not supported", "enforces no JSON schema", id="no schema"),
        pytest.param("exceeds the context size", "chat.context_tokens", id="too long a prompt"),
    ],
)
def test_a_feature_that_the_server_lacks_names_the_key_to_change(model, server, said, step):
    body = json.dumps({"error": {"message": said}}).encode()
    server.faults.append(Fault(status=400, body=body))
    with pytest.raises(ProviderError, match=step) as caught:
        model.complete(ASKED, schema=PROPOSAL_SCHEMA, tools=(RETRIEVE_KNOWLEDGE,))
    assert said in str(caught.value)


@pytest.mark.timeout(20)
def test_an_interrupt_ends_a_call_that_hangs_and_leaves_the_client_usable(
    make_model, provider, server
):
    model = make_model(provider, timeout_s=30.0)
    server.faults.append(Fault(hang=True))

    def interrupt() -> None:
        while not server.requests:
            time.sleep(0.01)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        model.complete(ASKED)
    assert model.complete(ASKED).text


def test_a_key_that_the_server_echoes_is_in_no_error_traceback_or_log(
    make_model, provider, server, caplog
):
    server.key = "another"
    model = make_model(provider, api_key=KEY)
    with caplog.at_level(logging.DEBUG), pytest.raises(ProviderError) as caught:
        model.complete(ASKED)
    told = "".join(traceback.format_exception(caught.value)) + caplog.text + repr(vars(model))
    assert "401" in str(caught.value)
    assert KEY not in told + repr(vars(caught.value))


# --- The two wires, word for word -------------------------------------------------------------

CALL = ToolCall("call_0", "retrieve_knowledge", '{"query": "x"}')
CONVERSATION = (
    *ASKED,
    ChatMessage(Role.ASSISTANT, "", tool_calls=(CALL,)),
    ChatMessage(Role.TOOL, "excerpts", answers=CALL),
)
TOOL = {
    "type": "function",
    "function": {
        "name": "retrieve_knowledge",
        "description": RETRIEVE_KNOWLEDGE.description,
        "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
    },
}


def test_the_wire_of_ollama_is_this(make_model, server):
    model = make_model("ollama")
    model.complete(CONVERSATION, schema=PROPOSAL_SCHEMA)
    model.complete(ASKED, tools=(RETRIEVE_KNOWLEDGE,))
    proposing, calling = (request.body for request in server.requests)
    assert server.paths() == ["/api/chat", "/api/chat"]
    assert proposing == {
        "model": "test-chat",
        "messages": [
            {"role": "system", "content": "Quote the excerpts."},
            {"role": "user", "content": "What colour is the seal?"},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {"function": {"name": "retrieve_knowledge", "arguments": {"query": "x"}}}
                ],
            },
            {"role": "tool", "content": "excerpts", "tool_name": "retrieve_knowledge"},
        ],
        "stream": False,
        "truncate": False,
        "shift": False,
        "format": PROPOSAL_SCHEMA,
        "options": {"temperature": 0, "seed": 0, "num_predict": 256, "num_ctx": 4096},
    }
    assert calling["tools"] == [TOOL]
    assert "format" not in calling


def test_the_wire_of_openai_is_this(make_model, server):
    model = make_model("openai-compatible", api_key="k")
    model.complete(CONVERSATION, schema=PROPOSAL_SCHEMA)
    model.complete(ASKED, tools=(RETRIEVE_KNOWLEDGE,))
    proposing, calling = (request.body for request in server.requests)
    assert server.paths() == ["/v1/chat/completions", "/v1/chat/completions"]
    assert server.requests[0].headers["Authorization"] == "Bearer k"
    assert proposing == {
        "model": "test-chat",
        "messages": [
            {"role": "system", "content": "Quote the excerpts."},
            {"role": "user", "content": "What colour is the seal?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "call_0",
                        "type": "function",
                        "function": {"name": "retrieve_knowledge", "arguments": '{"query": "x"}'},
                    }
                ],
            },
            {"role": "tool", "content": "excerpts", "tool_call_id": "call_0"},
        ],
        "temperature": 0,
        "max_tokens": 256,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "proposal", "strict": True, "schema": PROPOSAL_SCHEMA},
        },
    }
    assert (calling["tools"], calling["tool_choice"]) == ([TOOL], "required")
    assert "response_format" not in calling


def test_a_prompt_that_fills_the_context_may_be_cut_and_is_an_error(model, server):
    def fill(reply):
        reply.update({"prompt_eval_count": 4096, "usage": {"prompt_tokens": 4096}})

    server.change = fill
    with pytest.raises(ProviderError, match=r"may have cut it. Raise that"):
        model.complete(ASKED)


def test_an_error_in_a_reply_of_success_is_an_error(model, server):
    server.faults.append(Fault(body=b'{"error": {"message": "no capacity", "code": 502}}'))
    with pytest.raises(ProviderError, match="belong together"):
        model.complete(ASKED)


def test_a_reply_ended_by_a_content_filter_is_cut(make_model, server):
    server.change = lambda reply: reply["choices"][0].__setitem__("finish_reason", "content_filter")
    assert make_model("openai-compatible").complete(ASKED).cut


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        pytest.param(["other", "test-chat"], "listed by the server", id="listed"),
        pytest.param([], "which lists no models", id="an empty list"),
        pytest.param(
            ["test-chat-2", "x", None],
            "not among the 2 models that the server lists; close matches: test-chat-2",
            id="not listed",
        ),
    ],
)
def test_a_check_of_openai_says_whether_the_model_is_listed(make_model, server, ids, said):
    listed = json.dumps({"object": "list", "data": [{"id": name} for name in ids]})
    server.faults.append(Fault(body=listed.encode()))
    assert said in make_model("openai-compatible").check()


def test_a_list_of_models_in_another_form_fails_the_check_of_openai(make_model, server):
    server.faults.append(Fault(body=b'{"models": []}'))
    with pytest.raises(ProviderError, match="/models: found a reply without a list of data"):
        make_model("openai-compatible").check()


@pytest.mark.parametrize(
    ("shown", "version", "said"),
    [
        pytest.param(131072, b'{"version": "0.33.3"}', "Ollama 0.33.3", id="ready"),
        pytest.param(131072, b"{}", "Ollama of unknown version", id="no version"),
        pytest.param(
            2048,
            b'{"version": "0.33.3"}',
            "it reads 2048 tokens, fewer than chat.context_tokens (4096)",
            id="a short context",
        ),
    ],
)
def test_a_check_of_ollama_says_what_is_there(make_model, server, shown, version, said):
    info = json.dumps({"model_info": {"granite.context_length": shown}}).encode()
    server.faults.extend((Fault(), Fault(body=version), Fault(body=info)))
    told = make_model("ollama").check()
    assert told.startswith(f"ollama test-chat at {server.url}, digest {server.digest[:12]}, ")
    assert told.endswith(said)


def test_a_question_to_a_missing_ollama_model_says_how_to_get_it(make_model, server):
    body = b'{"error": "model \'test-chat\' not found"}'
    server.faults.append(Fault(status=404, body=body))
    with pytest.raises(ProviderError, match="Run: ollama pull test-chat"):
        make_model("ollama").complete(ASKED)


def test_a_missing_ollama_model_says_how_to_get_it(connect, make_settings):
    settings = make_settings["chat"]("ollama", model="granite4:3b")
    model = CHAT_MODELS["ollama"](settings, lambda *_: connect("ollama"))
    with pytest.raises(ProviderError, match="ollama pull granite4:3b"):
        model.check()
