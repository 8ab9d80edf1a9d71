"""A local HTTP server with scripted responses that records its requests."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One response, and how its transmission fails.

    `after` waits before the first byte; `pause` between bytes; `promised` is a wrong
    Content-Length.
    """

    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict)
    after: float = 0.0
    pause: float = 0.0
    promised: int | None = None
    hang_up: bool = False


@dataclass(frozen=True, kw_only=True)
class Received:
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def value(self):
        return json.loads(self.body)


def replied(value, **rest):
    headers = {"Content-Type": "application/json", **rest.pop("headers", {})}
    return Answer(body=json.dumps(value).encode(), headers=headers, **rest)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """Ignore disconnected clients, which many tests need."""


class Loopback:
    def __init__(self, script: Callable[[Received, int], Answer]):
        self.received: list[Received] = []
        self.script = script
        self.busy = 0
        self.busiest = 0
        self.lock = threading.Lock()
        self.over = threading.Event()

    def answer(self, handler):
        length = int(handler.headers.get("Content-Length", 0))
        got = Received(
            method=handler.command,
            path=handler.path,
            headers=dict(handler.headers.items()),
            body=handler.rfile.read(length),
        )
        with self.lock:
            self.received.append(got)
            number = len(self.received)
            self.busy += 1
            self.busiest = max(self.busiest, self.busy)
        try:
            self.send(handler, self.script(got, number))
        finally:
            with self.lock:
                self.busy -= 1

    def send(self, handler, answer):
        self.over.wait(answer.after)
        if answer.hang_up:
            handler.close_connection = True
            return
        handler.send_response(answer.status)
        promised = len(answer.body) if answer.promised is None else answer.promised
        for name, value in {"Content-Length": str(promised), **answer.headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        step = 1 if answer.pause else max(len(answer.body), 1)
        for start in range(0, len(answer.body), step):
            handler.wfile.write(answer.body[start : start + step])
            if answer.pause and self.over.wait(answer.pause):
                break
        if promised != len(answer.body):
            handler.close_connection = True


@contextmanager
def loopback(*answers: Answer, script=None, context: ssl.SSLContext | None = None):
    """Serve the responses in turn; the last one is repeated."""

    def in_turn(_, number):
        return answers[min(number, len(answers)) - 1]

    served = Loopback(script or in_turn)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # otherwise each response waits 40 ms for a delayed ACK

        def log_message(self, *_):
            """Print nothing."""

        def do_POST(self):
            served.answer(self)

        do_PUT = do_PATCH = do_GET = do_HEAD = do_POST  # noqa: N815 - names required by http.server

    server = _Server(("127.0.0.1", 0), Handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    served.port = server.server_address[1]
    served.url = f"http://127.0.0.1:{served.port}/extract"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield served
    finally:
        served.over.set()
        server.shutdown()
        thread.join()
        server.server_close()
