"""Worker processes that die or raise exceptions."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import Future
from contextlib import closing
from types import SimpleNamespace

import pytest

from fieldmark.errors import DataError
from fieldmark.runs import process_engine as process_pool
from fieldmark.runs.process_engine import WorkersDiedError, _SpooledResult, _WorkerPool
from waiting import TIMEOUT, eventually


def start(work):
    """Initialize a worker that calls a function with each task; the job is the function."""

    def initialize(job, spools, parent, files):
        process_pool._worker = work

    return initialize


def done(pool, tasks):
    pending = [pool.submit(task) for task in tasks]
    results = []
    while pending:
        results.append(pool.result(pending))
        pending.pop(0)
    return results


@pytest.fixture(scope="module")
def _idle_threads():
    """Give threads of earlier tests some time to end; those that never end are idle."""
    eventually(lambda: threading.active_count() == 1, seconds=3)


@pytest.fixture
def pool(monkeypatch, _idle_threads):
    """Return a pool whose workers call a function instead of processing partitions.

    Workers are forked, because functions of a test cannot be pickled.
    """
    monkeypatch.setattr(process_pool, "threading", SimpleNamespace(active_count=lambda: 1))

    def make(work, workers=2):
        monkeypatch.setattr(process_pool, "_start_worker", start(work))
        return closing(_WorkerPool(workers, (None, ""), ()))

    return make


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_each_task_has_its_own_result(pool, workers):
    with pool(lambda number: 2 * number, workers) as own:
        assert done(own, range(1, 20)) == [2 * number for number in range(1, 20)]


def test_killed_worker_is_replaced_and_its_tasks_are_repeated(pool, tmp_path):
    marker = tmp_path / "died"

    def die_once(number):
        if number == 3 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    with pool(die_once) as own:
        assert done(own, range(10)) == list(range(10))
    assert marker.exists()


KILLED_WHILE_SENDING = """
import os, signal, sys, time
from multiprocessing.connection import Connection
from pathlib import Path

from fieldmark.judges.process_tree import end_with_parent
from fieldmark.runs import process_engine as process_pool

marker = Path(sys.argv[1])

def start_worker(job, spools, parent, files):
    end_with_parent(parent)
    process_pool._worker = work

def work(number):
    if number == 3 and not marker.exists():
        marker.touch()
        Connection._send = send_half
    return number

def send_half(connection, message, *_):
    os.write(connection.fileno(), message[: len(message) // 2])
    os.kill(os.getpid(), signal.SIGKILL)

process_pool._start_worker = start_worker
pool = process_pool._WorkerPool(2, (None, ""), ())
if sys.argv[2] == "all":
    pending = [pool.submit(number) for number in range(10)]
    while pending:
        print(pool.result(pending))
        pending.pop(0)
else:
    pool.submit(3)
    while not pool._has_dead_worker():
        time.sleep(0.01)
pool.close()
print("closed")
"""


@pytest.mark.parametrize(
    ("results", "printed"),
    [
        pytest.param("all", [*map(str, range(10)), "closed"], id="while-results-are-awaited"),
        pytest.param("none", ["closed"], id="before-the-pool-is-closed"),
    ],
)
def test_worker_killed_while_it_sends_a_result_blocks_neither_the_pool_nor_other_workers(
    results, printed, tmp_path
):
    """The pool reads half a result, and the killed worker still holds the lock of the pipe."""
    marker = tmp_path / "died"
    done = subprocess.run(
        [sys.executable, "-c", KILLED_WHILE_SENDING, str(marker), results],
        capture_output=True,
        text=True,
        check=True,
        timeout=TIMEOUT,
    )
    assert done.stdout.split() == printed
    assert marker.exists()


def test_task_that_is_dropped_by_a_breaking_pool_is_submitted_again(pool, monkeypatch):
    monkeypatch.setattr(process_pool, "_POLL_SECONDS", 0.01)
    with pool(lambda number: 2 * number) as own:
        executor = own._executor
        monkeypatch.setattr(executor, "submit", lambda *_: Future())
        pending = [own.submit(4)]
        executor._broken = "a worker died"
        assert own.result(pending) == 8
        assert own._executor is not executor


def test_task_submitted_while_the_pool_breaks_is_repeated(pool, monkeypatch):
    with pool(lambda number: 2 * number) as own:
        submit, failures = own._executor.submit, [OSError("handle is closed")]

        def broken_once(*task):
            if failures:
                raise failures.pop()
            return submit(*task)

        monkeypatch.setattr(own._executor, "submit", broken_once)
        assert done(own, range(5)) == [0, 2, 4, 6, 8]
    assert not failures


def test_workers_that_die_repeatedly_end_the_run(pool):
    with (
        pool(lambda _: os._exit(1)) as own,
        pytest.raises(WorkersDiedError, match="reduce the number of workers"),
    ):
        done(own, range(10))


def test_error_in_a_task_is_raised_with_its_result(pool):
    def fail(_):
        raise DataError("unreadable")

    with pool(fail) as own, pytest.raises(DataError, match="unreadable"):
        done(own, [1])


def test_no_worker_is_left_after_closing(pool):
    with pool(lambda _: os.getpid(), 3) as own:
        processes = set(done(own, range(12)))
    for number in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(number, 0)


def test_truncated_spool_file_is_an_error(tmp_path):
    spool = tmp_path / "rows"
    spool.write_bytes(b"short")
    with pytest.raises(Exception, match="is truncated"):
        list(_SpooledResult(None, str(spool), 10).rows())


@pytest.mark.parametrize(
    ("system", "methods", "threads", "method", "workers"),
    [
        pytest.param("linux", ["fork", "spawn"], 1, "fork", 100, id="linux"),
        pytest.param("linux", ["fork", "spawn"], 2, "spawn", 100, id="linux-with-threads"),
        pytest.param("darwin", ["spawn", "fork"], 1, "spawn", 100, id="macos"),
        pytest.param("win32", ["spawn"], 1, "spawn", 61, id="windows"),
    ],
)
def test_workers_are_started_as_the_system_allows(
    monkeypatch, system, methods, threads, method, workers
):
    started = []
    monkeypatch.setattr(process_pool.sys, "platform", system)
    monkeypatch.setattr(process_pool.threading, "active_count", lambda: threads)
    monkeypatch.setattr(process_pool.multiprocessing, "get_all_start_methods", lambda: methods)
    monkeypatch.setattr(
        process_pool,
        "ProcessPoolExecutor",
        lambda count, *, mp_context, initargs, **_: (
            started.append((mp_context.get_start_method(), count, initargs[-1]))
            or SimpleNamespace()
        ),
    )
    process_pool._WorkerPool(100, (None, ""), (7,))
    # Only a forked process has the files of its parent.
    assert started == [(method, workers, (7,) if method == "fork" else ())]
