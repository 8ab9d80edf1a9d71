"""A folder of `<id>.json` files, one document per file, in the order of their names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fieldmark.data.files import open_file, read_whole
from fieldmark.data.json_parser import JsonDialect, Row, UnreadableRow, parse_document
from fieldmark.data.rows import RowBlock, RowSource
from fieldmark.errors import DataError, Location

__all__ = ["FolderSource"]

_BLOCK_ROWS: Final = 64
_SUFFIX: Final = ".json"


@dataclass(slots=True)
class FolderSource(RowSource):
    """Rows of a folder: the id is the file's name without `.json`."""

    dialect: JsonDialect = field(default_factory=JsonDialect)
    names: list[str] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        others = 0
        folders = 0
        with os.scandir(self.name) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders += 1
                elif entry.name.endswith(_SUFFIX):
                    self.names.append(entry.name)
                    self.bytes_total += entry.stat(follow_symlinks=False).st_size
                else:
                    others += 1
        self.names.sort()
        for count, what in ((folders, "subfolders"), (others, "files that are not .json")):
            if count:
                self.warnings.append(f"{self.name}: {what} ignored: {count}")
        if not self.names:
            raise DataError(
                "the folder holds no .json files; name a folder of <id>.json files",
                Location(self.name),
            )

    def blocks(self) -> Iterator[RowBlock]:
        """Read the documents in the order of their names."""
        for start in range(0, len(self.names), _BLOCK_ROWS):
            numbers = range(start, min(start + _BLOCK_ROWS, len(self.names)))
            ids = [self.names[number].removesuffix(_SUFFIX) for number in numbers]
            yield RowBlock(list(map(self.read, numbers)), numbers, ids)

    def ids(self) -> list[str]:
        """The ids of all documents in order."""
        return [name.removesuffix(_SUFFIX) for name in self.names]

    def read(self, number: int) -> Row:
        """The document of one file, or why it cannot be read."""
        try:
            path = self._inside(Path(self.name, self.names[number]))
            opened = open_file(path, follow=False)
            try:
                raw = read_whole(opened, self.dialect.limits.document_bytes)
            finally:
                opened.close()
            self.bytes_read += len(raw)
            return parse_document(raw, self.dialect)
        except DataError as error:
            return UnreadableRow(error.message)

    def _inside(self, path: Path) -> Path:
        """The file itself; a symbolic link only if its target is inside the folder."""
        if not path.is_symlink():
            return path
        try:
            target = path.resolve()
        except (OSError, RuntimeError):
            raise DataError("a link that leads nowhere") from None
        if not target.is_relative_to(Path(self.name).resolve()):
            raise DataError("a link that leads out of the folder")
        return target

    def location(self, place: int) -> Location:
        """The file."""
        return Location(str(Path(self.name, self.names[place])))

    def describe(self, place: int) -> str:
        """The file."""
        return str(self.location(place))
