"""Instructions per document, counted by callgrind: without noise, so it is suitable for CI.

A small script scores n and 2n documents in one process each; the difference divided by n excludes
everything that does not grow with the documents. The limits for each Python version are in
`ceilings.json`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

import orjson

from benchmarks.invoices import RULES, Dataset
from benchmarks.measure import PROJECT, print_table
from benchmarks.orders import ORDER_RULES, OrderDataset
from benchmarks.workloads import cache_directory

CEILINGS: Final = Path(__file__).parent / "ceilings.json"
SLACK: Final = 1.05


class Size(NamedTuple):
    """The documents and items of a workload: invoices or orders, with or without result rows."""

    documents: int
    items: int
    orders: bool = False
    results: bool = False


SIZES: Final = {
    "header only": Size(200, 0),
    "10 items": Size(100, 10),
    "10 items, with result rows": Size(100, 10, results=True),
    "100 items": Size(20, 100),
    "orders, 100 items": Size(10, 100, orders=True),
}
"""Callgrind slows execution about fifty times, so there are few documents."""

SCRIPT: Final = """
import gc, sys
import fieldmark
gc.disable()
out = sys.argv[4] if len(sys.argv) > 4 else None
fieldmark.score(sys.argv[1], sys.argv[2], rules=sys.argv[3], out=out, intervals=False)
"""


def instructions_per_document(size: Size) -> int:
    """Return the instructions per additional document."""
    fewer, more = (
        _instructions(size._replace(documents=count))
        for count in (size.documents, 2 * size.documents)
    )
    return round((more - fewer) / size.documents)


def _instructions(size: Size) -> int:
    """Return all instructions of a process that scores these documents."""
    kind = OrderDataset if size.orders else Dataset
    data = kind(documents=size.documents, items=size.items)
    truth, candidate = data.write(cache_directory("data"))
    with tempfile.TemporaryDirectory() as directory:
        rules = Path(directory) / "rules.yaml"
        rules.write_text(ORDER_RULES if size.orders else RULES)
        files = [str(truth), str(candidate), str(rules)]
        out = [str(Path(directory) / "run")] if size.results else []
        return count_instructions(SCRIPT, *files, *out)


def count_instructions(script: str, *arguments: str, source: Path | None = None) -> int:
    """Return all instructions of a Python script, with the package in another source directory."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    paths = {} if source is None else {"PYTHONPATH": str(source)}
    done = subprocess.run(
        [*command, sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **paths, "PYTHONHASHSEED": "0"},
        cwd=PROJECT,
        check=True,
    )
    found = re.search(r"Collected : (\d+)", done.stderr)
    if found is None:
        raise RuntimeError(done.stderr)
    return int(found[1])


def slope(*, record: bool = False) -> bool:
    """Print instructions per document against the limits, or record new limits."""
    if shutil.which("valgrind") is None:
        print("slope: skipped because valgrind is not installed")
        return True
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    ceilings = orjson.loads(CEILINGS.read_bytes()) if CEILINGS.exists() else {}
    known = ceilings.get(version, {})
    counted = {name: instructions_per_document(size) for name, size in SIZES.items()}
    if record:
        ceilings[version] = known = {name: round(cost * SLACK) for name, cost in counted.items()}
        CEILINGS.write_bytes(orjson.dumps(ceilings, option=orjson.OPT_INDENT_2) + b"\n")
    rows = []
    met = True
    for name, cost in counted.items():
        ceiling = known.get(name)
        ok = ceiling is None or cost <= ceiling
        met &= ok
        limit = "not recorded" if ceiling is None else f"≤ {ceiling:,}"
        rows.append((name, f"{cost:,}", limit, "ok" if ok else "FAIL"))
    print_table(("workload", "instructions per document", "limit", ""), rows)
    return met
