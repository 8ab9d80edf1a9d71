"""A scripted OpenAI-compatible endpoint on the loopback interface, including its failures."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from fieldmark.judges import retry
from fieldmark.judges.retry import Clock

NONCE = re.compile(r"<data-([0-9a-f]+)>\n(.*)\n</data-\1>", re.DOTALL)
IDS = re.compile(r"these ids and no others: (\[.*\])\. Every")


@dataclass
class Exchange:
    """One request, and methods to send valid or invalid responses."""

    handler: BaseHTTPRequestHandler
    attempt: int
    path: str
    body: dict

    @property
    def prompt(self) -> str:
        content = self.body["messages"][-1]["content"]
        return content if isinstance(content, str) else content[0]["text"]

    @property
    def images(self) -> list[str]:
        content = self.body["messages"][-1]["content"]
        parts = [] if isinstance(content, str) else content[1:]
        return [part["image_url"]["url"] for part in parts]

    @property
    def nonce(self) -> str:
        return NONCE.search(self.prompt)[1]

    @property
    def data(self):
        return json.loads(NONCE.search(self.prompt)[2])

    @property
    def ids(self) -> list[str]:
        return json.loads(IDS.search(self.prompt)[1])

    @property
    def reasons(self) -> bool:
        return '"reason"' in self.prompt

    def marks(self, score=0.9) -> list[dict]:
        scores = score if isinstance(score, dict) else dict.fromkeys(self.ids, score)
        extra = {"reason": "because"} if self.reasons else {}
        key = "choice" if '"choice"' in self.prompt else "score"
        return [{"id": name, key: scores[name], **extra} for name in self.ids]

    def content(self, score=0.9, **changes) -> str:
        return json.dumps({"nonce": self.nonce, "marks": self.marks(score), **changes})

    def send(self, status: int, body: bytes, headers: dict | None = None) -> None:
        self.handler.send_response(status)
        given = {"Content-Type": "application/json", "Content-Length": str(len(body))}
        for name, value in {**given, **(headers or {})}.items():
            if value is not None:
                self.handler.send_header(name, value)
        self.handler.end_headers()
        self.handler.wfile.write(body)

    def json(self, value, status: int = 200, headers: dict | None = None) -> None:
        self.send(status, json.dumps(value).encode(), headers)

    def respond(self, content, *, finish="stop", usage=True, **message) -> None:
        """Send a chat completion with the given content."""
        choice = {"index": 0, "message": {"role": "assistant", "content": content, **message}}
        if finish is not None:
            choice["finish_reason"] = finish
        body = {"id": "x", "object": "chat.completion", "model": "served-1", "choices": [choice]}
        if usage:
            body["usage"] = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        self.json(body)

    def succeed(self, score=0.9) -> None:
        self.respond(self.content(score))

    def cut(self, sent: bytes = b"") -> None:
        """Close the connection, after sending some bytes if given."""
        if sent:
            self.handler.wfile.write(sent)
            self.handler.wfile.flush()
        self.handler.connection.shutdown(socket.SHUT_RDWR)
        self.handler.close_connection = True


Script = Callable[[Exchange], None]


@dataclass
class Server:
    """A running endpoint: its URL, its script and the requests that it received."""

    url: str = ""
    script: Script = Exchange.succeed
    requests: list[dict] = field(default_factory=list)
    headers: list[dict] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    stopping: threading.Event = field(default_factory=threading.Event)

    @property
    def attempts(self) -> int:
        return len(self.requests)

    def wait(self, seconds: float) -> None:
        """Wait, but not after the end of the test."""
        self.stopping.wait(seconds)


@contextmanager
def serving(script: Script = Exchange.succeed) -> Iterator[Server]:
    """Run an endpoint with a script until the context is left."""
    server = Server(script=script)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # otherwise each response waits 40 ms for a delayed ACK

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", "0"))
            body = json.loads(self.rfile.read(length))
            with server.lock:
                server.requests.append(body)
                server.headers.append(dict(self.headers))
                server.paths.append(self.path)
                attempt = len(server.requests)
            try:
                server.script(Exchange(self, attempt, self.path, body))
            except (BrokenPipeError, ConnectionResetError, OSError, ValueError):
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

        def handle(self) -> None:
            with suppress(OSError, ValueError):
                super().handle()

        def finish(self) -> None:
            with suppress(OSError, ValueError):
                super().finish()

    class QuietServer(ThreadingHTTPServer):
        daemon_threads = False
        block_on_close = True

        def handle_error(self, *_: object) -> None:
            pass

    http = QuietServer(("127.0.0.1", 0), Handler)
    server.url = f"http://127.0.0.1:{http.server_address[1]}/v1"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.stopping.set()
        http.shutdown()
        thread.join()
        http.server_close()


def first(times: int, fail: Script, then: Script = Exchange.succeed) -> Script:
    """Fail a number of times, then succeed."""
    return lambda exchange: (fail if exchange.attempt <= times else then)(exchange)


def status(code: int, body: object = None, headers: dict | None = None) -> Script:
    """Respond with an HTTP status."""
    content = {"error": {"message": f"status {code}"}} if body is None else body
    return lambda exchange: exchange.json(content, code, headers)


def responding(make: Callable[[Exchange], object], **options: object) -> Script:
    """Respond with content that is computed from the request."""
    return lambda exchange: exchange.respond(make(exchange), **options)


def respond_slowly(server: Server, seconds: float) -> Script:
    """Respond one byte at a time."""

    def respond(exchange: Exchange) -> None:
        body = json.dumps({"choices": []}).encode() + b" " * 10_000
        exchange.handler.send_response(200)
        exchange.handler.send_header("Content-Length", str(len(body)))
        exchange.handler.end_headers()
        for byte in body:
            exchange.handler.wfile.write(bytes([byte]))
            exchange.handler.wfile.flush()
            time.sleep(seconds)
            if server.stopping.is_set():
                return

    return respond


def isolate(monkeypatch, directory, key=None):
    """Let retries not wait, keep cached responses in a directory, and set or remove the API key."""
    monkeypatch.setattr(retry, "SYSTEM_CLOCK", Clock(sleep=lambda _: None))
    monkeypatch.setenv("FIELDMARK_CACHE", str(directory))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    if key is not None:
        monkeypatch.setenv("OPENAI_API_KEY", key)
