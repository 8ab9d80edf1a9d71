"""Checks that peak memory is small, and does not grow with the number of cases.

Each figure is the peak of a process that does nothing else, read at its end: what the system
reports when a process has ended includes the memory of the process that started it.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Final

from benchmarks.invoices import RULES, Dataset
from benchmarks.measure import (
    SCORE,
    Row,
    cache_directory,
    megabytes,
    print_table,
    script_memory,
    verdict,
)

FLAT: Final = 1.2
"""The most growth of memory with more cases."""
MEMORY_LIMIT: Final = 64 << 20
LONG_LISTS: Final = Dataset(documents=20, items=1_000)
FEW: Final = 10_000
"""Cases of an evaluation, after which caches of a limited size are full."""
MANY: Final = 30_000
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
_EVALUATE: Final = """
import sys
import fieldmark
fieldmark.evaluate(sys.argv[1], out=sys.argv[2])
"""


def run_memory(sizes: tuple[int, int] = (20_000, 200_000)) -> bool:
    """Print the peak memory for two numbers of cases; return whether it is flat and small."""
    small, large = (_scored(Dataset(documents=documents, items=0)) for documents in sizes)
    rows: list[Row] = [(f"{sizes[0]:,} cases", megabytes(small), "", "")]
    met = True
    for name, peak, most, target in (
        (f"{sizes[1]:,} cases", large, FLAT * small, f"≤ {FLAT} times the smaller"),
        (f"{sizes[1]:,} cases", large, MEMORY_LIMIT, f"≤ {megabytes(MEMORY_LIMIT)}"),
        (
            "20 cases with 1,000 items",
            _scored(LONG_LISTS),
            MEMORY_LIMIT,
            f"≤ {megabytes(MEMORY_LIMIT)}",
        ),
    ):
        met &= peak <= most
        rows.append((name, megabytes(peak), target, verdict(ok=peak <= most)))
    print_table(("workload", "peak memory", "target", ""), rows)
    return met


def _scored(data: Dataset) -> int:
    """Return the peak memory of a process that scores a data set."""
    truth, candidate = data.write(cache_directory("data"))
    with tempfile.TemporaryDirectory() as directory:
        file, out = Path(directory) / "rules.yaml", Path(directory) / "run"
        file.write_text(RULES)
        return script_memory(
            SCORE, str(truth), str(candidate), str(file), str(out), "1", "processes"
        )


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
        started = time.perf_counter()
        peak = script_memory(_EVALUATE, str(file), str(Path(directory) / "run"))
        return peak, time.perf_counter() - started
