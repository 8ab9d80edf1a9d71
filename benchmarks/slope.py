"""Instructions per document, counted by callgrind: free of noise, so it can guard a build.

A tiny script scores n and 2n documents in one process each; the difference divided by n leaves
out everything that does not grow with the documents. Ceilings are kept for each Python version
in `ceilings.json`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import orjson

from benchmarks.invoices import RULES, Dataset
from benchmarks.measure import PROJECT, print_table
from benchmarks.works import cache_folder

__all__ = ["instructions_per_document", "slope"]

CEILINGS: Final = Path(__file__).parent / "ceilings.json"
SLACK: Final = 1.05
SIZES: Final = {"header only": (200, 0), "10 items": (100, 10), "100 items": (20, 100)}
"""Documents and items of each work; callgrind is some fifty times slower than the machine."""

SCRIPT: Final = """
import gc, sys
import fieldmark
gc.disable()
fieldmark.score(sys.argv[1], sys.argv[2], rules=sys.argv[3])
"""


def instructions_per_document(documents: int, items: int) -> int:
    """What one more document costs."""
    fewer, more = (_instructions(count, items) for count in (documents, 2 * documents))
    return round((more - fewer) / documents)


def _instructions(documents: int, items: int) -> int:
    """All instructions of a process that scores so many documents."""
    truth, candidate = Dataset(documents=documents, items=items).write(cache_folder("data"))
    with tempfile.TemporaryDirectory() as folder:
        rules = Path(folder) / "rules.yaml"
        rules.write_text(RULES)
        command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
        command += [sys.executable, "-c", SCRIPT, str(truth), str(candidate), str(rules)]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": "0"},
            cwd=PROJECT,
            check=True,
        )
    found = re.search(r"Collected : (\d+)", done.stderr)
    if found is None:
        raise RuntimeError(done.stderr)
    return int(found[1])


def slope(*, record: bool = False) -> bool:
    """Print instructions per document against the ceilings, or record new ceilings."""
    if shutil.which("valgrind") is None:
        print("slope: valgrind is not installed, skipped")
        return True
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    ceilings = orjson.loads(CEILINGS.read_bytes()) if CEILINGS.exists() else {}
    known = ceilings.get(version, {})
    counted = {name: instructions_per_document(*size) for name, size in SIZES.items()}
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
    print_table(("work", "instructions per document", "ceiling", ""), rows)
    return met
