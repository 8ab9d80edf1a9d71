"""Answers kept in a file that several processes share, under all that they depend on."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from fieldmark.judges.llm.ledger import Call
from fieldmark.model.json import JsonObject, JsonValue

__all__ = ["FOLDER_VARIABLE", "AnswerCache", "CacheError", "Kept", "answer_key", "default_file"]

FOLDER_VARIABLE: Final = "FIELDMARK_CACHE"
"""The environment variable that names another folder for what is kept."""
_FORMAT: Final = 1
_TABLE: Final = "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, kept TEXT NOT NULL)"
_PATIENCE: Final = 30.0
_MANY: Final = 500
_PRIVATE: Final = 0o600


class CacheError(Exception):
    """The file of answers cannot be used."""


class Kept(NamedTuple):
    """An answer, and the call that it was part of."""

    answer: JsonValue
    call: Call


def default_file() -> Path:
    """Where answers are kept if nothing else is said."""
    named = os.environ.get(FOLDER_VARIABLE)
    if named:
        return Path(named) / "llm.sqlite3"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "fieldmark" / "llm.sqlite3"


def answer_key(depends_on: JsonObject) -> str:
    """The name of an answer: the hash of everything that it depends on.

    >>> answer_key({"score": 1}) == answer_key({"score": 1.0})
    False
    """
    text = json.dumps(depends_on, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(f"{_FORMAT}:{text}".encode()).hexdigest()


class AnswerCache:
    """A file of answers. The first answer to a question stands, whoever else asked meanwhile."""

    def __init__(self, database: sqlite3.Connection, file: Path) -> None:
        self._database = database
        self._file = file
        self._lock = threading.Lock()

    @classmethod
    @contextmanager
    def opened(cls, file: Path, *, writable: bool = True) -> Iterator[AnswerCache]:
        """The answers in a file, which is made if need be."""
        try:
            if writable:
                _prepare(file)
            place = f"{file.absolute().as_uri()}?mode={'rw' if writable else 'ro'}"
            database = sqlite3.connect(
                place, uri=True, timeout=_PATIENCE, check_same_thread=False, isolation_level=None
            )
        except (OSError, sqlite3.Error) as error:
            raise CacheError(f"{file}: {error}") from None
        with closing(database):
            if writable:
                with _told(file):
                    database.execute("PRAGMA journal_mode=WAL")
                    database.execute("PRAGMA synchronous=NORMAL")
                    database.execute(_TABLE)
            yield cls(database, file)

    def find(self, keys: Sequence[str]) -> dict[str, Kept]:
        """What is kept under some keys."""
        found: dict[str, Kept] = {}
        with self._lock, _told(self._file):
            for some in _parts(dict.fromkeys(keys)):
                places = ",".join("?" * len(some))
                query = f"SELECT key, kept FROM answers WHERE key IN ({places})"  # noqa: S608 - marks
                for key, text in self._database.execute(query, some):
                    found[key] = _read(text)
        return found

    def keep(self, answers: Iterable[tuple[str, Kept]]) -> dict[str, Kept]:
        """Keep answers, and say which stand: those of another process may have been first."""
        rows = [(key, _written(kept)) for key, kept in answers]
        with self._lock, _told(self._file):
            self._database.execute("BEGIN IMMEDIATE")
            try:
                self._database.executemany("INSERT OR IGNORE INTO answers VALUES (?, ?)", rows)
            finally:
                self._database.execute("COMMIT")
        return self.find([key for key, _ in rows])


def _prepare(file: Path) -> None:
    """An empty file that only its owner can read: answers quote documents."""
    file.parent.mkdir(parents=True, exist_ok=True)
    os.close(os.open(file, os.O_RDWR | os.O_CREAT, _PRIVATE))


@contextmanager
def _told(file: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, ValueError, TypeError) as error:
        raise CacheError(f"{file}: {error}") from None


def _parts(keys: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(keys)
    while some := list(islice(rest, _MANY)):
        yield some


def _written(kept: Kept) -> str:
    return json.dumps([kept.answer, list(kept.call)])


def _read(text: str) -> Kept:
    answer, call = json.loads(text)
    return Kept(answer, Call(*call))
