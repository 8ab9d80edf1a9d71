"""Portions done by several processes; one that is killed is replaced, and its portions redone."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import islice
from typing import Final

from fieldmark.errors import FieldmarkError
from fieldmark.run.collector import patient_collector
from fieldmark.run.engines import Numbered
from fieldmark.run.portion_worker import Job, PortionWorker, Shard

__all__ = ["Processes"]

_TOGETHER: Final = 4
"""Segments that one process does before it answers."""
_AHEAD: Final = 3
"""Tasks for each process that are under way or wait to be read."""
_PATIENCE: Final = 5
"""Times that processes may die one after the other without anything getting done."""


class WorkersDiedError(FieldmarkError):
    """The processes that do the work end again and again before they have done anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Processes:
    """So many processes on this machine."""

    workers: int

    def run(self, job: Job, portions: Iterable[Numbered]) -> Iterator[Shard]:
        """The shards in the order of their numbers."""
        remaining = iter(portions)
        waiting: deque[tuple[list[Numbered], Future[list[Shard]]]] = deque()
        deaths = 0
        pool = self._pool(job)
        try:
            while True:
                while len(waiting) < self.workers * _AHEAD:
                    task = list(islice(remaining, _TOGETHER))
                    if not task:
                        break
                    waiting.append((task, pool.submit(_work, task)))
                if not waiting:
                    return
                try:
                    shards = waiting[0][1].result()
                except BrokenProcessPool:
                    deaths += 1
                    if deaths > _PATIENCE:
                        raise WorkersDiedError(_DIED) from None
                    pool.shutdown(wait=False)
                    pool = self._pool(job)
                    waiting = deque((task, pool.submit(_work, task)) for task, _ in waiting)
                    continue
                waiting.popleft()
                deaths = 0
                yield from shards
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _pool(self, job: Job) -> ProcessPoolExecutor:
        # A copy of a process with several threads may hold a lock that nobody gives back.
        alone = threading.active_count() == 1
        context = multiprocessing.get_context("fork" if alone else "spawn")
        return ProcessPoolExecutor(
            self.workers, mp_context=context, initializer=_start, initargs=(job,)
        )


_DIED: Final = (
    "the processes that compare cases end again and again, as if they were killed; "
    "check the memory of the machine, or use --workers 1"
)
_here: list[PortionWorker] = []
"""The worker of this process, where it is one of several."""


def _start(job: Job) -> None:
    # The process that the user talks to decides what an interrupt means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _here[:] = [PortionWorker(job)]


def _work(task: list[Numbered]) -> list[Shard]:
    with patient_collector():
        return [_here[0].work(*numbered) for numbered in task]
