"""Writing a run: a directory with a manifest, attributes, results and a summary."""

from __future__ import annotations

import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Final, NamedTuple, Protocol, Self

from fieldmark.errors import ConfigError, DataError, Location, RunStopped, StorageError
from fieldmark.metrics.summary import Summary, summary_to_json
from fieldmark.model.json import JsonObject
from fieldmark.runs.attribute_table import AttributeTreeWriter, NumberedAttribute
from fieldmark.runs.case_rows import segment_of
from fieldmark.runs.disk import DISK, PART, write_atomic
from fieldmark.runs.lock import LOCK, RunLock, directory_lock
from fieldmark.runs.manifest import Manifest, RunStatus, headline_of
from fieldmark.values.json_text import pretty_json, read_json, strict_json
from fieldmark.values.records import to_json

MANIFEST: Final = "manifest.json"
ATTRIBUTES: Final = "attributes.jsonl"
RESULTS: Final = "results.jsonl"
SUMMARY: Final = "summary.json"
SPENT_LOG: Final = "spent.jsonl"
"""A file that only a run has that is not complete; then its summary contains the totals."""
TARGET_CACHE: Final = "target-cache"
LONGEST_ROW: Final = 256 << 20
"""The maximum size of a row: two documents of maximum size, with all outcomes."""
_SEQUENCE: Final = re.compile(rb'"sequence":\s*(\d{1,18})\b')
_HEAD: Final = 256
"""The number of bytes at the start of a manifest that contain its sequence number."""
_TORN: Final = "results.torn-"
_SYNC_BYTES: Final = 8 << 20
_SYNC_SECONDS: Final = 1.0


