"""Ray clusters of several nodes, and workers, nodes and drivers that die: the same bytes."""

from __future__ import annotations

import random
import signal
import socket
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import fieldmark as fm
from fieldmark.run.case_processor import SEGMENT
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


def on_cluster(folder, nodes, fault, out, found="found.jsonl"):
    command = [sys.executable, TESTS / "ray_cluster.py", folder, str(nodes), fault, out, found]
    done = subprocess.run(
        command, env=ENVIRONMENT, capture_output=True, check=False, timeout=10 * TIMEOUT
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
