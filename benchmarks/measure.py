"""What all benchmarks share: the cache, the cost of a process, and tables with targets."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

PROJECT: Final = Path(__file__).resolve().parent.parent
CACHE: Final = PROJECT / ".cache"
"""The directory of data sets and peers, outside version control."""
SCORE: Final = """
import sys
import fieldmark
truth, candidate, rules, out, workers, engine = sys.argv[1:]
fieldmark.score(truth, candidate, rules=rules, out=out, workers=int(workers), engine=engine)
"""
"""A script that scores two files and does nothing else."""
PRINT_PEAK: Final = """
with open("/proc/self/status") as status:
    print(int(status.read().partition("VmHWM:")[2].split()[0]) << 10)
"""
"""The end of a script that prints its peak memory in bytes."""

Row = Sequence[str]


def cache_directory(name: str) -> Path:
    """Return a directory of the cache, which is excluded from version control."""
    directory = CACHE / name
    directory.mkdir(parents=True, exist_ok=True)
    marker = CACHE / ".gitignore"
    if not marker.exists():
        marker.write_text("*\n")
    return directory


def peak_memory(process: int) -> int:
    """Return the peak memory of a running process; `ru_maxrss` would include its parent's."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    if found is None:
        raise ProcessLookupError(f"process {process} has ended")
    return int(found[1]) << 10


def script_memory(script: str, *arguments: str) -> int:
    """Return the peak memory of a new process that runs a Python script and nothing else."""
    done = subprocess.run(
        [sys.executable, "-c", script + PRINT_PEAK, *arguments],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        cwd=PROJECT,
        check=True,
    )
    return int(done.stdout.splitlines()[-1])


def cpu_seconds(command: Sequence[str], cwd: str | None = None) -> float:
    """Return the CPU seconds of a command."""
    process = subprocess.Popen(
        command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return usage.ru_utime + usage.ru_stime


def verdict(*, ok: bool) -> str:
    """Return the last cell of a row with a target."""
    return "ok" if ok else "FAIL"


def megabytes(size: int) -> str:
    """Format a number of bytes."""
    return f"{size / (1 << 20):.1f} MB"


def print_table(titles: Row, rows: Iterable[Row]) -> None:
    """Print rows under their titles; all columns but the first are right-aligned."""
    lines = [titles, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        first, *others = (cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        print("  ".join([line[0].ljust(len(first)), *others]).rstrip())
    print(flush=True)
