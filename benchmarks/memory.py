"""Checks that peak memory is small, and does not grow with the number of cases.

Each figure is the peak of a process of its own, read inside it: what the system reports when a
process ends includes the memory of the process that started it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from benchmarks.invoices import RULES, Dataset
from benchmarks.measure import PROJECT, cache_directory, megabytes, print_table, verdict
from benchmarks.throughput import Workload, reading

FLAT: Final = 1.2
"""The most growth of memory with ten times the cases."""
MEMORY_LIMIT: Final = 64 << 20
FEW: Final = 1_000
MANY: Final = 10_000
ITEMS: Final = 10
_EVAL: Final = """
name: invoices
cases: {truth}
candidates: {candidate}
evaluators:
  - name: header
    type: field_accuracy
    fields: [{{path: invoice_number}}, {{path: total, match: numeric_tolerance, tolerance: 0.01}}]
  - {{name: items, type: line_items, path: line_items, match_fields: [description]}}
  - {{name: taxonomy, type: extraction_metrics}}
  - {{name: quality, type: response_quality}}
"""
_CHILD: Final = """
import sys, fieldmark
from benchmarks.measure import peak_memory
fieldmark.evaluate(sys.argv[1], out=sys.argv[2])
print(peak_memory())
"""


def run_memory(sizes: tuple[int, int] = (20_000, 200_000)) -> bool:
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
        (f"{sizes[0]:,} cases", megabytes(small), "", ""),
        (
            f"{sizes[1]:,} cases",
            megabytes(large),
            f"≤ {FLAT} times the smaller, {limit}",
            verdict(ok=ok),
        ),
        (
            "20 cases with 1,000 items",
            megabytes(long_lists),
            limit,
            verdict(ok=long_lists <= MEMORY_LIMIT),
        ),
    ]
    ok = ok and long_lists <= MEMORY_LIMIT
    print_table(("workload", "peak memory", "target", ""), rows)
    return ok


def evaluation_memory() -> bool:
    """Print the peak memory of a small and a large evaluation; return whether it stays flat."""
    small, _ = _measure(FEW)
    large, seconds = _measure(MANY)
    growth = large / small
    print(f"evaluation with four evaluators, {ITEMS} line items per case")
    print(f"  {FEW:>6,} cases  {megabytes(small):>9}")
    print(f"  {MANY:>6,} cases  {megabytes(large):>9}, {MANY / seconds:,.0f} cases per second")
    print(f"  growth {growth:.2f} times (target: at most {FLAT})")
    return growth <= FLAT


def _measure(cases: int) -> tuple[int, float]:
    truth, candidate = Dataset(documents=cases, items=ITEMS).write(cache_directory("data"))
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "invoices.eval.yaml"
        file.write_text(_EVAL.format(truth=truth, candidate=candidate))
        command = [sys.executable, "-c", _CHILD, str(file), str(Path(directory) / "run")]
        started = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=PROJECT)
        return int(done.stdout), time.perf_counter() - started
