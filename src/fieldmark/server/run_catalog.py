"""The runs that can be shown: those of the workspace, and temporary ones."""

from __future__ import annotations

import re
import threading
import time
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from fieldmark.server.api_errors import ApiError, ErrorCode
from fieldmark.server.case_index import CaseIndex
from fieldmark.store.run_folder import RESULTS
from fieldmark.store.run_index import list_runs
from fieldmark.store.run_reader import StoredRun, open_run
from fieldmark.wire.run_entry import RunEntry

__all__ = ["RUN_ID", "CatalogEntry", "RunCatalog"]

RUN_ID: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")
"""Run ids that can be part of an address; no other name is ever looked up."""
_FRESH_SECONDS: Final = 1.0
_FRESH_FACTOR: Final = 5.0
_MAX_INDEXES: Final = 4
_NEVER: Final = float("-inf")


class CatalogEntry(NamedTuple):
    """A run in the list, and whether it outlives the server."""

    entry: RunEntry
    kept: bool


class RunCatalog:
    """Lists runs, finds them by id, and caches the case indexes of the last few."""

    def __init__(self, kept: Path, temporary: Path) -> None:
        self._kept = kept
        self._folders = (kept, temporary)
        self._lock = threading.Lock()
        self._entries: list[CatalogEntry] = []
        self._fresh_until = _NEVER
        self._case_index = lru_cache(_MAX_INDEXES)(_open_case_index)

    def entries(self) -> list[CatalogEntry]:
        """List all runs, oldest first; the list is cached for longer if it takes longer to read."""
        with self._lock:
            started = time.monotonic()
            if started > self._fresh_until:
                self._entries = [
                    CatalogEntry(entry, folder == self._kept)
                    for folder in self._folders
                    for entry in list_runs(folder)
                ]
                self._entries.sort(key=lambda each: (each.entry.started_at, each.entry.id))
                now = time.monotonic()
                fresh = max(_FRESH_SECONDS, _FRESH_FACTOR * (now - started))
                self._fresh_until = now + fresh
            return self._entries

    def invalidate(self) -> None:
        """Read the list again when it is needed next."""
        with self._lock:
            self._fresh_until = _NEVER

    def path(self, run: str) -> Path:
        """Return the folder of a run; an id is never a path."""
        if RUN_ID.fullmatch(run):
            for folder in self._folders:
                path = folder / run
                if path.is_dir() and not path.is_symlink():
                    return path
        raise ApiError(ErrorCode.NOT_FOUND, "There is no such run.")

    def is_kept(self, run: str) -> bool:
        """Whether a run outlives the server."""
        return self.path(run).parent == self._kept

    def open(self, run: str) -> StoredRun:
        """Open a run by its id."""
        return open_run(self.path(run))

    def cases(self, run: str) -> CaseIndex:
        """Return the case index of a run, which is rebuilt when its results change."""
        path = self.path(run) / RESULTS
        try:
            status = path.stat()
        except FileNotFoundError:
            raise ApiError(ErrorCode.NOT_FOUND, "The run has no results.") from None
        with self._lock:
            index = self._case_index(path.parent, status.st_mtime_ns, status.st_size)
        index.read()
        return index


def _open_case_index(run: Path, _modified: int, _size: int) -> CaseIndex:
    return CaseIndex(open_run(run))
