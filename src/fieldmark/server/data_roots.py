"""Files below declared roots, opened so that no name and no link leads out of them.

A path is taken apart first and opened one step after the other, each below the folder that was
opened before it and never through a link. What was opened is what is read: nothing is looked at
by name a second time.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from fieldmark.server.api_errors import ApiError, ErrorCode

__all__ = ["DataRoots", "OpenedPath"]

_STEP: Final = re.compile(r"[^/\\\0-\x1f\x7f%:]{1,255}")
_MOST_STEPS: Final = 64
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Without blocking, so that a pipe that nobody writes to is seen to be one."""
_OUTSIDE: Final = "The path does not name a file below a declared root."


class OpenedPath:
    """A file or folder that was opened, by its name for people."""

    __slots__ = ("name", "number", "state")

    def __init__(self, name: str, number: int) -> None:
        self.name = name
        self.number = number
        self.state = os.fstat(number)

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return stat.S_ISDIR(self.state.st_mode)

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file: no device, no pipe, no socket."""
        return stat.S_ISREG(self.state.st_mode)


class DataRoots:
    """The declared roots by name; the first step of a path says which."""

    def __init__(self, roots: Mapping[str, Path]) -> None:
        self._roots = {name: os.path.realpath(path) for name, path in roots.items()}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the roots."""
        return tuple(self._roots)

    def where(self, path: str) -> str:
        """Where a path below a root is on this machine: for its owner, never for an answer."""
        root, *steps = _steps(path)
        return os.path.join(self._roots[root], *steps)  # noqa: PTH118 - as it was opened

    @contextmanager
    def opened(self, path: str) -> Iterator[OpenedPath]:
        """Open what a path names; whatever is wrong with it, the answer is the same."""
        root, *steps = _steps(path)
        if root not in self._roots:
            raise ApiError(ErrorCode.OUTSIDE_ROOTS, _OUTSIDE)
        with ExitStack() as stack:
            number = _open(self._roots[root], None, _FOLDER, stack)
            for step in steps[:-1]:
                number = _open(step, number, _FOLDER, stack)
            if steps:
                number = _open(steps[-1], number, _FILE, stack)
            place = OpenedPath(path, number)
            if not (place.is_file or place.is_folder):
                raise ApiError(ErrorCode.OUTSIDE_ROOTS, _OUTSIDE)
            yield place

    def inside(self, folder: OpenedPath, most: int) -> Iterator[OpenedPath]:
        """The regular files in an opened folder, by name; links and other things are left out."""
        names: list[str] = []
        with os.scandir(folder.number) as found:
            for each in found:
                names.append(each.name)
                if len(names) > most:
                    raise ApiError(
                        ErrorCode.LIMIT_EXCEEDED, f"A folder has at most {most:,} files."
                    )
        for name in sorted(names):
            with ExitStack() as stack:
                try:
                    number = _open(name, folder.number, _FILE, stack)
                except ApiError:
                    continue
                place = OpenedPath(name, number)
                if place.is_file:
                    yield place

    def listed(self, path: str, most: int) -> list[tuple[str, bool, int]]:
        """What is in a folder: name, whether it is a folder, bytes; links are left out."""
        with self.opened(path) as place:
            if not place.is_folder:
                raise ApiError(ErrorCode.OUTSIDE_ROOTS, _OUTSIDE)
            entries: list[tuple[str, bool, int]] = []
            with os.scandir(place.number) as found:
                for each in found:
                    state = each.stat(follow_symlinks=False)
                    folder = stat.S_ISDIR(state.st_mode)
                    shown = _STEP.fullmatch(each.name) and not each.name.startswith(".")
                    if shown and (folder or stat.S_ISREG(state.st_mode)):
                        entries.append((each.name, folder, 0 if folder else state.st_size))
                    if len(entries) >= most:
                        break
        return sorted(entries, key=lambda entry: (not entry[1], entry[0]))


def _steps(path: str) -> list[str]:
    """The steps of a path that can only lead down."""
    steps = path.split("/")
    if len(steps) > _MOST_STEPS or not all(map(_is_step, steps)):
        raise ApiError(ErrorCode.OUTSIDE_ROOTS, _OUTSIDE)
    return steps


def _is_step(step: str) -> bool:
    # A name that ends with a dot or a blank is another name on some systems.
    return bool(_STEP.fullmatch(step)) and not step.endswith((".", " ")) and not _is_odd(step)


def _is_odd(step: str) -> bool:
    """Whether a name cannot be written in UTF-8."""
    try:
        step.encode()
    except UnicodeEncodeError:
        return True
    return False


def _open(name: str, above: int | None, flags: int, stack: ExitStack) -> int:
    try:
        number = os.open(name, flags, dir_fd=above)
    except (OSError, ValueError):
        raise ApiError(ErrorCode.OUTSIDE_ROOTS, _OUTSIDE) from None
    stack.callback(os.close, number)
    return number
