"""Everything works without the parts of the system that Windows or macOS do not have."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BLOCKER = Path(__file__).parents[1] / "without_posix"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems lack them anyway")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What the commands printed and returned, all of them run by one process."""
    done = subprocess.run(
        [sys.executable, str(BLOCKER / "commands.py")],
        env={**os.environ, "PYTHONPATH": str(BLOCKER), "PYTHONUTF8": "1"},
        cwd=tmp_path_factory.mktemp("data"),
        capture_output=True,
        check=False,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_all_modules_are_imported(results):
    assert results["modules"] > 200


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("score", 0), ("workers", 0), ("interrupted", 130), ("resumed", 0), ("eval", 0), ("report", 0), ("diff", 0),
        ("runs", 0), ("doctor", 0), ("deleted", 0),
    ],
)  # fmt: skip
def test_commands_succeed(results, command, code):
    assert results[command]["code"] == code, results[command]["errors"]


def test_workers_and_a_resumed_run_have_the_same_results(results):
    summaries = [results[command]["output"] for command in ("score", "workers", "resumed")]
    assert results["pools"] == 1
    assert summaries[0] == summaries[1] == summaries[2]


def test_judges_and_targets_run(results):
    summary = json.loads(results["eval"]["output"])
    scores = {name: each["mean_score"] for name, each in summary["evaluators"].items()}
    assert scores == {"once": 1.0, "lines": 1.0, "shape": 1.0}


def test_doctor_names_the_limits_that_are_not_enforced(results):
    checks = {each["name"]: each for each in json.loads(results["doctor"]["output"])["checks"]}
    assert "not on memory, CPU time, file size, open files" in checks["program limits"]["found"]


def test_web_application_starts_serves_and_stops(results):
    served = results["served"]
    assert (served["page"], served["serve"]["code"], served["outside"]) == (200, 0, 403)
    assert served["job"]["state"] == "done"
    names = [entry["name"] for entry in served["files"]["entries"]]
    assert "cases.jsonl" in names
    assert "link" not in names


def test_no_lock_file_is_left_in_the_directory_of_the_runs(results):
    names = results["left"]
    assert {"eval", "one", "three"} <= set(names)
    assert "two" not in names
    assert [name for name in names if name.startswith(".")] == [".index.json"]
