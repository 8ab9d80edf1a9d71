"""The runs that can be shown: those that are kept, and those of this session alone."""

from __future__ import annotations

import re
import threading
import time
from collections import OrderedDict
from pathlib import Path
from typing import Final, NamedTuple

from fieldmark.api.counted import stored_run
from fieldmark.server.api_errors import ApiError, ErrorCode
from fieldmark.server.case_index import CaseIndex
from fieldmark.store.index import RunEntry, list_runs
from fieldmark.store.reader import StoredRun
from fieldmark.store.rundir import RESULTS

__all__ = ["RUN_ID", "CatalogEntry", "RunCatalog"]

RUN_ID: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")
"""Names of runs that can stand in an address; no other name is ever looked for."""
_FRESH_SECONDS: Final = 1.0
_FRESH_TIMES: Final = 5.0
_INDEXES: Final = 4


class CatalogEntry(NamedTuple):
    """A run in the list, and whether it outlives the server."""

    entry: RunEntry
    kept: bool


class RunCatalog:
    """Finds runs by id, and remembers where the cases of the last few runs are."""

    def __init__(self, kept: Path, temporary_runs: Path) -> None:
        self._folders = ((kept, True), (temporary_runs, False))
        self._lock = threading.Lock()
        self._listed: tuple[float, list[CatalogEntry]] = (float("-inf"), [])
        self._indexes: OrderedDict[tuple[str, int, int], CaseIndex] = OrderedDict()

    def all(self) -> list[CatalogEntry]:
        """Every run, oldest first; the longer it takes to list them, the older a list may be."""
        with self._lock:
            begun = time.monotonic()
            if begun > self._listed[0]:
                found = [
                    CatalogEntry(entry, kept)
                    for folder, kept in self._folders
                    for entry in list_runs(folder)
                ]
                found.sort(key=lambda each: (each.entry.started_at, each.entry.id))
                took = time.monotonic() - begun
                fresh = max(_FRESH_SECONDS, _FRESH_TIMES * took)
                self._listed = (time.monotonic() + fresh, found)
            return self._listed[1]

    def forget(self) -> None:
        """Read the list anew when it is asked for next."""
        with self._lock:
            self._listed = (float("-inf"), [])

    def path(self, run: str) -> Path:
        """The folder of a run by its id, which is never a path."""
        if RUN_ID.fullmatch(run):
            for folder, _ in self._folders:
                path = folder / run
                if path.is_dir() and not path.is_symlink():
                    return path
        raise ApiError(ErrorCode.NOT_FOUND, "There is no such run.")

    def is_kept(self, run: str) -> bool:
        """Whether a run outlives the server."""
        return self.path(run).parent == self._folders[0][0]

    def run(self, run: str) -> StoredRun:
        """A run by its id."""
        return stored_run(self.path(run))

    def cases(self, run: str) -> CaseIndex:
        """Where the cases of a run are; made once, and again when its results change."""
        path = self.path(run)
        try:
            state = (path / RESULTS).stat()
        except FileNotFoundError:
            raise ApiError(ErrorCode.NOT_FOUND, "The run has no results.") from None
        key = (str(path), state.st_mtime_ns, state.st_size)
        with self._lock:
            found = self._indexes.get(key)
            if found is None:
                found = self._indexes[key] = CaseIndex(path / RESULTS)
            self._indexes.move_to_end(key)
            while len(self._indexes) > _INDEXES:
                self._indexes.popitem(last=False)
        found.read()
        return found
