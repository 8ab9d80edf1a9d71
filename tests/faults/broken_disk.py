"""A simulated disk that fails, or loses power, at a given operation."""

from __future__ import annotations

import errno
from pathlib import Path

from fieldmark.runs.disk import DISK, Disk
from fieldmark.runs.lock import LOCK

OPERATIONS = [
    name for name, what in vars(Disk).items() if callable(what) and not name.startswith("_")
]


class Killed(BaseException):
    """The simulated end of the process; nothing handles it, and nothing is written after it."""


class BrokenDisk:
    """Counts operations, and fails at one of them.

    `fail` raises an error once; `die` ends the process; `lose` ends it and discards everything that
    was not synced: contents since the last sync of a file, and names since the last sync of the
    directory.
    """

    def __init__(self, monkeypatch, directory: Path, *, at: int | None = None, how: str = "fail"):
        self.directory = directory
        self.count = 0
        self._at, self._how = at, how
        self._dead = False
        self._names: dict[str, int] = {}
        self._durable: dict[str, int] = {}
        self._synced: dict[int, bytes] = {}
        self._open: dict[int, tuple[int, Path]] = {}
        self._fresh = 0
        for name in OPERATIONS:
            monkeypatch.setattr(DISK, name, self._breaking(name, getattr(DISK, name)))

    def _breaking(self, name, operation):
        def broken(*args):
            number, self.count = self.count, self.count + 1
            if self._dead:
                raise Killed
            if number == self._at:
                if self._how == "fail":
                    raise OSError(errno.ENOSPC, "No space left on device")
                self._dead = True
                if self._how == "lose":
                    self._lose()
                raise Killed
            result = operation(*args)
            self._note(name, args, result)
            return result

        return broken

    def _note(self, name, args, result):
        if name in ("open_new", "open_append"):
            path = Path(args[0])
            if name == "open_new" or path.name not in self._names:
                self._fresh += 1
                self._names[path.name] = self._fresh
                self._synced[self._fresh] = b""
            self._open[result] = self._names[path.name], path
        elif name == "sync":
            inode, path = self._open[args[0]]
            self._synced[inode] = path.read_bytes()
        elif name == "replace":
            self._names[args[1].name] = self._names.pop(args[0].name)
        elif name == "remove":
            self._names.pop(args[0].name, None)
        elif name == "sync_directory":
            self._durable = dict(self._names)

    def _lose(self):
        for path in self.directory.iterdir():
            if path.name != LOCK:
                path.unlink()
        for name, inode in self._durable.items():
            (self.directory / name).write_bytes(self._synced[inode])
