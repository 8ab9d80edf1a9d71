"""Measures what is done with saved runs: many runs, and many cases, also by the server."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from random import Random
from typing import Final

import orjson

import fieldmark
from benchmarks.invoices import RULES, Dataset, extracted_document
from benchmarks.measure import Row, cache_directory, cpu_seconds, peak_memory, print_table, verdict

CASES: Final = 100_000
COMMAND: Final = str(Path(sys.executable).parent / "fieldmark")
COMMAND_LIMIT: Final = 6.0
"""CPU seconds, including startup."""
OPEN_LIMIT: Final = 1.5
"""CPU seconds of the server until a page and its first list are shown."""
PAGE_LIMIT: Final = 0.3
ANALYSIS_LIMIT: Final = 6.0
SEARCH_LIMIT: Final = 6.0
MEMORY_LIMIT: Final = 300 << 20
RUNS: Final = 10_000
LISTING_LIMIT: Final = 1.0
"""CPU seconds, including startup."""
LISTING_REPEATS: Final = 5
_INDEX: Final = ".index.json"
_FIRST: Final = "first"
_SECOND: Final = "second"


def listing() -> bool:
    """Print the CPU seconds of `fieldmark runs`; return whether each is below the limit."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory) / "runs"
        _create_runs(root)
        cold = [_listed(root, cold=True) for _ in range(LISTING_REPEATS)]
        warm = [_listed(root, cold=False) for _ in range(LISTING_REPEATS)]
    best = {"without index": min(cold), "with index": min(warm)}
    rows = [_row(name, seconds, LISTING_LIMIT) for name, seconds in best.items()]
    print_table((f"list of {RUNS:,} runs", "CPU", "target", ""), rows)
    return max(best.values()) <= LISTING_LIMIT


def _create_runs(root: Path) -> None:
    """Create ten thousand copies of a small run."""
    truth = [{"id": str(number), "total": number, "vendor": "Acme"} for number in range(20)]
    fieldmark.score(truth, truth, out=root / "00000")
    for number in range(1, RUNS):
        shutil.copytree(root / "00000", root / f"{number:05}")


def _listed(root: Path, *, cold: bool) -> float:
    if cold:
        (root / _INDEX).unlink(missing_ok=True)
    return cpu_seconds([COMMAND, "runs", "--root", str(root)])


def saved_runs() -> bool:
    """Print the CPU seconds and the memory for runs of many cases; return whether all are met.

    Both runs have mistakes, in different fields of most cases.
    """
    truth, candidate = Dataset(documents=CASES, items=0).write(cache_directory("data"))
    with tempfile.TemporaryDirectory() as directory:
        workspace = Path(directory)
        rules, other = workspace / "rules.yaml", workspace / "other.jsonl"
        rules.write_text(RULES)
        _write_other_candidate(truth, other)
        runs = workspace / "runs"
        fieldmark.score(truth, candidate, rules=rules, out=runs / _FIRST)
        fieldmark.score(truth, other, rules=rules, out=runs / _SECOND)
        return all([_commands(runs), _server(workspace)])


def _write_other_candidate(truth: Path, path: Path) -> None:
    """Write predictions with the same kinds of mistakes in other fields."""
    random = Random("other candidate")
    with truth.open("rb") as rows, path.open("wb") as file:
        for line in rows:
            row = orjson.loads(line)
            candidate = extracted_document(random, row["expected"])
            file.write(orjson.dumps({"id": row["id"], "candidate": candidate}) + b"\n")


def _commands(runs: Path) -> bool:
    first, second = str(runs / _FIRST), str(runs / _SECOND)
    commands = {
        "fieldmark improve": [COMMAND, "improve", first],
        "fieldmark diff": [COMMAND, "diff", first, second],
    }
    measured = {name: cpu_seconds(command) for name, command in commands.items()}
    rows = [_row(name, seconds, COMMAND_LIMIT) for name, seconds in measured.items()]
    print_table((f"saved runs of {CASES:,} cases", "CPU", "target", ""), rows)
    return max(measured.values()) <= COMMAND_LIMIT


