"""The job of the GitLab template: its script, reports and baseline."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree.ElementTree import parse

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
HEADER, JOBS = YAML(typ="safe").load_all((ROOT / "ci-templates/gitlab.yml").read_text("utf-8"))
INPUTS = HEADER["spec"]["inputs"]
SHELL = shutil.which("sh")
TRUTH = [{"id": n, "expected": {"total": n}} for n in range(8)]
GOOD = [{"id": n, "candidate": {"total": n}} for n in range(8)]
BAD = [{"id": n, "candidate": {"total": 0}} for n in range(8)]
EVAL = """
cases: truth.jsonl
candidates: bad.jsonl
evaluators: [{name: header, type: field_accuracy, fields: [{path: total}]}]
"""


def interpolated(value, inputs):
    """Replace inputs in every string, as GitLab does after it has parsed the file."""
    if isinstance(value, dict):
        return {interpolated(k, inputs): interpolated(v, inputs) for k, v in value.items()}
    if isinstance(value, list):
        return [interpolated(each, inputs) for each in value]
    if isinstance(value, str):
        for name, text in inputs.items():
            value = value.replace(f"$[[ inputs.{name} ]]", text)
        assert "$[[" not in value
    return value


@pytest.fixture
def project(tmp_path, monkeypatch):
    for name, rows in {"truth": TRUTH, "good": GOOD, "bad": BAD}.items():
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(lines, "utf-8")
    (tmp_path / "a.eval.yaml").write_text(EVAL, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def job(project):
    """Run the job in a clean checkout that has the cache, and return its exit code and log."""
    number = iter(range(1, 100))

    def run(*, branch="", **inputs):
        assert inputs.keys() <= INPUTS.keys()
        given = {**{name: each["default"] for name, each in INPUTS.items()}, **inputs}
        [each] = interpolated(JOBS, given).values()
        variables = {name: value["value"] for name, value in each["variables"].items()}
        assert all(value["expand"] is False for value in each["variables"].values())
        shutil.rmtree(".fieldmark/run", ignore_errors=True)
        shutil.rmtree(".fieldmark/reports", ignore_errors=True)
        done = subprocess.run(
            [SHELL, "-e", "-c", "\n".join(each["script"])],
            env={
                **os.environ,
                **variables,
                "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
                "CI_COMMIT_BRANCH": branch,
                "CI_DEFAULT_BRANCH": "main",
                "CI_JOB_ID": str(next(number)),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            check=False,
        )
        return done.returncode, done.stdout

    return run


def test_run_of_the_default_branch_is_the_baseline_of_merge_requests(job, project):
    compared = {"truth": "truth.jsonl", "baseline": "main", "max_drop": "0.1\nmicro.f1=0.9"}
    code, log = job(**compared, predictions="good.jsonl")
    assert code == 2, log
    assert "run 'main' not found" in log
    code, log = job(truth="truth.jsonl", predictions="good.jsonl", tag="main", branch="main")
    assert code == 0, log
    code, log = job(**compared, predictions="bad.jsonl", tag="main")
    assert code == 1, log
    assert "gate failed: drop of mean_score is 0.875, must be at most 0.1" in log
    assert "7 cases worse" in log
    reports = project / ".fieldmark/reports"
    suite = parse(reports / "junit.xml").getroot()  # noqa: S314 - our own file
    assert (suite.get("tests"), suite.get("failures")) == ("10", "8")
    assert (reports / "report.html").is_file()
    assert [path.name for path in (project / ".fieldmark/runs").iterdir() if path.is_dir()] == ["2"]


def test_eval_file_and_hostile_inputs(job, project):
    code, log = job(eval="a.eval.yaml", min="mean_score=0.5", args="--concurrency\n2")
    assert code == 1, log
    assert "gate failed: mean_score is 0.1250, must be at least 0.5" in log
    hostile = "x\"; touch canary; $(touch canary) `touch canary` '; touch canary"
    code, log = job(
        truth=hostile, rules=hostile, min=f"{hostile}\n$(touch canary)", baseline=hostile
    )
    assert code == 2, log
    assert not list(project.rglob("canary*"))


def test_every_input_is_used():
    assert [name for name in INPUTS if f"$[[ inputs.{name} ]]" not in str(JOBS)] == []
