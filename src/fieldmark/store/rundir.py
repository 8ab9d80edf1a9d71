"""A run on disk: a folder of its own with `manifest.json`, `results.jsonl` and `summary.json`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Self

from fieldmark.errors import ConfigError, StorageError
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.store.disk import DISK, Disk
from fieldmark.store.durable import PART, write_whole
from fieldmark.store.heads import headline
from fieldmark.store.lock import LOCK, RunLock
from fieldmark.store.recovery import Whole, cut_torn_tail
from fieldmark.values.json_text import pretty_json, read_json

__all__ = ["BOOKS", "MANIFEST", "RESULTS", "SUMMARY", "RunFolder", "new_run_id"]

MANIFEST: Final = "manifest.json"
RESULTS: Final = "results.jsonl"
SUMMARY: Final = "summary.json"
BOOKS: Final = "usage.json"
_SYNC_BYTES: Final = 8 << 20
_SYNC_SECONDS: Final = 1.0


def new_run_id() -> str:
    """A name for a run that sorts by time and does not collide."""
    import secrets  # readers of runs name none

    return f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{secrets.token_hex(8)}"


class RunFolder:
    """The folder of one run, from its first row to its summary, held by one process.

    Use it as a context manager: a run that ends in an error stays on disk, marked `failed` or
    `interrupted`. With `resumed`, a run that did not end goes on: `whole` says from where.
    `after_rows` is called when rows were written.
    """

    __slots__ = (
        "_booked",
        "_disk",
        "_lock",
        "_manifest",
        "_ours",
        "_pending",
        "_results",
        "_resumed",
        "_size",
        "_stack",
        "_synced",
        "after_rows",
        "path",
        "whole",
    )

    def __init__(
        self, path: Path, manifest: JsonObject, *, resumed: bool = False, disk: Disk = DISK
    ) -> None:
        self.path = path
        self.whole = Whole()
        self._resumed = resumed
        self._disk = disk
        self._manifest: JsonObject = {"format": 1, **manifest, "status": "running"}
        self._manifest.setdefault("started_at", _now())
        self._lock = RunLock(path)
        self._ours = False
        self._results = -1
        self._size = 0
        self._booked = False
        self.after_rows: Callable[[], None] | None = None
        self._pending = 0
        self._synced = time.monotonic()
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        try:
            self._disk.make_folder(self.path)
        except OSError as error:
            raise StorageError(f"cannot use {self.path}: {error.strerror}") from error
        if not self._resumed and not (self.path / LOCK).exists():
            # Nothing is put into a folder that belongs to something else.
            self._refuse_occupied()
        self._stack.enter_context(self._lock)
        try:
            self._begin()
        except BaseException as error:
            self.__exit__(type(error))
            raise
        return self

    def _begin(self) -> None:
        if self._resumed:
            self.whole = cut_torn_tail(self.path / RESULTS, self._disk)
            self._size = self.whole.size
        else:
            self._refuse_occupied()
        self._sweep()
        self._ours = True
        self._lock.sign()
        self._write_manifest()
        try:
            self._results = self._disk.open_append(self.path / RESULTS)
            self._disk.sync_folder(self.path)
        except OSError as error:
            raise StorageError(f"cannot write {self.path}: {error.strerror}") from error

    def _sweep(self) -> None:
        """Remove files that never came into their place; only the owner of the lock may."""
        for left in self.path.glob(f".*{PART}"):
            with suppress(OSError):
                self._disk.remove(left)

    def _refuse_occupied(self) -> None:
        try:
            names = {each.name for each in self.path.iterdir() if each.suffix != PART}
        except OSError as error:
            raise StorageError(f"cannot use {self.path}: {error.strerror}") from error
        if names - {LOCK}:
            raise ConfigError.of(
                f"{self.path} is not empty.",
                hint="Name a new folder: a run never writes over another.",
            )

    def told(self, key: str) -> JsonValue:
        """What the manifest says under a key."""
        return self._manifest.get(key)

    @property
    def files(self) -> tuple[int, ...]:
        """The numbers of the files that are open; who does part of the work must close them."""
        return tuple(file for file in (self._lock.file, self._results) if file >= 0)

    def append(self, rows: Iterable[bytes]) -> None:
        """Add the lines of a segment; they are on the disk a second later at most."""
        if self._results < 0:
            raise StorageError(f"{self.path} is not open for writing")
        content = b"".join(rows)
        try:
            self._disk.write(self._results, content)
            self._pending += len(content)
            self._size += len(content)
            now = time.monotonic()
            if self._pending >= _SYNC_BYTES or now - self._synced >= _SYNC_SECONDS:
                self._sync()
        except OSError as error:
            raise StorageError(f"cannot write {self.path / RESULTS}: {error.strerror}") from error
        if self.after_rows is not None:
            self.after_rows()

    def keep_books(self, asked: Sequence[JsonObject]) -> None:
        """Write down what models took so far: only this file still knows if the run breaks off."""
        self._booked = True
        content = pretty_json({"format": 1, "asked": list(asked)})
        write_whole(self.path / BOOKS, content, self._disk)

    def books(self) -> list[JsonObject]:
        """What models took before the run was broken off, as far as that was written down."""
        try:
            said = read_json((self.path / BOOKS).read_bytes())
        except (OSError, ValueError):
            return []
        self._booked = True
        asked = said.get("asked") if isinstance(said, dict) else None
        return [each for each in asked if isinstance(each, dict)] if isinstance(asked, list) else []

    def finish(self, summary: JsonObject, facts: JsonObject) -> None:
        """Close the results, write the summary, and mark the run complete.

        A list of runs needs the manifest alone as long as the files have the sizes it tells.
        """
        self._close()
        content = pretty_json(summary)
        write_whole(self.path / SUMMARY, content, self._disk)
        told: JsonObject = {"headline": headline(summary), "bytes": [len(content), self._size]}
        self._manifest |= {**told, **facts, "status": "complete", "finished_at": _now()}
        self._write_manifest()
        if self._booked:
            # The summary has it now.
            with suppress(OSError):
                self._disk.remove(self.path / BOOKS)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._stack:
            if kind is None or not self._ours:
                return
            interrupted = issubclass(kind, KeyboardInterrupt)
            self._manifest |= {"status": "interrupted" if interrupted else "failed"}
            # The error on its way out says more than a manifest that could not be written.
            with suppress(StorageError):
                self._close()
            with suppress(StorageError):
                self._write_manifest()

    def _close(self) -> None:
        if self._results >= 0:
            try:
                self._sync()
            except OSError as error:
                said = f"cannot write {self.path / RESULTS}: {error.strerror}"
                raise StorageError(said) from error
            finally:
                results, self._results = self._results, -1
                with suppress(OSError):
                    self._disk.close(results)

    def _sync(self) -> None:
        self._disk.sync(self._results)
        self._pending = 0
        self._synced = time.monotonic()

    def _write_manifest(self) -> None:
        write_whole(self.path / MANIFEST, pretty_json(self._manifest), self._disk)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
