"""Instructions per document and per comparison, counted by callgrind.

They do not depend on the load of the machine, so they are suitable for CI. A small script handles n
and 2n documents in one process each; the difference divided by n excludes everything that does not
grow with the documents. The limits for each Python version are in `ceilings.json`.

    python -m benchmarks.instructions DIRECTORY

prints the same counts also for the package in another source directory, such as an older checkout.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import orjson

from benchmarks.invoices import RULES, Dataset
from benchmarks.measure import PROJECT, Row, cache_directory, print_table, verdict
from benchmarks.orders import ORDER_RULES, OrderDataset
from fieldmark.compare.date import DateMatch
from fieldmark.compare.fuzzy import Fuzzy
from fieldmark.compare.numeric import NumericTolerance
from fieldmark.model.comparison import Comparator
from fieldmark.model.json import JsonValue
from fieldmark.values.numbers import NumberFormat

T = TypeVar("T")
CEILINGS: Final = Path(__file__).parent / "ceilings.json"
SLACK: Final = 1.05
MALFORMED_COST: Final = 1.25
"""The most instructions for 10 % malformed candidates, relative to none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Documents that are scored, and the least share that parsing alone takes, if any.

    `clean` names the same work without malformed candidates.
    """

    name: str
    data: Dataset
    rules: str = RULES
    results: bool = False
    share: float | None = None
    clean: str = ""


HEADERS: Final = Dataset(documents=300, items=0)
TEN: Final = Dataset(documents=100, items=10)
HUNDRED: Final = Dataset(documents=20, items=100)
THOUSAND: Final = Dataset(documents=3, items=1_000)
TEN_WITH_ROWS: Final = "10 items, with result rows"
WORK: Final = (
    Work(name="header only", data=HEADERS, share=0.42),
    Work(name="header only, with result rows", data=HEADERS, results=True, share=0.25),
    Work(name="10 items", data=TEN, share=0.25),
    Work(name=TEN_WITH_ROWS, data=TEN, results=True, share=0.15),
    Work(
        name="10 items, 10 % malformed",
        data=replace(TEN, malformed=0.1),
        results=True,
        clean=TEN_WITH_ROWS,
    ),
    Work(name="100 items", data=HUNDRED, share=0.25),
    Work(name="100 items, with result rows", data=HUNDRED, results=True, share=0.15),
    Work(name="1,000 items, with result rows", data=THOUSAND, results=True, share=0.15),
    Work(name="orders, 100 items", data=OrderDataset(documents=10, items=100), rules=ORDER_RULES),
)
"""Callgrind slows execution about fifty times, so there are few documents."""

SCORE: Final = """
import gc, sys
import fieldmark
gc.disable()
out = sys.argv[4] if len(sys.argv) > 4 else None
fieldmark.score(sys.argv[1], sys.argv[2], rules=sys.argv[3], out=out, intervals=False)
"""
PARSE: Final = """
import gc, sys
import orjson
gc.disable()
for path in sys.argv[1:3]:
    with open(path, "rb") as file:
        for line in file:
            orjson.loads(line)
