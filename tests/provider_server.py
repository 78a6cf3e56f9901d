"""A model server on loopback that speaks the wire of Ollama and of OpenAI, and fails on request.

Vectors are drawn from the SHA-256 of model and text, tokens are counted, chat replies come from a
script. Whatever a server can do wrong is a `Fault`, which the next request meets; the promises of
clients are then held against a real socket.

    with ProviderServer() as server:
        server.fail(status(503, headers={"Retry-After": "2"}), reset())
        server.script = [Said("{}"), Said(tool_calls=(("retrieve_knowledge", {}),))]
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import re
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import urlsplit

OLLAMA_MODELS = ("embeddinggemma:300m", "granite4:3b", "all-minilm:latest")
OPENAI_MODELS = ("text-embedding-3-small", "gpt-4.1-mini")
INFERENCE = frozenset({"/api/embed", "/api/chat", "/v1/embeddings", "/v1/chat/completions"})
"""Where faults strike, unless they name another path."""

Json = Any


@dataclass(frozen=True)
class Request:
    """A request as it arrived."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: Json


@dataclass(frozen=True)
class Said:
    """One turn of an assistant; arguments of a call are an object, or text that is none."""

    text: str = ""
    tool_calls: tuple[tuple[str, Json], ...] = ()
    finish: str = "stop"
    """`stop` or `length`; each API has its own word for a turn that calls a tool."""


@dataclass
class Exchange:
    """A request and the whole reply that the server would give; a fault does something else."""

    handler: Handler
    status: int
    reply: Json

    def send(
        self,
        content: bytes,
        *,
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
        length: int | None = None,
    ) -> None:
        """Send `content`; with another `length` the headers lie about it."""
        self.handler.send_response(self.status if status is None else status)
        named = {"Content-Type": "application/json", **(headers or {})}
        for name, value in {**named, "Content-Length": str(length or len(content))}.items():
            self.handler.send_header(name, value)
        self.handler.end_headers()
        self.handler.wfile.write(content)

    def send_reply(self) -> None:
        """Send the reply as it is; JSON lines where the reply is a stream."""
        if isinstance(self.reply, Stream):
            lines = b"".join(encoded(part) + b"\n" for part in self.reply.parts)
            self.send(lines, headers={"Content-Type": "application/x-ndjson"})
        else:
            self.send(encoded(self.reply))

    def pause(self, seconds: float) -> None:
        """Wait, but not longer than the server lives."""
        self.handler.provider.stopped.wait(seconds)

    def hang_up(self, *, reset: bool = False) -> None:
        """Close the connection: with an end of stream, or with a reset."""
        connection = self.handler.connection
        if reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.handler.close_connection = True
        if not reset:
            connection.shutdown(socket.SHUT_RDWR)
        connection.close()


@dataclass(frozen=True)
class Stream:
    """A reply in parts, one JSON line each."""

    parts: tuple[Json, ...]


Fault = Callable[[Exchange], None]


def encoded(value: Json) -> bytes:
    """JSON as a server writes it; NaN and Infinity stay the literals that Python writes."""
    return json.dumps(value).encode()


# --- Faults ---------------------------------------------------------------------------------------


def status(code: int, body: Json = None, *, headers: Mapping[str, str] | None = None) -> Fault:
    """Another status; without a body, that of the API that was asked."""

    def strike(exchange: Exchange) -> None:
        api = exchange.handler.api
        said = api.error(HTTPStatus(code).phrase, code) if body is None else body
        content = said if isinstance(said, bytes) else encoded(said)
        exchange.send(content, status=code, headers=headers)

    return strike


def hang(seconds: float = 30.0) -> Fault:
    """Nothing for so long, then the end of the connection."""

    def strike(exchange: Exchange) -> None:
        exchange.pause(seconds)
        exchange.hang_up()

    return strike


