"""A run on disk: a folder of its own with `manifest.json`, `results.jsonl` and `summary.json`."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Final, Self

from fieldmark.errors import ConfigError, StorageError
from fieldmark.model.json import JsonObject
from fieldmark.store.durable import write_whole
from fieldmark.store.json_text import pretty_json

__all__ = ["RESULTS", "RunFolder", "new_run_id"]

MANIFEST: Final = "manifest.json"
RESULTS: Final = "results.jsonl"
SUMMARY: Final = "summary.json"
_BUFFER: Final = 1 << 20


def new_run_id() -> str:
    """A name for a run that sorts by time and does not collide."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{secrets.token_hex(8)}"


class RunFolder:
    """The folder of one run, from its first row to its summary.

    Use it as a context manager: a run that ends in an error stays on disk, marked `failed`.
    """

    __slots__ = ("_manifest", "_results", "path")

    def __init__(self, path: Path, manifest: JsonObject) -> None:
        self.path = path
        self._manifest: JsonObject = {
            "format": 1,
            **manifest,
            "status": "running",
            "started_at": _now(),
        }
        self._results: BinaryIO | None = None

    def __enter__(self) -> Self:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            occupied = any(self.path.iterdir())
        except OSError as error:
            raise StorageError(f"cannot use {self.path}: {error.strerror}") from error
        if occupied:
            raise ConfigError.of(
                f"{self.path} is not empty.",
                hint="Name a new folder: a run never writes over another.",
            )
        self._write_manifest()
        try:
            self._results = (self.path / RESULTS).open("ab", buffering=_BUFFER)
        except OSError as error:
            raise StorageError(f"cannot write {self.path}: {error.strerror}") from error
        return self

    def append(self, rows: Iterable[bytes]) -> None:
        """Add finished lines to the results."""
        if self._results is None:
            raise StorageError(f"{self.path} is not open for writing")
        try:
            self._results.writelines(rows)
        except OSError as error:
            raise StorageError(f"cannot write {self.path / RESULTS}: {error.strerror}") from error

    def finish(self, summary: JsonObject, facts: JsonObject) -> None:
        """Close the results, write the summary, and mark the run complete."""
        self._close()
        write_whole(self.path / SUMMARY, pretty_json(summary))
        self._manifest |= {**facts, "status": "complete", "finished_at": _now()}
        self._write_manifest()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            return
        interrupted = issubclass(kind, KeyboardInterrupt)
        self._manifest |= {"status": "interrupted" if interrupted else "failed"}
        try:
            self._close()
            self._write_manifest()
        except StorageError:
            # The error on its way out says more than a manifest that could not be written.
            return

    def _close(self) -> None:
        if self._results is not None:
            results, self._results = self._results, None
            try:
                results.close()
            except OSError as error:
                raise StorageError(f"cannot write {self.path}: {error.strerror}") from error

    def _write_manifest(self) -> None:
        write_whole(self.path / MANIFEST, pretty_json(self._manifest))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