"""
PAIRS: Final = 1_000
COMPARE: Final = """
import sys
from benchmarks.instructions import compare_values
compare_values(sys.argv[1], int(sys.argv[2]))
"""
FIRST_DAY: Final = date(1900, 1, 1)
TEXT: Final = "Blue pens, box of twelve, order number"


def _days(form: str) -> Callable[[int], tuple[JsonValue, JsonValue]]:
    def pair(number: int) -> tuple[JsonValue, JsonValue]:
        days = (FIRST_DAY + timedelta(days=2 * number + other) for other in (0, 1))
        first, second = (day.strftime(form) for day in days)
        return first, second

    return pair


KINDS: Final[Mapping[str, tuple[Comparator, Callable[[int], tuple[JsonValue, JsonValue]]]]] = {
    "ISO dates": (DateMatch(), _days("%Y-%m-%d")),
    "ISO date-times": (DateMatch(), _days("%Y-%m-%dT10:30:00Z")),
    "dates with slashes": (DateMatch(), _days("%d/%m/%Y")),
    "dates with month names": (DateMatch(), _days("%d %b %Y")),
    "numbers": (NumericTolerance(tolerance=0.01), lambda n: (n + 0.5, n + 0.505)),
    "numbers in strings": (
        NumericTolerance(tolerance=0.01),
        lambda n: (f"{n}.50", f"{n}.505"),
    ),
    "amounts": (
        NumericTolerance(tolerance=0.01, number_format=NumberFormat.US),
        lambda n: (f"${n + 1_000:,}.50", f"${n + 1_000:,}.505"),
    ),
    "text": (Fuzzy(), lambda n: (f"{TEXT} {n}", f"{TEXT} {n + 1}")),
}
"""A comparator and a pair of values for each number."""


def print_documents(*, record: bool = False, source: Path | None = None) -> bool | None:
    """Print instructions per document; return whether all targets are met, or `None` if skipped.

    With `record`, the counts become the new limits.
    """
    if not _has_callgrind("instructions per document"):
        return None
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    ceilings = orjson.loads(CEILINGS.read_bytes()) if CEILINGS.exists() else {}
    limits = ceilings.get(version, {})
    data = list({work.data: None for work in WORK})
    for smaller in data:  # before several threads need the same files
        for size in _sizes(smaller):
            _files(size)
    costs = dict(zip([work.name for work in WORK], _counted(_score, WORK), strict=True))
    floors = dict(zip(data, _counted(_parse, data), strict=True))
    if record:
        ceilings[version] = limits = {name: round(cost * SLACK) for name, cost in costs.items()}
        CEILINGS.write_bytes(orjson.dumps(ceilings, option=orjson.OPT_INDENT_2) + b"\n")
    others = [] if source is None else _counted(partial(_score, source=source), WORK)
    rows: list[Row] = []
    met = True
    for number, work in enumerate(WORK):
        cost = costs[work.name]
        share = floors[work.data] / cost
        limit = limits.get(work.name)
        targets = [] if limit is None else [(f"≤ {limit:,}", cost <= limit)]
        if work.share:
            targets.append((f"share ≥ {work.share:.0%}", share >= work.share))
        if work.clean:
            most = MALFORMED_COST * costs[work.clean]
            targets.append((f"≤ {MALFORMED_COST} times {work.clean}", cost <= most))
        ok = all(target_met for _, target_met in targets)
        met &= ok
        texts = ", ".join(text for text, _ in targets)
        row = [work.name, f"{cost:,}", f"{share:.1%}", texts, verdict(ok=ok) if targets else ""]
        if others:
            row += [f"{others[number]:,}", f"{cost / others[number]:.2f}"]
        rows.append(row)
    titles = ["workload", "instructions per document", "share of parsing", "target", ""]
    print_table([*titles, *_other_titles(source)], rows)
    return met


def print_values(source: Path | None = None) -> bool | None:
    """Print the instructions per comparison of two values, relative to two plain ISO dates.

    Return `True`, because there are no targets, or `None` if skipped.
    """
    if not _has_callgrind("instructions per comparison"):
        return None
    costs = _counted(_compare, KINDS)
    others = [] if source is None else _counted(partial(_compare, source=source), KINDS)
    rows: list[Row] = []
    for number, (kind, cost) in enumerate(zip(KINDS, costs, strict=True)):
        row = [kind, f"{cost:,}", f"{cost / costs[0]:.2f}"]
        if others:
            row += [f"{others[number]:,}", f"{cost / others[number]:.2f}"]
        rows.append(row)
    titles = ["values", "instructions", "relative to ISO dates"]
    print_table([*titles, *_other_titles(source)], rows)
    return True


def _has_callgrind(part: str) -> bool:
    available = shutil.which("valgrind") is not None
    if not available:
        print(f"{part}: skipped because valgrind is not installed\n")
    return available


def _other_titles(source: Path | None) -> list[str]:
    return [] if source is None else ["in the other directory", "ratio"]


def _counted(count: Callable[[T], int], arguments: Iterable[T]) -> list[int]:
    """Count for each argument; processes in parallel do not change the counts."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(count, arguments))


def _score(work: Work, source: Path | None = None) -> int:
    """Return the instructions for scoring one more document."""
    fewer, more = (_score_all(work, data, source) for data in _sizes(work.data))
    return round((more - fewer) / work.data.documents)


def _score_all(work: Work, data: Dataset, source: Path | None) -> int:
    with tempfile.TemporaryDirectory() as directory:
        rules = Path(directory) / "rules.yaml"
        rules.write_text(work.rules)
        out = [str(Path(directory) / "run")] if work.results else []
        return _count(SCORE, *_files(data), str(rules), *out, source=source)


def _parse(data: Dataset) -> int:
    """Return the instructions for parsing both sides of one more document."""
    fewer, more = (_count(PARSE, *_files(size)) for size in _sizes(data))
    return round((more - fewer) / data.documents)


def _sizes(data: Dataset) -> tuple[Dataset, Dataset]:
    return data, replace(data, documents=2 * data.documents)


def _files(data: Dataset) -> list[str]:
    return [str(path) for path in data.write(cache_directory("data"))]


def _compare(kind: str, source: Path | None = None) -> int:
    """Return the instructions for one more comparison."""
    fewer, more = (_count(COMPARE, kind, str(n), source=source) for n in (PAIRS, 2 * PAIRS))
    return round((more - fewer) / PAIRS)


def compare_values(kind: str, count: int) -> None:
    """Compare so many pairs of a kind; the same number of pairs is created for every count."""
    comparator, pair = KINDS[kind]
    compare = comparator.compare
    pairs = [pair(number) for number in range(2 * PAIRS)]
    for expected, candidate in pairs[:count]:
        compare(expected, candidate)


def _count(script: str, *arguments: str, source: Path | None = None) -> int:
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
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if collected is None:
        raise RuntimeError(done.stderr)
    return int(collected[1])


if __name__ == "__main__":
    other = Path(sys.argv[1]).resolve() if sys.argv[1:] else None
    sys.exit(1 if False in [print_documents(source=other), print_values(other)] else 0)
