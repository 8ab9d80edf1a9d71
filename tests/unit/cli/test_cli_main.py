"""The command can be run as a module."""

from __future__ import annotations

import subprocess
import sys

from fieldmark.version import VERSION


def run_module(*words):
    command = [sys.executable, "-m", "fieldmark", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_package_runs_as_a_module():
    done = run_module("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"fieldmark {VERSION}\n", "")


def test_errors_of_the_module_have_exit_codes():
    done = run_module("scroe")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Unknown command: scroe. Did you mean score?" in done.stderr
    assert done.stderr.startswith("Usage: fieldmark ")
