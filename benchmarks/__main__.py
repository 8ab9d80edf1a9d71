"""Run the benchmarks: `python -m benchmarks --help`."""

from __future__ import annotations

import argparse
import compileall
import os
import sys
from collections.abc import Callable
from pathlib import Path

import fieldmark
from benchmarks import detection, eval_memory, judges, listing, measure, slope, workers
from benchmarks.peers import compare
from benchmarks.works import WORKS

PARTS = (
    "throughput",
    "cold-start",
    "memory",
    "slope",
    "judges",
    "detection",
    "workers",
    "evaluation",
    "listing",
    "peers",
)
USUAL = {"throughput", "memory", "slope", "judges", "detection", "workers", "evaluation", "listing"}


def main() -> int:
    """Run the parts that were asked for; 0 if every target is met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=main.__doc__)
    for part in PARTS:
        parser.add_argument(f"--{part}", action="store_true", help=f"run the {part} part")
    parser.add_argument("--only", default="", help="works whose name contains this")
    parser.add_argument("--no-results", action="store_true", help="write no result rows")
    parser.add_argument("--repeats", type=int, default=measure.REPEATS, help="best of so many")
    parser.add_argument("--record", action="store_true", help="with --slope: set the ceilings")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each peer and work")
    asked = vars(parser.parse_args())
    _compile_to_byte_code()
    parts = {part for part in PARTS if asked[part.replace("-", "_")]} or USUAL
    works = [work for work in WORKS if asked["only"] in work.name]
    results, repeats = not asked["no_results"], asked["repeats"]
    runs: dict[str, Callable[[], bool]] = {
        "throughput": lambda: measure.throughput(works, results=results, repeats=repeats),
        "cold-start": measure.cold_start,
        "memory": measure.memory,
        "slope": lambda: slope.slope(record=asked["record"]),
        "judges": judges.judges,
        "detection": detection.detection,
        "workers": workers.print_workers,
        "evaluation": eval_memory.eval_memory,
        "listing": listing.listing,
        "peers": lambda: compare.peers(works, limit=asked["limit"]),
    }
    met = [runs[part]() for part in PARTS if part in parts]
    return 0 if all(met) else 1


def _compile_to_byte_code() -> None:
    """Leave the package as an installer does: a process that starts has nothing to compile."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    compileall.compile_dir(Path(fieldmark.__file__).parent, quiet=1)


if __name__ == "__main__":
    sys.exit(main())
