"""Compares the speed of fieldmark with that of parsing the same bytes, and prints a table."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Final

import orjson

from benchmarks.child import Reading
from benchmarks.invoices import RULES, Dataset
from benchmarks.workloads import MALFORMED_COST, Workload, cache_directory

REPEATS: Final = 3
STARTS: Final = 7
FLAT: Final = 1.2
MEMORY_LIMIT: Final = 64 << 20
HELP_LIMIT: Final = 1.5  # relative to `import click`, like the next two
COMPARE_LIMIT: Final = 7.0
SCORE_LIMIT: Final = 9.0

Row = Sequence[str]
PROJECT: Final = Path(__file__).resolve().parent.parent


def reading(workload: Workload, mode: str, repeats: int = REPEATS) -> Reading:
    """Return the best of several measurements, each in a new process."""
    truth, candidate = workload.data.write(cache_directory("data"))
    with tempfile.TemporaryDirectory() as directory:
        rules = Path(directory) / "rules.yaml"
        rules.write_text(workload.rules)
        command = [sys.executable, "-m", "benchmarks.child"]
        command += [str(truth), str(candidate), str(rules), mode]
        answers = [_child(command) for _ in range(repeats)]
    return Reading(
        documents=answers[0].documents,
        pipeline=min(answer.pipeline for answer in answers),
        floor=min(answer.floor for answer in answers),
        share=median(answer.share for answer in answers),
        peak_bytes=min(answer.peak_bytes for answer in answers),
    )


def _child(command: Sequence[str]) -> Reading:
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run(command, stdout=subprocess.PIPE, env=environment, cwd=PROJECT, check=True)
    return Reading(**orjson.loads(done.stdout))


def throughput(
    workloads: Iterable[Workload], *, results: bool = True, repeats: int = REPEATS
) -> bool:
    """Print documents per CPU second; return whether all targets are met."""
    rows: list[Row] = []
    rates: dict[str, float] = {}
    met = True
    for workload in workloads:
        mode = "results" if results and workload.results else "no-results"
        measured = reading(workload, mode, repeats)
        rate = measured.documents / measured.pipeline
        rates[workload.name] = rate
        least = max(workload.rate or 0, rates.get(workload.clean, 0) / MALFORMED_COST)
        ok = rate >= least and measured.share >= (workload.share or 0)
        met &= ok
        rows.append(
            (
                workload.name,
                f"{measured.documents:,}",
                f"{rate:,.0f}",
                f"{measured.documents / measured.floor:,.0f}",
                f"{measured.share:.0%}",
                _targets(workload),
                _word(ok=ok) if _targets(workload) else "",
            )
        )
    titles = ("workload", "documents", "docs per CPU s", "parsing only", "share", "target", "")
    print_table(titles, rows)
    return met


def _targets(workload: Workload) -> str:
    """Return the targets of a workload as text."""
    parts = [f"≥ {workload.rate:,.0f}/s"] if workload.rate else []
    parts += [f"≥ {workload.share:.0%}"] if workload.share else []
    parts += (
        [f"≤ {MALFORMED_COST} times the CPU time of {workload.clean}"] if workload.clean else []
    )
    return ", ".join(parts)


def _word(*, ok: bool) -> str:
    return "ok" if ok else "FAIL"


def memory(sizes: tuple[int, int] = (20_000, 200_000)) -> bool:
    """Print the peak memory for two numbers of cases; return whether it is flat and small."""
    peaks = []
    for documents in sizes:
        workload = Workload(name="memory", data=Dataset(documents=documents, items=0), rules=RULES)
        peaks.append(reading(workload, "once", repeats=1).peak_bytes)
    small, large = peaks
    ok = large <= FLAT * small and large <= MEMORY_LIMIT
    items = Workload(name="memory", data=Dataset(documents=20, items=1_000), rules=RULES)
    long_lists = reading(items, "once", repeats=1).peak_bytes
    limit = f"≤ {MEMORY_LIMIT >> 20} MB"
    rows = [
        (f"{sizes[0]:,} cases", f"{small / 2**20:.1f} MB", "", ""),
        (
            f"{sizes[1]:,} cases",
            f"{large / 2**20:.1f} MB",
            f"≤ {FLAT} times the smaller, {limit}",
            _word(ok=ok),
        ),
        (
            "20 cases with 1,000 items",
            f"{long_lists / 2**20:.1f} MB",
            limit,
            _word(ok=long_lists <= MEMORY_LIMIT),
        ),
    ]
    ok = ok and long_lists <= MEMORY_LIMIT
    print_table(("workload", "peak memory", "target", ""), rows)
    return ok


def cold_start() -> bool:
    """Print the startup time of commands; return whether all targets are met."""
    command = str(Path(sys.executable).parent / "fieldmark")
    truth, candidate = Dataset(documents=20, items=10).write(cache_directory("data"))
    click = cpu_seconds([sys.executable, "-c", "import click"])
    comparing = "import fieldmark; fieldmark.compare({'a': 1}, {'a': 2})"
    with tempfile.TemporaryDirectory() as directory:
        starts = (
            ("fieldmark --help", [command, "--help"], HELP_LIMIT),
            ("compare one pair", [sys.executable, "-c", comparing], COMPARE_LIMIT),
            ("score 20 documents", [command, "score", str(truth), str(candidate)], SCORE_LIMIT),
        )
        rows: list[Row] = [("import click", f"{click * 1e3:.0f} ms", "1.0", "", "")]
        met = True
        for name, arguments, limit in starts:
            seconds = cpu_seconds(arguments, cwd=directory)
            ok = seconds <= limit * click
            met &= ok
            times = f"{seconds / click:.1f}"
            rows.append(
                (name, f"{seconds * 1e3:.0f} ms", times, f"≤ {limit:g} times", _word(ok=ok))
            )
    print_table(("cold start", "CPU", "relative", "target", ""), rows)
    return met


def cpu_seconds(command: Sequence[str], repeats: int = STARTS, cwd: str | None = None) -> float:
    """Return the CPU seconds of a command, the best of several runs."""
    best = float("inf")
    for _ in range(repeats):
        process = subprocess.Popen(
            command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command)
        best = min(best, usage.ru_utime + usage.ru_stime)
    return best


def print_table(titles: Row, rows: Iterable[Row]) -> None:
    """Print rows under their titles; all columns but the first are right-aligned."""
    lines = [titles, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        first, *others = (cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        print("  ".join([line[0].ljust(len(first)), *others]).rstrip())
    print(flush=True)
