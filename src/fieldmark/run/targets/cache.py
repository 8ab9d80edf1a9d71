"""Answers kept on disk, under a name that follows from all that they depend on."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Final

from fieldmark.data.json_parser import parse_json
from fieldmark.errors import DataError, StorageError
from fieldmark.model.json import MISSING, JsonObject
from fieldmark.run.targets.asking import Asking, Produced
from fieldmark.store.durable import write_whole
from fieldmark.values.canonical import canonical_text
from fieldmark.values.json_text import strict_json
from fieldmark.values.numbers import all_finite

__all__ = ["AnswerCache"]

_FORMAT: Final = 1
_KINDS: Final = ("text", "value")


class AnswerCache:
    """A folder of answers; a failure is never kept, and a broken entry is made anew."""

    __slots__ = ("_folder", "_identity", "_lock", "_under_way", "_unwritable", "_warn")

    def __init__(self, folder: Path, identity: JsonObject, warn: Callable[[str], None]) -> None:
        self._folder = folder
        self._identity = identity
        self._warn = warn
        self._under_way: dict[str, Future[Produced]] = {}
        self._lock = threading.Lock()
        self._unwritable = False

    def asking(self, ask: Asking) -> Asking:
        """Ask only what is not known; who wants to know the same meanwhile waits for that."""

        def asked(request: JsonObject) -> Produced:
            key = self.key(request)
            with self._lock:
                under_way = self._under_way.get(key)
                mine: Future[Produced] = Future()
                if under_way is None:
                    self._under_way[key] = mine
            if under_way is not None:
                return under_way.result()
            try:
                mine.set_result(self._known(key) or self._kept(key, ask(request)))
            except BaseException as error:
                mine.set_exception(error)
                raise
            finally:
                with self._lock:
                    del self._under_way[key]
            return mine.result()

        return asked

    def key(self, request: JsonObject) -> str:
        """The name of the answer to a request."""
        told: JsonObject = {"format": _FORMAT, "target": self._identity, "request": request}
        return hashlib.sha256(canonical_text(told)).hexdigest()

    def place(self, key: str) -> Path:
        """The file of an answer."""
        return self._folder / key[:2] / f"{key}.json"

    def _known(self, key: str) -> Produced | None:
        place = self.place(key)
        try:
            return _read(parse_json(place.read_bytes()), key)
        except FileNotFoundError:
            return None
        except (DataError, OSError) as error:
            why = error.message if isinstance(error, DataError) else error.strerror
            self._warn(f"{place}: this cached answer cannot be used and is asked for again: {why}")
            return None

    def _kept(self, key: str, answer: Produced) -> Produced:
        if answer.failure or self._unwritable:
            return answer
        if answer.value is not MISSING and not all_finite(answer.value):
            return answer  # JSON has no text for it that would be read as the same
        kind, told = ("value", answer.value) if answer.text is None else ("text", answer.text)
        entry = {"format": _FORMAT, "key": key, kind: told}
        try:
            self._make_folder()
            self.place(key).parent.mkdir(exist_ok=True)
            write_whole(self.place(key), strict_json(entry))
        except (StorageError, OSError) as error:
            self._unwritable = True
            self._warn(f"{self._folder}: no further answers are cached: {error}")
        return answer

    def _make_folder(self) -> None:
        with self._lock:
            if self._folder.is_dir():
                return
            self._folder.mkdir(parents=True, exist_ok=True)
            # What models wrote about somebody's documents does not belong into a repository.
            write_whole(self._folder / ".gitignore", b"*\n")


def _read(entry: object, key: str) -> Produced:
    if not isinstance(entry, dict) or entry.get("format") != _FORMAT or entry.get("key") != key:
        raise DataError("it is not the answer to this request")
    kinds = [kind for kind in _KINDS if kind in entry]
    if kinds == ["text"] and isinstance(entry["text"], str):
        return Produced(text=entry["text"])
    if kinds == ["value"]:
        return Produced(value=entry["value"])
    raise DataError("it holds no answer")
