"""The comparisons of runs that were requested last: their pages are requested one by one."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Final

from fieldmark.analyses.diff import DiffResult, diff
from fieldmark.metrics.difference import CaseChange, Direction
from fieldmark.runs.notes import NOTES
from fieldmark.runs.run_directory import MANIFEST, RESULTS
from fieldmark.runs.stored_run import StoredRun
from fieldmark.web.recent_values import RecentValues

_MAX_CACHED: Final = 3
_MAX_CHANGES: Final = 150_000
"""The number of changed cases that are kept."""


class RunDiffs:
    """Compares runs; the same comparison is computed once, also for concurrent requests."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cached = RecentValues[DiffResult](
            lambda found: sum(map(len, found.pairs.changes.values())),
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
            found = self._cached.get(key)
            if found is None:
                found = diff(before, after, force=force, rescore=rescore)
                self._selected.clear()
                self._cached.add(key, found)
        return found

    def changed_cases(
        self,
        found: DiffResult,
        *,
        direction: Direction | None,
        attribute: str | None,
        within: str | None,
    ) -> list[tuple[Direction, CaseChange]]:
        """Return the changed cases that match filters; the lists of the last filters are cached."""
        key = (id(found), direction, attribute, within)
        with self._lock:
            selected = self._selected.get(key)
            if selected is None:
                selected = found.changed_cases(
                    direction=direction, attribute=attribute, within=within
                )
                self._selected.add(key, selected)
        return selected


def _state(run: StoredRun) -> Hashable:
    """Return what changes when the files of a run change."""
    found = []
    for name in (MANIFEST, NOTES, RESULTS):
        try:
            status = (run.path / name).stat()
        except OSError:
            found.append((name, 0, 0))
        else:
            found.append((name, status.st_mtime_ns, status.st_size))
    return run.path, *found
