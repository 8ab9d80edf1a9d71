"""Run the application in a thread on its own loopback port, for tests with real connections."""

from __future__ import annotations

import json
import re
import ssl
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
import uvicorn
from jsonschema_rs import validator_for

from fieldmark.analyses.score import score_with
from fieldmark.web.app import create_api
from fieldmark.web.routes import batch
from fieldmark.web.server_options import CSRF_HEADER, ServerLimits, ServerOptions
from fieldmark.web.serving import Listener, listen, uvicorn_config
from row_files import lines
from waiting import TIMEOUT

TRUTH = [{"id": f"case-{n}", "total": n, "vendor": {"name": f"Vendor {n}"}} for n in range(1, 9)]
PREDICTIONS = [
    {"id": f"case-{n}", "total": n if n % 2 else n + 1, "vendor": {"name": f"Vendor {n}"}}
    for n in range(1, 9)
]
NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For clients without TLS; loading certificates takes longer than most requests."""


@dataclass(frozen=True)
class Live:
    """A running server; `client` sends the token, `browser` has a session and a CSRF token."""

    options: ServerOptions
    listener: Listener
    client: httpx.Client
    config: uvicorn.Config

    @property
    def url(self) -> str:
        return self.listener.address.rstrip("/")

    @contextmanager
    def browser(self):
        """A client that opened the start address and read the CSRF token of the page."""
        with httpx.Client(
            base_url=self.url, follow_redirects=True, timeout=TIMEOUT, verify=NO_CERTIFICATES
        ) as client:
            page = client.get(self.listener.start_address)
            match = re.search(r'name="csrf" content="([^"]+)"', page.text)
            client.headers[CSRF_HEADER] = match[1]
            yield client

    def get(self, path: str, code: int = 200, /, **query) -> dict:
        """Return the JSON of a response that has this status code."""
        response = self.client.get(path, params=query or None)
        assert response.status_code == code, (path, query, response.text)
        return response.json()

    def batch(self, truth, candidate=None, **options) -> dict:
        """Start a batch with two inputs, or one with both sides, and return its ended job."""
        sides = {"truth": truth} if candidate is None else {"truth": truth, "candidate": candidate}
        response = self.client.post("/api/batch", json={**sides, **options})
        assert response.status_code == 202, response.text
        return self.wait_for_job(response.json()["id"])

    def wait_for_job(self, job: str) -> dict:
        until = time.monotonic() + TIMEOUT
        while True:
            state = self.client.get(f"/api/jobs/{job}").json()
            if state["state"] in {"done", "failed", "cancelled"}:
                return state
            assert time.monotonic() < until, state
            time.sleep(0.01)

    def run(self, truth=None, candidate=None, **options) -> str:
        """Score two lists of rows and return the id of the run."""
        job = self.batch({"rows": truth or TRUTH}, {"rows": candidate or PREDICTIONS}, **options)
        assert job["state"] == "done", job
        return job["result"]["run"]


@cache
def documented_responses():
    """Return method, pattern of the path and status of JSON responses with their validators."""
    document = create_api(ServerOptions(workspace=Path())).openapi()
    found = {}
    for path, methods in document["paths"].items():
        pattern = re.compile(re.sub(r"{\w+}", "[^/]+", path))
        for method, operation in methods.items():
            for status, response in operation["responses"].items():
                schema = response.get("content", {}).get("application/json", {}).get("schema", {})
                validator = validator_for({**schema, "components": document["components"]})
                found[method.upper(), pattern, int(status)] = validator
    return found


def check_response(response: httpx.Response) -> None:
    """Every JSON response that a test receives has the schema of the OpenAPI document."""
    if response.headers.get("content-type", "").startswith("application/json"):
        response.read()
        received = response.request.method, response.status_code
        for (method, path, status), validator in documented_responses().items():
            if (method, status) == received and path.fullmatch(response.url.path):
                # The validator reads no lone surrogates, which JSON may contain as escapes.
                text = json.dumps(response.json(), ensure_ascii=False).encode("utf-8", "replace")
                validator.validate(json.loads(text))


class HeldJob(NamedTuple):
    """Events: a batch has started to score, and it may continue."""

    started: threading.Event
    released: threading.Event


@contextmanager
def live(workspace: Path, **settings):
    """Serve a workspace."""
    options = ServerOptions(workspace=workspace, **settings)
    listener = listen(options, host="127.0.0.1", port=0)
    config = uvicorn_config(options)
    # An idle connection must not be closed while a client sends its next request.
    config.timeout_keep_alive = 2 * TIMEOUT
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener.socket]})
    thread.start()
    try:
        until = time.monotonic() + TIMEOUT
        while not server.started:
            assert time.monotonic() < until
            time.sleep(0.01)
        headers = {"Authorization": f"Bearer {options.secrets.token}"}
        with httpx.Client(
            base_url=listener.address,
            headers=headers,
            timeout=TIMEOUT,
            verify=NO_CERTIFICATES,
            event_hooks={"response": [check_response]},
        ) as client:
            yield Live(options, listener, client, config)
    finally:
        server.should_exit = True
        thread.join()
        listener.socket.close()


@pytest.fixture(scope="module")
def read_only_server(tmp_path_factory):
    """A read-only server with a root that contains ground truth and predictions."""
    root = tmp_path_factory.mktemp("data")
    write_jsonl(root / "truth.jsonl", TRUTH)
    write_jsonl(root / "candidate.jsonl", PREDICTIONS)
    # Tests start jobs without waiting for them, and no other test may be rejected for that.
    limits = ServerLimits(waiting_jobs=1000)
    with live(tmp_path_factory.mktemp("workspace"), roots={"data": root}, limits=limits) as server:
        yield server


@pytest.fixture
def held_job(monkeypatch):
    """Make batches wait at their first progress report until they are released or cancelled."""
    started, released = threading.Event(), threading.Event()

    def hold(options, *, progress):
        def report(*progress_args):
            started.set()
            while not released.wait(0.01):
                progress(*progress_args)  # raises an exception if the job is cancelled
            progress(*progress_args)

        return score_with(options, progress=report)

    monkeypatch.setattr(batch, "score_with", hold)
    yield HeldJob(started, released)
    released.set()


@pytest.fixture
def writable_server(tmp_path):
    """A server that saves runs and rules."""
    with live(tmp_path, write=True) as server:
        yield server


def write_jsonl(path: Path, rows) -> None:
    path.write_text(lines(rows), "utf-8")


def error_code(response: httpx.Response) -> str:
    return response.json()["error"]["code"]
