"""`fieldmark report`, as people type it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import fieldmark as fm


@pytest.fixture
def run(tmp_path):
    for name, found in (("old", 1), ("new", 2)):
        fm.score([{"id": "a", "n": 1}], [{"id": "a", "n": found}], out=tmp_path / "runs" / name)

    def command(*words):
        return subprocess.run(
            [Path(sys.executable).with_name("fieldmark"), "report", *words],
            cwd=tmp_path,
            capture_output=True,
            check=False,
            timeout=60,
        )

    return command


def test_the_report_goes_into_the_folder_of_the_run(run, tmp_path):
    done = run("runs/new")
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"report written to runs/new/report.html" in done.stderr
    assert (tmp_path / "runs" / "new" / "report.html").read_bytes().startswith(b"<!doctype html>")


def test_a_run_is_found_by_its_name(run, tmp_path):
    assert run("latest", "--out", "here.html").returncode == 0
    assert (tmp_path / "here.html").exists()


def test_a_dash_prints_it(run):
    done = run("runs/new", "--out", "-")
    assert done.stdout.startswith(b"<!doctype html>")
    assert done.stdout.endswith(b"</html>\n")


def test_two_runs_are_compared(run):
    assert b'"versus":' in run("runs/new", "--against", "runs/old", "--out", "-").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["runs/none"], b"There is no run", id="a-run-that-is-not-there"),
        pytest.param(["runs/new", "--as", "pdf"], b"'pdf' is not one of", id="an-unknown-kind"),
        pytest.param(["runs/new", "--out", "no/such/folder/x.html"], b"cannot write", id="no-such-folder"),
        pytest.param(
            ["runs/new", "--as", "junit", "--against", "runs/old"], b"Only an HTML report",
            id="a-comparison-in-another-form",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_one_line(run, words, said):
    done = run(*words)
    assert done.returncode in {2, 74}
    assert said in done.stderr
    assert b"Traceback" not in done.stderr
