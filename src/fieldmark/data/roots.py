"""Files below the configured root directories, which no path and no symbolic link can leave.

A path is split and opened step by step, each step relative to the directory opened before it and
never through a symbolic link. Paths of requests start with the name of a root, and contain no links
at all. Local paths may contain links, which are resolved first, and must not lead out of the roots.

Windows cannot open a file relative to a directory. There, no step may be a link or junction, and
after a file is opened, it must be the file that was checked.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from fieldmark.errors import DataError, LimitError

_STEP: Final = re.compile(r"[^/\\\0-\x1f\x7f%:]{1,255}")
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
_MAX_STEPS: Final = 64
_DEVICE: Final = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?", re.IGNORECASE)
"""Names that are devices in every directory of Windows."""
_JUNCTION: Final = 0xA000_0003
"""The value of IO_REPARSE_TAG_MOUNT_POINT."""
_RELATIVE: Final = hasattr(os, "O_NOFOLLOW") and {os.open, os.scandir} <= (
    os.supports_dir_fd | os.supports_fd
)
"""Whether files are opened relative to a directory, without following links."""
_FILE: Final[int] = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)
"""O_NONBLOCK, because opening a pipe without a writer would block."""
_DIRECTORY: Final[int] = _FILE | getattr(os, "O_DIRECTORY", 0)


class OutsideRootsError(DataError):
    """A path that is not below a root, or cannot be opened; no details are given."""

    def __init__(self) -> None:
        super().__init__("the path is not an accessible file or directory below a root")


class FileEntry(NamedTuple):
    """A file or directory in a listing."""

    name: str
    directory: bool
    bytes: int


class OpenedPath:
    """An open file, directory, device, pipe or socket; Windows does not open directories."""

    def __init__(self, name: str, fd: int | None, path: str) -> None:
        self.name = name
        self.path = path
        self._fd = fd
        mode = stat.S_IFDIR if fd is None else os.fstat(fd).st_mode
        self.is_directory = stat.S_ISDIR(mode)
        self.is_file = stat.S_ISREG(mode)

    @property
    def fd(self) -> int:
        """The descriptor of an open file."""
        if self._fd is None:
            raise OutsideRootsError
        return self._fd

    def entries(self) -> AbstractContextManager[Iterator[os.DirEntry[str]]]:
        """List the entries of a directory."""
        return os.scandir(self.path if self._fd is None else self._fd)

    def open(self, step: str, flags: int, stack: ExitStack, name: str = "") -> OpenedPath:
        """Open an entry of a directory, which is closed with the stack."""
        path = os.path.join(self.path, step)  # noqa: PTH118 - as it is opened
        fd: int | None
        if _RELATIVE:
            try:
                fd = os.open(step, flags, dir_fd=self._fd)
            except (OSError, ValueError):
                raise OutsideRootsError from None
        else:
            fd = _open_checked(path, step)
        if fd is not None:
            stack.callback(os.close, fd)
        return OpenedPath(name or step, fd, path)


class DataRoots:
    """The configured roots by name; the first step of a path is the name of a root."""

    def __init__(self, roots: Mapping[str, Path]) -> None:
        self._roots = {name: os.path.realpath(path) for name, path in roots.items()}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the roots."""
        return tuple(self._roots)

    def location(self, path: str) -> str:
        """Return the local file path, which must never be part of a response."""
        root, *steps = _split(path)
        return os.path.join(self._roots[root], *steps)  # noqa: PTH118 - as it was opened

    @contextmanager
    def open(self, path: str) -> Iterator[OpenedPath]:
        """Open a path; all invalid paths raise the same error."""
        root, *steps = _split(path)
        if root not in self._roots:
            raise OutsideRootsError
        with _open_below(self._roots[root], steps, path) as opened:
            yield opened

    def files_in(self, directory: OpenedPath, limit: int) -> Iterator[OpenedPath]:
        """Open the regular files of a directory, sorted by name; links are skipped."""
        names: list[str] = []
        with directory.entries() as entries:
            for entry in entries:
                names.append(entry.name)
                if len(names) > limit:
                    message = f"the directory has too many files (limit {limit:,})"
                    raise LimitError("files", message)
        for name in sorted(names):
            with ExitStack() as stack:
                try:
                    opened = directory.open(name, _FILE, stack)
                except OutsideRootsError:
                    continue
                if opened.is_file:
                    yield opened

    def list_directory(self, path: str, limit: int) -> list[FileEntry]:
        """List the files and directories in a directory; links and hidden files are skipped."""
        listing: list[FileEntry] = []
        with self.open(path) as directory:
            if not directory.is_directory:
                raise OutsideRootsError
            with directory.entries() as entries:
                for entry in entries:
                    status = entry.stat(follow_symlinks=False)
                    is_directory = stat.S_ISDIR(status.st_mode)
                    visible = _STEP.fullmatch(entry.name) and not entry.name.startswith(".")
                    if visible and (is_directory or stat.S_ISREG(status.st_mode)):
                        size = 0 if is_directory else status.st_size
                        listing.append(FileEntry(entry.name, is_directory, size))
                    if len(listing) >= limit:
                        break
        return sorted(listing, key=lambda entry: (not entry.directory, entry.name))


