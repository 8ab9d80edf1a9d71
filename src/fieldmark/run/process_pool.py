"""Partitions of a run, done by several processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import count, islice
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

from fieldmark.errors import FieldmarkError, StorageError
from fieldmark.run.gc_tuning import relaxed_gc
from fieldmark.run.partition_worker import (
    NumberedPartition,
    PartitionResult,
    PartitionWorker,
    Task,
    WorkerJob,
)

__all__ = ["WorkersDiedError", "run_in_processes"]

_TASK_SEGMENTS: Final = 4
"""Segments that one worker does before it answers, at most."""
_TASK_BYTES: Final = 4 << 20
"""Bytes of input that are enough for one task, however few segments they are."""
_AHEAD: Final = 4
"""Tasks for each worker that are in progress or wait to be taken in."""
_MOST_RESTARTS: Final = 5
"""Times that workers may die one after the other without a task being finished."""
_PR_SET_PDEATHSIG: Final = 1
_DIED: Final = (
    "the processes that compare cases end again and again, as if they were killed; "
    "check the memory of the machine, or use --workers 1"
)


class WorkersDiedError(FieldmarkError):
    """Workers die again and again before they have finished anything."""


class _SpooledResult(NamedTuple):
    """A result whose rows are in a file: bytes that go through a pipe are copied three times."""

    result: PartitionResult
    file: str
    size: int

    def rows(self) -> Iterator[bytes]:
        """The rows, all in one; the file is removed when they are read."""
        if not self.size:
            return
        with Path(self.file).open("rb") as spool:
            # A file without a name never needs to reach the disk.
            Path(self.file).unlink()
            rows = spool.read(self.size)
        if len(rows) != self.size:
            raise StorageError(f"{self.file} is shorter than what was put into it")
        yield rows


def run_in_processes(
    job: WorkerJob,
    partitions: Iterable[NumberedPartition],
    *,
    workers: int,
    files: Sequence[int] = (),
) -> Iterator[PartitionResult]:
    """The results of all partitions in order.

    `files` are open file descriptors that workers must not keep. A task whose worker dies is done
    again by another.
    """
    tasks = _tasks(partitions)
    pending: deque[_PendingTask] = deque()
    with (
        tempfile.TemporaryDirectory(prefix="fieldmark-") as spools,
        _WorkerPool(workers, (job, spools), files) as pool,
    ):
        while True:
            for task in islice(tasks, workers * _AHEAD - len(pending)):
                pending.append(pool.submit(task))
            if not pending:
                return
            spooled = pool.result(pending)
            pending.popleft()
            yield spooled.result._replace(rows=spooled.rows())


def _tasks(partitions: Iterable[NumberedPartition]) -> Iterator[Task]:
    """The partitions in groups that are worth an answer."""
    task: list[NumberedPartition] = []
    for numbered in partitions:
        task.append(numbered)
        size = sum(partition.size for _, partition in task)
        if len(task) == _TASK_SEGMENTS or size >= _TASK_BYTES:
            yield task
            task = []
    if task:
        yield task


class _PendingTask:
    """A task and the future of its result; another future if its worker died."""

    __slots__ = ("future", "task")

    def __init__(self, task: Task, future: Future[_SpooledResult]) -> None:
        self.task = task
        self.future = future


class _WorkerPool:
    """A process pool that is replaced when a worker dies."""

    def __init__(self, workers: int, job: tuple[WorkerJob, str], files: Sequence[int]) -> None:
        self._workers = workers
        self._job = job
        self._files = tuple(files)
        self._restarts = 0
        self._executor = self._start()

    def _start(self) -> ProcessPoolExecutor:
        # A fork of a process with several threads may inherit a lock that nobody releases.
        fork = threading.active_count() == 1
        executor = ProcessPoolExecutor(
            self._workers,
            mp_context=multiprocessing.get_context("fork" if fork else "spawn"),
            initializer=_start_worker,
            initargs=(*self._job, os.getpid(), self._files if fork else ()),
        )
        # All workers are started at once: one that is added while the pool breaks confuses it.
        executor.__dict__["_safe_to_dynamically_spawn_children"] = False
        return executor

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._executor.shutdown(cancel_futures=True)

    def submit(self, task: Task) -> _PendingTask:
        """Have a task done."""
        return _PendingTask(task, self._submit(task))

    def _submit(self, task: Task) -> Future[_SpooledResult]:
        try:
            return self._executor.submit(_work, task)
        except (RuntimeError, OSError, ValueError) as error:
            # A pool that is just breaking has closed its pipes. The result says so when wanted.
            broken: Future[_SpooledResult] = Future()
            broken.set_exception(BrokenProcessPool(str(error)))
            return broken

    def result(self, pending: Sequence[_PendingTask]) -> _SpooledResult:
        """The result of the first task; tasks of dead workers are submitted again."""
        while True:
            try:
                result = pending[0].future.result()
            except BrokenProcessPool:
                self._restart(pending)
                continue
            self._restarts = 0
            return result

    def _restart(self, pending: Sequence[_PendingTask]) -> None:
        self._restarts += 1
        if self._restarts > _MOST_RESTARTS:
            raise WorkersDiedError(_DIED)
        # The executor waits for its workers, and one that it started while it broke never ends.
        for process in list((self._executor._processes or {}).values()):  # noqa: SLF001
            process.kill()
        self._executor.shutdown(cancel_futures=True)
        self._executor = self._start()
        for each in pending:
            done = each.future.done() and not each.future.cancelled()
            if not done or isinstance(each.future.exception(), BrokenProcessPool):
                each.future = self._submit(each.task)


_worker: Callable[[Task], _SpooledResult] | None = None
"""What this process does with a task, if it is a worker."""


def _start_worker(job: WorkerJob, spools: str, parent: int, files: Sequence[int]) -> None:
    """Prepare a worker process."""
    global _worker  # noqa: PLW0603 - an initializer can hand over its work in no other way
    # The parent decides what an interrupt means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for file in files:
        # A lock is held as long as any process has its file open.
        os.close(file)
    _end_with_parent(parent)
    worker = PartitionWorker(job)
    names = (str(Path(spools) / f"{os.getpid()}-{number}") for number in count())

    def work(task: Task) -> _SpooledResult:
        name, sizes = next(names), list[int]()
        with relaxed_gc():
            result = worker.work(task, lambda rows: sizes.append(_append(name, rows)))
        return _SpooledResult(result, name, sum(sizes))

    _worker = work


def _work(task: Task) -> _SpooledResult:
    assert _worker is not None  # noqa: S101 - the initializer has set it
    return _worker(task)


def _append(name: str, rows: Iterable[bytes]) -> int:
    """Add rows to a file; how many bytes they are."""
    try:
        with Path(name).open("ab") as spool:
            return spool.write(b"".join(rows))
    except OSError as error:
        raise StorageError(f"cannot write {name}: {error.strerror}") from error


def _end_with_parent(parent: int) -> None:
    """End this process when its parent ends, where the system supports it."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