def _server(workspace: Path) -> bool:
    """Request what the pages of both runs request, in this order, from a new server."""
    first, second = f"/api/runs/{_FIRST}", f"/api/runs/{_SECOND}"
    compared = f"a={_FIRST}&b={_SECOND}"
    views: Mapping[str, tuple[list[str], float]] = {
        "start page": (["/"], OPEN_LIMIT),
        "run, first cases": (
            [f"/runs/{_FIRST}", f"{first}/cases?limit=50", f"{first}/scores"],
            OPEN_LIMIT,
        ),
        "other run": ([f"/runs/{_SECOND}", f"{second}/cases?limit=50"], OPEN_LIMIT),
        "later page of cases": ([f"{first}/cases?limit=50&offset=50000"], PAGE_LIMIT),
        "cases by attribute": ([f"{first}/cases?limit=50&attribute=total"], PAGE_LIMIT),
        "cases by type": ([f"{first}/cases?limit=50&error=omission&sort=id"], PAGE_LIMIT),
        "one case": ([f"/runs/{_FIRST}/cases/77777", f"{first}/cases/77777"], PAGE_LIMIT),
        "search in values, all parts": (
            [f"{first}/cases?limit=50&text=INV-2025-077777"],
            SEARCH_LIMIT,
        ),
        "recommendations": (["improve"], ANALYSIS_LIMIT),
        "weak slices": (["slices"], ANALYSIS_LIMIT),
        "worst fields, heat map": ([f"{first}/mistakes"], ANALYSIS_LIMIT),
        "diff": (
            ["diff", f"/api/diff?{compared}&changes=false", f"/api/diff/cases?{compared}&limit=50"],
            ANALYSIS_LIMIT,
        ),
        "later page of the diff": (
            [f"/api/diff/cases?{compared}&limit=50&offset=50000"],
            PAGE_LIMIT,
        ),
        "diff by attribute": ([f"/api/diff/cases?{compared}&limit=50&attribute=total"], PAGE_LIMIT),
        "case of the diff": ([f"/api/diff/case?{compared}&case=invoice-0077777"], PAGE_LIMIT),
        "diff with all changed cases": ([f"/api/diff?{compared}"], ANALYSIS_LIMIT),
    }
    rows: list[Row] = []
    met = True
    with _Server.started(workspace) as server:
        for name, (paths, limit) in views.items():
            before = server.cpu_seconds
            server.reset_peak()
            for path in paths:
                server.get(path) if path.startswith("/") else server.analyze(path)
            seconds, peak = server.cpu_seconds - before, server.peak_bytes
            ok = seconds <= limit and peak <= MEMORY_LIMIT
            met &= ok
            memory = f"{peak >> 20} MB", f"≤ {MEMORY_LIMIT >> 20} MB"
            rows.append((*_row(name, seconds, limit)[:3], *memory, verdict(ok=ok)))
    titles = (f"server, runs of {CASES:,} cases", "CPU", "target", "peak memory", "target", "")
    print_table(titles, rows)
    return met


def _row(name: str, seconds: float, limit: float) -> Row:
    return (name, f"{seconds:.2f} s", f"≤ {limit:g} s", verdict(ok=seconds <= limit))


class _Server:
    """A running `fieldmark serve`, its CPU seconds and its peak memory."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stderr is not None
        self._process = process
        announced = ""
        for announced in process.stderr:
            if "serving on" in announced:
                break
        found = re.search(r"http://([\d.]+):(\d+)/\?token=(\S+)", announced)
        assert found, f"the server did not start: {announced}"
        self._connection = HTTPConnection(found[1], int(found[2]))
        self._headers = {"Authorization": f"Bearer {found[3]}"}

    @classmethod
    @contextmanager
    def started(cls, workspace: Path) -> Iterator[_Server]:
        """Start a server for a workspace; it is stopped at the end."""
        command = [COMMAND, "serve", "--port", "0", "--no-browser", "--workspace", str(workspace)]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            yield cls(process)
        finally:
            process.terminate()
            process.communicate()

    @property
    def cpu_seconds(self) -> float:
        """The CPU seconds of all threads so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def peak_bytes(self) -> int:
        """The peak memory since `reset_peak`."""
        return peak_memory(self._process.pid)

    def reset_peak(self) -> None:
        """Measure the peak memory from now on."""
        Path(f"/proc/{self._process.pid}/clear_refs").write_text("5")

    def get(self, path: str) -> None:
        """Request a path; a search is continued to its end."""
        searching = True
        while searching:
            content = self._request("GET", path)
            searched = orjson.loads(content).get("searched") if path.startswith("/api") else None
            searching = searched is not None and searched["cases"] < searched["total"]

    def analyze(self, kind: str) -> None:
        """Run an analysis and wait for the end of its job."""
        runs = [_FIRST, _SECOND] if kind == "diff" else [_FIRST]
        body = orjson.dumps({"kind": kind, "runs": runs})
        job = orjson.loads(self._request("POST", "/api/analyses", body))
        events = self._request("GET", f"/api/jobs/{job['id']}/events")
        assert b'"state":"done"' in events.replace(b" ", b""), events[-500:]

    def _request(self, method: str, path: str, body: bytes | None = None) -> bytes:
        headers = {**self._headers, **({"Content-Type": "application/json"} if body else {})}
        self._connection.request(method, path, body, headers)
        response = self._connection.getresponse()
        content = response.read()
        assert response.status < 300, f"{path}: {response.status} {content[:500]!r}"
        return content
