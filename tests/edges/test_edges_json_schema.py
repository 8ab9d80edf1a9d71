"""Slow JSON Schemas in a complete run: their time limit and interrupts."""

from __future__ import annotations

import json
import os
import signal
import subprocess

import psutil
import pytest

from published.command_line import COMMAND, ENVIRONMENT
from waiting import TIMEOUT, eventually


@pytest.fixture
def file(folder):
    """Return a function that writes an eval file with a schema that never finishes for case b."""

    def write(timeout):
        slow = {"items": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}
        deep = []
        for _ in range(40):
            deep = [deep]
        shape = {"name": "shape", "type": "json_schema", "schema": slow, "timeout": timeout}
        documents = {"a": [], "b": deep, "c": [1]}
        cases = [{"id": each, "candidate": value} for each, value in documents.items()]
        path = folder / "t.eval.yaml"
        path.write_text(json.dumps({"cases": cases, "evaluators": [shape]}), "utf-8")
        return path

    return write


def test_document_beyond_the_time_limit_is_an_error_of_its_case(command, file, folder):
    done = command("eval", file(timeout=0.5), "--out", "run")
    assert done.code == 3, done.err
    rows = (folder / "run" / "results.jsonl").read_text("utf-8").splitlines()
    found = [json.loads(row)["evaluator_results"][0] for row in rows]
    assert [each["score"] for each in found] == [1.0, None, 1.0]
    assert [each["status"] for each in found] == ["ok", "error", "ok"]
    assert found[1]["reasoning"] == "timeout: validation exceeded the time limit of 0.5 s"


def test_interrupt_ends_the_run_and_its_process(file):
    run = subprocess.Popen(
        [COMMAND, "eval", file(timeout=10 * TIMEOUT), "--no-save"],
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    validating = []

    def started():
        validating[:] = psutil.Process(run.pid).children(recursive=True)
        return validating

    try:
        assert eventually(started)
        os.kill(run.pid, signal.SIGINT)
        _, stderr = run.communicate(timeout=TIMEOUT)
    finally:
        run.kill()
        run.communicate()
    assert run.returncode == 130, stderr
    assert stderr.endswith(b"fieldmark: interrupted\n")
    # A zombie has ended; the process that adopted it has not noticed yet.
    assert eventually(lambda: not any(is_alive(each) for each in validating))


def is_alive(process):
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
