"""Runs commands and creates environments, as users do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(*words, **options):
    """Run a command that must succeed, and return its output."""
    done = subprocess.run(
        [*map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        **options,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def new_environment(directory, *packages):
    """Create an environment with packages, and return its directory of programs."""
    run(sys.executable, "-m", "venv", directory)
    programs = directory / "bin"
    constraints = ROOT / "constraints.txt"
    run(programs / "pip", "install", "--quiet", "--constraint", constraints, *packages)
    return programs
