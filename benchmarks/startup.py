"""Startup of commands, relative to `import click`.

The targets are checked by counting instructions, because the CPU time of a short process moves by
more than the distance to its limit. Without valgrind, they are not checked.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Final

from benchmarks.instructions import count_instructions, has_callgrind
from benchmarks.invoices import Dataset
from benchmarks.measure import Row, cache_directory, cpu_seconds, print_table, verdict

HELP_LIMIT: Final = 1.5  # relative to `import click`, like the next two
COMPARE_LIMIT: Final = 7.0
SCORE_LIMIT: Final = 9.0


def cold_start() -> bool | None:
    """Print the cost of starting commands; return whether all targets are met.

    Return `None` if instructions cannot be counted.
    """
    if not has_callgrind("cold start"):
        return None
    python, command = sys.executable, str(Path(sys.executable).parent / "fieldmark")
    truth, candidate = Dataset(documents=20, items=10).write(cache_directory("data"))
    comparing = "import fieldmark; fieldmark.compare({'a': 1}, {'a': 2})"
    importing = [python, "-c", "import click"]
    starts = (
        ("fieldmark --help", [python, command, "--help"], HELP_LIMIT),
        ("compare one pair", [python, "-c", comparing], COMPARE_LIMIT),
        ("score 20 documents", [python, command, "score", str(truth), str(candidate)], SCORE_LIMIT),
    )
    met = True
    with tempfile.TemporaryDirectory() as directory:
        click = count_instructions(importing, cwd=directory)
        seconds = cpu_seconds(importing)
        rows: list[Row] = [
            ("import click", f"{seconds * 1e3:.0f} ms", f"{click:,}", "1.00", "", "")
        ]
        for name, arguments, limit in starts:
            seconds = cpu_seconds(arguments, cwd=directory)
            instructions = count_instructions(arguments, cwd=directory)
            times = instructions / click
            met &= times <= limit
            cells = f"{instructions:,}", f"{times:.2f}", f"≤ {limit:g} times"
            rows.append((name, f"{seconds * 1e3:.0f} ms", *cells, verdict(ok=times <= limit)))
    print_table(("cold start", "CPU", "instructions", "relative", "target", ""), rows)
    return met
