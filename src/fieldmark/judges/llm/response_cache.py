"""Caches of model responses: a SQLite file shared between processes, or memory for one run."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from fieldmark.judges.llm.usage_log import LlmCall
from fieldmark.model.json import JsonObject, JsonValue

CACHE_DIRECTORY_VARIABLE: Final = "FIELDMARK_CACHE"
"""The environment variable with the directory of the cache."""
_FORMAT: Final = 1
# The names of the table and its columns cannot change: existing cache files contain them.
_CREATE_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, kept TEXT NOT NULL)"
)
_FIND: Final = "SELECT key, kept FROM answers WHERE key IN (SELECT value FROM json_each(?))"
_LOCK_TIMEOUT: Final = 30.0
_OWNER_ONLY: Final = 0o600
_MAX_IN_MEMORY: Final = 20_000


class CacheError(Exception):
    """The cache file cannot be used."""


class CachedResponse(NamedTuple):
    """The validated content of a response, and the call that returned it."""

    value: JsonValue
    call: LlmCall


def default_cache_file() -> Path:
    """Return the cache file for connections that do not set one."""
    directory = os.environ.get(CACHE_DIRECTORY_VARIABLE)
    if directory:
        return Path(directory) / "llm.sqlite3"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "fieldmark" / "llm.sqlite3"


def cache_key(depends_on: JsonObject) -> str:
    """Return the cache key of a response: the hash of everything that it depends on.

    >>> cache_key({"score": 1}) == cache_key({"score": 1.0})
    False
    """
    text = json.dumps(depends_on, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(f"{_FORMAT}:{text}".encode()).hexdigest()


class FileResponseCache:
    """Responses in a SQLite file; the first response to a question is never replaced."""

    def __init__(self, database: sqlite3.Connection, file: Path) -> None:
        self._database = database
        self._file = file
        self._lock = threading.Lock()

    @classmethod
    @contextmanager
    def opened(cls, file: Path, *, writable: bool = True) -> Iterator[FileResponseCache]:
        """Open a cache file; with `writable` it is created if necessary."""
        with _cache_errors(file):
            if writable:
                # Responses may quote documents, so only the owner may read them.
                file.parent.mkdir(parents=True, exist_ok=True)
                os.close(os.open(file, os.O_RDWR | os.O_CREAT, _OWNER_ONLY))
            database = sqlite3.connect(
                f"{file.absolute().as_uri()}?mode={'rw' if writable else 'ro'}",
                uri=True,
                timeout=_LOCK_TIMEOUT,
                check_same_thread=False,
                isolation_level=None,
            )
        with closing(cls(database, file)) as cache:
            if writable:
                with _cache_errors(file):
                    database.execute("PRAGMA journal_mode=WAL")
                    database.execute("PRAGMA synchronous=NORMAL")
                    database.execute(_CREATE_TABLE)
            yield cache

    def close(self) -> None:
        """Close the file; threads of an interrupted run that still use it get a `CacheError`.

        Closing it while another thread uses it would end the process.
        """
        with self._lock:
            self._database.close()

    def find(self, keys: Sequence[str]) -> dict[str, CachedResponse]:
        """Return the cached responses by key; keys without one are left out."""
        responses: dict[str, CachedResponse] = {}
        with self._lock, _cache_errors(self._file):
            for key, text in self._database.execute(_FIND, [json.dumps(keys)]):
                value, call = json.loads(text)
                responses[key] = CachedResponse(value, LlmCall(*call))
        return responses

    def store(self, responses: Iterable[tuple[str, CachedResponse]]) -> dict[str, CachedResponse]:
        """Store responses and return the cached ones; another process may have been first."""
        rows = [
            (key, json.dumps([response.value, list(response.call)])) for key, response in responses
        ]
        with self._lock, _cache_errors(self._file):
            self._database.execute("BEGIN IMMEDIATE")
            try:
                self._database.executemany("INSERT OR IGNORE INTO answers VALUES (?, ?)", rows)
            finally:
                self._database.execute("COMMIT")
        return self.find([key for key, _ in rows])


class MemoryResponseCache:
    """The latest responses of a run, so that metrics and evaluators share them.

    The first response to a question is never replaced.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._responses: dict[str, CachedResponse] = {}

    def __reduce__(self) -> tuple[type[MemoryResponseCache], tuple[()]]:
        # Every process has its own cache.
        return MemoryResponseCache, ()

    def find(self, keys: Sequence[str]) -> dict[str, CachedResponse]:
        """Return the cached responses by key; keys without one are left out."""
        with self._lock:
            return {key: self._responses[key] for key in keys if key in self._responses}

    def store(self, responses: Iterable[tuple[str, CachedResponse]]) -> dict[str, CachedResponse]:
        """Store responses, drop the oldest ones beyond the limit, and return the cached ones."""
        with self._lock:
            stored = {key: self._responses.setdefault(key, response) for key, response in responses}
            while len(self._responses) > _MAX_IN_MEMORY:
                del self._responses[next(iter(self._responses))]
            return stored


ResponseCache: TypeAlias = FileResponseCache | MemoryResponseCache


@contextmanager
def _cache_errors(file: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error, ValueError, TypeError) as error:
        raise CacheError(f"{file}: {error}") from None
