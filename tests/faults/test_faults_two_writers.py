"""Several processes start on one run at once: one writes, the others are told who does."""

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
from fieldmark.store.run_folder import RunFolder
from fieldmark.store.run_reader import open_run
from stored_runs import SUMMARY, manifest

STARTS = 200 if os.environ.get("FIELDMARK_PROVE") == "1" else 5
SEED = int(os.environ.get("FIELDMARK_SEED", "11"))
FORK = multiprocessing.get_context("fork")
ROW = (
    b'{"case_id":"%d","segment":[0,1],"score":1.0,"verdict":"pass","status":"ok","counts":{},'
    b'"errors_by_type":{},"quality":{},"totals":[0,0,0,0],"cells":[]}\n'
)


def write(path, barrier, answers):
    """Write a run of one row, when all are ready."""
    barrier.wait()
    try:
        with RunFolder(path, manifest(eval=str(os.getpid()))) as folder:
            time.sleep(0.02)
            folder.append([ROW % os.getpid()])
            folder.finish(SUMMARY, lists={})
        answers.put(("wrote", os.getpid()))
    except RunLockedError as error:
        answers.put(("locked", int(re.search(r"process (\d+) on", str(error))[1])))
    except ConfigError:
        answers.put(("late", os.getpid()))


def started(path, number):
    barrier, answers = FORK.Barrier(number), FORK.Queue()
    processes = [FORK.Process(target=write, args=(path, barrier, answers)) for _ in range(number)]
    for process in processes:
        process.start()
    said = [answers.get(timeout=120) for _ in processes]
    for process in processes:
        process.join()
    return said


@pytest.mark.parametrize("start", range(STARTS))
def test_one_writes_and_the_others_know_who(start, tmp_path):
    said = started(tmp_path / "run", random.Random(SEED + start).randint(2, 8))
    [(_, writer)] = [each for each in said if each[0] == "wrote"]
    assert {owner for what, owner in said if what == "locked"} <= {writer}
    run = open_run(tmp_path / "run")
    assert (run.status, run.manifest.eval) == ("complete", str(writer))
    assert [case.id for case in run.cases()] == [str(writer)]


def test_a_lock_vanishes_with_its_owner(tmp_path):
    def hold(ready):
        with RunFolder(tmp_path / "run", manifest()):
            ready.set()
            signal.pause()

    ready = FORK.Event()
    owner = FORK.Process(target=hold, args=(ready,))
    owner.start()
    assert ready.wait(120)
    with (
        pytest.raises(RunLockedError, match=f"process {owner.pid} on "),
        RunFolder(tmp_path / "run", manifest(), stored=[]),
    ):
        pass
    owner.kill()
    owner.join()
    with RunFolder(tmp_path / "run", manifest(), stored=[]) as folder:
        folder.finish(SUMMARY, lists={})
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["status"] == "complete"