def new_run_id() -> str:
    """Return a unique name for a run that sorts by time."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{os.urandom(16).hex()}"


class WholeResults(NamedTuple):
    """The complete part of a results file: its size in bytes and the next segment number."""

    size: int = 0
    next_segment: int = 0


class RunCopy(Protocol):
    """A remote copy of a run, which is updated while the run is written."""

    def write_manifest(self, content: bytes, *, complete: bool) -> None:
        """Write the manifest; everything that it describes is already copied."""

    def add_rows(self, size: int, *, at_once: bool = False) -> None:
        """Copy the rows up to this size in bytes with their attributes, if it is time to."""

    def finish(self) -> None:
        """Copy all other files of a finished run."""


class RunDirectory:
    """The directory of one run, written by one process.

    Use it as a context manager: a run that ends with an error stays on disk and is marked `failed`
    or `interrupted`. With `stored` attributes, an interrupted run is resumed after its complete
    segments (`whole`). `after_rows` is called after rows are written.
    """

    def __init__(
        self,
        path: Path,
        manifest: Manifest,
        *,
        stored: Sequence[NumberedAttribute] | None = None,
        copy: RunCopy | None = None,
    ) -> None:
        self.path = path
        self.manifest = replace(
            manifest, status=RunStatus.RUNNING, started_at=manifest.started_at or _now()
        )
        self.whole = WholeResults()
        self.after_rows: Callable[[], None] | None = None
        self._stored = stored
        self._copy = copy
        self._lock = RunLock(path)
        self._ours = False
        self._tree = AttributeTreeWriter()
        self._attributes = self._results = self._spent = -1
        self._spent_lock = threading.Lock()
        self._size = self._pending = self._appended = 0
        self._synced = time.monotonic()
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        try:
            DISK.make_directory(self.path)
        except OSError as error:
            raise StorageError(f"cannot use directory {self.path}: {error.strerror}") from error
        if self._stored is None and not (self.path / LOCK).exists():
            # Check before the lock file is created in a directory with other files.
            self._check_empty()
        self._stack.enter_context(self._lock)
        try:
            self._begin()
        except BaseException as error:
            self.__exit__(type(error))
            raise
        return self

    def _begin(self) -> None:
        if self._stored is None:
            self._check_empty()
        else:
            self.whole = _cut_torn_tail(self.path / RESULTS)
            self._size = self._appended = self.whole.size
        for left in self.path.glob(f".*{PART}"):
            # A temporary file of an interrupted write; only the owner of the lock may remove it.
            with suppress(OSError):
                DISK.remove(left)
        self._ours = True
        self._lock.write_owner()
        if self._stored is not None:
            self._write_manifest()
            self._rewrite_attributes(self._stored)
        else:
            root = self.path.absolute().parent
            with directory_lock(root):
                self.manifest = replace(self.manifest, sequence=_next_sequence(root))
                self._write_manifest()
        try:
            self._attributes = DISK.open_append(self.path / ATTRIBUTES)
            self._results = DISK.open_append(self.path / RESULTS)
            DISK.sync_directory(self.path)
        except OSError as error:
            raise StorageError(f"cannot write {self.path}: {error.strerror}") from error

    def _check_empty(self) -> None:
        try:
            names = {entry.name for entry in self.path.iterdir() if entry.suffix != PART}
        except OSError as error:
            raise StorageError(f"cannot use directory {self.path}: {error.strerror}") from error
        if names - {LOCK}:
            raise ConfigError.of(
                f"{self.path} is not empty", hint="use a new directory; runs are never overwritten"
            )

    @property
    def files(self) -> tuple[int, ...]:
        """The open file descriptors, which forked processes must close."""
        return tuple(
            file
            for file in (self._lock.file, self._attributes, self._results, self._spent)
            if file >= 0
        )

    @property
    def target_cache(self) -> Path:
        """The directory for responses of a target, which exists until the run is complete."""
        return self.path / TARGET_CACHE

    def append(self, rows: Iterable[bytes], attributes: Iterable[NumberedAttribute] = ()) -> None:
        """Append the rows of a segment, and the attributes that they use for the first time.

        Rows are synchronized to disk within about a second, attributes before them.
        """
        if self._results < 0:
            raise StorageError(f"{self.path} is not open for writing")
        described = self._described(attributes)
        try:
            if described:
                DISK.write(self._attributes, described)
                DISK.sync(self._attributes)
            for content in _joined(rows):
                DISK.write(self._results, content)
                self._pending += len(content)
                self._size += len(content)
                now = time.monotonic()
                if self._pending >= _SYNC_BYTES or now - self._synced >= _SYNC_SECONDS:
                    self._sync()
        except OSError as error:
            raise StorageError(f"cannot write {self.path / RESULTS}: {error.strerror}") from error
        self._appended = self._size
        if self.after_rows is not None:
            self.after_rows()
        if self._copy is not None:
            self._copy.add_rows(self._appended)

    def _described(self, attributes: Iterable[NumberedAttribute]) -> bytes:
        try:
            return b"".join(
                strict_json(record) + b"\n" for record in self._tree.records(attributes)
            )
        except ValueError as error:
            raise DataError(str(error), Location(str(self.path / ATTRIBUTES))) from error

    def _rewrite_attributes(self, attributes: Iterable[NumberedAttribute]) -> None:
        """Write all attributes in the order of their numbers, which does not depend on workers."""
        self._tree = AttributeTreeWriter()
        content = self._described(sorted(attributes, key=lambda numbered: numbered[0]))
        write_atomic(self.path / ATTRIBUTES, content)

    def append_spent(self, record: JsonObject) -> None:
        """Append a change of the cost of models, or a response that rows use; thread-safe.

        It is not synchronized to disk, so it outlives this process, but not a power failure. Calls
        that end after the run was closed are not recorded.
        """
        with self._spent_lock:
            if self._results < 0:
                return
            try:
                if self._spent < 0:
                    self._spent = DISK.open_append(self.path / SPENT_LOG)
                # The newline is first, so that it also ends a line that was not written completely.
                DISK.write(self._spent, b"\n" + strict_json(record))
            except OSError as error:
                message = f"cannot write {self.path / SPENT_LOG}: {error.strerror}"
                raise StorageError(message) from error

    def read_spent(self) -> list[JsonObject]:
        """Return the records that were appended before the run was interrupted."""
        try:
            lines = (self.path / SPENT_LOG).read_bytes().split(b"\n")
        except OSError:
            return []
        records: list[JsonObject] = []
        for line in filter(None, lines):
            with suppress(ValueError):
                record = read_json(line)
                records += [record] if isinstance(record, dict) else []
        return records

    def finish(
        self,
        summary: Summary,
        *,
        lists: JsonObject,
        before_end: Callable[[], object] = lambda: None,
    ) -> None:
        """Close the results, write the summary, and mark the run complete.

        `before_end` is called when everything but the manifest is written. A list of runs reads
        only the manifest if the files have the sizes recorded in it.
        """
        self._close()
        self._rewrite_attributes(self._tree.attributes.items())
        content = pretty_json(summary_to_json(summary))
        write_atomic(self.path / SUMMARY, content)
        headline = headline_of(summary, summary_bytes=len(content), results_bytes=self._size)
        self.manifest = replace(
            self.manifest,
            status=RunStatus.COMPLETE,
            finished_at=_now(),
            headline=headline,
            lists=lists,
            exports=summary.exports,
        )
        before_end()
        if self._copy is not None:
            self._copy.finish()
        self._write_manifest()
        if (self.path / SPENT_LOG).exists():
            with suppress(OSError):
                DISK.remove(self.path / SPENT_LOG)
        if self.target_cache.exists():
            # The results contain the responses now.
            shutil.rmtree(self.target_cache, ignore_errors=True)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._stack:
            if kind is None or not self._ours:
                return
            interrupted = issubclass(kind, KeyboardInterrupt | RunStopped)
            status = RunStatus.INTERRUPTED if interrupted else RunStatus.FAILED
            self.manifest = replace(self.manifest, status=status)
            # The original error is more important than a manifest that cannot be written.
            with suppress(StorageError):
                self._close()
            if self._copy is not None:
                with suppress(StorageError):
                    self._copy.add_rows(self._appended, at_once=True)
            try:
                self._write_manifest()
            except StorageError:
                with suppress(OSError):
                    self._overwrite_status(status)

    def _overwrite_status(self, status: str) -> None:
        """Change the status in the manifest in place, which needs no space on a full disk."""
        before, after = b'"status": "running"', f'"status": "{status}"'.encode()
        at = (self.path / MANIFEST).read_bytes().find(before)
        if at >= 0 and len(after) <= len(before):
            DISK.overwrite(self.path / MANIFEST, at, after.ljust(len(before)))

    def _close(self) -> None:
        if self._results < 0:
            return
        try:
            self._sync()
        except OSError as error:
            raise StorageError(f"cannot write {self.path / RESULTS}: {error.strerror}") from error
        finally:
            with self._spent_lock:
                files = [self._attributes, self._results, self._spent]
                self._attributes = self._results = self._spent = -1
            for file in filter(lambda file: file >= 0, files):
                with suppress(OSError):
                    DISK.close(file)

    def _sync(self) -> None:
        DISK.sync(self._results)
        self._pending = 0
        self._synced = time.monotonic()

    def _write_manifest(self) -> None:
        content = pretty_json(to_json(self.manifest))
        write_atomic(self.path / MANIFEST, content)
        if self._copy is not None:
            self._copy.write_manifest(content, complete=self.manifest.status is RunStatus.COMPLETE)


def _joined(rows: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the rows together, but not more than can be held in memory."""
    if isinstance(rows, list) and sum(map(len, rows)) < _SYNC_BYTES:
        yield b"".join(rows)
        return
    held: list[bytes] = []
    size = 0
    for row in rows:
        held.append(row)
        size += len(row)
        if size >= _SYNC_BYTES:
            yield b"".join(held)
            held, size = [], 0
    yield b"".join(held)


