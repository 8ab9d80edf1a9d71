"""Portions done by several processes; one that is killed is replaced, and its portions redone."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from fieldmark.data.portions import Portion
from fieldmark.errors import FieldmarkError, StorageError
from fieldmark.run.collector import patient_collector
from fieldmark.run.engines import Numbered
from fieldmark.run.portion_worker import Job, PortionWorker, Shard

__all__ = ["Processes"]

_TOGETHER: Final = 4
"""Segments that one process does before it answers."""
_AHEAD: Final = 3
"""Tasks for each process that are under way or wait to be read."""
_PR_SET_PDEATHSIG: Final = 1
_PATIENCE: Final = 5
"""Times that processes may die one after the other without anything getting done."""


class WorkersDiedError(FieldmarkError):
    """The processes that do the work end again and again before they have done anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Processes:
    """So many processes on this machine; `files` are open here and of no concern to them."""

    workers: int
    files: tuple[int, ...] = ()

    def run(self, job: Job, portions: Iterable[Numbered]) -> Iterator[Shard]:
        """The shards in the order of their numbers."""
        with tempfile.TemporaryDirectory(prefix="fieldmark-") as spools:
            for task in self._tasks(job, portions, spools):
                yield from (each.taken(spools) for each in task)

    def _tasks(
        self, job: Job, portions: Iterable[Numbered], spools: str
    ) -> Iterator[list[_Spooled]]:
        """What processes answer, in order."""
        remaining = iter(portions)
        waiting: _Waiting = deque()
        deaths = 0
        pool = self._pool(job, spools)
        try:
            while True:
                while len(waiting) < self.workers * _AHEAD and (
                    task := list(islice(remaining, _TOGETHER))
                ):
                    waiting.append((task, None))
                if not waiting:
                    return
                try:
                    _submit(pool, waiting)
                    done = _first(waiting)
                except BrokenProcessPool:
                    deaths += 1
                    if deaths > _PATIENCE:
                        raise WorkersDiedError(_DIED) from None
                    pool.shutdown(wait=False)
                    pool = self._pool(job, spools)
                    waiting = deque((task, None) for task, _ in waiting)
                    continue
                waiting.popleft()
                deaths = 0
                yield done
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _pool(self, job: Job, spools: str) -> ProcessPoolExecutor:
        # A copy of a process with several threads may hold a lock that nobody gives back.
        alone = threading.active_count() == 1
        context = multiprocessing.get_context("fork" if alone else "spawn")
        inherited = self.files if alone else ()
        return ProcessPoolExecutor(
            self.workers, mp_context=context, initializer=_start, initargs=(job, spools, inherited)
        )


_DIED: Final = (
    "the processes that compare cases end again and again, as if they were killed; "
    "check the memory of the machine, or use --workers 1"
)


class _Spooled(NamedTuple):
    """A shard whose rows lie in a file: bytes that go through a pipe are copied thrice."""

    shard: Shard
    file: str
    start: int
    size: int

    def taken(self, spools: str) -> Shard:
        """The shard with its rows."""
        if not self.size:
            return self.shard
        with (Path(spools) / self.file).open("rb") as spool:
            spool.seek(self.start)
            rows = spool.read(self.size)
        if len(rows) != self.size:
            raise StorageError(f"{Path(spools) / self.file} is shorter than what was put into it")
        return self.shard._replace(rows=rows)


def _submit(pool: ProcessPoolExecutor, waiting: _Waiting) -> None:
    """Hand out all tasks that nobody has."""
    for place, (task, future) in enumerate(waiting):
        if future is None:
            waiting[place] = task, pool.submit(_work, task)


def _first(waiting: _Waiting) -> list[_Spooled]:
    """The answer to the first task, when it comes."""
    future = waiting[0][1]
    assert future is not None  # noqa: S101 - all were handed out
    return future.result()


class _Worker:
    """What one of several processes has: its worker, and the file for its rows."""

    __slots__ = ("_name", "_spool", "_worker")

    def __init__(self, job: Job, spools: str) -> None:
        self._worker = PortionWorker(job)
        self._name = str(os.getpid())
        self._spool = (Path(spools) / self._name).open("ab", buffering=0)

    def work(self, number: int, portion: Portion) -> _Spooled:
        """One segment, its rows put into the file."""
        shard = self._worker.work(number, portion)
        start = self._spool.tell()
        rest = memoryview(shard.rows)
        try:
            while rest:
                rest = rest[self._spool.write(rest) or 0 :]
        except OSError as error:
            raise StorageError(f"cannot write {self._spool.name}: {error.strerror}") from error
        return _Spooled(shard._replace(rows=b""), self._name, start, len(shard.rows))


_Waiting: TypeAlias = "deque[tuple[list[Numbered], Future[list[_Spooled]] | None]]"
_here: list[_Worker] = []
"""The worker of this process, where it is one of several."""


def _start(job: Job, spools: str, inherited: Sequence[int]) -> None:
    # The process that the user talks to decides what an interrupt means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for file in inherited:
        # A lock is held as long as anyone has its file open.
        os.close(file)
    _end_with_parent()
    _here[:] = [_Worker(job, spools)]


def _end_with_parent() -> None:
    """Let this process end when the one that started it does, where the system has a way to."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _work(task: list[Numbered]) -> list[_Spooled]:
    with patient_collector():
        return [_here[0].work(*numbered) for numbered in task]
