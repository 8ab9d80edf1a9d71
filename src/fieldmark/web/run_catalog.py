"""The runs of the workspace and the temporary runs of the server."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Container, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from heapq import merge
from itertools import accumulate
from operator import itemgetter
from pathlib import Path
from typing import Final, Generic, NamedTuple, TypeVar

from fieldmark.analyses.diff import DiffResult, diff
from fieldmark.metrics.difference import CaseChange, Direction
from fieldmark.runs.case_result import CaseResult
from fieldmark.runs.manifest import RunEntry
from fieldmark.runs.run_directory import MANIFEST, RESULTS
from fieldmark.runs.run_index import NOTES, list_runs
from fieldmark.runs.stored_run import StoredRun, open_run
from fieldmark.web.api_errors import ApiError, ErrorCode
from fieldmark.web.case_index import CaseIndex

RUN_ID: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")
"""Run ids that are valid in a URL; other names are never looked up."""
_FRESH_SECONDS: Final = 1.0
_FRESH_FACTOR: Final = 5.0
_MAX_INDEXES: Final = 4
_MAX_INDEXED_CASES: Final = 250_000
"""The number of cases whose indexes are kept, about 300 bytes for each."""
_NEVER: Final = float("-inf")


class CatalogEntry(NamedTuple):
    """A run in the list, and whether it is saved in the workspace."""

    entry: RunEntry
    saved: bool


@dataclass(frozen=True)
class IndexedRun(StoredRun):
    """A run whose cases are found by their index, without reading the rows before them."""

    index: Callable[[], CaseIndex]

    def find_all(self, case_ids: Container[str]) -> Iterator[CaseResult]:
        """Yield the cases with these ids."""
        index = self.index()
        yield from index.open([head.number for head in index.heads if head.id in case_ids])


class RunCatalog:
    """Lists runs, finds them by id, and caches the case indexes of the most recent ones."""

    def __init__(self, saved: Path, temporary: Path) -> None:
        self._saved = saved
        self.directories = (saved, temporary)
        self._lock = threading.Lock()
        self._entries: list[CatalogEntry] = []
        self._fresh_until = _NEVER
        self._indexes = RecentValues[CaseIndex](
            lambda index: len(index.heads),
            most=_MAX_INDEXES,
            most_cases=_MAX_INDEXED_CASES,
            at_least=2,  # the runs of a comparison
        )

    def entries(self) -> list[CatalogEntry]:
        """List all runs, oldest first; a list that is slow to read is cached for longer."""
        with self._lock:
            started = time.monotonic()
            if started > self._fresh_until:
                self._entries = _in_order(
                    [
                        CatalogEntry(entry, directory == self._saved)
                        for entry in list_runs(directory)
                    ]
                    for directory in self.directories
                )
                now = time.monotonic()
                fresh = max(_FRESH_SECONDS, _FRESH_FACTOR * (now - started))
                self._fresh_until = now + fresh
            return self._entries

    def invalidate(self) -> None:
        """Discard the cached list."""
        with self._lock:
            self._fresh_until = _NEVER

    def path(self, run: str) -> Path:
        """Return the directory of a run; an id is never interpreted as a path."""
        if RUN_ID.fullmatch(run):
            for directory in self.directories:
                path = directory / run
                if path.is_dir() and not path.is_symlink():
                    return path
        raise ApiError(ErrorCode.NOT_FOUND, "Run not found.")

    def is_saved(self, path: Path) -> bool:
        """Whether the run in a directory is saved in the workspace."""
        return path.parent == self._saved

    def open(self, run: str) -> IndexedRun:
        """Open a run by its id."""
        stored = open_run(self.path(run))
        return IndexedRun(stored.path, stored.manifest, partial(self.cases, run))

    def cases(self, run: str) -> CaseIndex:
        """Return the case index of a run; it is rebuilt when the results change."""
        path = self.path(run) / RESULTS
        try:
            status = path.stat()
        except FileNotFoundError:
            raise ApiError(ErrorCode.NOT_FOUND, "The run has no results.") from None
        key = path.parent, status.st_mtime_ns, status.st_size
        with self._lock:
            index = self._indexes.get(key)
            if index is None:
                index = CaseIndex(open_run(path.parent))
                self._indexes.add(key, index)
        if not index.heads:
            index.read()
            with self._lock:
                self._indexes.add(key, index)  # its number of cases is known now
        return index


def _in_order(lists: Iterable[list[CatalogEntry]]) -> list[CatalogEntry]:
    """Merge ordered lists of runs by their start times, without changing the order of any list."""
    timed = [
        zip(accumulate((run.entry.started_at for run in listed), max), listed, strict=True)
        for listed in lists
    ]
    return [entry for _, entry in merge(*timed, key=itemgetter(0))]


_MAX_CACHED: Final = 3
_MAX_CHANGES: Final = 150_000
"""The number of changed cases that are kept."""


class RunDiffs:
    """Compares runs; the same comparison is computed once, also for concurrent requests."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cached = RecentValues[DiffResult](
            lambda comparison: sum(map(len, comparison.pairs.changes.values())),
            most=_MAX_CACHED,
            most_cases=_MAX_CHANGES,
        )
        self._selected = RecentValues[list[tuple[Direction, CaseChange]]](
            len, most=_MAX_CACHED, most_cases=_MAX_CHANGES
        )

    def get(
        self, before: StoredRun, after: StoredRun, *, force: bool = False, rescore: bool = False
    ) -> DiffResult:
        """Return the comparison of two runs, computed again when their files change."""
        key = (_state(before), _state(after), force, rescore)
        with self._lock:
            comparison = self._cached.get(key)
            if comparison is None:
                comparison = diff(before, after, force=force, rescore=rescore)
                self._selected.clear()
                self._cached.add(key, comparison)
        return comparison

    def changed_cases(
        self,
        comparison: DiffResult,
        *,
        direction: Direction | None,
        attribute: str | None,
        within: str | None,
    ) -> list[tuple[Direction, CaseChange]]:
        """Return the changed cases that match filters; the lists of the last filters are cached."""
        key = (id(comparison), direction, attribute, within)
        with self._lock:
            selected = self._selected.get(key)
            if selected is None:
                selected = comparison.changed_cases(
                    direction=direction, attribute=attribute, within=within
                )
                self._selected.add(key, selected)
        return selected


