"""Runs in object stores: written to a local directory and uploaded, or downloaded to be read.

An object store cannot append to a file, so the rows of a running run are uploaded in parts, from
which it can be resumed on any machine. The manifest is uploaded last: a run whose manifest says
that it is complete has all of its files.
"""

from __future__ import annotations

import hashlib
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from fieldmark.data.input_files import is_url
from fieldmark.data.remote_files import RemoteDirectory
from fieldmark.errors import ConfigError, DataError, Location, StorageError
from fieldmark.judges.llm.response_cache import default_cache_file
from fieldmark.runs.disk import write_atomic
from fieldmark.runs.lock import LOCK, RunLock, directory_lock
from fieldmark.runs.manifest import Manifest
from fieldmark.runs.run_directory import (
    ATTRIBUTES,
    MANIFEST,
    RESULTS,
    SPENT_LOG,
    SUMMARY,
    TARGET_CACHE,
)
from fieldmark.runs.run_index import NOTES, delete_files
from fieldmark.values.json_text import read_document
from fieldmark.values.records import from_json

_PARTS: Final = "parts"
"""The directory of the rows of a run that is not complete, in files named after their offset."""
_PART_BYTES: Final = 64 << 20
_PART_SECONDS: Final = 60.0
"""Rows are uploaded when there are this many bytes, or after this time."""
_FORBIDDEN: Final = re.compile(r'[<>:"|*\\]')
"""Characters that file names of Windows cannot contain."""


class RunUpload:
    """The copy of a run in an object store; `path` is the local directory to write it to."""

    def __init__(self, url: str, *, resume: bool) -> None:
        self._remote = RemoteDirectory(url)
        if self._remote.is_read_only:
            message = f"{self._remote.name}: runs cannot be written to a web server"
            raise ConfigError.of(message, hint="use a directory or an object store such as s3://")
        self._owned = resume
        if resume:
            self.path = fetch_run(url)
            self._uploaded = _size(self.path / RESULTS)
        else:
            if self._remote.list():
                raise self._not_empty()
            self.path = _cache(url)
            self._uploaded = 0
            _clear(self.path)
        self._attributes = b""
        self._last = time.monotonic()

    def write_manifest(self, content: bytes, *, complete: bool) -> None:
        """Write the manifest; a new run must be the first to write one."""
        if not self._owned:
            try:
                self._remote.write(MANIFEST, content, new=True)
            except FileExistsError:
                raise self._not_empty() from None
            self._owned = True
            return
        self._remote.write(MANIFEST, content)
        if complete:
            for name in self._remote.list(_PARTS):
                self._remote.remove(f"{_PARTS}/{name}")
            if (self.path / SPENT_LOG).exists():
                self._remote.remove(SPENT_LOG)

    def add_rows(self, size: int, *, at_once: bool = False) -> None:
        """Upload the rows up to this size in bytes with their attributes, if it is time to."""
        due = size - self._uploaded >= _PART_BYTES or time.monotonic() - self._last >= _PART_SECONDS
        if not self._owned or size == self._uploaded or not (due or at_once):
            return
        attributes = (self.path / ATTRIBUTES).read_bytes()
        if attributes != self._attributes:
            self._remote.write(ATTRIBUTES, attributes)
            self._attributes = attributes
        with suppress(FileNotFoundError):
            self._remote.write(SPENT_LOG, (self.path / SPENT_LOG).read_bytes())
        with (self.path / RESULTS).open("rb") as file:
            while self._uploaded < size:
                file.seek(self._uploaded)
                rows = file.read(min(size - self._uploaded, _PART_BYTES))
                self._remote.write(f"{_PARTS}/{self._uploaded:015}", rows)
                self._uploaded += len(rows)
        self._last = time.monotonic()

    def finish(self) -> None:
        """Upload all files but the manifest."""
        for path in sorted(self.path.rglob("*")):
            name = path.relative_to(self.path).as_posix()
            temporary = name in {MANIFEST, LOCK, SPENT_LOG} or name.startswith(f"{TARGET_CACHE}/")
            if path.is_file() and not temporary:
                self._remote.upload(path, name)

    def _not_empty(self) -> ConfigError:
        hint = "use a new prefix; runs are never overwritten"
        return ConfigError.of(f"{self._remote.name} is not empty", hint=hint)


def local_copy(run: str | Path) -> str | Path:
    """Return the directory of a run; a run at a URL is downloaded."""
    return fetch_run(run) if is_url(run) else run


def fetch_run(url: str) -> Path:
    """Download a run to the cache and return its directory, unless it is already there.

    The rows of a run that is not complete are put together from their parts.
    """
    remote = RemoteDirectory(url)
    content, manifest = _read_manifest(remote)
    path = _cache(url)
    try:
        with directory_lock(path.parent):
            complete = manifest.status == "complete"
            if complete:
                with suppress(OSError):
                    if (path / MANIFEST).read_bytes() == content:
                        return path
            _clear(path)
            for name in (ATTRIBUTES, SUMMARY, NOTES, SPENT_LOG):
                remote.download(name, path / name)
            if complete:
                remote.download(RESULTS, path / RESULTS)
                sizes = _size(path / SUMMARY), _size(path / RESULTS)
                if manifest.headline and sizes != manifest.headline.sizes:
                    message = (
                        f"{SUMMARY} and {RESULTS} do not have the sizes recorded in {MANIFEST}"
                    )
                    raise DataError(message, Location(remote.name))
            else:
                _join_parts(remote, path / RESULTS)
            write_atomic(path / MANIFEST, content)
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}") from error
    return path


def fetch_manifest(url: str) -> Manifest:
    """Return the manifest of a run."""
    return _read_manifest(RemoteDirectory(url))[1]


def _read_manifest(remote: RemoteDirectory) -> tuple[bytes, Manifest]:
    content = remote.read(MANIFEST)
    if content is None:
        raise DataError(f"run not found; there is no {MANIFEST}", Location(remote.name))
    try:
        return content, from_json(Manifest, read_document(content))
    except ValueError as error:
        raise DataError(str(error), Location(f"{remote.name}/{MANIFEST}")) from error


def _join_parts(remote: RemoteDirectory, path: Path) -> None:
    with path.open("wb") as file:
        for name in remote.list(_PARTS):
            rows = remote.read(f"{_PARTS}/{name}")
            if rows is None or not name.isdigit() or int(name) != file.tell():
                message = f"the rows before {name} are missing"
                raise DataError(message, Location(f"{remote.name}/{_PARTS}"))
            file.write(rows)


def _cache(url: str) -> Path:
    """Return the local directory of a run, which has the same name; its parent exists."""
    root = default_cache_file().parent / "runs"
    url = url.rstrip("/")
    parent = root / hashlib.sha256(url.encode()).hexdigest()[:32]
    try:
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        parent.mkdir(exist_ok=True, mode=0o700)
    except OSError as error:
        raise StorageError(f"cannot use directory {parent}: {error.strerror}") from error
    name = url.rpartition("/")[2].partition("?")[0]
    return parent / (_FORBIDDEN.sub("_", name) or "run")


def _clear(path: Path) -> None:
    """Make an empty directory of the cache, unless another process writes to it."""
    try:
        path.mkdir(exist_ok=True, mode=0o700)
        with RunLock(path):
            delete_files(path)
    except OSError as error:
        raise StorageError(f"cannot use directory {path}: {error.strerror}") from error


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1
