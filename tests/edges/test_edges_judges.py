"""Code judges in a complete run: their configuration, their results and their failures."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from published.command_line import COMMAND, ENVIRONMENT
from unit.judges.judge_processes import new_marker, remaining, script, sleeping
from waiting import TIMEOUT, eventually

CASES = [
    {"id": "a", "expected": {"x": 1}, "candidate": {"x": 1}},
    {"id": "; touch canary", "expected": {"x": 1}, "candidate": {"x": 2}},
]


@pytest.fixture
def write(folder):
    """Return a function that writes an eval file with one judge."""

    def write(*behavior, **options):
        judge = {"name": "j", "type": "code_judge", "script": script(*behavior), **options}
        (folder / "t.eval.yaml").write_text(
            json.dumps({"name": "t", "cases": CASES, "evaluators": [judge]}), "utf-8"
        )
        return folder / "t.eval.yaml"

    return write


def results(folder):
    rows = (folder / "run" / "results.jsonl").read_text("utf-8").splitlines()
    return [json.loads(row)["evaluator_results"][0] for row in rows]


@pytest.mark.parametrize("protocol", ["process", "lines"])
def test_unknown_keys_are_passed_to_the_judge_and_details_to_the_results(
    write, command, folder, protocol
):
    behavior = ("echo",) if protocol == "process" else ("each_line",)
    file = write(*behavior, protocol=protocol, Max_Gap=3, fields=[{"Path": "a.b"}])
    done = command("eval", file, "--out", "run")
    assert done.code == 0, done.err
    first, second = results(folder)
    assert (first["score"], first["verdict"], first["status"]) == (1.0, "pass", "ok")
    if protocol == "process":
        assert first["details"]["config"] == {"Max_Gap": 3, "fields": [{"Path": "a.b"}]}
        assert second["details"]["case_id"] == "; touch canary"
    else:
        assert second["details"]["case"] == "; touch canary"
    assert not (folder / "canary").exists()


def test_judge_runs_in_the_directory_of_the_eval_file(write, command, folder, monkeypatch):
    file = write("environment")
    monkeypatch.chdir("/")
    assert command("eval", file, "--out", folder / "run").code == 0
    assert results(folder)[0]["details"]["cwd"] == str(folder.resolve())


def test_failed_judge_is_an_error_and_never_a_score(write, command, folder):
    done = command("eval", write("write_and", "exit_with", "4"), "--out", "run")
    assert done.code == 3
    for result in results(folder):
        assert (result["status"], result["score"], result["verdict"]) == ("error", None, None)
        assert result["reasoning"].startswith("exit_status: exited with code 4")


def test_judge_that_cannot_be_started_is_reported_once_before_the_run(write, command, folder):
    file = write("write")
    text = file.read_text("utf-8").replace(sys.executable, "no-such-program")
    file.write_text(text, "utf-8")
    done = command("eval", file, "--out", "run")
    assert done.code == 2
    assert done.err.count("no-such-program not found on PATH") == 1
    assert not (folder / "run").exists()


@pytest.mark.parametrize("protocol", ["process", "lines"])
def test_interrupt_kills_all_judges(write, folder, protocol):
    marker = new_marker()
    behavior = ("start_child",) if protocol == "process" else ("each_line", "follow_candidate")
    file = write(*behavior, marker, protocol=protocol, timeout=10 * TIMEOUT)
    cases = json.dumps(
        [{"id": name, "expected": "x", "candidate": "start_child"} for name in "abc"]
    )
    file.write_text(file.read_text("utf-8").replace(json.dumps(CASES), cases), "utf-8")
    run = subprocess.Popen(
        [COMMAND, "eval", file, "--no-save"],
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert eventually(lambda: sleeping(marker))
        os.kill(run.pid, signal.SIGINT)
        _, stderr = run.communicate(timeout=TIMEOUT)
    finally:
        run.kill()
        run.communicate()
    assert run.returncode == 130, stderr
    assert not remaining(marker)