def _next_sequence(root: Path) -> int:
    """Return one more than the highest sequence number of the runs in a directory."""
    highest = 0
    with suppress(OSError), os.scandir(root) as entries:
        for entry in entries:
            with suppress(OSError), open(f"{entry.path}/{MANIFEST}", "rb") as file:  # noqa: PTH123 - faster
                if number := _SEQUENCE.search(file.read(_HEAD)):
                    highest = max(highest, int(number[1]))
    return highest + 1


def whole_results(path: Path) -> WholeResults:
    """Return the part of a results file up to its last complete segment.

    The rest was being written when the run was interrupted. A corrupt row before a complete
    segment is an error.
    """
    whole, left, segment = WholeResults(), 0, 0
    corrupt: int | None = None
    try:
        with path.open("rb") as file:
            for number, (end, row) in enumerate(_rows(file), 1):
                started = None if row is None else segment_of(row)
                if corrupt is not None and started is not None:
                    raise DataError(
                        "corrupt row; nothing was changed", Location(str(path), corrupt)
                    )
                if row is None or (started is None) == (left == 0):
                    corrupt = corrupt or number
                    continue
                if started is not None:
                    segment, left = started
                left -= 1
                if left == 0 and corrupt is None:
                    whole = WholeResults(end, segment + 1)
    except FileNotFoundError:
        return WholeResults()
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror}") from error
    return whole


def _rows(file: IO[bytes]) -> Iterator[tuple[int, JsonObject | None]]:
    """Yield the end of each line, and its row if it is valid."""
    end = 0
    while line := file.readline(LONGEST_ROW):
        end += len(line)
        row = None
        if line.endswith(b"\n"):
            with suppress(ValueError):
                row = read_json(line)
        yield end, row if isinstance(row, dict) else None


def _cut_torn_tail(path: Path) -> WholeResults:
    """Move an incomplete segment at the end of the results to its own file."""
    whole = whole_results(path)
    try:
        if not path.exists() or path.stat().st_size == whole.size:
            return whole
        number = 1
        while (torn := path.with_name(f"{_TORN}{number}")).exists():
            number += 1
        with path.open("rb") as file:
            file.seek(whole.size)
            write_atomic(torn, file.read())
        opened = DISK.open_append(path)
        try:
            DISK.truncate(opened, whole.size)
            DISK.sync(opened)
        finally:
            DISK.close(opened)
    except OSError as error:
        raise StorageError(f"cannot truncate {path}: {error.strerror}") from error
    return whole


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
