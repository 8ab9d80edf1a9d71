"""Startup time of commands, relative to `import click`."""

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
                (name, f"{seconds * 1e3:.0f} ms", times, f"≤ {limit:g} times", verdict(ok=ok))
            )
    print_table(("cold start", "CPU", "relative", "target", ""), rows)
    return met
