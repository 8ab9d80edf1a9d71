"""Importing the package is quick and has no side effects."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def finished(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "heavy", ["jinja2", "numpy", "pandas", "polars", "rich", "ruamel", "scipy", "yaml"]
)
def test_importing_the_package_loads_nothing_heavy(heavy):
    probe = f"import sys, fieldmark; print({heavy!r} in sys.modules)"
    python = finished(sys.executable, "-I", "-c", probe)
    assert (python.stdout.strip(), python.stderr) == ("False", "")


def test_importing_the_package_does_nothing():
    python = finished(sys.executable, "-I", "-X", "dev", "-W", "error", "-c", "import fieldmark")
    assert (python.returncode, python.stdout, python.stderr) == (0, "", "")
