"""Compares the speed of the whole pipeline with that of parsing the same bytes.

    python -m benchmarks.throughput TRUTH CANDIDATE RULES MODE

prints one measurement as a line of JSON. MODE is `results` or `no-results`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Final

import orjson

from benchmarks.invoices import RULES, RULES_OPTIMAL, Dataset
from benchmarks.measure import PROJECT, Row, cache_directory, print_table, verdict
from benchmarks.orders import ORDER_RULES, OrderDataset

REPEATS: Final = 3
WARM_UP_DOCUMENTS: Final = 1_000
TIMES: Final = 5
ENOUGH: Final = 1.0
"""The number of repetitions, and the seconds after which no further one starts."""
HEADERS: Final = Dataset(documents=20_000, items=0)
TEN: Final = Dataset(documents=1_000, items=10)
HUNDRED: Final = Dataset(documents=200, items=100)
THOUSAND: Final = Dataset(documents=5, items=1_000)
TEN_MALFORMED: Final = Dataset(documents=1_000, items=10, malformed=0.1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Documents, how they are compared, and the least documents per CPU second, if any."""

    name: str
    data: Dataset
    rules: str = RULES
    results: bool = True
    rate: float | None = None


WORKLOADS: Final = (
    Workload(name="header only", data=HEADERS),
    Workload(name="header only, no result rows", data=HEADERS, results=False),
    Workload(name="10 items", data=TEN, rate=8_000),
    Workload(name="10 items, no result rows", data=TEN, results=False),
    Workload(name="10 items, optimal", data=TEN, rules=RULES_OPTIMAL),
    Workload(name="10 items, 10 % malformed", data=TEN_MALFORMED),
    Workload(name="100 items", data=HUNDRED, rate=2_000),
    Workload(name="100 items, optimal", data=HUNDRED, rules=RULES_OPTIMAL),
    Workload(name="1,000 items", data=THOUSAND, rate=150),
    Workload(name="1,000 items, optimal", data=THOUSAND, rules=RULES_OPTIMAL),
    Workload(
        name="orders, 10 items",
        data=OrderDataset(documents=1_000, items=10),
        rules=ORDER_RULES,
        rate=8_000,
    ),
    Workload(
        name="orders, 100 items",
        data=OrderDataset(documents=200, items=100),
        rules=ORDER_RULES,
        rate=2_000,
    ),
    Workload(
        name="orders, 1,000 items",
        data=OrderDataset(documents=5, items=1_000),
        rules=ORDER_RULES,
        rate=100,
    ),
    Workload(name="5,000 items", data=Dataset(documents=1, items=5_000), rate=10),
    Workload(
        name="5,000 items, optimal",
        data=Dataset(documents=1, items=5_000),
        rules=RULES_OPTIMAL,
        rate=5,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """CPU seconds of the whole pipeline and of parsing the same bytes.

    Seconds are the minimum; the share is computed from the sums.
    """

    documents: int
    pipeline: float
    floor: float
    share: float


def reading(workload: Workload, mode: str, repeats: int = REPEATS) -> Reading:
    """Return the best of several measurements, each in a new process."""
    truth, candidate = workload.data.write(cache_directory("data"))
    with tempfile.TemporaryDirectory() as directory:
        rules = Path(directory) / "rules.yaml"
        rules.write_text(workload.rules)
        command = [sys.executable, "-m", "benchmarks.throughput"]
        command += [str(truth), str(candidate), str(rules), mode]
        answers = [_child(command) for _ in range(repeats)]
    return Reading(
        documents=answers[0].documents,
        pipeline=min(answer.pipeline for answer in answers),
        floor=min(answer.floor for answer in answers),
        share=median(answer.share for answer in answers),
    )


def _child(command: Sequence[str]) -> Reading:
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run(command, stdout=subprocess.PIPE, env=environment, cwd=PROJECT, check=True)
    return Reading(**orjson.loads(done.stdout))


def throughput(
    workloads: Iterable[Workload], *, results: bool = True, repeats: int = REPEATS
) -> bool:
    """Print documents per CPU second; return whether all targets are met.

    The share is printed for orientation: its targets are checked by counting instructions.
    """
    rows: list[Row] = []
    met = True
    for workload in workloads:
        mode = "results" if results and workload.results else "no-results"
        measured = reading(workload, mode, repeats)
        rate = measured.documents / measured.pipeline
        ok = rate >= (workload.rate or 0)
        met &= ok
        rows.append(
            (
                workload.name,
                f"{measured.documents:,}",
                f"{rate:,.0f}",
                f"{measured.documents / measured.floor:,.0f}",
                f"{measured.share:.0%}",
                f"≥ {workload.rate:,.0f}/s" if workload.rate else "",
                verdict(ok=ok) if workload.rate else "",
            )
        )
    titles = ("workload", "documents", "docs per CPU s", "parsing only", "share", "target", "")
    print_table(titles, rows)
    return met


def parse(*paths: Path) -> int:
    """Parse every line of the files; return the number of lines."""
    lines = 0
    for path in paths:
        with path.open("rb") as file:
            for line in file:
                orjson.loads(line)
                lines += 1
    return lines


def score(truth: Path, candidate: Path, rules: Path, *, results: bool) -> None:
    """Run the whole pipeline, with or without writing result rows."""
    import fieldmark  # takes time that parsing alone must not pay

    with tempfile.TemporaryDirectory() as directory:
        fieldmark.score(
            truth, candidate, rules=rules, out=Path(directory) / "run" if results else None
        )


def warm_up(truth: Path, candidate: Path, rules: Path, *, results: bool) -> None:
    """Score the first documents, so that loading modules is not part of the measurement."""
    with tempfile.TemporaryDirectory() as name:
        heads = []
        for path in (truth, candidate):
            head = Path(name) / path.name
            with path.open("rb") as file:
                head.write_bytes(b"".join(islice(file, WARM_UP_DOCUMENTS)))
            heads.append(head)
        score(heads[0], heads[1], rules, results=results)


def timed(function: Callable[[], object]) -> float:
    """Return the CPU seconds of a function call."""
    start = time.process_time()
    function()
    return time.process_time() - start


def measured_files(truth: Path, candidate: Path, rules: Path, mode: str) -> Reading:
    """Measure parsing and pipeline in turn; short measurements are repeated."""
    lines = parse(truth, candidate)
    floors: list[float] = []
    pipelines: list[float] = []
    results = mode == "results"
    warm_up(truth, candidate, rules, results=results)
    while len(floors) < TIMES and sum(pipelines) < ENOUGH:
        floors.append(timed(lambda: parse(truth, candidate)))
        pipelines.append(timed(lambda: score(truth, candidate, rules, results=results)))
    return Reading(
        documents=lines // 2,
        pipeline=min(pipelines),
        floor=min(floors),
        share=sum(floors) / sum(pipelines),
    )


if __name__ == "__main__":
    paths = [Path(argument) for argument in sys.argv[1:4]]
    print(orjson.dumps(asdict(measured_files(paths[0], paths[1], paths[2], sys.argv[4]))).decode())
