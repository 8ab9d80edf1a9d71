"""Run the benchmarks: `python -m benchmarks --help`."""

from __future__ import annotations

import argparse
import compileall
import os
import sys
from collections.abc import Callable
from pathlib import Path

import fieldmark
from benchmarks import detection, engines, instructions, judges, memory, saved_runs, startup
from benchmarks.peers import compare
from benchmarks.throughput import REPEATS, WORKLOADS, throughput

PARTS = (
    "throughput",
    "cold-start",
    "memory",
    "instructions",
    "judges",
    "detection",
    "workers",
    "engines",
    "evaluation",
    "listing",
    "saved-runs",
    "values",
    "peers",
)
USUAL = {*PARTS} - {"engines", "peers"}


def main() -> int:
    """Run the selected parts; return 0 if all targets are met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=main.__doc__)
    for part in PARTS:
        parser.add_argument(f"--{part}", action="store_true", help=f"run the {part} benchmark")
    parser.add_argument("--only", default="", help="select workloads whose name contains this text")
    parser.add_argument("--no-results", action="store_true", help="do not write result rows")
    parser.add_argument(
        "--repeats",
        type=int,
        default=REPEATS,
        help="take the best of this many measurements",
    )
    parser.add_argument(
        "--record", action="store_true", help="with --instructions: record new limits"
    )
    parser.add_argument(
        "--limit", type=float, default=60.0, help="CPU seconds per peer and workload"
    )
    selected = vars(parser.parse_args())
    _compile_to_bytecode()
    parts = {part for part in PARTS if selected[part.replace("-", "_")]} or USUAL
    workloads = [workload for workload in WORKLOADS if selected["only"] in workload.name]
    results, repeats = not selected["no_results"], selected["repeats"]
    runs: dict[str, Callable[[], bool | None]] = {
        "throughput": lambda: throughput(workloads, results=results, repeats=repeats),
        "cold-start": startup.cold_start,
        "memory": memory.run_memory,
        "instructions": lambda: instructions.print_documents(record=selected["record"]),
        "judges": judges.judges,
        "detection": detection.detection,
        "workers": engines.print_workers,
        "engines": engines.print_engines,
        "evaluation": memory.evaluation_memory,
        "listing": saved_runs.listing,
        "saved-runs": saved_runs.saved_runs,
        "values": instructions.print_values,
        "peers": lambda: compare.peers(workloads, limit=selected["limit"]),
    }
    met = {part: runs[part]() for part in PARTS if part in parts}
    skipped = [part for part, ok in met.items() if ok is None]
    failed = [part for part, ok in met.items() if ok is False]
    if skipped:
        print(f"not measured: {', '.join(skipped)}")
    if failed:
        print(f"targets not met: {', '.join(failed)}")
    return 1 if failed else 0


def _compile_to_bytecode() -> None:
    """Compile the package to bytecode, as an installer does."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    compileall.compile_dir(Path(fieldmark.__file__).parent, quiet=1)


if __name__ == "__main__":
    sys.exit(main())
