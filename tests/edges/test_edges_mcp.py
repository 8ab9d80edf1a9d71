"""`fieldmark mcp`: a client of the official SDK talks to the command over standard streams."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal
from mcp import Client, StdioServerParameters, stdio_client

import fieldmark as fm
from fieldmark.values.json_text import read_json, strict_json
from waiting import TIMEOUT

SECRET = "the secret value"
FILES = {"truth": "truth.jsonl", "predictions": "candidate.jsonl"}


def test_client_uses_all_tools_below_the_roots(folder):
    (folder / "shared").mkdir()
    (folder.parent / f"{folder.name}-secret.jsonl").write_text(f'{{"a": "{SECRET}"}}\n', "utf-8")
    (folder / "linked.jsonl").symlink_to(folder.parent / f"{folder.name}-secret.jsonl")
    fm.score("truth.jsonl", "candidate.jsonl", out="runs/first")
    fm.score("truth.jsonl", "truth.jsonl", out="runs/second")
    before = {path: path.lstat().st_mtime_ns for path in folder.rglob("*")}
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "fieldmark", "mcp", "--root", ".", "--root", "shared"],
        cwd=folder,
    )
    log = (folder.parent / f"{folder.name}-log").open("w+", encoding="utf-8")

    with (
        log,
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(stdio_client(parameters, log))) as client,
    ):

        def call(name, **arguments):
            result = portal.call(client.call_tool, name, arguments)
            (content,) = result.content
            if result.is_error:
                assert content.text.isprintable()
                return content.text
            assert json.loads(content.text) == result.structured_content
            return result.structured_content

        tools = {tool.name: tool for tool in portal.call(client.list_tools).tools}
        assert list(tools) == ["score", "show", "diff", "improve", "infer"]
        for tool in tools.values():
            assert tool.description
            assert tool.annotations.read_only_hint
            assert tool.input_schema["additionalProperties"] is False
            assert all("description" in each for each in tool.input_schema["properties"].values())

        scored = call("score", **FILES)
        expected = read_json(strict_json(fm.score("truth.jsonl", "candidate.jsonl").to_dict()))
        assert {key: scored[key] for key in expected} == expected
        assert call("show", run="first")["cases"][0]["case_id"] == "b"
        assert call("show", run="latest", case="a")["verdict"] == "pass"
        assert call("show", run="first", case="b", path="total")["case_id"] == "b"
        assert call("diff", before="first", after="second")["conclusion"]["word"]
        assert call("improve", run="first")["attributes"][0]["attribute"] == "total"
        assert call("infer", **FILES)["rules"]["fields"]

        assert "read-only" in call("score", **FILES, save=True)
        assert "out of the roots" in call("score", truth="linked.jsonl")
        assert "out of the roots" in call("score", truth="/etc/passwd")
        assert "out of the roots" in call("show", run="..")
        assert "URLs are not read" in call("score", truth="https://127.0.0.1:1/x.jsonl")
        assert "'-' not found" in call("score", truth="-")
        assert "run 'none' not found" in call("show", run="none")
        assert "Python function" in call("score", **FILES, match="os:getcwd")
        assert "provider" in call("score", **FILES, rules={"provider": "openai"})
        assert "unknown tool" in call("delete")
        assert call("score", truth=7) == "truth: input should be a valid string"
        assert call("show", run="first")["total"] == 2  # the server still answers

        assert {path: path.lstat().st_mtime_ns for path in folder.rglob("*")} == before
        log.seek(0)
        assert log.read() == ""


def test_save_is_announced_and_kept_below_the_first_root(folder, monkeypatch):
    from fieldmark.mcp import serving

    served = []
    monkeypatch.setattr(
        serving.anyio, "run", lambda _, box: served.append((box.writes, Path.cwd()))
    )
    (folder / "first").mkdir()
    serving.serve([folder / "first", folder], write=True)
    assert served == [(True, folder / "first")]
    assert Path.cwd() == folder


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--root", "none"], "--root: directory 'none' does not exist"),
        (["--root", "truth.jsonl"], "--root: directory 'truth.jsonl' is a file"),
    ],
)
def test_roots_must_be_directories(command, words, error):
    done = command("mcp", *words)
    assert (done.code, done.out, done.err) == (2, "", f"fieldmark: {error}\n")


def test_missing_extra_is_one_line_with_the_command_that_installs_it(command, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("fieldmark.mcp")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp.server.stdio", None)
    done = command("mcp")
    assert (done.code, done.out) == (2, "")
    install = 'pip install "fieldmark[mcp]"'
    assert done.err == f"fieldmark: fieldmark mcp requires an optional dependency: {install}\n"


def test_server_ends_with_the_connection_and_with_a_signal(folder):
    command = [sys.executable, "-m", "fieldmark", "mcp"]
    done = subprocess.run(command, input=b"not JSON\n", capture_output=True, check=False)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as server:
        version = {"protocolVersion": "2025-06-18", "capabilities": {}}
        client = {**version, "clientInfo": {"name": "test", "version": "1"}}
        request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}
        server.stdin.write(json.dumps(request).encode() + b"\n")
        server.stdin.flush()
        assert json.loads(server.stdout.readline())["result"]["serverInfo"]["name"] == "fieldmark"
        server.terminate()  # while the connection is open
        assert server.wait(TIMEOUT) == 130
        assert server.stderr.read() == b"fieldmark: interrupted\n"
