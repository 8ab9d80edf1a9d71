"""One measurement in its own process; prints a `Reading` as a line of JSON.

    python -m benchmarks.child TRUTH CANDIDATE RULES RESULTS

RULES is a file; RESULTS is `results`, `no-results`, `floor` (only parsing) or `once` (a single run
with results, for measuring memory).
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import orjson

WARM_UP_DOCUMENTS = 1_000
TIMES = 5
ENOUGH = 1.0
"""The number of repetitions, and the seconds after which no further one starts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """CPU seconds of the whole pipeline and of parsing the same bytes, and the peak memory.

    Seconds are the minimum; the share is computed from the sums.
    """

    documents: int
    pipeline: float
    floor: float
    share: float
    peak_bytes: int


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
    import fieldmark

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


def peak_memory() -> int:
    """Return the peak memory of this process; `ru_maxrss` would include that of its parent."""
    status = Path("/proc/self/status").read_text()
    return 1024 * next(int(line.split()[1]) for line in status.splitlines() if "VmHWM" in line)


def read(truth: Path, candidate: Path, rules: Path, mode: str) -> Reading:
    """Measure parsing and pipeline in turn; short measurements are repeated."""
    lines = parse(truth, candidate)
    floors: list[float] = []
    pipelines: list[float] = []
    results = mode in ("results", "once")
    if mode in ("results", "no-results"):
        warm_up(truth, candidate, rules, results=results)
    while len(floors) < (1 if mode == "once" else TIMES) and sum(pipelines) < ENOUGH:
        floors.append(timed(lambda: parse(truth, candidate)))
        if mode != "floor":
            pipelines.append(timed(lambda: score(truth, candidate, rules, results=results)))
    pipelines = pipelines or floors
    return Reading(
        documents=lines // 2,
        pipeline=min(pipelines),
        floor=min(floors),
        share=sum(floors) / sum(pipelines),
        peak_bytes=peak_memory(),
    )


if __name__ == "__main__":
    paths = [Path(argument) for argument in sys.argv[1:4]]
    print(orjson.dumps(asdict(read(paths[0], paths[1], paths[2], sys.argv[4]))).decode())
