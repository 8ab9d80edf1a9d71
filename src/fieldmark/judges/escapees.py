"""Finds processes that left their group, by their ancestors and by a mark in their environment.

A process can leave the group that it was started in, and be adopted when its parent ends. Its
environment stays with it: a random mark there tells where it came from. Only Linux lets us look;
elsewhere, and from a process that also clears its environment, such a process gets away.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["MARK", "Kin", "kill_kin", "kill_marked", "kin_of", "marked"]

MARK: Final = "FIELDMARK_CONTAINED"
"""The variable that holds the marks of the programs that a process descends from."""

_PROC: Final = Path("/proc")
_ROUNDS: Final = 100
_PAUSE: Final = 0.005


class Kin(NamedTuple):
    """A process, by its number and by when it began: a number alone may come back."""

    pid: int
    began: bytes


def marked(mark: str) -> list[int]:
    """The processes with a mark in their environment, this one left out."""
    wanted = mark.encode()
    return [pid for pid in _pids() if wanted in _read(pid, "environ")]


def kill_marked(mark: str) -> None:
    """End every process that carries a mark; again until none is left, for they may multiply."""
    for _ in range(_ROUNDS):
        found = marked(mark)
        if not found:
            return
        for pid in found:
            _kill(pid)
        time.sleep(_PAUSE)


def kin_of(root: int) -> list[Kin]:
    """All living descendants of a process, itself left out."""
    parents: dict[int, int] = {}
    began: dict[int, bytes] = {}
    for pid in _pids():
        fields = _stat(pid)
        if fields:
            parents[pid] = int(fields[1])
            began[pid] = fields[19]
    return [Kin(pid, began[pid]) for pid in parents if _descends(pid, root, parents)]


def kill_kin(kin: list[Kin]) -> None:
    """End the processes that were found before, unless their numbers belong to others by now."""
    for pid, began in kin:
        fields = _stat(pid)
        if fields and fields[19] == began:
            _kill(pid)


def _descends(pid: int, root: int, parents: Mapping[int, int]) -> bool:
    # A snapshot that was taken while processes came and went may hold a ring.
    seen: set[int] = set()
    while pid not in seen:
        seen.add(pid)
        pid = parents.get(pid, 0)
        if pid == root:
            return True
    return False


def _pids() -> Iterator[int]:
    if sys.platform != "linux":
        return
    own = os.getpid()
    for name in os.listdir(_PROC):  # noqa: PTH208 - names are enough, and this runs for every case
        if name.isdigit() and int(name) != own:
            yield int(name)


def _stat(pid: int) -> list[bytes]:
    """What follows the name in the line about a process: state, parent, and from there on."""
    return _read(pid, "stat").rpartition(b")")[2].split()


def _read(pid: int, what: str) -> bytes:
    try:
        return (_PROC / str(pid) / what).read_bytes()
    except OSError:
        # It has ended, or belongs to somebody else.
        return b""


def _kill(pid: int) -> None:
    with suppress(OSError):
        os.kill(pid, signal.SIGKILL)
