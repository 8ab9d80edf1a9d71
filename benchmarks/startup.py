"""CPU time of starting commands, relative to `import click`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Final

from benchmarks.invoices import Dataset
from benchmarks.measure import Row, cache_directory, cpu_seconds, print_table, verdict

HELP_LIMIT: Final = 1.5  # relative to `import click`, like the next two
COMPARE_LIMIT: Final = 7.0
SCORE_LIMIT: Final = 9.0
ROUNDS: Final = 15
"""All commands start in turn, so that a change in the load of the machine concerns all of them."""


def cold_start() -> bool:
    """Print the CPU time of starting commands; return whether all targets are met."""
    command = str(Path(sys.executable).parent / "fieldmark")
    truth, candidate = Dataset(documents=20, items=10).write(cache_directory("data"))
    comparing = "import fieldmark; fieldmark.compare({'a': 1}, {'a': 2})"
    starts = (
        ("import click", [sys.executable, "-c", "import click"], 1.0),
        ("fieldmark --help", [command, "--help"], HELP_LIMIT),
        ("compare one pair", [sys.executable, "-c", comparing], COMPARE_LIMIT),
        ("score 20 documents", [command, "score", str(truth), str(candidate)], SCORE_LIMIT),
    )
    with tempfile.TemporaryDirectory() as directory:
        rounds = [
            [cpu_seconds(arguments, cwd=directory) for _, arguments, _ in starts]
            for _ in range(ROUNDS)
        ]
    met = True
    best = [min(times) for times in zip(*rounds, strict=True)]
    rows: list[Row] = [("import click", f"{best[0] * 1e3:.0f} ms", "1.00", "", "")]
    for (name, _, limit), seconds in zip(starts[1:], best[1:], strict=True):
        times = seconds / best[0]
        cells = f"{seconds * 1e3:.0f} ms", f"{times:.2f}", f"≤ {limit:g} times"
        rows.append((name, *cells, verdict(ok=times <= limit)))
        met &= times <= limit
    print_table(("cold start", "CPU", "relative", "target", ""), rows)
    return met
