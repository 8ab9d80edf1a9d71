"""Processes that do tasks one after the other; one that dies is replaced, and its tasks redone."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Final, Generic, Self, TypeAlias, TypeVar

from fieldmark.errors import FieldmarkError

__all__ = ["Crew", "Errand", "WorkersDiedError"]

_AT_ONCE: Final = 2
"""Tasks that a process has been given: the one that it does, and the next."""
_PATIENCE: Final = 5
"""Times that processes may die one after the other without anything getting done."""
_PR_SET_PDEATHSIG: Final = 1
_DIED: Final = (
    "the processes that compare cases end again and again, as if they were killed; "
    "check the memory of the machine, or use --workers 1"
)

_Task = TypeVar("_Task")
_Answer = TypeVar("_Answer")
_Start: TypeAlias = Callable[[], Callable[[_Task], _Answer]]
"""Makes, in a process of its own, what does the tasks."""


class WorkersDiedError(FieldmarkError):
    """The processes that do the work end again and again before they have done anything."""


@dataclass(slots=True, eq=False)
class Errand(Generic[_Task, _Answer]):
    """A task, and its answer once somebody gave one."""

    task: _Task
    answer: _Answer | None = None


@dataclass(slots=True, eq=False)
class _Member(Generic[_Task, _Answer]):
    """A process, the way to it, and what it has been given, in the order of the answers."""

    process: BaseProcess
    way: Connection
    given: deque[Errand[_Task, _Answer]]

    def give(self, errand: Errand[_Task, _Answer]) -> bool:
        """Hand out a task; whether there was someone to take it."""
        self.given.append(errand)
        try:
            self.way.send(errand.task)
        except OSError:
            return False
        return True


class Crew(Generic[_Task, _Answer]):
    """So many processes; `files` are open here and of no concern to them."""

    def __init__(self, size: int, start: _Start[_Task, _Answer], files: Sequence[int] = ()) -> None:
        self._size = size
        self._start = start
        self._files = files
        self._waiting: deque[Errand[_Task, _Answer]] = deque()
        self._members: list[_Member[_Task, _Answer]] = []
        self._deaths = 0

    def __enter__(self) -> Self:
        while len(self._members) < self._size:
            self._members.append(self._member())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for member in self._members:
            _dismiss(member)

    @property
    def wants(self) -> int:
        """How many tasks could be handed out at once."""
        given = sum(len(member.given) for member in self._members)
        return self._size * _AT_ONCE - given - len(self._waiting)

    def add(self, errand: Errand[_Task, _Answer]) -> None:
        """Have a task done."""
        self._waiting.append(errand)
        self._hand_out()

    def listen(self, *, patiently: bool) -> None:
        """Take the answers that are there; if `patiently`, wait for one."""
        answering = wait([member.way for member in self._members], None if patiently else 0)
        for member in [each for each in self._members if each.way in answering]:
            try:
                answer, error = member.way.recv()
            except (EOFError, OSError):
                self._replace(member)
                continue
            if error is not None:
                raise error
            member.given.popleft().answer = answer
            self._deaths = 0
        self._hand_out()

    def _hand_out(self) -> None:
        """Give every process what it should have."""
        for much in range(_AT_ONCE):
            for member in [each for each in self._members if len(each.given) == much]:
                if self._waiting and not member.give(self._waiting.popleft()):
                    self._replace(member)

    def _replace(self, member: _Member[_Task, _Answer]) -> None:
        self._deaths += 1
        if self._deaths > _PATIENCE:
            raise WorkersDiedError(_DIED)
        self._waiting.extendleft(reversed(member.given))
        _dismiss(member)
        self._members.remove(member)
        self._members.append(self._member())

    def _member(self) -> _Member[_Task, _Answer]:
        # A copy of a process with several threads may hold a lock that nobody gives back.
        alone = threading.active_count() == 1
        context = multiprocessing.get_context("fork" if alone else "spawn")
        here, there = context.Pipe()
        ways = [here.fileno(), *(member.way.fileno() for member in self._members)]
        inherited = (*self._files, *ways) if alone else ()
        # mypy cannot tell that both contexts have one.
        process: BaseProcess = context.Process(  # type: ignore[attr-defined]
            target=_serve, args=(there, self._start, inherited), daemon=True
        )
        process.start()
        there.close()
        return _Member(process, here, deque())


def _dismiss(member: _Member[_Task, _Answer]) -> None:
    """End a process; it holds nothing that anyone else needs."""
    member.way.close()
    member.process.kill()
    member.process.join()
    member.process.close()


def _serve(way: Connection, start: _Start[_Task, _Answer], inherited: Sequence[int]) -> None:
    """Do tasks until there are no more."""
    # The process that the user talks to decides what an interrupt means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for file in inherited:
        # A lock is held, and a way is open, as long as anyone has its file.
        os.close(file)
    _end_with_parent()
    work = start()
    while True:
        try:
            task = way.recv()
        except EOFError:
            return
        way.send_bytes(_answered(work, task))


def _answered(work: Callable[[_Task], _Answer], task: _Task) -> bytes:
    """The answer to a task, or the error that it ended with, as whoever gave the task reads it."""
    try:
        return pickle.dumps((work(task), None), pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # noqa: BLE001 - whoever gave the task decides
        try:
            return pickle.dumps((None, error))
        except Exception:  # noqa: BLE001 - an error may hold anything
            return pickle.dumps((None, FieldmarkError(f"{type(error).__name__}: {error}")))


def _end_with_parent() -> None:
    """Let this process end when the one that started it does, where the system has a way to."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
