"""If several processes open one run at once, one writes and the others name the writer."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import re
import signal
import time

import pytest

from fieldmark.errors import ConfigError, RunLockedError
from fieldmark.runs import lock
from fieldmark.runs.run_directory import RunDirectory
from fieldmark.runs.stored_run import open_run
from proving import PROVING
from stored_runs import SUMMARY, manifest
from waiting import TIMEOUT

STARTS = 200 if PROVING else 5
SEED = int(os.environ.get("FIELDMARK_SEED", "11"))
FORK = multiprocessing.get_context("fork")
ROW = (
    b'{"case_id":"%d","segment":[0,1],"score":1.0,"verdict":"pass","status":"ok","counts":{},'
    b'"errors_by_type":{},"quality":{},"totals":[0,0,0,0],"cells":[]}\n'
)


def write(path, barrier, queue):
    """Write a run of one row when all processes are ready."""
    barrier.wait()
    try:
        with RunDirectory(path, manifest(eval=str(os.getpid()))) as directory:
            time.sleep(0.02)
            directory.append([ROW % os.getpid()])
            directory.finish(SUMMARY, lists={})
        queue.put(("wrote", os.getpid()))
    except RunLockedError as error:
        queue.put(("locked", int(re.search(r"process (\d+) on", str(error))[1])))
    except ConfigError:
        queue.put(("late", os.getpid()))


def started(path, number):
    barrier, queue = FORK.Barrier(number), FORK.Queue()
    processes = [FORK.Process(target=write, args=(path, barrier, queue)) for _ in range(number)]
    for process in processes:
        process.start()
    results = [queue.get(timeout=TIMEOUT) for _ in processes]
    for process in processes:
        process.join()
    return results


@pytest.mark.parametrize("start", range(STARTS))
def test_one_process_writes_and_the_others_name_it(start, tmp_path, monkeypatch):
    # The writer may be suspended between taking the lock and writing its name.
    monkeypatch.setattr(lock, "_OWNER_READS", int(TIMEOUT / lock._PAUSE))
    results = started(tmp_path / "run", random.Random(SEED + start).randint(2, 8))
    [(_, writer)] = [each for each in results if each[0] == "wrote"]
    assert {owner for what, owner in results if what == "locked"} <= {writer}
    run = open_run(tmp_path / "run")
    assert (run.status, run.manifest.eval) == ("complete", str(writer))
    assert [case.id for case in run.cases()] == [str(writer)]


def test_lock_is_released_when_its_owner_ends(tmp_path):
    def hold(ready):
        with RunDirectory(tmp_path / "run", manifest()):
            ready.set()
            signal.pause()

    ready = FORK.Event()
    owner = FORK.Process(target=hold, args=(ready,))
    owner.start()
    assert ready.wait(TIMEOUT)
    with (
        pytest.raises(RunLockedError, match=f"process {owner.pid} on "),
        RunDirectory(tmp_path / "run", manifest(), stored=[]),
    ):
        pass
    owner.kill()
    owner.join()
    with RunDirectory(tmp_path / "run", manifest(), stored=[]) as directory:
        directory.finish(SUMMARY, lists={})
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["status"] == "complete"
