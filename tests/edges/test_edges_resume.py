"""Interrupted runs: killed, resumed, and locked against a second writer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from published.command_line import COMMAND, ENVIRONMENT
from row_files import write_rows
from waiting import TIMEOUT, eventually

CASES = 6_000
EVAL = """
cases: truth.jsonl
candidates: found.jsonl
evaluators:
  - {name: header, type: field_accuracy, fields: [{path: total}, {path: vendor}]}
  - {name: judge, type: code_judge, script: [python, judge.py], protocol: lines, timeout: 600}
"""
JUDGE = """
import json, os, sys, time
for line in sys.stdin:
    case = json.loads(line)
    with open("judged", "a") as judged:
        print(case["case_id"], file=judged)
    while case["case_id"] == "200" and os.path.exists("hold"):
        time.sleep(0.01)
    print(json.dumps({"score": case["candidate"].get("total", 0) % 2, "details": {"id": case["case_id"]}}), flush=True)
"""


def rows(number):
    for case in range(number):
        expected = {
            "total": case,
            "vendor": f"Vendor {case % 50}",
            "lines": [{"x": case}, {"x": 1}],
        }
        found = {**expected, "vendor": f"Vendor {case % 49}"}
        yield {"id": str(case), "expected": expected}, {"id": str(case), "candidate": found}


@pytest.fixture
def data(folder):
    def write(number):
        for name, side in zip(("truth", "found"), zip(*rows(number), strict=True), strict=True):
            write_rows(folder / f"{name}.jsonl", side)

    write(CASES)
    return write


def start(*arguments):
    return subprocess.Popen(
        [COMMAND, *arguments], env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def until_rows(path, number):
    results = Path(path) / "results.jsonl"
    assert eventually(lambda: results.exists() and results.read_bytes().count(b"\n") >= number)


def judged_cases():
    """Return the ids of the judged cases, in order."""
    return Path("judged").read_text().split() if Path("judged").exists() else []


def score_with_small_files(out, on_excess, files=("truth.jsonl", "found.jsonl")):
    """Score in a process that can write at most a million bytes to a file.

    `on_excess` names what SIGXFSZ then does: end the process, or nothing, so that writing fails.
    """
    limited = (
        "import resource, signal; "
        "resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000)); "
        f"signal.signal(signal.SIGXFSZ, signal.{on_excess}); "
        "from fieldmark.cli.main import main; main()"
    )
    arguments = ["score", *files, "--out", out, "-q"]
    return subprocess.run(
        [sys.executable, "-c", limited, *arguments],
        env=ENVIRONMENT | {"PYTHONPATH": os.environ.get("PYTHONPATH", "")},
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT,
    )


def content(path):
    return [(Path(path) / name).read_bytes() for name in ("results.jsonl", "summary.json")]


@pytest.mark.usefixtures("data")
def test_killed_run_is_resumed_to_the_same_bytes(command):
    assert command("score", "truth.jsonl", "found.jsonl", "--out", "whole", "-q").code == 0
    assert score_with_small_files("cut", "SIG_DFL").returncode == -signal.SIGXFSZ
    assert 0 < (Path("cut") / "results.jsonl").stat().st_size <= 1_000_000
    resumed = command("score", "--resume", "cut", "-q")
    assert (resumed.code, resumed.err) == (0, "")
    assert content("cut") == content("whole")


def with_citations(number):
    """Write predictions whose values have citations, except for a few documents."""
    for name, side in zip(("truth", "found"), zip(*rows(number), strict=True), strict=True):
        if name == "truth":
            yield write_rows(Path("truth.jsonl"), side)
            continue
        cited = [
            {
                "id": row["id"],
                "candidate": {
                    **{
                        key: {"value": value, "citations": [{"page": 1}]}
                        for key, value in row["candidate"].items()
                    },
                    **({"total": 1} if place % 100 == 99 else {}),
                },
            }
            for place, row in enumerate(side)
        ]
        yield write_rows(Path("found.jsonl"), cited)


def as_tables(number):
    """Write both sides as CSV files with numbers and booleans in other forms."""
    for name, form in (("truth", "{n},{n}.5,true,{v}"), ("found", "{n},{n}.50,True,{v}")):
        table = [form.format(n=n, v=f"Vendor {n % 50}") for n in range(number)]
        if name == "found":
            table[-3] = table[-3].replace(".50", "?")
        path = Path(f"{name}.csv")
        path.write_text("\n".join(["id,total,paid,vendor", *table]) + "\n")
        yield path


@pytest.mark.parametrize(
    ("write", "warning"),
    [
        pytest.param(with_citations, "120 documents do not have the metadata", id="citations"),
        pytest.param(as_tables, "1 cell in columns of numbers", id="tables"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_resumed_run_reads_documents_as_before(write, warning, command):
    files = [str(path) for path in write(CASES * 2)]
    assert command("score", *files, "--out", "whole", "-q").code == 0
    warnings = json.loads((Path("whole") / "summary.json").read_text())["warnings"]
    assert any(text.startswith(warning) for text in warnings)
    assert score_with_small_files("cut", "SIG_DFL", files).returncode == -signal.SIGXFSZ
    assert command("score", "--resume", "cut", "-q").code == 0
    assert content("cut") == content("whole")


def test_resumed_evaluation_judges_each_case_once(data, command):
    data(400)
    Path("a.eval.yaml").write_text(EVAL)
    Path("judge.py").write_text(JUDGE)
    assert command("eval", "a.eval.yaml", "--out", "whole", "-q").code == 0
    Path("judged").unlink()
    Path("hold").touch()
    process = start("eval", "a.eval.yaml", "--out", "cut", "-q")
    # The run waits for the judge when the interrupt comes, and has written the cases before.
    assert eventually(lambda: "200" in judged_cases())
    until_rows("cut", 192)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=TIMEOUT)
    Path("hold").unlink()
    assert process.returncode == 130, err
    assert json.loads(Path("cut/manifest.json").read_text())["status"] == "interrupted"
    resumed = command("eval", "--resume", "cut", "-q")
    assert resumed.code == 0, resumed.err
    assert content("cut") == content("whole")
    assert [judged_cases().count(str(case)) for case in range(192)] == [1] * 192


def test_second_writer_is_rejected_with_the_owner(data, command):
    Path("a.eval.yaml").write_text(EVAL)
    Path("judge.py").write_text(JUDGE)
    Path("hold").touch()
    first = start("eval", "a.eval.yaml", "--out", "run", "-q")
    until_rows("run", 1)
    for words in (("--resume", "run"), ("a.eval.yaml", "--out", "run")):
        rejected = command("eval", *words)
        assert rejected.code == 75
        assert f"is being written by process {first.pid} on " in rejected.err
    first.kill()
    first.communicate()
    Path("hold").unlink()
    data(CASES)
    assert command("eval", "--resume", "run", "--case", "1").code in {0, 2}


def test_unknown_run_cannot_be_resumed(command):
    done = command("score", "--resume", "nowhere")
    assert done.code == 2
    assert "nowhere: run not found" in done.err


@pytest.mark.usefixtures("data")
def test_full_disk_is_an_error_and_loses_no_rows(command):
    assert command("score", "truth.jsonl", "found.jsonl", "--out", "whole", "-q").code == 0
    done = score_with_small_files("full", "SIG_IGN")
    assert done.returncode == 74, done.stderr
    assert "cannot write" in done.stderr
    assert json.loads(Path("full/manifest.json").read_text())["status"] == "failed"
    assert command("score", "--resume", "full", "-q").code == 0
    assert content("full") == content("whole")
