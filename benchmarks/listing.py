"""Measures the listing of ten thousand runs, without and with an index."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import fieldmark
from benchmarks.measure import Row, print_table

RUNS: Final = 10_000
LIMIT: Final = 1.0
"""The most CPU seconds, including startup."""
REPEATS: Final = 5
_INDEX: Final = ".index.json"


def listing() -> bool:
    """Print the CPU seconds of `fieldmark runs`; return whether each is below the limit."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory) / "runs"
        _fill(root)
        cold = [_listed(root, cold=True) for _ in range(REPEATS)]
        warm = [_listed(root, cold=False) for _ in range(REPEATS)]
    best = {"without index": min(cold), "with index": min(warm)}
    rows: list[Row] = [
        (name, f"{seconds:.2f} s", f"< {LIMIT:g} s", "ok" if seconds < LIMIT else "FAIL")
        for name, seconds in best.items()
    ]
    print_table((f"list of {RUNS:,} runs", "CPU", "target", ""), rows)
    return max(best.values()) < LIMIT


def _fill(root: Path) -> None:
    """Create ten thousand copies of a small run."""
    truth = [{"id": str(number), "total": number, "vendor": "Acme"} for number in range(20)]
    fieldmark.score(truth, truth, out=root / "00000")
    for number in range(1, RUNS):
        shutil.copytree(root / "00000", root / f"{number:05}")


def _listed(root: Path, *, cold: bool) -> float:
    if cold:
        (root / _INDEX).unlink(missing_ok=True)
    command = [str(Path(sys.executable).parent / "fieldmark"), "runs", "--root", str(root)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return usage.ru_utime + usage.ru_stime
