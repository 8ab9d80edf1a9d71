"""Ray clusters of several nodes, and workers, nodes and drivers that die: the same bytes."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

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
