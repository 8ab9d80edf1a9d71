"""The comparisons of runs that were requested last: their pages are requested one by one."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Final

from fieldmark.api.diff import DiffResult, diff
from fieldmark.store.reader import StoredRun
from fieldmark.store.writer import MANIFEST, RESULTS

__all__ = ["RunDiffs"]

_MAX_CACHED: Final = 3


class RunDiffs:
    """Compares runs; the same comparison is computed once, also for concurrent requests."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cached: dict[Hashable, DiffResult] = {}

    def get(
        self, before: StoredRun, after: StoredRun, *, force: bool = False, rescore: bool = False
    ) -> DiffResult:
        """Return the comparison of two runs, computed again when their files change."""
        key = (_state(before), _state(after), force, rescore)
        with self._lock:
            found = self._cached.pop(key, None)
            if found is None:
                found = diff(before, after, force=force, rescore=rescore)
            self._cached[key] = found
            while len(self._cached) > _MAX_CACHED:
                self._cached.pop(next(iter(self._cached)))
        return found


def _state(run: StoredRun) -> Hashable:
    """Return what changes when the files of a run change."""
    found = []
    for name in (MANIFEST, RESULTS):
        try:
            status = (run.path / name).stat()
        except OSError:
            found.append((name, 0, 0))
        else:
            found.append((name, status.st_mtime_ns, status.st_size))
    return run.path, *found
