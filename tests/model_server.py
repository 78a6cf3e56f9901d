"""A real HTTP server on loopback that speaks the wires of Ollama and of OpenAI, and fails on order.

Vectors are drawn from the SHA-256 of text and weights, so that `swap_model` changes the space and
nothing else. Faults are taken from a queue, one per request; `change` edits a good reply.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

DIMENSION = 8
EMBEDDING_MODEL = "test-embedder"
CHAT_MODEL = "test-chat"
CONTEXT_TOKENS = 512


@dataclass(frozen=True)
class Fault:
    """What goes wrong with one request; without anything, nothing does."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    """Sent instead of the reply."""
    hang: bool = False
    """No reply until the server closes."""
    reset: bool = False
    """The connection is reset before a reply."""
    cut: bool = False
    """The connection ends half way through the reply."""
    drip_s: float = 0.0
    """Pause between single bytes of the body."""
    drip_headers: bool = False


@dataclass(frozen=True)
class Turn:
    """One reply of the chat model."""

    text: str = ""
    tools: tuple[tuple[str, str], ...] = ()
    """(name, arguments as JSON text) of each call."""
    cut: bool = False


@dataclass(frozen=True)
class Request:
    """A request as it arrived."""

    path: str
    body: Any
    headers: dict[str, str]


@dataclass
class ModelServer:
    """Context manager; `url` is Ollama's address, `url + "/v1"` the OpenAI-compatible one."""

    key: str | None = None
    """Where set, requests without this bearer token get 401, the key they sent echoed back."""
    faults: deque[Fault] = field(default_factory=deque)
    script: deque[Turn] = field(default_factory=deque)
    """Replies of the chat model; the last one is repeated."""
    change: Callable[[dict[str, Any]], object] | None = None
    """Edits each good reply to an embedding or chat request in place, or replaces it."""
    bad_texts: dict[str, int] = field(default_factory=dict)
    """A text that holds one of these words makes its request fail with the status."""
    requests: list[Request] = field(default_factory=list)
    weights: str = "weights-1"
    digest: str = hashlib.sha256(b"weights-1").hexdigest()
    truncates: bool = False
    """Cuts long texts silently, as some servers do, instead of refusing them."""
    most_at_once: int = 0
    slow_s: float = 0.0

    def __enter__(self) -> ModelServer:
        self._closing = threading.Event()
        self._running = 0
        self._guard = threading.Lock()
        handler = type("Handler", (_Handler,), {"owner": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def paths(self) -> list[str]:
        return [request.path for request in self.requests]

    def swap_model(self) -> None:
        """Other weights behind the same name and the same digest."""
        self.weights = f"{self.weights}+"

    def vector(self, text: str) -> list[float]:
        content = f"{self.weights} {text}".encode("utf-8", "surrogatepass")
        seed = int.from_bytes(hashlib.sha256(content).digest()[:8])
        drawn: list[float] = np.random.default_rng(seed).standard_normal(DIMENSION).tolist()
        return drawn

    # --- replies ------------------------------------------------------------------------------

    def reply_to(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        if (method, path) == ("GET", "/api/tags"):
            models = [
                {"name": f"{name}:latest", "model": f"{name}:latest", "digest": self.digest}
                for name in (EMBEDDING_MODEL, CHAT_MODEL)
            ]
            return 200, {"models": models}
        if (method, path) == ("GET", "/api/version"):
            return 200, {"version": "0.33.3"}
        if (method, path) == ("POST", "/api/show"):
            return 200, {"model_info": {"bert.context_length": CONTEXT_TOKENS}}
        if (method, path) == ("GET", "/v1/models"):
            return 200, {"object": "list", "data": [{"id": EMBEDDING_MODEL}, {"id": CHAT_MODEL}]}
        replies: dict[str, Callable[[Any], tuple[int, Any]]] = {
            "/api/embed": self._ollama_embed,
            "/v1/embeddings": self._openai_embed,
            "/api/chat": self._ollama_chat,
            "/v1/chat/completions": self._openai_chat,
        }
        if method != "POST" or path not in replies:
            return 404, _error(path, "404 page not found")
        status, reply = replies[path](body)
        if status == 200 and self.change is not None:
            changed = self.change(reply)
            reply = reply if changed is None else changed
        return status, reply

    def _tokens(self, texts: list[str]) -> list[int]:
        counted = [len(text.split()) + 2 for text in texts]
        return [min(n, CONTEXT_TOKENS) for n in counted] if self.truncates else counted

    def _refusal(self, path: str, texts: list[str]) -> tuple[int, Any] | None:
        for word, status in self.bad_texts.items():
            if any(word in text for text in texts):
                return status, _error(path, f"cannot embed this ({status})")
        if max(self._tokens(texts)) > CONTEXT_TOKENS:
            return 400, _error(path, "the input length exceeds the context length")
        return None

    def _ollama_embed(self, body: Any) -> tuple[int, Any]:
        texts = body["input"]
        refused = self._refusal("/api/embed", texts)
        return refused or (
            200,
            {
                "model": body["model"],
                "embeddings": [self.vector(text) for text in texts],
                "total_duration": 1,
                "prompt_eval_count": sum(self._tokens(texts)),
            },
        )

    def _openai_embed(self, body: Any) -> tuple[int, Any]:
        texts = body["input"]
        refused = self._refusal("/v1/embeddings", texts)
        total = sum(self._tokens(texts))
        return refused or (
            200,
            {
                "object": "list",
                "model": body["model"],
                "data": [
                    {"object": "embedding", "index": index, "embedding": self.vector(text)}
                    for index, text in enumerate(texts)
                ],
                "usage": {"prompt_tokens": total, "total_tokens": total},
            },
        )

    def _next_turn(self) -> Turn:
        if not self.script:
            return Turn('{"can_answer": false, "evidence": []}')
        return self.script.popleft() if len(self.script) > 1 else self.script[0]

    def _ollama_chat(self, body: Any) -> tuple[int, Any]:
        turn = self._next_turn()
        message: dict[str, Any] = {"role": "assistant", "content": turn.text}
        if turn.tools:
            message["tool_calls"] = [
                {"function": {"name": name, "arguments": json.loads(arguments)}}
                for name, arguments in turn.tools
            ]
        return 200, {
            "model": body["model"],
            "message": message,
            "done": True,
            "done_reason": "length" if turn.cut else "stop",
            "prompt_eval_count": 40,
            "eval_count": 7,
        }

    def _openai_chat(self, body: Any) -> tuple[int, Any]:
        turn = self._next_turn()
        message: dict[str, Any] = {"role": "assistant", "content": turn.text}
        if turn.tools:
            message["content"] = turn.text or None
            message["tool_calls"] = [
                {
                    "id": f"call_{n}",
                    "type": "function",
                    "function": {"name": name, "arguments": arguments},
                }
                for n, (name, arguments) in enumerate(turn.tools)
            ]
        reason = "length" if turn.cut else "tool_calls" if turn.tools else "stop"
        return 200, {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": {"prompt_tokens": 40, "completion_tokens": 7, "total_tokens": 47},
        }


class _Handler(BaseHTTPRequestHandler):
    owner: ModelServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._serve("GET")

    def do_POST(self) -> None:
        self._serve("POST")

    def log_message(self, *_: object) -> None:
        """Quiet."""

    def _serve(self, method: str) -> None:
        owner = self.owner
        length = int(self.headers.get("Content-Length", 0))
        body = json.loads(self.rfile.read(length)) if length else None
        with owner._guard:
            owner.requests.append(Request(self.path, body, dict(self.headers)))
            fault = owner.faults.popleft() if owner.faults else Fault()
            owner._running += 1
            owner.most_at_once = max(owner.most_at_once, owner._running)
        try:
            if owner.slow_s:
                owner._closing.wait(owner.slow_s)
            self._answer(method, self.path.partition("?")[0], body, fault)
        except OSError:  # the client has gone
            self.close_connection = True
        finally:
            with owner._guard:
                owner._running -= 1

    def _answer(self, method: str, path: str, body: Any, fault: Fault) -> None:
        owner = self.owner
        if fault.hang:
            owner._closing.wait(60)
            self.close_connection = True
            return
        if fault.reset:
            self._reset()
            return
        sent = self.headers.get("Authorization", "")
        if owner.key is not None and sent != f"Bearer {owner.key}":
            status, reply = 401, _error(path, f"Incorrect API key provided: {sent[7:]}")
        elif fault.status != 200:
            status, reply = fault.status, _error(path, f"told to fail with {fault.status}")
        else:
            status, reply = owner.reply_to(method, path, body)
        content = fault.body if fault.body is not None else json.dumps(reply).encode()
        self._write(status, content, fault)

    def _write(self, status: int, content: bytes, fault: Fault) -> None:
        if fault.drip_headers:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
            while not self.owner._closing.wait(fault.drip_s):
                self.wfile.write(b"x")
                self.wfile.flush()
            return
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **fault.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if fault.cut:
            self.wfile.write(content[: len(content) // 2])
            self.close_connection = True
            return
        if not fault.drip_s:
            self.wfile.write(content)
            return
        for byte in content:
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
            if self.owner._closing.wait(fault.drip_s):
                return

    def _reset(self) -> None:
        """Close with RST: linger of zero seconds."""
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.close_connection = True


def gzip_bomb(size_bytes: int) -> Fault:
    """A small reply that unpacks to `size_bytes` of spaces."""
    packed = gzip.compress(b" " * size_bytes)
    return Fault(body=packed, headers={"Content-Encoding": "gzip"})


def _error(path: str, message: str) -> Any:
    if path.startswith("/v1/"):
        return {"error": {"message": message, "type": "invalid_request_error", "code": None}}
    return {"error": message}
