"""Compares one process, local worker processes and a Ray cluster on the same files.

Whole-tree CPU time includes everything that a run starts: workers, and the processes of Ray. With
the environment variable FIELDMARK_PROVE, many cases show the cost when startup hardly matters, the
speedup of two processes, and that the memory of driver and workers stays flat.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

import psutil

from benchmarks.invoices import RULES, Dataset
from benchmarks.workers import LARGE_LEAST, PROVE, results_digest
from benchmarks.workloads import cache_directory

CASES: Final = 300_000
MANY: Final = 67 * CASES
"""About five minutes of CPU time, in which starting a cluster hardly matters."""
WORKERS: Final = 2
MOST_CPU: Final = 1.4
"""The most CPU time of a cluster, in relation to one process."""
MOST_WALL: Final = 1.3
"""The most wall-clock time of a cluster, in relation to local processes."""
FLAT: Final = 1.2
"""The most growth of memory from the first fifth of a run with many cases to its end."""
_TENTHS: Final = 10
_SUBREAPER: Final = 36
_POLL_SECONDS: Final = 0.1
_ENGINES: Final = (("one process", "processes", 1), ("processes", "processes", WORKERS),
                   ("ray", "ray", WORKERS))  # fmt: skip
_DRIVER: Final = "driver"
_WORKERS: Final = "workers"
_CLUSTER: Final = "cluster"
"""The processes of Ray that do not process tasks."""


class Cost(NamedTuple):
    """The wall-clock and CPU seconds of a run by kind of process, their memory, and its digest.

    The memory is that of the largest process of each kind, without shared memory, over time.
    """

    wall: float
    cpu: dict[str, float]
    memory: dict[str, list[int]]
    digest: str

    @property
    def total(self) -> float:
        """The CPU seconds of all processes."""
        return sum(self.cpu.values())

    def tenths(self, kind: str) -> str:
        """The memory in megabytes in each tenth of the run."""
        samples = self.memory[kind]
        edges = [len(samples) * number // _TENTHS for number in range(_TENTHS + 1)]
        parts = (samples[a:b] or samples for a, b in pairwise(edges))
        return " ".join(f"{statistics.median(part) / (1 << 20):.0f}" for part in parts)

    def growth(self, kind: str) -> float:
        """The memory at the end in relation to that after a fifth of the run."""
        samples = self.memory[kind]
        fifth = max(1, len(samples) // 5)
        after, end = samples[fifth : 2 * fifth] or samples, samples[-fifth:]
        return statistics.median(end) / statistics.median(after)


def print_engines() -> bool:
    """Print the cost of each engine; return whether they meet the targets and results agree."""
    # Orphaned processes of Ray become children of this process, so that their time is counted.
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    few = _measured(CASES, _ENGINES)
    same = len({each.digest for each in few.values()}) == 1
    print(f"  identical    {'yes' if same else 'NO'}", flush=True)
    if not os.environ.get(PROVE):
        return same
    serial, local, ray = _measured(MANY, _ENGINES).values()
    same = same and serial.digest == local.digest == ray.digest
    cpu, wall, two = ray.total / serial.total, ray.wall / local.wall, serial.wall / local.wall
    print(f"  identical    {'yes' if same else 'NO'}")
    print(f"  ray: {cpu:.2f} times the CPU time of one process (target: at most {MOST_CPU})")
    print(f"  ray: {wall:.2f} times the time of local processes (target: at most {MOST_WALL})")
    print(f"  two processes: {two:.2f} times as fast as one (target: at least {LARGE_LEAST})")
    growth = {kind: ray.growth(kind) for kind in (_DRIVER, _WORKERS)}
    for kind, times in growth.items():
        print(f"  ray: memory of {kind} grew {times:.2f} times (target: at most {FLAT})")
        print(f"       in MB in each tenth of the run: {ray.tenths(kind)}", flush=True)
    flat = max(growth.values()) <= FLAT
    return same and cpu <= MOST_CPU and wall <= MOST_WALL and two >= LARGE_LEAST and flat


def _measured(cases: int, engines: tuple[tuple[str, str, int], ...]) -> dict[str, Cost]:
    truth, candidate = Dataset(documents=CASES, items=0).write(cache_directory("data"))
    if cases > CASES:
        truth, candidate = (_repeated(path, cases) for path in (truth, candidate))
    print(f"{cases:,} header-only cases with result rows, {WORKERS} workers", flush=True)
    costs: dict[str, Cost] = {}
    try:
        with tempfile.TemporaryDirectory() as directory:
            for name, engine, workers in engines:
                cost = costs[name] = _cost(truth, candidate, Path(directory), engine, workers)
                print(f"  {name:12} {cost.wall:8.2f} s   CPU {cost.total:8.2f} s", end="")
                for kind, seconds in cost.cpu.items():
                    peak = max(cost.memory.get(kind, [0])) / (1 << 20)
                    print(f"   {kind} {seconds:.1f} s, {peak:.0f} MB", end="")
                print(flush=True)
    finally:
        if cases > CASES:
            shutil.rmtree(truth.parent)
    return costs


def _repeated(path: Path, cases: int) -> Path:
    """Write a file whose documents repeat with other ids, which is faster than creating them."""
    with path.open("rb") as file:
        rests = [line.partition(b",")[2] for line in file]
    copy = cache_directory("data") / "repeated" / path.name
    copy.parent.mkdir(exist_ok=True)
    with copy.open("wb") as file:
        for first in range(0, cases, len(rests)):
            file.writelines(
                b'{"id":"invoice-%09d",%b' % each
                for each in zip(range(first, cases), rests, strict=False)
            )
    return copy


def _cost(truth: Path, candidate: Path, directory: Path, engine: str, workers: int) -> Cost:
    rules, out = directory / "rules.yaml", directory / "run"
    rules.write_text(RULES)
    command = [sys.executable, "-m", "benchmarks.scored", str(truth), str(candidate), str(rules)]
    started = time.perf_counter()
    process = subprocess.Popen([*command, str(out), str(workers), engine])
    seconds: dict[int, tuple[str, float]] = {}
    memory: dict[str, list[int]] = defaultdict(list)
    while process.poll() is None:
        largest: dict[str, int] = defaultdict(int)
        for each in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                kind = _kind(each, process.pid, engine)
                times, used = each.cpu_times(), each.memory_info()
                seconds[each.pid] = kind, times.user + times.system
                largest[kind] = max(largest[kind], used.rss - used.shared)
        for kind, size in largest.items():
            memory[kind].append(size)
        time.sleep(_POLL_SECONDS)
    wall = time.perf_counter() - started
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    digest = results_digest(out)
    shutil.rmtree(out)
    cpu = dict.fromkeys((_DRIVER, _WORKERS, _CLUSTER), 0.0)
    for kind, time_used in seconds.values():
        cpu[kind] += time_used
    return Cost(wall, {kind: used for kind, used in cpu.items() if used}, memory, digest)


def _kind(process: psutil.Process, driver: int, engine: str) -> str:
    if process.pid == driver:
        return _DRIVER
    title = " ".join(process.cmdline()[:1])
    # Ray names its workers after what they do; its agents have names, too.
    works = title.startswith(("ray::_", "ray::IDLE"))
    return _WORKERS if works or engine != "ray" else _CLUSTER
