"""The application on a loopback port of its own, in a thread, asked over real connections."""

from __future__ import annotations

import json
import re
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
import uvicorn

from fieldmark.api.score import score_with
from fieldmark.server.options import CSRF_HEADER, ServerOptions
from fieldmark.server.routes import batch
from fieldmark.server.serving import Listener, listen, uvicorn_config

PATIENCE = 60.0
"""Seconds until a test fails that waits for something: enough on any machine."""
TRUTH = [{"id": f"case-{n}", "total": n, "vendor": {"name": f"Vendor {n}"}} for n in range(1, 9)]
FOUND = [
    {"id": f"case-{n}", "total": n if n % 2 else n + 1, "vendor": {"name": f"Vendor {n}"}}
    for n in range(1, 9)
]


@dataclass(frozen=True)
class Live:
    """A server that runs; `ask` has the token, `browser` a session and what its pages hold."""

    options: ServerOptions
    listener: Listener
    ask: httpx.Client

    @property
    def url(self) -> str:
        return self.listener.address.rstrip("/")

    @contextmanager
    def browser(self):
        """A client that came by the start address and read the value of the page."""
        with httpx.Client(base_url=self.url, follow_redirects=True, timeout=PATIENCE) as client:
            page = client.get(self.listener.start_address)
            found = re.search(r'name="csrf" content="([^"]+)"', page.text)
            client.headers[CSRF_HEADER] = found[1]
            yield client

    def finished(self, job: str) -> dict:
        until = time.monotonic() + PATIENCE
        while True:
            state = self.ask.get(f"/api/jobs/{job}").json()
            if state["state"] in {"done", "failed", "cancelled"}:
                return state
            assert time.monotonic() < until, state
            time.sleep(0.01)

    def run(self, truth=None, candidate=None, **asked) -> str:
        """Score two lists of rows; the id of the run."""
        body = {"truth": {"rows": truth or TRUTH}, "candidate": {"rows": candidate or FOUND}}
        answer = self.ask.post("/api/batch", json={**body, **asked})
        assert answer.status_code == 202, answer.text
        job = self.finished(answer.json()["id"])
        assert job["state"] == "done", job
        return job["result"]["run"]


class HeldJob(NamedTuple):
    """When a batch has begun to score, and when it may go on."""

    started: threading.Event
    released: threading.Event


@contextmanager
def live(workspace: Path, **given):
    """Serve a workspace."""
    options = ServerOptions(workspace=workspace, **given)
    listener = listen(options, host="127.0.0.1", port=0)
    server = uvicorn.Server(uvicorn_config(options))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener.socket]})
    thread.start()
    try:
        until = time.monotonic() + PATIENCE
        while not server.started:
            assert time.monotonic() < until
            time.sleep(0.01)
        headers = {"Authorization": f"Bearer {options.secrets.token}"}
        with httpx.Client(base_url=listener.address, headers=headers, timeout=PATIENCE) as client:
            yield Live(options, listener, client)
    finally:
        server.should_exit = True
        thread.join()
        listener.socket.close()


@pytest.fixture(scope="module")
def reading(tmp_path_factory):
    """A server that only reads, with a root that holds a truth and a candidate."""
    root = tmp_path_factory.mktemp("data")
    lines(root / "truth.jsonl", TRUTH)
    lines(root / "candidate.jsonl", FOUND)
    with live(tmp_path_factory.mktemp("workspace"), roots={"data": root}) as server:
        yield server


@pytest.fixture
def held_job(monkeypatch):
    """The first batch waits at its first progress report until it is released."""
    started, released = threading.Event(), threading.Event()

    def hold(options, *, progress):
        def report(*figures):
            started.set()
            assert released.wait(PATIENCE)
            progress(*figures)

        return score_with(options, progress=report)

    monkeypatch.setattr(batch, "score_with", hold)
    yield HeldJob(started, released)
    released.set()


@pytest.fixture
def writing(tmp_path):
    """A server that keeps what it is told."""
    with live(tmp_path, write=True) as server:
        yield server


def lines(path: Path, rows) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")


def code(answer: httpx.Response) -> str:
    return answer.json()["error"]["code"]
