"""Whether an evaluation holds its memory flat, however many cases it has."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from benchmarks.invoices import Dataset
from benchmarks.works import cache_folder

__all__ = ["eval_memory"]

FEW: Final = 1_000
MANY: Final = 10_000
ITEMS: Final = 10
FLAT: Final = 1.2
"""How much more memory ten times the cases may take."""
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
    "import resource, sys, fieldmark as fm; fm.evaluate(sys.argv[1], out=sys.argv[2]); "
    "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10)"
)


def eval_memory() -> bool:
    """Print the peak of a small and of a large evaluation; whether it stays flat."""
    small, _ = _measured(FEW)
    large, seconds = _measured(MANY)
    grown = large / small
    print(f"an evaluation with four evaluators, {ITEMS} line items a case")
    print(f"  {FEW:>6,} cases  {small / (1 << 20):6.1f} MB")
    print(f"  {MANY:>6,} cases  {large / (1 << 20):6.1f} MB, {MANY / seconds:,.0f} cases a second")
    print(f"  grown {grown:.2f} times (at most {FLAT})")
    return grown <= FLAT


def _measured(cases: int) -> tuple[int, float]:
    truth, candidate = Dataset(documents=cases, items=ITEMS).write(cache_folder("data"))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "invoices.eval.yaml"
        file.write_text(_EVAL.format(truth=truth, candidate=candidate))
        command = [sys.executable, "-c", _CHILD, str(file), str(Path(folder) / "run")]
        started = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return int(done.stdout), time.perf_counter() - started
