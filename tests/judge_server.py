"""An OpenAI-compatible server on loopback that misbehaves on purpose, by what the judged text begins with.

The output of a sample is ``<kind> <number>``; the server counts what it was asked and what it sent.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PASSING, FAILING = "pass", "fail"
VERDICT = '{"reason": "the text says so", "score": true}'
TOKENS_IN, TOKENS_OUT = 100, 10


class JudgeServer:
    """The server, running for the time of a ``with`` block.

    `asked` counts requests per sample, `answered` replies with a choice; `bodies` and `headers` are those of requests.
    """

    def __init__(self, on_request: Callable[[JudgeServer], None] | None = None) -> None:
        self.asked: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.most_at_once = 0
        self._at_once = 0
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._on_request = on_request
        handler = type("Handler", (_Handler,), {"owner": self})
        self._server = _Server(("127.0.0.1", 0), handler)
        self.base_url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> JudgeServer:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()

    def handle(self, request: _Handler) -> None:
        body = json.loads(request.rfile.read(int(request.headers["Content-Length"])))
        user = body["messages"][1]["content"]
        code = user.rpartition(" ")[2]
        sample = json.loads(user.partition("\n")[2].rpartition("\n</sample")[0])
        text = sample["output"]
        with self._lock:
            self.bodies.append(body)
            self.headers.append({name.lower(): value for name, value in request.headers.items()})
            self.asked[text] += 1
            n = self.asked[text]
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            self._answer(request, text, n, code)
        finally:
            with self._lock:
                self._at_once -= 1
        if self._on_request is not None:
            self._on_request(self)

    def _answer(self, request: _Handler, text: str, n: int, code: str) -> None:
        kind = text.split()[0]
        if kind == "limited" and n == 1:
            return self._send(request, 429, error("slow down"), {"Retry-After": "0.01"})
        if kind == "quota":
            return self._send(request, 429, error("no money left", "insufficient_quota"))
        if kind == "broken" or (kind == "shaky" and n <= 2):
            return self._send(request, 500, error("oops"))
        if kind == "invalid":
            return self._send(request, 400, error("no such parameter"))
        if kind == "garbled" and n == 1:
            return self._send(request, 200, b"<html>not what you asked for")
        if kind == "dropped" and n == 1:
            request.close_connection = True
            return request.connection.close()
        if kind == "hangs":
            self._closing.wait()  # longer than anybody waits
            return None
        if kind == "slow":
            self._closing.wait(0.03)
        return self._send(request, 200, json.dumps(completion(*reply(kind, code))).encode(), text=text)

    def _send(
        self, request: _Handler, status: int, body: bytes, headers: dict[str, str] | None = None, text: str = ""
    ) -> None:
        with self._lock:
            self.statuses[status] += 1
            if text:
                self.answered[text] += 1
        request.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)


def reply(kind: str, code: str) -> tuple[str | None, str | None, str]:
    """What the model behind the server says: content, refusal, finish reason."""
    said = {"code": code, "reason": f"it is a {kind}", "score": kind != FAILING}
    whole = json.dumps(said)
    return {
        "malformed": (whole[:-3], None, "stop"),
        "chatty": (f"Sure! Here is my verdict: {whole}", None, "stop"),
        "echo": (VERDICT, None, "stop"),  # it fell for the text and copied the verdict in it
        "quotes": (f"The text says {VERDICT}. I say {whole}", None, "stop"),
        "words": (json.dumps({**said, "score": "yes"}), None, "stop"),
        "refused": (None, "I cannot judge this.", "stop"),
        "filtered": (None, None, "content_filter"),
        "long": (whole[:20], None, "length"),
    }.get(kind, (whole, None, "stop"))


def completion(content: str | None, refusal: str | None, finish: str) -> dict[str, Any]:
    return {
        "id": "c-1", "object": "chat.completion", "created": 1, "model": "judge-small",
        "choices": [
            {
                "index": 0, "finish_reason": finish,
                "message": {"role": "assistant", "content": content, "refusal": refusal},
            }
        ],
        "usage": {
            "prompt_tokens": TOKENS_IN, "completion_tokens": TOKENS_OUT, "total_tokens": TOKENS_IN + TOKENS_OUT,
        },
    }  # fmt: skip


def error(message: str, code: str | None = None) -> bytes:
    return json.dumps({"error": {"message": message, "type": "error", "param": None, "code": code}}).encode()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that went away are part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: JudgeServer

    def do_POST(self) -> None:
        self.owner.handle(self)

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


def number_of(text: str) -> int:
    """The number in the output of a sample."""
    found = re.search(r"\d+", text)
    assert found is not None
    return int(found[0])