class LocalRoots:
    """Directories below which files may be read, for paths as they are given on a command line.

    A relative path is relative to the current directory.
    """

    def __init__(self, directories: Sequence[Path]) -> None:
        self._roots = [os.path.realpath(path) for path in directories]

    def resolve(self, path: str) -> Path:
        """Return where a path below a root leads to; links are resolved."""
        root, steps = self._divide(path)
        with _open_below(root, steps, path):
            return Path(root, *steps)

    def contains(self, path: str | Path) -> bool:
        """Whether a path leads to a place below a root, where nothing needs to exist."""
        try:
            self._divide(os.fspath(path))
        except OutsideRootsError:
            return False
        return True

    def _divide(self, path: str) -> tuple[str, tuple[str, ...]]:
        """Return the root that contains a path, and the steps from there."""
        try:
            real = os.path.realpath(path)
            for root in self._roots:
                if os.path.commonpath((root, real)) == root:
                    return root, Path(os.path.relpath(real, root)).parts
        except (OSError, ValueError):  # such as a null character or another drive
            pass
        raise OutsideRootsError


@contextmanager
def _open_below(root: str, steps: Sequence[str], name: str) -> Iterator[OpenedPath]:
    """Open a regular file or a directory below a directory, never through a link."""
    with ExitStack() as stack:
        opened = OpenedPath("", None, "").open(root, _DIRECTORY, stack, name)
        for step in steps[:-1]:
            opened = opened.open(step, _DIRECTORY, stack)
        if steps:
            opened = opened.open(steps[-1], _FILE, stack, name)
        if not (opened.is_file or opened.is_directory):
            raise OutsideRootsError
        yield opened


def _split(path: str) -> list[str]:
    """Split a path into steps; a step can never lead upwards."""
    steps = path.split("/")
    # Some file systems ignore a dot or a space at the end of a name.
    safe = all(_STEP.fullmatch(step) and not step.endswith((".", " ")) for step in steps)
    if len(steps) > _MAX_STEPS or not safe or _SURROGATE.search(path):
        raise OutsideRootsError
    return steps


def _open_checked(path: str, name: str) -> int | None:
    """Open a path whose last step must not be a link; `None` for a directory."""
    if _DEVICE.fullmatch(name):
        raise OutsideRootsError
    try:
        checked = os.lstat(path)
        # A junction of Windows is a directory that is only a link to another one.
        is_junction = getattr(checked, "st_reparse_tag", 0) == _JUNCTION
        if stat.S_ISDIR(checked.st_mode) and not is_junction:
            return None
        if not stat.S_ISREG(checked.st_mode):
            raise OutsideRootsError
        fd = os.open(path, _FILE)
    except (OSError, ValueError):
        raise OutsideRootsError from None
    if not os.path.samestat(checked, os.fstat(fd)):
        os.close(fd)
        raise OutsideRootsError
    return fd
