"""Compares one process, local worker processes and a Ray cluster on the same files.

All results must be identical. With the environment variable FIELDMARK_PROVE, many cases show the
speedup of two processes and the cost of a cluster when startup hardly matters, and that memory
stays flat. The CPU time of an engine includes all processes that a run starts.
"""

from __future__ import annotations

import ctypes
import hashlib
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
from benchmarks.measure import PRINT_PEAK, PROJECT, SCORE, cache_directory, megabytes, peak_memory

CASES: Final = 300_000
MILLION: Final = 1_000_000
REPEATS: Final = 3
LEAST: Final = 0.7
"""The required speedup of two processes, as a share of the speedup of two busy loops."""
LARGE_LEAST: Final = 0.9
"""The same for a million cases, when startup hardly matters."""
MEMORY_LIMIT: Final = 64 << 20
"""The most memory of a process that compares documents."""
FLAT: Final = 1.2
"""The most growth of memory with more cases, or from the first fifth of a run to its end."""
PROVE: Final = "FIELDMARK_PROVE"
_FILES: Final = ("results.jsonl", "summary.json")
_LOOP: Final = "for _ in range(30_000_000): pass"


MANY: Final = 67 * CASES
"""About five minutes of CPU time, in which starting a cluster hardly matters."""
WORKERS: Final = 2
MOST_CPU: Final = 1.4
"""The most CPU time of a cluster, in relation to one process."""
MOST_WALL: Final = 1.3
"""The most wall-clock time of a cluster, in relation to local processes."""
_TENTHS: Final = 10
_SUBREAPER: Final = 36
_POLL_SECONDS: Final = 0.1
_ENGINES: Final = (("one process", "processes", 1), ("processes", "processes", WORKERS),
                   ("ray", "ray", WORKERS))  # fmt: skip
_DRIVER: Final = "driver"
_WORKERS: Final = "workers"
_CLUSTER: Final = "cluster"
"""The processes of Ray that do not process tasks."""


class Timed(NamedTuple):
    """The seconds of a run, and a digest of its files.

    The memory is the peak of the process that was started, at its end, and of its largest worker,
    or 0, read every `_POLL_SECONDS`.
    """

    seconds: float
    started: int
    worker: int
    digest: str


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


def print_workers(*, cases: int = CASES) -> bool:
    """Print seconds, speedup and memory; return whether they meet the targets and results agree."""
    truth, candidate = Dataset(documents=cases, items=0).write(cache_directory("data"))
    runs: dict[int, list[Timed]] = {1: [], 2: []}
    loops: list[float] = []
    with tempfile.TemporaryDirectory() as directory:
        for _ in range(REPEATS):
            for workers, timed in runs.items():
                timed.append(_timed(truth, candidate, Path(directory), workers))
            loops.append(_parallel())
    seconds = {workers: min(run.seconds for run in timed) for workers, timed in runs.items()}
    ratio, parallel = seconds[1] / seconds[2], statistics.median(loops)
    same = len({run.digest for timed in runs.values() for run in timed}) == 1
    alone = max(run.started for run in runs[1])
    worker = max(run.worker for run in runs[2])
    starting = max(run.started for run in runs[2])
    print(f"{cases:,} header-only cases with result rows, wall-clock time, best of {REPEATS}")
    print(f"  1 process    {seconds[1]:8.2f} s")
    print(
        f"  2 processes  {seconds[2]:8.2f} s   {ratio:.2f} times as fast "
        f"(target: at least {LEAST * parallel:.2f})"
    )
    print(f"  identical    {'yes' if same else 'NO'}")
    limit = f"(target: at most {megabytes(MEMORY_LIMIT)})"
    print(f"  peak memory of one process {megabytes(alone)} {limit}")
    print(f"  peak memory of a worker    {megabytes(worker)} {limit}")
    print(f"  peak memory of the process that starts workers {megabytes(starting)}")
    print(
        f"  machine: load {os.getloadavg()[0]:.1f}; two busy loops in parallel are "
        f"{parallel:.2f} times as fast as in sequence",
        flush=True,
    )
    peak = max(alone, worker)
    proved = _a_million(peak) if os.environ.get(PROVE) else True
    return same and proved and ratio >= LEAST * parallel and peak <= MEMORY_LIMIT


def _parallel() -> float:
    """Return the speedup of the machine itself with two processes, an upper bound for a run.

    Virtual machines share cores, so it changes from minute to minute.
    """
    command = [sys.executable, "-c", _LOOP]
    started = time.perf_counter()
    subprocess.run(command, check=True)
    alone = time.perf_counter() - started
    started = time.perf_counter()
    for process in [subprocess.Popen(command) for _ in range(2)]:
        process.wait()
    return 2 * alone / (time.perf_counter() - started)


