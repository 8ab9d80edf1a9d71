"""Ray clusters of several nodes, and workers, nodes and drivers that die: the same bytes."""

from __future__ import annotations

import json
import random
import signal
import socket
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fieldmark as fm
from edges.llm_server import serving
from fieldmark.runs.case_processor import SEGMENT
from partitioned_runs import content, rows, written
from published.command_line import ENVIRONMENT, TESTS, fieldmark
from waiting import TIMEOUT, eventually

pytestmark = pytest.mark.prove


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("cluster")
    written(path, list(rows(40 * SEGMENT + 5, seed=8)))
    return path


@pytest.fixture
def serial(folder, monkeypatch):
    """The run of one process, with the same names of inputs."""
    monkeypatch.chdir(folder)
    if not (folder / "serial").exists():
        fm.score("truth.jsonl", "found.jsonl", out="serial")
    return content(folder / "serial")


def on_cluster(folder, nodes, fault, out, found="found.jsonl", **environment):
    command = [sys.executable, TESTS / "ray_cluster.py", folder, str(nodes), fault, out, found]
    done = subprocess.run(
        command,
        env={**ENVIRONMENT, **environment},
        capture_output=True,
        check=False,
        timeout=10 * TIMEOUT,
    )
    return done.returncode, done.stderr.decode()


@pytest.mark.parametrize("nodes", [1, 2, 4])
def test_any_number_of_nodes_gives_the_same_bytes(nodes, folder, serial):
    code, errors = on_cluster(folder, nodes, "none", f"nodes-{nodes}")
    assert code == 0, errors
    assert content(folder / f"nodes-{nodes}") == serial


@pytest.mark.parametrize("change", ["shuffled", "missing", "extra", "duplicate"])
def test_rows_in_any_order_are_joined_to_the_same_bytes(change, folder, monkeypatch):
    monkeypatch.chdir(folder)
    lines = Path("found.jsonl").read_text().splitlines(keepends=True)
    random.Random(5).shuffle(lines)
    if change == "missing":
        del lines[:50]
    elif change == "extra":
        lines.insert(100, '{"id": "unknown", "candidate": {}}\n')
    elif change == "duplicate":
        lines.append(lines[0])
    Path(f"{change}.jsonl").write_text("".join(lines))
    Path("joined").unlink(missing_ok=True)
    code, errors = on_cluster(folder, 2, "none", f"ray-{change}", f"{change}.jsonl")
    assert Path("joined").exists()
    if change == "duplicate":
        with pytest.raises(fm.DataError, match="duplicate id"):
            fm.score("truth.jsonl", f"{change}.jsonl", out=f"serial-{change}")
        assert code == 1
        assert "duplicate id" in errors
        return
    assert code == 0, errors
    fm.score("truth.jsonl", f"{change}.jsonl", out=f"serial-{change}")
    assert content(folder / f"ray-{change}") == content(folder / f"serial-{change}")


def test_parquet_gives_the_same_bytes(folder, monkeypatch):
    monkeypatch.chdir(folder)
    for side, size in (("truth", 700), ("found", 900)):
        lines = [
            {"id": str(n), "n": n, "text": f"{side if n % 9 == 0 else 'row'} {n}", "x": [{"y": n}]}
            for n in range(20 * SEGMENT + 5)
        ]
        pq.write_table(pa.Table.from_pylist(lines), f"{side}.parquet", row_group_size=size)
    code, errors = on_cluster(folder, 2, "none", "ray-parquet", "found.parquet")
    assert code == 0, errors
    run = fm.score("truth.parquet", "found.parquet", out="serial-parquet")
    assert run.summary.cases.scored == 20 * SEGMENT + 5
    assert content(folder / "ray-parquet") == content(folder / "serial-parquet")


JUDGED = """
cases: judged.jsonl
provider: {{type: openai, {options}}}
evaluators:
  - {{name: fields, type: field_accuracy, fields: [{{path: text, match: semantic}}]}}
  - {{name: judge, type: llm_judge, rubric: Does it say the same?, samples: 2, {options}}}
"""


