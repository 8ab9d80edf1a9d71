"""Files below declared root folders, opened so that no path and no link leads out of them.

A path is split first and opened step by step, each relative to the folder opened before it and
never through a link. What was opened is what is read: nothing is looked up by name a second time.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from fieldmark.server.api_errors import ApiError, ErrorCode

__all__ = ["DataRoots", "FileEntry", "OpenedPath"]

_STEP: Final = re.compile(r"[^/\\\0-\x1f\x7f%:]{1,255}")
_MAX_STEPS: Final = 64
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Without O_NONBLOCK, opening a pipe without a writer would wait."""


class FileEntry(NamedTuple):
    """A file or folder in a listing."""

    name: str
    folder: bool
    bytes: int


class OpenedPath:
    """An open file or folder."""

    __slots__ = ("_mode", "fd", "name")

    def __init__(self, name: str, fd: int) -> None:
        self.name = name
        self.fd = fd
        self._mode = os.fstat(fd).st_mode

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return stat.S_ISDIR(self._mode)

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file: no device, pipe or socket."""
        return stat.S_ISREG(self._mode)


class DataRoots:
    """The declared roots by name; the first step of a path names the root."""

    def __init__(self, roots: Mapping[str, Path]) -> None:
        self._roots = {name: os.path.realpath(path) for name, path in roots.items()}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the roots."""
        return tuple(self._roots)

    def location(self, path: str) -> str:
        """Return where a path is on this machine; never send that in a response."""
        root, *steps = _split(path)
        return os.path.join(self._roots[root], *steps)  # noqa: PTH118 - as it was opened

    @contextmanager
    def open(self, path: str) -> Iterator[OpenedPath]:
        """Open a path; the error is the same whatever is wrong with it."""
        root, *steps = _split(path)
        if root not in self._roots:
            raise _outside_roots()
        with ExitStack() as stack:
            fd = _open(self._roots[root], None, _FOLDER, stack)
            for step in steps[:-1]:
                fd = _open(step, fd, _FOLDER, stack)
            if steps:
                fd = _open(steps[-1], fd, _FILE, stack)
            opened = OpenedPath(path, fd)
            if not (opened.is_file or opened.is_folder):
                raise _outside_roots()
            yield opened

    def files_in(self, folder: OpenedPath, limit: int) -> Iterator[OpenedPath]:
        """Open the regular files of a folder by name; links and special files are skipped."""
        names: list[str] = []
        with os.scandir(folder.fd) as entries:
            for entry in entries:
                names.append(entry.name)
                if len(names) > limit:
                    message = f"A folder has at most {limit:,} files."
                    raise ApiError(ErrorCode.LIMIT_EXCEEDED, message)
        for name in sorted(names):
            with ExitStack() as stack:
                try:
                    opened = OpenedPath(name, _open(name, folder.fd, _FILE, stack))
                except ApiError:
                    continue
                if opened.is_file:
                    yield opened

    def list_folder(self, path: str, limit: int) -> list[FileEntry]:
        """List the files and folders in a folder; links and hidden files are skipped."""
        found: list[FileEntry] = []
        with self.open(path) as folder:
            if not folder.is_folder:
                raise _outside_roots()
            with os.scandir(folder.fd) as entries:
                for entry in entries:
                    status = entry.stat(follow_symlinks=False)
                    is_folder = stat.S_ISDIR(status.st_mode)
                    visible = _STEP.fullmatch(entry.name) and not entry.name.startswith(".")
                    if visible and (is_folder or stat.S_ISREG(status.st_mode)):
                        size = 0 if is_folder else status.st_size
                        found.append(FileEntry(entry.name, is_folder, size))
                    if len(found) >= limit:
                        break
        return sorted(found, key=lambda entry: (not entry.folder, entry.name))


def _outside_roots() -> ApiError:
    message = "The path does not name a file below a declared root."
    return ApiError(ErrorCode.OUTSIDE_ROOTS, message)


def _split(path: str) -> list[str]:
    """Split a path into steps that can only lead down."""
    steps = path.split("/")
    if len(steps) > _MAX_STEPS or not all(map(_is_valid_step, steps)):
        raise _outside_roots()
    return steps


def _is_valid_step(step: str) -> bool:
    try:
        step.encode()
    except UnicodeEncodeError:
        return False
    # Some file systems ignore a dot or blank at the end of a name.
    return bool(_STEP.fullmatch(step)) and not step.endswith((".", " "))


def _open(name: str, folder: int | None, flags: int, stack: ExitStack) -> int:
    try:
        fd = os.open(name, flags, dir_fd=folder)
    except (OSError, ValueError):
        raise _outside_roots() from None
    stack.callback(os.close, fd)
    return fd
