"""Scripted judges, and the processes that they leave behind."""

from __future__ import annotations

import os
import sys
import time
import uuid
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from fieldmark.evaluators.base import Score
from fieldmark.judges import process_pipes
from fieldmark.judges.code_judge import CodeJudge
from fieldmark.model.case import Case
from waiting import PATIENCE, eventually

BEHAVIOUR = Path(__file__).with_name("behaviour.py")
PYTHON = (sys.executable, "-IS")
CASE = Case("invoice-1", {"total": 1}, {"total": 2})


def script(*behaviour):
    return (*PYTHON, str(BEHAVIOUR), *behaviour)


def judge(*behaviour, **options) -> CodeJudge:
    return CodeJudge(script=script(*behaviour), **options)


def judged(*behaviour, case=CASE, **options) -> Score:
    with judge(*behaviour, **options).opened() as judging:
        return judging(case)


def new_mark() -> str:
    return f"mark-{uuid.uuid4().hex}"


def listed(folder: str) -> list[str]:
    return os.listdir(folder)  # noqa: PTH208 - names are wanted


def alive(mark: str) -> list[str]:
    """The command lines of all processes with a word."""
    return [line for line in map(_command, listed("/proc")) if mark in line]


def living(mark: str) -> list[str]:
    """The same when what has just been killed had time to go."""
    return [] if eventually(lambda: not alive(mark)) else alive(mark)


def asleep(mark: str) -> list[str]:
    """The same of those that a judge started and that only wait."""
    return [line for line in alive(mark) if " sleep " in line]


@contextmanager
def time_is_over_when(condition):
    """Let the time limit of a program pass as soon as a condition holds, and not before."""

    def monotonic():
        return time.monotonic() + (10 * PATIENCE if condition() else 0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process_pipes, "time", SimpleNamespace(monotonic=monotonic))
        yield


def _command(pid: str) -> str:
    try:
        return Path("/proc", pid, "cmdline").read_bytes().replace(b"\0", b" ").decode()
    except (OSError, UnicodeDecodeError):
        return ""


def open_files() -> list[str]:
    return sorted(listed("/proc/self/fd"))


def zombies() -> list[str]:
    """The children of this process that have ended and were not reaped."""
    found = []
    for pid in filter(str.isdigit, listed("/proc")):
        try:
            fields = Path("/proc", pid, "stat").read_text("utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] == "Z" and int(fields[1]) == os.getpid():
            found.append(pid)
    return found
