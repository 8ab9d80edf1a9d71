"""Run the installed command in a separate process, or in this one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from fieldmark.cli import main
from waiting import TIMEOUT

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
DATA = TESTS / "data"
EXAMPLES = ROOT / "examples"
COMMAND = Path(sys.executable).with_name("fieldmark")
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if name not in {"COLUMNS", "NO_COLOR"}},
    "PYTHONUTF8": "1",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The exit code and output of a command."""

    code: int
    out: str
    err: str

    @property
    def summary(self) -> dict:
        """The output of `--format json`; NaN and infinity are errors."""
        return strict(self.out)


def strict(text: str) -> dict:
    """Parse standard JSON, without NaN and infinity."""

    def reject(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=reject)


def fieldmark(*arguments, cwd=None, stdin=b"", env=None, timeout=TIMEOUT) -> Done:
    """Run the command in a separate process."""
    done = subprocess.run(
        [COMMAND, *map(str, arguments)],
        cwd=cwd,
        env={**ENVIRONMENT, **(env or {})},
        input=stdin,
        capture_output=True,
        check=False,
        timeout=timeout,
    )
    return Done(
        code=done.returncode,
        out=done.stdout.decode("utf-8", "surrogateescape"),
        err=done.stderr.decode("utf-8", "surrogateescape"),
    )


def scored(*arguments, **options) -> dict:
    """Score in a separate process and return the summary."""
    done = fieldmark("score", *arguments, "--no-save", "--format", "json", **options)
    assert done.code == 0, done.err
    assert not done.err
    return done.summary


def fieldmark_here(*arguments) -> Done:
    """Run the command in this process, for tests with many rows."""
    done = CliRunner().invoke(
        main.fieldmark, list(map(str, arguments)), catch_exceptions=False, standalone_mode=False
    )
    return Done(code=done.return_value, out=done.stdout, err=done.stderr)


def scored_here(*arguments) -> dict:
    """Score in this process and return the summary."""
    done = fieldmark_here("score", *arguments, "--no-save", "--format", "json")
    assert done.code == 0, done.err
    return done.summary
