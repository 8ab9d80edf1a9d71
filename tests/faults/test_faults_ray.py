"""Ray clusters of several nodes, and workers, nodes and drivers that die: the same bytes."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

import fieldmark as fm
from fieldmark.run.case_processor import SEGMENT
from partitioned_runs import content, rows, written
from published.command_line import ENVIRONMENT, TESTS
from waiting import TIMEOUT

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


def on_cluster(folder, nodes, fault, out):
    command = [sys.executable, TESTS / "ray_cluster.py", folder, str(nodes), fault, out]
    done = subprocess.run(
        command, env=ENVIRONMENT, capture_output=True, check=False, timeout=10 * TIMEOUT
    )
    return done.returncode, done.stderr.decode()


@pytest.mark.parametrize("nodes", [1, 2, 4])
def test_any_number_of_nodes_gives_the_same_bytes(nodes, folder, serial):
    code, errors = on_cluster(folder, nodes, "none", f"nodes-{nodes}")
    assert code == 0, errors
    assert content(folder / f"nodes-{nodes}") == serial


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
