"""Caches of answers: a SQLite file that several processes share, or memory for one run."""

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

__all__ = [
    "CACHE_FOLDER_VARIABLE",
    "AnswerCache",
    "CacheError",
    "CachedAnswer",
    "FileAnswerCache",
    "MemoryAnswerCache",
    "answer_key",
    "default_cache_file",
]

CACHE_FOLDER_VARIABLE: Final = "FIELDMARK_CACHE"
"""The environment variable that sets another cache folder."""
_FORMAT: Final = 1
_CREATE_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, kept TEXT NOT NULL)"
)
_LOCK_TIMEOUT: Final = 30.0
_KEYS_PER_QUERY: Final = 500
_OWNER_ONLY: Final = 0o600
_MAX_IN_MEMORY: Final = 20_000


class CacheError(Exception):
    """The cache file cannot be used."""


class CachedAnswer(NamedTuple):
    """An answer and the call that returned it."""

    answer: JsonValue
    call: LlmCall


def default_cache_file() -> Path:
    """Return the cache file for connections that name none."""
    folder = os.environ.get(CACHE_FOLDER_VARIABLE)
    if folder:
        return Path(folder) / "llm.sqlite3"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "fieldmark" / "llm.sqlite3"


def answer_key(depends_on: JsonObject) -> str:
    """Return the key of an answer: the hash of everything that it depends on.

    >>> answer_key({"score": 1}) == answer_key({"score": 1.0})
    False
    """
    text = json.dumps(depends_on, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(f"{_FORMAT}:{text}".encode()).hexdigest()


class FileAnswerCache:
    """Answers in a SQLite file; the first answer to a question stays."""

    def __init__(self, database: sqlite3.Connection, file: Path) -> None:
        self._database = database
        self._file = file
        self._lock = threading.Lock()

    @classmethod
    @contextmanager
    def opened(cls, file: Path, *, writable: bool = True) -> Iterator[FileAnswerCache]:
        """Open a cache file; a writable one is created if needed."""
        try:
            if writable:
                # Answers quote documents, so that only the owner may read them.
                file.parent.mkdir(parents=True, exist_ok=True)
                os.close(os.open(file, os.O_RDWR | os.O_CREAT, _OWNER_ONLY))
            database = sqlite3.connect(
                f"{file.absolute().as_uri()}?mode={'rw' if writable else 'ro'}",
                uri=True,
                timeout=_LOCK_TIMEOUT,
                check_same_thread=False,
                isolation_level=None,
            )
        except (OSError, sqlite3.Error) as error:
            raise CacheError(f"{file}: {error}") from None
        with closing(database):
            if writable:
                with _cache_errors(file):
                    database.execute("PRAGMA journal_mode=WAL")
                    database.execute("PRAGMA synchronous=NORMAL")
                    database.execute(_CREATE_TABLE)
            yield cls(database, file)

    def find(self, keys: Sequence[str]) -> dict[str, CachedAnswer]:
        """Return the answers for those keys that have one."""
        found: dict[str, CachedAnswer] = {}
        with self._lock, _cache_errors(self._file):
            unique = list(dict.fromkeys(keys))
            for start in range(0, len(unique), _KEYS_PER_QUERY):
                some = unique[start : start + _KEYS_PER_QUERY]
                marks = ",".join("?" * len(some))
                query = f"SELECT key, kept FROM answers WHERE key IN ({marks})"  # noqa: S608 - marks
                for key, text in self._database.execute(query, some):
                    answer, call = json.loads(text)
                    found[key] = CachedAnswer(answer, LlmCall(*call))
        return found

    def store(self, answers: Iterable[tuple[str, CachedAnswer]]) -> dict[str, CachedAnswer]:
        """Store answers and return those that stay; another process may have been first."""
        rows = [(key, json.dumps([each.answer, list(each.call)])) for key, each in answers]
        with self._lock, _cache_errors(self._file):
            self._database.execute("BEGIN IMMEDIATE")
            try:
                self._database.executemany("INSERT OR IGNORE INTO answers VALUES (?, ?)", rows)
            finally:
                self._database.execute("COMMIT")
        return self.find([key for key, _ in rows])


class MemoryAnswerCache:
    """The latest answers of a run: metrics and evaluators may ask the same question.

    The first answer to a question stays.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: dict[str, CachedAnswer] = {}

    def __reduce__(self) -> tuple[type[MemoryAnswerCache], tuple[()]]:
        # Every process has a cache of its own.
        return MemoryAnswerCache, ()

    def find(self, keys: Sequence[str]) -> dict[str, CachedAnswer]:
        """Return the answers for those keys that have one."""
        with self._lock:
            return {key: self._answers[key] for key in keys if key in self._answers}

    def store(self, answers: Iterable[tuple[str, CachedAnswer]]) -> dict[str, CachedAnswer]:
        """Store answers, drop the oldest beyond the limit, and return those that stay."""
        with self._lock:
            stored = {key: self._answers.setdefault(key, each) for key, each in answers}
            while len(self._answers) > _MAX_IN_MEMORY:
                del self._answers[next(iter(self._answers))]
            return stored


AnswerCache: TypeAlias = FileAnswerCache | MemoryAnswerCache


@contextmanager
def _cache_errors(file: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, ValueError, TypeError) as error:
        raise CacheError(f"{file}: {error}") from None
