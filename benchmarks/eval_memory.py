"""Checks that the memory of an evaluation does not grow with the number of cases."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from benchmarks.invoices import Dataset
from benchmarks.measure import PROJECT
from benchmarks.workloads import cache_directory

FEW: Final = 1_000
MANY: Final = 10_000
ITEMS: Final = 10
FLAT: Final = 1.2
"""The most growth of memory with ten times the cases."""
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
_CHILD: Final = (
    "import sys, fieldmark as fm; from benchmarks.child import peak_memory; "
    "fm.evaluate(sys.argv[1], out=sys.argv[2]); print(peak_memory())"
)


def eval_memory() -> bool:
    """Print the peak memory of a small and a large evaluation; return whether it stays flat."""
    small, _ = _measure(FEW)
    large, seconds = _measure(MANY)
    growth = large / small
    print(f"evaluation with four evaluators, {ITEMS} line items per case")
    print(f"  {FEW:>6,} cases  {small / (1 << 20):6.1f} MB")
    print(
        f"  {MANY:>6,} cases  {large / (1 << 20):6.1f} MB, {MANY / seconds:,.0f} cases per second"
    )
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
