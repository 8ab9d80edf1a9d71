"""The `fieldmark report` command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import fieldmark as fm


@pytest.fixture
def run(tmp_path):
    for name, predicted in (("old", 1), ("new", 2)):
        fm.score([{"id": "a", "n": 1}], [{"id": "a", "n": predicted}], out=tmp_path / "runs" / name)

    def command(*arguments):
        return subprocess.run(
            [Path(sys.executable).with_name("fieldmark"), "report", *arguments],
            cwd=tmp_path,
            capture_output=True,
            check=False,
        )

    return command


def test_the_report_is_written_to_the_run_directory(run, tmp_path):
    done = run("runs/new")
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"wrote report to runs/new/report.html" in done.stderr
    assert (tmp_path / "runs" / "new" / "report.html").read_bytes().startswith(b"<!doctype html>")


def test_a_run_can_be_named_latest(run, tmp_path):
    assert run("latest", "--out", "here.html").returncode == 0
    assert (tmp_path / "here.html").exists()


def test_a_dash_prints_to_standard_output(run):
    done = run("runs/new", "--out", "-")
    assert done.stdout.startswith(b"<!doctype html>")
    assert done.stdout.endswith(b"</html>\n")


def test_against_adds_a_comparison(run):
    assert b'"comparison":' in run("runs/new", "--against", "runs/old", "--out", "-").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["runs/none"], b"run 'runs/none' not found", id="unknown-run"),
        pytest.param(["runs/new", "--as", "pdf"], b"--as: unknown value 'pdf'; must be one of: html", id="unknown-kind"),
        pytest.param(["runs/new", "--out", "no/such/directory/x.html"], b"cannot write", id="unknown-directory"),
        pytest.param(
            ["runs/new", "--as", "junit", "--against", "runs/old"], b"only HTML reports can compare two runs, not junit",
            id="comparison-in-another-format",
        ),
    ],
)  # fmt: skip
def test_errors_are_one_message(run, arguments, message):
    done = run(*arguments)
    assert done.returncode in {2, 74}
    assert message in done.stderr
    assert b"Traceback" not in done.stderr
