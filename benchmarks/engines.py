"""Compares one process, local worker processes and a Ray cluster on the same files.

Whole-tree CPU time includes everything that a run starts: workers, and the processes of Ray. With
the environment variable FIELDMARK_PROVE, many cases show the cost when startup hardly matters, and
that memory stays flat.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import psutil  # type: ignore[import-untyped]

from benchmarks.invoices import RULES, Dataset
from benchmarks.workers import PROVE, results_digest
from benchmarks.workloads import cache_directory

__all__ = ["print_engines"]

CASES: Final = 300_000
MANY: Final = 5_000_000
"""About five minutes of CPU time, in which starting a cluster hardly matters."""
WORKERS: Final = 2
MOST_CPU: Final = 1.4
"""The most CPU time of a cluster, in relation to one process."""
MOST_WALL: Final = 1.3
"""The most wall-clock time of a cluster, in relation to local processes."""
FLAT: Final = 1.2
"""The most growth of the memory of the driver with many cases."""
_SUBREAPER: Final = 36
_POLL_SECONDS: Final = 0.1
_ENGINES: Final = (("one process", "processes", 1), ("processes", "processes", WORKERS),
                   ("ray", "ray", WORKERS))  # fmt: skip


class Cost(NamedTuple):
    """The wall-clock and CPU seconds of a run, the memory of its driver, and its digest."""

    wall: float
    cpu: float
    driver: int
    digest: str


def print_engines() -> bool:
    """Print the cost of each engine; return whether they meet the targets and results agree."""
    # Orphaned processes of Ray become children of this process, so that their time is counted.
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    few = _measured(CASES)
    same = len({each.digest for each in few.values()}) == 1
    print(f"  identical    {'yes' if same else 'NO'}", flush=True)
    if not os.environ.get(PROVE):
        return same
    serial, local, ray = _measured(MANY).values()
    same = same and serial.digest == local.digest == ray.digest
    cpu, wall, growth = ray.cpu / serial.cpu, ray.wall / local.wall, ray.driver / few["ray"].driver
    print(f"  identical    {'yes' if same else 'NO'}")
    print(f"  ray: {cpu:.2f} times the CPU time of one process (target: at most {MOST_CPU})")
    print(f"  ray: {wall:.2f} times the time of local processes (target: at most {MOST_WALL})")
    print(f"  ray: {growth:.2f} times the driver memory (target: at most {FLAT})", flush=True)
    return same and cpu <= MOST_CPU and wall <= MOST_WALL and growth <= FLAT


def _measured(cases: int) -> dict[str, Cost]:
    truth, candidate = Dataset(documents=cases, items=0).write(cache_directory("data"))
    print(f"{cases:,} header-only cases with result rows, {WORKERS} workers")
    costs: dict[str, Cost] = {}
    with tempfile.TemporaryDirectory() as directory:
        for name, engine, workers in _ENGINES:
            cost = costs[name] = _cost(truth, candidate, Path(directory), engine, workers)
            print(
                f"  {name:12} {cost.wall:8.2f} s   CPU {cost.cpu:8.2f} s   "
                f"driver {cost.driver / (1 << 20):6.1f} MB",
                flush=True,
            )
    if cases == MANY:
        shutil.rmtree(truth.parent)
    return costs


def _cost(truth: Path, candidate: Path, directory: Path, engine: str, workers: int) -> Cost:
    rules, out = directory / "rules.yaml", directory / "run"
    rules.write_text(RULES)
    command = [sys.executable, "-m", "benchmarks.scored", str(truth), str(candidate), str(rules)]
    memory, started = directory / "memory", time.perf_counter()
    process = subprocess.Popen([*command, str(out), str(workers), engine, str(memory)])
    seconds: dict[int, float] = {}
    while process.poll() is None:
        for each in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                times = each.cpu_times()
                seconds[each.pid] = times.user + times.system
        time.sleep(_POLL_SECONDS)
    wall = time.perf_counter() - started
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    digest = results_digest(out)
    shutil.rmtree(out)
    return Cost(wall, sum(seconds.values()), int(memory.read_text()) << 10, digest)
