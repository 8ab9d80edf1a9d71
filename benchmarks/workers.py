"""Times one process against several on the same files, and compares what they wrote.

With the environment variable FIELDMARK_PROVE set, a million cases show that memory stays flat, and
what two processes are worth when starting them hardly counts.
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
from benchmarks.works import cache_folder

__all__ = ["print_workers"]

CASES: Final = 300_000
MILLION: Final = 1_000_000
REPEATS: Final = 2
LEAST: Final = 1.7
"""How much faster two processes must be than one."""
MOST_BYTES: Final = 64 << 20
"""Memory that one process of a run may take."""
FLAT: Final = 1.2
"""How much more of it ten times the cases may take."""
PROVE: Final = "FIELDMARK_PROVE"
_FILES: Final = ("results.jsonl", "summary.json")
_LOOP: Final = "for _ in range(30_000_000): pass"


class Timed(NamedTuple):
    """The seconds of a run, the memory of its largest process, and a digest of what it wrote."""

    seconds: float
    peak: int
    digest: str


def print_workers(*, cases: int = CASES) -> bool:
    """Print seconds, speed-up and memory; whether two processes are worth it and agree with one."""
    truth, candidate = Dataset(documents=cases, items=0).write(cache_folder("data"))
    runs: dict[int, list[Timed]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(REPEATS):
            for workers, timed in runs.items():
                timed.append(_timed(truth, candidate, Path(folder), workers))
    seconds = {workers: min(each.seconds for each in timed) for workers, timed in runs.items()}
    ratio = seconds[1] / seconds[2]
    same = len({each.digest for timed in runs.values() for each in timed}) == 1
    peak = max(each.peak for timed in runs.values() for each in timed)
    print(f"{cases:,} header-only cases, rows written, wall clock, best of {REPEATS}")
    print(f"  1 process    {seconds[1]:8.2f} s")
    print(f"  2 processes  {seconds[2]:8.2f} s   {ratio:.2f} times as fast (at least {LEAST})")
    print(f"  same bytes   {'yes' if same else 'NO'}")
    print(f"  most memory of one process {_megabytes(peak)} (at most {_megabytes(MOST_BYTES)})")
    print(
        f"  the machine: load {os.getloadavg()[0]:.1f}; two busy loops at once are done "
        f"{_parallel():.2f} times as fast as one after the other",
        flush=True,
    )
    proved = _a_million(peak) if os.environ.get(PROVE) else True
    return same and proved and ratio >= LEAST and peak <= MOST_BYTES


def _parallel() -> float:
    """How much faster the machine itself is with two processes, which no run can exceed."""
    command = [sys.executable, "-c", _LOOP]
    started = time.perf_counter()
    subprocess.run(command, check=True)
    alone = time.perf_counter() - started
    started = time.perf_counter()
    for process in [subprocess.Popen(command) for _ in range(2)]:
        process.wait()
    return 2 * alone / (time.perf_counter() - started)


def _a_million(usual: int) -> bool:
    """Print what a million cases take; whether memory is hardly more than usual, and time less."""
    truth, candidate = Dataset(documents=MILLION, items=0).write(cache_folder("data"))
    with tempfile.TemporaryDirectory() as folder:
        one, two = (_timed(truth, candidate, Path(folder), workers) for workers in (1, 2))
    shutil.rmtree(truth.parent)
    ratio, peak = one.seconds / two.seconds, max(one.peak, two.peak)
    print(f"{MILLION:,} cases, 1 process {one.seconds:.1f} s, 2 processes {two.seconds:.1f} s")
    print(f"  {ratio:.2f} times as fast (at least {LEAST})")
    print(f"  same bytes   {'yes' if one.digest == two.digest else 'NO'}")
    print(
        f"  most memory of one process {_megabytes(peak)} "
        f"(at most {_megabytes(MOST_BYTES)}, and {FLAT} times the {_megabytes(usual)} above)",
        flush=True,
    )
    small = peak <= min(MOST_BYTES, FLAT * usual)
    return small and ratio >= LEAST and one.digest == two.digest


def _timed(truth: Path, candidate: Path, folder: Path, workers: int) -> Timed:
    """One run in a process of its own, whose results are gone afterwards."""
    rules, out = folder / "rules.yaml", folder / "run"
    rules.write_text(RULES)
    command = [sys.executable, "-m", "benchmarks.scored", str(truth), str(candidate)]
    started = time.perf_counter()
    process = subprocess.Popen([*command, str(rules), str(out), str(workers)])
    # What is told of a process is told of those, too, that it started and waited for.
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    digest = _digest(out)
    shutil.rmtree(out)
    return Timed(seconds, usage.ru_maxrss << 10, digest)


def _megabytes(size: int) -> str:
    return f"{size / (1 << 20):.1f} MB"


def _digest(run: Path) -> str:
    digest = hashlib.sha256()
    for name in _FILES:
        with (run / name).open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