def _state(run: StoredRun) -> Hashable:
    """Return what changes when the files of a run change."""
    files = []
    for name in (MANIFEST, NOTES, RESULTS):
        try:
            status = (run.path / name).stat()
        except OSError:
            files.append((name, 0, 0))
        else:
            files.append((name, status.st_mtime_ns, status.st_size))
    return run.path, *files


_Value = TypeVar("_Value")


class RecentValues(Generic[_Value]):
    """Keeps the values that were used last: at most `most`, and of at most `most_cases` together.

    The last `at_least` values are kept also if they have more cases. Callers hold a lock.
    """

    def __init__(
        self, cases: Callable[[_Value], int], *, most: int, most_cases: int, at_least: int = 1
    ) -> None:
        self._cases = cases
        self._most = most
        self._most_cases = most_cases
        self._at_least = at_least
        self._values: dict[Hashable, _Value] = {}

    def get(self, key: Hashable) -> _Value | None:
        """Return a value, which becomes the most recently used value."""
        value = self._values.pop(key, None)
        if value is not None:
            self._values[key] = value
        return value

    def add(self, key: Hashable, value: _Value) -> None:
        """Keep a value, and drop values that were not used for the longest time."""
        self._values.pop(key, None)
        self._values[key] = value
        while len(self._values) > self._at_least and (
            len(self._values) > self._most
            or sum(map(self._cases, self._values.values())) > self._most_cases
        ):
            del self._values[next(iter(self._values))]

    def clear(self) -> None:
        """Drop all values."""
        self._values.clear()