def reset(*, half_way: bool = False) -> Fault:
    """A reset before any byte of the reply, or after half of its body."""

    def strike(exchange: Exchange) -> None:
        if half_way:
            content = encoded(exchange.reply)
            exchange.send(content[: len(content) // 2], length=len(content))
            exchange.pause(0.05)  # a reset discards what the client has not read yet
        exchange.hang_up(reset=True)

    return strike


def truncated() -> Fault:
    """Half of the body, then the end of the connection."""

    def strike(exchange: Exchange) -> None:
        content = encoded(exchange.reply)
        exchange.send(content[: len(content) // 2], length=len(content))
        exchange.hang_up()

    return strike


def raw(content: bytes, *, headers: Mapping[str, str] | None = None) -> Fault:
    """These bytes as the body, with status 200."""
    return lambda exchange: exchange.send(content, headers=headers)


def html() -> Fault:
    """A page with status 200, as some gateways send for a model that is not there."""
    page = b"<html><body>It works!</body></html>"
    return raw(page, headers={"Content-Type": "text/html"})


def drip(interval_s: float = 0.02, *, headers: bool = False) -> Fault:
    """The reply byte by byte; with `headers`, a header that never ends."""

    def strike(exchange: Exchange) -> None:
        content = b"HTTP/1.1 200 OK\r\nX: " + b"a" * 10_000 if headers else encoded(exchange.reply)
        if not headers:
            exchange.send(b"", length=len(content))
        for byte in content:
            exchange.handler.wfile.write(bytes([byte]))
            exchange.pause(interval_s)
            if exchange.handler.provider.stopped.is_set():
                return

    return strike


def oversized(mb: float) -> Fault:
    """The reply behind so many million spaces."""
    return lambda exchange: exchange.send(b" " * int(mb * 1e6) + encoded(exchange.reply))


def bomb(mb: int, *, layers: int = 1) -> Fault:
    """The reply behind so many million spaces, compressed to nearly nothing."""

    def strike(exchange: Exchange) -> None:
        content = b" " * (mb * 1_000_000) + encoded(exchange.reply)
        for _ in range(layers):
            content = gzip.compress(content)
        exchange.send(content, headers={"Content-Encoding": ", ".join(["gzip"] * layers)})

    return strike


def changed(change: Callable[[Json], Json]) -> Fault:
    """The reply after `change`, which may work in place (and return None) or give another one."""

    def strike(exchange: Exchange) -> None:
        done = change(exchange.reply)
        exchange.reply = exchange.reply if done is None else done
        exchange.send_reply()

    return strike


def fine() -> Fault:
    """No fault: lets one request through on the way to the next fault."""
    return Exchange.send_reply


# --- The server -----------------------------------------------------------------------------------


@dataclass
class ProviderServer:
    """Both APIs on one loopback port; a context manager."""

    dimension: int = 8
    context: int = 2048
    api_key: str | None = None
    cuts_silently: bool = False
    """Reads the beginning of a text that is too long, whatever it was asked to do."""
    counts_tokens: bool = True
    """Whether the OpenAI side reports usage of embeddings."""
    delay_s: float = 0.0
    """How long each inference takes."""
    script: list[Said | Callable[[Json], Said]] = field(default_factory=list)
    """Replies of chats, in order; what is left over is not an error, what is missing is."""
    models: dict[str, str] = field(
        default_factory=lambda: {name: sha256(name) for name in (*OLLAMA_MODELS, *OPENAI_MODELS)}
    )
    """Name to digest."""
    refusals: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Marker to status and message: a text that holds the marker fails its whole request."""
    requests: list[Request] = field(default_factory=list)
    most_at_once: int = 0
    """Most inferences that ever ran at the same time."""
    stopped: threading.Event = field(default_factory=threading.Event)
    _faults: list[tuple[str | None, Fault]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _salt: str = ""
    _running: int = 0
    _replies: int = 0
    _http: Listener | None = None

    def __enter__(self) -> Self:
        self._http = Listener(("127.0.0.1", 0), Handler)
        self._http.provider = self
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._http is not None
        self.stopped.set()
        self._http.shutdown()
        self._http.server_close()
        self._http.hang_up_all()

    @property
    def address(self) -> str:
        """The base address of the Ollama side."""
        assert self._http is not None
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def openai_address(self) -> str:
        """The base address of the OpenAI side."""
        return f"{self.address}/v1"

    def fail(self, *faults: Fault, path: str | None = None) -> None:
        """The next inferences meet these faults, one each; with `path`, requests of that path."""
        with self._lock:
            self._faults.extend((path, fault) for fault in faults)

    def refuse(self, marker: str, code: int = 400, message: str = "cannot be embedded") -> None:
        """Every request with a text that holds `marker` fails."""
        self.refusals[marker] = (code, message)

    def swap_model(self) -> None:
        """Another model behind the same names and digests: all vectors differ."""
        self._salt += "another "

    def set_digest(self, model: str, digest: str) -> None:
        """What the server reports for the model from now on."""
        self.models[model] = digest

    def bodies(self, path: str) -> list[Json]:
        """Bodies of the requests of a path, in order of arrival."""
        return [request.body for request in self.requests if request.path == path]

    def vector(self, model: str, text: str) -> list[float]:
        """A unit vector that model and text alone decide."""
        seed = f"{self._salt}{model}\0{text}".encode("utf-8", "surrogatepass")
        blocks = -(-self.dimension // 8)
        drawn = b"".join(hashlib.sha256(seed + bytes([n % 256])).digest() for n in range(blocks))
        values = [word / 2**31 - 1 for word in struct.unpack(f"<{blocks * 8}I", drawn)]
        norm = sum(value * value for value in values[: self.dimension]) ** 0.5
        return [value / norm for value in values[: self.dimension]]

    # --- For the handler --------------------------------------------------------------------------

    def take_fault(self, path: str) -> Fault | None:
        """The first fault that this request meets; it strikes once."""
        with self._lock:
            for place, (wanted, fault) in enumerate(self._faults):
                if path == wanted or (wanted is None and path in INFERENCE):
                    del self._faults[place]
                    return fault
        return None

    def next_said(self, body: Json) -> Said | None:
        """The script's next turn."""
        with self._lock:
            step = self.script.pop(0) if self.script else None
        return step(body) if callable(step) else step

    def next_number(self) -> int:
        """Numbers replies and calls, from 1."""
        with self._lock:
            self._replies += 1
            return self._replies

    @contextlib.contextmanager
    def inferring(self) -> Iterator[None]:
        """Counts what runs at once, and takes its time."""
        with self._lock:
            self._running += 1
            self.most_at_once = max(self.most_at_once, self._running)
        try:
            if self.delay_s:
                self.stopped.wait(self.delay_s)
            yield
        finally:
            with self._lock:
                self._running -= 1


class Listener(ThreadingHTTPServer):
    """Keeps its connections, to end them with the server."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64
    provider: ProviderServer

    def __init__(self, *args: Any) -> None:
        self._open: set[socket.socket] = set()
        super().__init__(*args)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def hang_up_all(self) -> None:
        """End every connection that a client has left open."""
        for connection in tuple(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no error of the server; anything else is."""
        if not isinstance(sys.exception(), (OSError, ValueError)):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Listener

    @property
    def provider(self) -> ProviderServer:
        return self.server.provider

    @property
    def api(self) -> type[Api]:
        return OpenAi if self.path.startswith("/v1") else Ollama

    def log_message(self, *args: Any) -> None:
        """Standard error stays quiet."""

    def do_GET(self) -> None:
        self._answer(None)

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        self._answer(json.loads(self.rfile.read(length)))

    def _answer(self, body: Json) -> None:
        provider, parts = self.provider, urlsplit(self.path)
        headers = dict(self.headers.items())
        request = Request(self.command, parts.path, parts.query, headers, body)
        provider.requests.append(request)
        if parts.path in INFERENCE:
            with provider.inferring():
                code, reply = self._reply_to(request)
                self._send(Exchange(self, code, reply))
        else:
            self._send(Exchange(self, *self._reply_to(request)))

    def _send(self, exchange: Exchange) -> None:
        fault = self.provider.take_fault(urlsplit(self.path).path)
        (fault or Exchange.send_reply)(exchange)

    def _reply_to(self, request: Request) -> tuple[int, Json]:
        key = self.provider.api_key
        if key is not None and request.headers.get("Authorization") != f"Bearer {key}":
            return 401, self.api.error("Incorrect API key provided.", 401, "invalid_api_key")
        answer = ROUTES.get((request.method, request.path))
        if answer is None:
            return 404, self.api.error(f"unknown path {request.path}", 404)
        try:
            return 200, answer(self.provider, request.body)
        except RefusedError as refused:
            return refused.status, self.api.error(str(refused), refused.status, refused.code)


class RefusedError(Exception):
    """A request that a real server refuses."""

    def __init__(self, status: int, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


# --- The two wires --------------------------------------------------------------------------------


class Api:
    """What both wires share."""

    @staticmethod
    def error(message: str, status: int, code: str | None = None) -> Json:
        raise NotImplementedError


class Ollama(Api):
    """Its own API."""

    @staticmethod
    def error(message: str, status: int, code: str | None = None) -> Json:
        return {"error": message}

    @staticmethod
    def tags(server: ProviderServer, body: Json) -> Json:
        details = {"format": "gguf", "family": "gemma3", "quantization_level": "BF16"}
        common = {"modified_at": "2026-11-30T12:00:00Z", "size": 621875917, "details": details}
        return {
            "models": [
                {"name": name, "model": name, "digest": digest, **common}
                for name, digest in server.models.items()
                if name not in OPENAI_MODELS
            ]
        }

    @staticmethod
    def show(server: ProviderServer, body: Json) -> Json:
        Ollama.named(server, body)
        info = {
            "general.architecture": "gemma3",
            "gemma3.context_length": server.context,
            "gemma3.embedding_length": server.dimension,
        }
        return {"model_info": info, "capabilities": ["embedding", "completion", "tools"]}

    @staticmethod
    def version(server: ProviderServer, body: Json) -> Json:
        return {"version": "0.13.1"}

    @staticmethod
    def embed(server: ProviderServer, body: Json) -> Json:
        model = Ollama.named(server, body)
        told = body.get("options", {}).get("num_ctx", server.context)
        context = min(server.context, told)
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        cut = server.cuts_silently or body.get("truncate", True)
        read = read_texts(server, texts, context if cut else None)
        if max((tokens for _, tokens in read), default=0) > context:
            raise RefusedError(400, "the input length exceeds the context length")
        return {
            "model": body["model"],
            "embeddings": [server.vector(model, text) for text, _ in read],
            "total_duration": 14143917,
            "load_duration": 1019500,
            "prompt_eval_count": sum(tokens for _, tokens in read),
        }

    @staticmethod
    def chat(server: ProviderServer, body: Json) -> Json:
        Ollama.named(server, body)
        for turn in body["messages"]:
            for call in turn.get("tool_calls", ()):
                if not isinstance(call["function"]["arguments"], dict):
                    raise RefusedError(400, "json: cannot unmarshal string into Go struct field")
        said = said_next(server, body)
        message: dict[str, Json] = {"role": "assistant", "content": said.text}
        if said.tool_calls:
            message["tool_calls"] = [
                {"function": {"name": name, "arguments": arguments}}
                for name, arguments in said.tool_calls
            ]
        head = {"model": body["model"], "created_at": "2026-11-30T12:00:00.000000Z"}
        counts = {
            "total_duration": 5191566416,
            "load_duration": 2154458,
            "prompt_eval_count": prompt_tokens(body),
            "eval_count": count_tokens(said.text) + 8 * len(said.tool_calls),
        }
        done = {"done_reason": said.finish, "done": True, **counts}
        if body.get("stream", True):  # as the real one: streams unless told not to
            last = {**head, "message": {"role": "assistant", "content": ""}, **done}
            return Stream(({**head, "message": message, "done": False}, last))
        return {**head, "message": message, **done}

    @staticmethod
    def named(server: ProviderServer, body: Json) -> str:
        name = str(body.get("model", ""))
        full = name if ":" in name else f"{name}:latest"
        if full not in server.models:
            raise RefusedError(404, f'model "{name}" not found, try pulling it first')
        return full


class OpenAi(Api):
    """`/v1`."""

    @staticmethod
    def error(message: str, status: int, code: str | None = None) -> Json:
        kind = "server_error" if status >= 500 else "invalid_request_error"
        return {"error": {"message": message, "type": kind, "param": None, "code": code}}

    @staticmethod
    def models(server: ProviderServer, body: Json) -> Json:
        common = {"object": "model", "created": 1764500000, "owned_by": "organization"}
        return {"object": "list", "data": [{"id": name, **common} for name in server.models]}

    @staticmethod
    def embeddings(server: ProviderServer, body: Json) -> Json:
        model = OpenAi.named(server, body)
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        if not texts or "" in texts:
            raise RefusedError(400, "'$.input' is invalid. Please check the API reference.")
        read = read_texts(server, texts, server.context if server.cuts_silently else None)
        longest = max(tokens for _, tokens in read)
        if longest > server.context:
            raise RefusedError(
                400,
                f"This model's maximum context length is {server.context} tokens, however you "
                f"requested {longest} tokens. Please reduce your prompt.",
            )
        total = sum(tokens for _, tokens in read)
        usage = {"usage": {"prompt_tokens": total, "total_tokens": total}}
        return {
            "object": "list",
            "data": [
                {"object": "embedding", "index": n, "embedding": server.vector(model, text)}
                for n, (text, _) in enumerate(read)
            ],
            "model": model,
            **(usage if server.counts_tokens else {}),
        }

    @staticmethod
    def chat(server: ProviderServer, body: Json) -> Json:
        OpenAi.named(server, body)
        OpenAi.check_turns(body["messages"])
        said = said_next(server, body)
        number = server.next_number()
        message: dict[str, Json] = {"role": "assistant", "content": said.text, "refusal": None}
        if said.tool_calls:
            message["content"] = said.text or None
            message["tool_calls"] = [
                {
                    "id": f"call_{number}_{place}",
                    "type": "function",
                    "function": {
                        "name": name,
                        "arguments": args if isinstance(args, str) else json.dumps(args),
                    },
                }
                for place, (name, args) in enumerate(said.tool_calls)
            ]
        calls = said.tool_calls and said.finish == "stop"
        finish = "tool_calls" if calls else said.finish
        prompt, reply = prompt_tokens(body), count_tokens(said.text) + 8 * len(said.tool_calls)
        return {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            "created": 1764500000,
            "model": body["model"],
            "choices": [
                {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
            ],
            "usage": {
                "prompt_tokens": prompt,
                "completion_tokens": reply,
                "total_tokens": prompt + reply,
            },
        }

    @staticmethod
    def check_turns(messages: list[Json]) -> None:
        """A tool's turn must answer a call that an assistant's turn before it has made."""
        called: set[str] = set()
        for place, message in enumerate(messages):
            called |= {call["id"] for call in message.get("tool_calls") or ()}
            if message["role"] == "tool" and message.get("tool_call_id") not in called:
                raise RefusedError(
                    400,
                    f"Invalid parameter: messages with role 'tool' must be a response to a "
                    f"preceeding message with 'tool_calls'. (messages[{place}])",
                )

    @staticmethod
    def named(server: ProviderServer, body: Json) -> str:
        name = str(body.get("model", ""))
        if name not in server.models:
            raise RefusedError(404, f"The model `{name}` does not exist.", "model_not_found")
        return name


ROUTES: dict[tuple[str, str], Callable[[ProviderServer, Json], Json]] = {
    ("GET", "/api/tags"): Ollama.tags,
    ("GET", "/api/version"): Ollama.version,
    ("POST", "/api/show"): Ollama.show,
    ("POST", "/api/embed"): Ollama.embed,
    ("POST", "/api/chat"): Ollama.chat,
    ("GET", "/v1/models"): OpenAi.models,
    ("POST", "/v1/embeddings"): OpenAi.embeddings,
    ("POST", "/v1/chat/completions"): OpenAi.chat,
}


# --- Texts and tokens -----------------------------------------------------------------------------

_PIECE = re.compile(r"\w{1,4}|[^\w\s]")


def sha256(text: str) -> str:
    """SHA-256, hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def count_tokens(text: str) -> int:
    """Pieces of at most four letters or digits, each other sign, and one at either end."""
    return len(_PIECE.findall(text)) + 2


def prompt_tokens(body: Json) -> int:
    """Tokens of all messages of a chat."""
    return sum(count_tokens(str(message.get("content") or "")) + 3 for message in body["messages"])


def read_texts(
    server: ProviderServer, texts: list[str], cut_to: int | None
) -> list[tuple[str, int]]:
    """Each text as far as it is read, with its tokens."""
    for text in texts:
        for marker, (code, message) in server.refusals.items():
            if marker in text:
                raise RefusedError(code, message)
    read = []
    for text in texts:
        pieces = list(_PIECE.finditer(text))
        if cut_to is not None and len(pieces) + 2 > cut_to:
            read.append((text[: pieces[max(cut_to - 3, 0)].end()], cut_to))
        else:
            read.append((text, len(pieces) + 2))
    return read


def said_next(server: ProviderServer, body: Json) -> Said:
    """The script's next turn; a script that has run out fails loudly."""
    said = server.next_said(body)
    if said is None:
        raise RefusedError(418, "the test's script has no reply left")
    return said
