"""Compares one process with several on the same files, and checks that the results are identical.

With the environment variable FIELDMARK_PROVE, a million cases show that memory stays flat, and the
speedup of two processes when startup hardly matters.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.invoices import RULES, Dataset
from benchmarks.workloads import cache_directory

CASES: Final = 300_000
MILLION: Final = 1_000_000
REPEATS: Final = 2
LEAST: Final = 1.7
"""The required speedup of two processes."""
LARGE_LEAST: Final = 1.8
"""The required speedup for a million cases, when startup hardly matters."""
MOST_BYTES: Final = 64 << 20
"""The most memory of one process of a run."""
FLAT: Final = 1.2
"""The most growth of memory with ten times the cases."""
PROVE: Final = "FIELDMARK_PROVE"
_FILES: Final = ("results.jsonl", "summary.json")
_LOOP: Final = "for _ in range(30_000_000): pass"


class Timed(NamedTuple):
    """The seconds of a run, the memory of its largest process, and a digest of its files."""

    seconds: float
    peak: int
    digest: str


def print_workers(*, cases: int = CASES) -> bool:
    """Print seconds, speedup and memory; return whether they meet the targets and results agree."""
    truth, candidate = Dataset(documents=cases, items=0).write(cache_directory("data"))
    runs: dict[int, list[Timed]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory() as directory:
        for _ in range(REPEATS):
            for workers, timed in runs.items():
                timed.append(_timed(truth, candidate, Path(directory), workers))
    seconds = {workers: min(each.seconds for each in timed) for workers, timed in runs.items()}
    ratio = seconds[1] / seconds[2]
    same = len({each.digest for timed in runs.values() for each in timed}) == 1
    peak = max(each.peak for timed in runs.values() for each in timed)
    print(f"{cases:,} header-only cases with result rows, wall-clock time, best of {REPEATS}")
    print(f"  1 process    {seconds[1]:8.2f} s")
    print(
        f"  2 processes  {seconds[2]:8.2f} s   {ratio:.2f} times as fast (target: at least {LEAST})"
    )
    print(f"  identical    {'yes' if same else 'NO'}")
    print(
        f"  peak memory per process {_megabytes(peak)} (target: at most {_megabytes(MOST_BYTES)})"
    )
    print(
        f"  machine: load {os.getloadavg()[0]:.1f}; two busy loops in parallel are "
        f"{_parallel():.2f} times as fast as in sequence",
        flush=True,
    )
    proved = _a_million(peak) if os.environ.get(PROVE) else True
    return same and proved and ratio >= LEAST and peak <= MOST_BYTES


def _parallel() -> float:
    """Return the speedup of the machine itself with two processes, an upper bound for any run."""
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
    ratio, peak = one.seconds / two.seconds, max(one.peak, two.peak)
    print(f"{MILLION:,} cases, 1 process {one.seconds:.1f} s, 2 processes {two.seconds:.1f} s")
    print(f"  {ratio:.2f} times as fast (target: at least {LARGE_LEAST})")
    print(f"  identical    {'yes' if one.digest == two.digest else 'NO'}")
    print(
        f"  peak memory per process {_megabytes(peak)} "
        f"(target: at most {_megabytes(MOST_BYTES)}, {FLAT} times the {_megabytes(usual)} above)",
        flush=True,
    )
    small = peak <= min(MOST_BYTES, FLAT * usual)
    return small and ratio >= LARGE_LEAST and one.digest == two.digest


def _timed(truth: Path, candidate: Path, directory: Path, workers: int) -> Timed:
    """Score in a new process and delete the results."""
    rules, out = directory / "rules.yaml", directory / "run"
    rules.write_text(RULES)
    command = [sys.executable, "-m", "benchmarks.scored", str(truth), str(candidate)]
    started = time.perf_counter()
    process = subprocess.Popen([*command, str(rules), str(out), str(workers)])
    # The memory of a process includes that of the processes it started and waited for.
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    digest = results_digest(out)
    shutil.rmtree(out)
    return Timed(seconds, usage.ru_maxrss << 10, digest)


def _megabytes(size: int) -> str:
    return f"{size / (1 << 20):.1f} MB"


def results_digest(run: Path) -> str:
    """Return a hash of the results of a run."""
    digest = hashlib.sha256()
    for name in _FILES:
        with (run / name).open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