def _a_million(usual: int) -> bool:
    """Print the cost of a million cases; return whether memory and speedup meet the targets."""
    truth, candidate = Dataset(documents=MILLION, items=0).write(cache_directory("data"))
    with tempfile.TemporaryDirectory() as directory:
        one, two = (_timed(truth, candidate, Path(directory), workers) for workers in (1, 2))
    shutil.rmtree(truth.parent)
    required = LARGE_LEAST * _parallel()
    ratio, peak = one.seconds / two.seconds, max(one.started, two.worker)
    print(f"{MILLION:,} cases, 1 process {one.seconds:.1f} s, 2 processes {two.seconds:.1f} s")
    print(f"  {ratio:.2f} times as fast (target: at least {required:.2f})")
    print(f"  identical    {'yes' if one.digest == two.digest else 'NO'}")
    print(
        f"  peak memory of one process or worker {megabytes(peak)} "
        f"(target: at most {megabytes(MEMORY_LIMIT)}, {FLAT} times the {megabytes(usual)} above)",
        flush=True,
    )
    small = peak <= min(MEMORY_LIMIT, FLAT * usual)
    return small and ratio >= required and one.digest == two.digest


def _timed(truth: Path, candidate: Path, directory: Path, workers: int) -> Timed:
    """Score in a new process and delete the results."""
    out = directory / "run"
    command = _command(truth, candidate, out, workers)
    worker = 0
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=PROJECT)
    while process.returncode is None:
        with suppress(subprocess.TimeoutExpired):
            process.wait(_POLL_SECONDS)
        with suppress(psutil.Error, OSError):  # a process has ended
            for child in psutil.Process(process.pid).children(recursive=True):
                worker = max(worker, peak_memory(child.pid))
    seconds = time.perf_counter() - started
    output, _ = process.communicate()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    if workers > 1 and worker == 0:
        raise RuntimeError("no worker was observed")
    alone = int(output.splitlines()[-1])
    digest = _results_digest(out)
    shutil.rmtree(out)
    return Timed(seconds, alone, worker, digest)


def _command(
    truth: Path, candidate: Path, out: Path, workers: int, engine: str = "processes"
) -> list[str]:
    """Return the command that scores in a new process, and write its rules next to the results."""
    rules = out.with_name("rules.yaml")
    rules.write_text(RULES)
    files = [str(path) for path in (truth, candidate, rules, out)]
    return [sys.executable, "-c", SCORE + PRINT_PEAK, *files, str(workers), engine]


def _results_digest(run: Path) -> str:
    """Return a hash of the results of a run."""
    digest = hashlib.sha256()
    for name in _FILES:
        with (run / name).open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def print_engines() -> bool:
    """Print the cost of each engine; return whether they meet the targets and results agree."""
    # Orphaned processes of Ray become children of this process, so that their time is counted.
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    few = _measured(CASES, _ENGINES)
    same = len({cost.digest for cost in few.values()}) == 1
    print(f"  identical    {'yes' if same else 'NO'}", flush=True)
    if not os.environ.get(PROVE):
        return same
    serial, local, ray = _measured(MANY, _ENGINES).values()
    same = same and serial.digest == local.digest == ray.digest
    cpu, wall, two = ray.total / serial.total, ray.wall / local.wall, serial.wall / local.wall
    required = LARGE_LEAST * _parallel()
    print(f"  identical    {'yes' if same else 'NO'}")
    print(f"  ray: {cpu:.2f} times the CPU time of one process (target: at most {MOST_CPU})")
    print(f"  ray: {wall:.2f} times the time of local processes (target: at most {MOST_WALL})")
    print(f"  two processes: {two:.2f} times as fast as one (target: at least {required:.2f})")
    growth = {kind: ray.growth(kind) for kind in (_DRIVER, _WORKERS)}
    for kind, times in growth.items():
        print(f"  ray: memory of {kind} grew {times:.2f} times (target: at most {FLAT})")
        print(f"       in MB in each tenth of the run: {ray.tenths(kind)}", flush=True)
    flat = max(growth.values()) <= FLAT
    return same and cpu <= MOST_CPU and wall <= MOST_WALL and two >= required and flat


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
        bodies = [line.partition(b",")[2] for line in file]
    copy = cache_directory("data") / "repeated" / path.name
    copy.parent.mkdir(exist_ok=True)
    with copy.open("wb") as file:
        for first in range(0, cases, len(bodies)):
            file.writelines(
                b'{"id":"invoice-%09d",%b' % numbered
                for numbered in zip(range(first, cases), bodies, strict=False)
            )
    return copy


def _cost(truth: Path, candidate: Path, directory: Path, engine: str, workers: int) -> Cost:
    out = directory / "run"
    command = _command(truth, candidate, out, workers, engine)
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=PROJECT)
    seconds: dict[int, tuple[str, float]] = {}
    memory: dict[str, list[int]] = defaultdict(list)
    while process.poll() is None:
        largest: dict[str, int] = defaultdict(int)
        for child in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                kind = _kind(child, process.pid, engine)
                times, used = child.cpu_times(), child.memory_info()
                seconds[child.pid] = kind, times.user + times.system
                largest[kind] = max(largest[kind], used.rss - used.shared)
        for kind, size in largest.items():
            memory[kind].append(size)
        time.sleep(_POLL_SECONDS)
    wall = time.perf_counter() - started
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    digest = _results_digest(out)
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
