"""Partitions of a run, processed by several worker processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import count, islice
from multiprocessing.process import BaseProcess
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from typing import Final, NamedTuple

from fieldmark.errors import FieldmarkError, StorageError
from fieldmark.judges.process_tree import end_with_parent
from fieldmark.runs.gc_tuning import relaxed_gc
from fieldmark.runs.partition_worker import (
    Job,
    NumberedPartition,
    PartitionResult,
    Task,
    group_tasks,
)
from fieldmark.runs.run_options import PROCESSES, RunOptions, most_tasks, worker_count

_TASK_SEGMENTS: Final = 4
"""The maximum number of segments in a task."""
_TASK_BYTES: Final = 4 << 20
"""The input size in bytes at which a task is complete, however few segments it has."""
_AHEAD: Final = 4
"""The number of tasks per worker that are running or waiting."""
_MAX_RESTARTS: Final = 5
"""The maximum number of consecutive restarts without a finished task."""
_POLL_SECONDS: Final = 1.0
"""The time between two checks for a pool that broke without failing the current task."""
_MAX_WINDOWS_WORKERS: Final = 61
"""The number of processes that a pool can wait for on Windows."""
_DIED: Final = (
    "worker processes were killed repeatedly; the machine may be out of memory; "
    "reduce the number of workers"
)


class WorkersDiedError(FieldmarkError):
    """Worker processes died repeatedly without finishing a task."""


class _SpooledResult(NamedTuple):
    """A result with its rows in a file, because a pipe would copy them three times."""

    result: PartitionResult
    file: str
    size: int

    def rows(self) -> Iterator[bytes]:
        """Yield all rows as one bytes object, and remove the file."""
        if not self.size:
            return
        with Path(self.file).open("rb") as spool:
            rows = spool.read(self.size)
        Path(self.file).unlink()
        if len(rows) != self.size:
            raise StorageError(f"{self.file} is truncated")
        yield rows


def run_in_processes(
    job: Job,
    partitions: Iterable[NumberedPartition],
    *,
    workers: int,
    files: Sequence[int] = (),
) -> Iterator[PartitionResult]:
    """Yield the results of all partitions, in order.

    `files` are file descriptors that workers must close. A task whose worker dies is processed
    again by another worker.
    """
    tasks = group_tasks(partitions, segments=_TASK_SEGMENTS, size=_TASK_BYTES)
    pending: deque[_PendingTask] = deque()
    with (
        tempfile.TemporaryDirectory(prefix="fieldmark-") as spools,
        closing(_WorkerPool(workers, (job, spools), files)) as pool,
    ):
        while True:
            for task in islice(tasks, workers * _AHEAD - len(pending)):
                pending.append(pool.submit(task))
            if not pending:
                return
            spooled = pool.result(pending)
            pending.popleft()
            yield spooled.result._replace(rows=spooled.rows())


@dataclass(slots=True)
class _PendingTask:
    """A task and the future of its result, which is replaced if its worker dies."""

    task: Task
    future: Future[_SpooledResult]


class _WorkerPool:
    """A process pool that is replaced when a worker dies."""

    def __init__(self, workers: int, job: tuple[Job, str], files: Sequence[int]) -> None:
        self._workers = workers
        self._job = job
        self._files = tuple(files)
        self._restarts = 0
        self._executor = self._start()

    def _start(self) -> ProcessPoolExecutor:
        # A fork of a process with several threads may inherit a lock that is never released, and
        # on macOS, system libraries start threads.
        fork = (
            threading.active_count() == 1
            and sys.platform != "darwin"
            and "fork" in multiprocessing.get_all_start_methods()
        )
        executor = ProcessPoolExecutor(
            min(self._workers, _MAX_WINDOWS_WORKERS) if sys.platform == "win32" else self._workers,
            mp_context=multiprocessing.get_context("fork" if fork else "spawn"),
            initializer=_start_worker,
            initargs=(*self._job, os.getpid(), self._files if fork else ()),
        )
        # Start all workers at once: a worker that is added while the pool breaks may hang.
        executor.__dict__["_safe_to_dynamically_spawn_children"] = False
        return executor

    def close(self) -> None:
        """Let the workers finish their current tasks, and stop them."""
        executor = self._executor
        manager: threading.Thread | None = vars(executor).get("_executor_manager_thread")
        results = vars(executor).get("_result_queue")
        processes = _processes_of(executor)
        executor.shutdown(wait=False, cancel_futures=True)
        killed = False
        while manager is not None and manager.is_alive():
            manager.join(_POLL_SECONDS)
            # The pool waits forever for the rest of a result whose worker was killed.
            before, killed = killed, any(process.exitcode not in {None, 0} for process in processes)
            if before and killed:
                _end(processes, results)
        if results is not None:
            results.close()

    def submit(self, task: Task) -> _PendingTask:
        """Schedule a task."""
        return _PendingTask(task, self._submit(task))

    def _submit(self, task: Task) -> Future[_SpooledResult]:
        try:
            return self._executor.submit(_work, task)
        except (RuntimeError, OSError, ValueError) as error:
            # The pool is breaking and has closed its pipes; `result` restarts it.
            broken: Future[_SpooledResult] = Future()
            broken.set_exception(BrokenProcessPool(str(error)))
            return broken

    def result(self, pending: Sequence[_PendingTask]) -> _SpooledResult:
        """Wait for the result of the first task; tasks of dead workers are submitted again."""
        dead = False
        while True:
            future = pending[0].future
            wait([future], _POLL_SECONDS)
            if not future.done():
                # A task that was submitted while the pool broke may never finish, and the pool does
                # not notice a worker that was killed while it sent a result.
                was_dead, dead = dead, self._has_dead_worker()
                if vars(self._executor).get("_broken") or (was_dead and dead):
                    dead = False
                    self._restart(pending)
            elif isinstance(future.exception(), BrokenProcessPool):
                self._restart(pending)
            else:
                self._restarts = 0
                return future.result()

    def _has_dead_worker(self) -> bool:
        return any(process.exitcode is not None for process in _processes_of(self._executor))

    def _restart(self, pending: Sequence[_PendingTask]) -> None:
        self._restarts += 1
        if self._restarts > _MAX_RESTARTS:
            raise WorkersDiedError(_DIED)
        # Shutdown waits for all workers, and a worker started while the pool broke never ends.
        _end(_processes_of(self._executor), vars(self._executor).get("_result_queue"))
        self._executor.shutdown(cancel_futures=True)
        self._executor = self._start()
        for task in pending:
            done = task.future.done() and not task.future.cancelled()
            if not done or isinstance(task.future.exception(), BrokenProcessPool):
                task.future = self._submit(task.task)


def _processes_of(executor: ProcessPoolExecutor) -> list[BaseProcess]:
    return list((executor._processes or {}).values())  # noqa: SLF001


def _end(processes: Iterable[BaseProcess], results: SimpleQueue[object] | None) -> None:
    """Kill the workers of a pool; without a writer, it stops waiting for the rest of a result."""
    for process in processes:
        process.kill()
    if results is not None:
        results._writer.close()  # type: ignore[attr-defined]  # noqa: SLF001


_worker: Callable[[Task], _SpooledResult] | None = None
"""Processes a task, if this process is a worker."""
_open: Final = ExitStack()
"""The resources that a worker keeps open until its process ends."""


def _start_worker(job: Job, spools: str, parent: int, files: Sequence[int]) -> None:
    global _worker  # noqa: PLW0603 - an initializer has no other way to pass state
    # Interrupts are handled by the parent.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for file in files:
        # A lock is held while any process has its file open.
        os.close(file)
    end_with_parent(parent)
    worker = _open.enter_context(job.open())
    names = (str(Path(spools) / f"{os.getpid()}-{number}") for number in count())

    def work(task: Task) -> _SpooledResult:
        name, size = next(names), 0

        def append(rows: Iterable[bytes]) -> None:
            nonlocal size
            try:
                with Path(name).open("ab") as spool:
                    size += spool.write(b"".join(rows))
            except OSError as error:
                raise StorageError(f"cannot write {name}: {error.strerror}") from error

        with relaxed_gc():
            result = worker.work(task, append)
        return _SpooledResult(result, name, size)

    _worker = work


def _work(task: Task) -> _SpooledResult:
    assert _worker is not None  # noqa: S101 - the initializer has set it
    return _worker(task)


def run_partitions(
    options: RunOptions,
    job: Job,
    partitions: Iterable[NumberedPartition],
    *,
    files: Sequence[int] = (),
) -> Iterator[PartitionResult]:
    """Yield the results of all partitions in order, computed by the engine of the options.

    `files` are file descriptors that forked processes must close.
    """
    if options["engine"] == PROCESSES:
        return run_in_processes(job, partitions, workers=worker_count(options), files=files)
    from fieldmark.runs.ray_engine import run_on_ray

    return run_on_ray(job, partitions, engine=options["engine"], workers=most_tasks(options))
