"""Judges that behave as they are told, and a look at the processes that they leave behind."""

from __future__ import annotations

import os
import sys
import time
import uuid
from pathlib import Path

from fieldmark.evaluators.base import Score
from fieldmark.judges.code_judge import CodeJudge
from fieldmark.model.case import Case

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
    deadline = time.monotonic() + 5
    found = ["?"]
    while found and time.monotonic() < deadline:
        found = alive(mark)
        time.sleep(0.01 if found else 0)
    return found


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
