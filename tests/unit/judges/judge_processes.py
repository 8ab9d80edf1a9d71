"""Scripted judges, and the processes that they start."""

from __future__ import annotations

import os
import sys
import time
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from fieldmark.evaluators.base import Score
from fieldmark.judges import managed_process
from fieldmark.judges.code_judge import CodeJudge
from fieldmark.model.case import Case
from waiting import TIMEOUT, eventually

SCRIPT = Path(__file__).with_name("scripted_judge.py")
PYTHON = (sys.executable, "-IS")
CASE = Case("invoice-1", {"total": 1}, {"total": 2})


def script(*behavior):
    return (*PYTHON, str(SCRIPT), *behavior)


def judge(*behavior, timeout=TIMEOUT, **options) -> CodeJudge:
    return CodeJudge(script=script(*behavior), timeout=timeout, **options)


def judge_case(*behavior, case=CASE, **options) -> Score:
    with judge(*behavior, **options).opened() as score_case:
        return score_case(case)


def new_marker() -> str:
    return f"marker-{uuid.uuid4().hex}"


def list_directory(directory: str) -> list[str]:
    return os.listdir(directory)  # noqa: PTH208 - only names are needed


def running(marker: str) -> list[str]:
    """Return the command lines of all processes that contain a marker."""
    return [line for line in map(_command, list_directory("/proc")) if marker in line]


def remaining(marker: str) -> list[str]:
    """Return the same for processes that have not exited within the time limit of a test."""
    return [] if eventually(lambda: not running(marker)) else running(marker)


def sleeping(marker: str) -> list[str]:
    """Return the same for sleeping processes that a judge has started."""
    return [line for line in running(marker) if " sleep " in line]


@contextmanager
def timeout_when(condition):
    """Make the time limit of a program expire as soon as a condition holds."""

    def monotonic():
        return time.monotonic() + (10 * TIMEOUT if condition() else 0)

    with pytest.MonkeyPatch.context() as patch:
        fake_time = SimpleNamespace(monotonic=monotonic, sleep=time.sleep)
        patch.setattr(managed_process, "time", fake_time)
        yield


def _command(pid: str) -> str:
    try:
        return Path("/proc", pid, "cmdline").read_bytes().replace(b"\0", b" ").decode()
    except (OSError, UnicodeDecodeError):
        return ""


def open_files() -> set[tuple[str, str]]:
    """Return the open file descriptors and what they refer to.

    Tests check that there are no new ones: files of earlier tests may be closed at any time.
    """
    found = set()
    for number in list_directory("/proc/self/fd"):
        # The directory itself is closed by now.
        with suppress(OSError):
            found.add((number, str(Path("/proc/self/fd", number).readlink())))
    return found


def zombies() -> set[str]:
    """Return the children of this process that have exited but were not reaped."""
    found = set()
    for pid in filter(str.isdigit, list_directory("/proc")):
        try:
            fields = Path("/proc", pid, "stat").read_text("utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] == "Z" and int(fields[1]) == os.getpid():
            found.add(pid)
    return found
