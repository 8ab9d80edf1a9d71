"""Measures what is done with the saved run of many cases."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import fieldmark
from benchmarks.invoices import RULES, Dataset
from benchmarks.measure import Row, cpu_seconds, print_table
from benchmarks.workloads import cache_directory
from fieldmark.server.case_index import CaseIndex
from fieldmark.store.reader import open_run

__all__ = ["saved_runs"]

CASES: Final = 100_000
LIMIT: Final = 6.0
"""CPU seconds, including startup."""
INDEX_LIMIT: Final = 1.5
"""CPU seconds until the list of cases can be shown, without the startup of the server."""


def saved_runs() -> bool:
    """Print the CPU seconds of commands for a run of many cases; return whether all are met."""
    command = str(Path(sys.executable).parent / "fieldmark")
    truth, candidate = Dataset(documents=CASES, items=0).write(cache_directory("data"))
    with tempfile.TemporaryDirectory() as directory:
        first, second = (Path(directory) / name for name in ("first", "second"))
        rules = Path(directory) / "rules.yaml"
        rules.write_text(RULES)
        fieldmark.score(truth, candidate, rules=rules, out=first)
        fieldmark.score(truth, truth, rules=rules, out=second)
        commands = {
            "fieldmark improve": [command, "improve", str(first)],
            "fieldmark diff": [command, "diff", str(first), str(second)],
        }
        rows: list[Row] = []
        met = True
        for name, arguments in commands.items():
            seconds = cpu_seconds(arguments, repeats=1)
            met &= seconds <= LIMIT
            state = "ok" if seconds <= LIMIT else "FAIL"
            rows.append((name, f"{seconds:.1f} s", f"≤ {LIMIT:g} s", state))
        start = time.process_time()
        CaseIndex(open_run(first)).read()
        seconds = time.process_time() - start
        met &= seconds <= INDEX_LIMIT
        state = "ok" if seconds <= INDEX_LIMIT else "FAIL"
        rows.append(("list of cases", f"{seconds:.1f} s", f"≤ {INDEX_LIMIT:g} s", state))
    print_table((f"saved run of {CASES:,} cases", "CPU", "target", ""), rows)
    return met
