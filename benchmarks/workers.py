"""Times one process against several on the same files, and compares what they wrote."""

from __future__ import annotations

import hashlib
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from benchmarks.invoices import RULES, Dataset
from benchmarks.works import cache_folder

__all__ = ["print_workers"]

CASES: Final = 100_000
MILLION: Final = 1_000_000
LEAST: Final = 1.7
"""How much faster two processes must be than one."""
MOST_BYTES: Final = 64 << 20
"""Memory that one process of a run may take."""
_FILES: Final = ("results.jsonl", "summary.json")


def print_workers(*, cases: int = CASES) -> bool:
    """Print seconds, speed-up and memory; whether two processes are worth it and agree with one."""
    truth, candidate = Dataset(documents=cases, items=0).write(cache_folder("data"))
    with tempfile.TemporaryDirectory() as folder:
        rules = Path(folder) / "rules.yaml"
        rules.write_text(RULES)
        seconds: dict[int, float] = {}
        digests: dict[int, str] = {}
        for workers in (1, 2):
            out = Path(folder) / str(workers)
            seconds[workers] = _timed(truth, candidate, rules, out, workers)
            digests[workers] = _digest(out)
    ratio = seconds[1] / seconds[2]
    same = digests[1] == digests[2]
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10
    print(f"{cases:,} header-only cases, rows written, wall clock")
    print(f"  1 process    {seconds[1]:8.2f} s")
    print(f"  2 processes  {seconds[2]:8.2f} s   {ratio:.2f} times as fast (at least {LEAST})")
    print(f"  same bytes   {'yes' if same else 'NO'}")
    print(f"  most memory of one process {peak / (1 << 20):.1f} MB (at most {MOST_BYTES >> 20})")
    return same and ratio >= LEAST and peak <= MOST_BYTES


def _timed(truth: Path, candidate: Path, rules: Path, out: Path, workers: int) -> float:
    command = [sys.executable, "-m", "benchmarks.scored", str(truth), str(candidate), str(rules)]
    started = time.perf_counter()
    subprocess.run([*command, str(out), str(workers)], check=True)
    return time.perf_counter() - started


def _digest(run: Path) -> str:
    digest = hashlib.sha256()
    for name in _FILES:
        with (run / name).open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
