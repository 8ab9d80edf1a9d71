"""A cache of target responses in a directory, keyed by everything that they depend on."""

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
from fieldmark.runs.disk import write_atomic
from fieldmark.runs.targets.target import TargetCall, TargetResponse
from fieldmark.values.equality import canonical_text
from fieldmark.values.json_text import all_finite, strict_json

_FORMAT: Final = 1
_KINDS: Final = ("text", "value")


class TargetCache:
    """A directory of responses; failures are not cached, and corrupt entries are replaced."""

    def __init__(self, directory: Path, identity: JsonObject, warn: Callable[[str], None]) -> None:
        self._directory = directory
        self._identity = identity
        self._warn = warn
        self._pending: dict[str, Future[TargetResponse]] = {}
        self._lock = threading.Lock()
        self._unwritable = False

    def cached(self, call: TargetCall) -> TargetCall:
        """Wrap a call in the cache; identical requests at the same time are sent once."""

        def cached_call(request: JsonObject) -> TargetResponse:
            key = self.key(request)
            with self._lock:
                pending = self._pending.get(key)
                own: Future[TargetResponse] = Future()
                if pending is None:
                    self._pending[key] = own
            if pending is not None:
                return pending.result()
            try:
                own.set_result(self._load(key) or self._store(key, call(request)))
            except BaseException as error:
                own.set_exception(error)
                raise
            finally:
                with self._lock:
                    del self._pending[key]
            return own.result()

        return cached_call

    def key(self, request: JsonObject) -> str:
        """Return the key of a request."""
        depends_on: JsonObject = {"format": _FORMAT, "target": self._identity, "request": request}
        return hashlib.sha256(canonical_text(depends_on)).hexdigest()

    def path(self, key: str) -> Path:
        """Return the file of a cached response."""
        return self._directory / key[:2] / f"{key}.json"

    def _load(self, key: str) -> TargetResponse | None:
        path = self.path(key)
        try:
            return _read_entry(parse_json(path.read_bytes()), key)
        except FileNotFoundError:
            return None
        except (DataError, OSError) as error:
            why = error.message if isinstance(error, DataError) else error.strerror
            self._warn(f"{path}: invalid cached response, requested again: {why}")
            return None

    def _store(self, key: str, response: TargetResponse) -> TargetResponse:
        if response.failure or self._unwritable:
            return response
        if response.value is not MISSING and not all_finite(response.value):
            return response  # JSON cannot represent it
        kind, content = (
            ("value", response.value) if response.text is None else ("text", response.text)
        )
        entry = {"format": _FORMAT, "key": key, kind: content}
        try:
            with self._lock:
                if not self._directory.is_dir():
                    self._directory.mkdir(parents=True, exist_ok=True)
                    # Responses quote documents, which do not belong in a repository.
                    write_atomic(self._directory / ".gitignore", b"*\n")
            self.path(key).parent.mkdir(exist_ok=True)
            write_atomic(self.path(key), strict_json(entry))
        except (StorageError, OSError) as error:
            self._unwritable = True
            self._warn(f"responses are no longer cached: {error}")
        return response


def _read_entry(entry: object, key: str) -> TargetResponse:
    if not isinstance(entry, dict) or entry.get("format") != _FORMAT or entry.get("key") != key:
        raise DataError("belongs to another request")
    kinds = [kind for kind in _KINDS if kind in entry]
    if kinds == ["text"] and isinstance(entry["text"], str):
        return TargetResponse(text=entry["text"])
    if kinds == ["value"]:
        return TargetResponse(value=entry["value"])
    raise DataError("contains no response")