@pytest.mark.parametrize("cache", ["true", "false"])
def test_responses_of_a_run_whose_driver_was_killed_count_once(cache, folder, monkeypatch):
    """Responses that no row contains are asked for again, or are in the cache."""
    monkeypatch.chdir(folder)
    lines = [
        {"id": str(n), "expected": {"text": f"row {n}"}, "candidate": {"text": f"line {n}"}}
        for n in range(500)
    ]
    Path("judged.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines))
    out = f"judged-{cache}"

    def respond(exchange):
        """Answer the questions of later tasks before those of the third segment."""
        if '"row 70"' in exchange.prompt:
            assert eventually(lambda: server.attempts > 300)
        exchange.succeed()

    with serving(respond) as server:
        options = f"model: m, base_url: {server.url}, cache: {cache}"
        Path("judged.yaml").write_text(JUDGED.format(options=options))
        own = {"FIELDMARK_CACHE": str(folder / f"cache-{cache}")}
        code, errors = on_cluster(folder, 2, "driver", out, "judged.yaml", **own)
        assert code == -signal.SIGKILL, errors
        assert 0 < len((folder / out / "results.jsonl").read_bytes().splitlines()) < len(lines)
        code, errors = on_cluster(folder, 2, "none", out, "judged.yaml", **own)
        assert code == 0, errors
        asked = server.attempts
        monkeypatch.setenv("FIELDMARK_CACHE", str(folder / f"cache-serial-{cache}"))
        fm.evaluate("judged.yaml", out=f"{out}-serial")
        assert server.attempts - asked >= 2 * len(lines)
    rows = [(folder / name / "results.jsonl").read_bytes() for name in (out, f"{out}-serial")]
    assert rows[0] == rows[1]
    resumed, serial = (
        json.loads((folder / name / "summary.json").read_text()) for name in (out, f"{out}-serial")
    )
    assert resumed["spent"]["requests"] >= asked >= resumed["usage"]["calls"]
    for summary in (resumed, serial):
        del summary["spent"]
        for usage in (summary["usage"], *summary["usage"]["asked"]):
            del usage["seconds"]
    assert resumed == serial


@pytest.mark.parametrize("fault", ["worker", "node"])
def test_lost_worker_or_node_does_not_change_the_result(fault, folder, serial):
    code, errors = on_cluster(folder, 2, fault, f"lost-{fault}")
    assert code == 0, errors
    assert (folder / "killed-worker").exists() == (fault == "worker")
    (folder / "killed-worker").unlink(missing_ok=True)
    assert content(folder / f"lost-{fault}") == serial


def test_run_whose_driver_was_killed_is_resumed_to_the_same_bytes(folder, serial):
    code, errors = on_cluster(folder, 2, "driver", "killed")
    assert code == -signal.SIGKILL, errors
    assert (folder / "killed" / "results.jsonl").stat().st_size > 0
    code, errors = on_cluster(folder, 2, "none", "killed")
    assert code == 0, errors
    assert content(folder / "killed") == serial


@pytest.fixture
def client_port(tmp_path):
    """The port for clients of a cluster that requires a token."""
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        socket.create_server(("127.0.0.1", 0)) as other,
    ):
        ports = [each.getsockname()[1] for each in (taken, other)]
    # The paths of sockets must be short.
    with TemporaryDirectory(prefix="ray-", dir="/tmp") as session:
        command = [
            *(Path(sys.executable).with_name("ray"), "start", "--head", "--block"),
            *("--num-cpus=2", f"--object-store-memory={80 << 20}", "--include-dashboard=false"),
            *(f"--port={ports[0]}", f"--ray-client-server-port={ports[1]}"),
            *("--node-ip-address=127.0.0.1", f"--temp-dir={session}", "--disable-usage-stats"),
        ]
        head = subprocess.Popen(command, env=CLIENT, cwd=tmp_path, stdout=subprocess.DEVNULL)
        try:
            assert eventually(lambda: head.poll() is not None or answers(ports[1]))
            assert head.poll() is None
            yield ports[1]
        finally:
            head.terminate()
            head.wait()


CLIENT = {
    **ENVIRONMENT,
    "RAY_worker_niceness": "0",
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": "a-token-for-tests-that-is-long-enough",
    # Ray starts a server for each client, which takes long on a busy machine.
    "RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S": "600",
    "RAY_CLIENT_MAX_CONNECTION_TIMEOUT_S": "600",
    "TIMEOUT_FOR_SPECIFIC_SERVER_S": "600",
}


def answers(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def test_client_of_a_cluster_gives_the_same_bytes(folder, serial, client_port):
    engine = f"ray://127.0.0.1:{client_port}"
    command = "score", "truth.jsonl", "found.jsonl", "--out", "client", "--engine", engine
    done = fieldmark(*command, "--quiet", cwd=folder, env=CLIENT, timeout=10 * TIMEOUT)
    # Some rows of the ground truth cannot be read.
    assert done.code == 2
    assert done.err.startswith("fieldmark: cannot parse ground truth: truth.jsonl:104"), done.err
    assert content(folder / "client") == serial


def test_client_without_the_token_is_an_error(folder, client_port):
    engine = f"ray://127.0.0.1:{client_port}"
    env = {**CLIENT, "RAY_AUTH_TOKEN": "another-token-of-the-same-length-here"}
    command = "score", "truth.jsonl", "found.jsonl", "--out", "refused", "--engine", engine
    done = fieldmark(*command, "--quiet", cwd=folder, env=env, timeout=10 * TIMEOUT)
    assert done.code == 2
    assert f"cannot connect to {engine}" in done.err
    assert not (folder / "refused").exists()
