"""Directories of `<id>.json` files, one document per file, in the order of their names."""

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
from fieldmark.values.text import plural

_BLOCK_ROWS: Final = 64
_SUFFIX: Final = ".json"


@dataclass(slots=True)
class DirectorySource(RowSource):
    """Rows of a directory; the id is the file name without `.json`."""

    dialect: JsonDialect = field(default_factory=JsonDialect)
    names: list[str] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        others = 0
        directories = 0
        with os.scandir(self.name) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    directories += 1
                elif entry.name.endswith(_SUFFIX):
                    self.names.append(entry.name)
                    self.bytes_total += entry.stat(follow_symlinks=False).st_size
                else:
                    others += 1
        self.names.sort()
        ignored = (
            plural(directories, "subdirectory", "subdirectories") if directories else "",
            plural(others, "file") + " without the extension .json" if others else "",
        )
        self.warnings += [f"{self.name}: ignored {each}" for each in ignored if each]
        if not self.names:
            raise DataError("no <id>.json files in this directory", Location(self.name))

    def blocks(self) -> Iterator[RowBlock]:
        """Read the documents in the order of their names."""
        for start in range(0, len(self.names), _BLOCK_ROWS):
            numbers = range(start, min(start + _BLOCK_ROWS, len(self.names)))
            ids = [self.names[number].removesuffix(_SUFFIX) for number in numbers]
            yield RowBlock(list(map(self.read, numbers)), numbers, ids)

    def ids(self) -> list[str]:
        """Return the ids of all documents in order."""
        return [name.removesuffix(_SUFFIX) for name in self.names]

    def read(self, number: int) -> Row:
        """Return the document of a file, or why it cannot be read."""
        try:
            path = Path(self.name, self.names[number])
            if path.is_symlink():
                path = self._resolve_link(path)
            opened = open_file(path, follow=False)
            try:
                raw = read_whole(opened, self.dialect.limits.document_bytes)
            finally:
                opened.close()
            self.bytes_read += len(raw)
            return parse_document(raw, self.dialect)
        except DataError as error:
            return UnreadableRow(error.message)

    def _resolve_link(self, path: Path) -> Path:
        """Return the target of a symbolic link, which must be in the directory."""
        try:
            target = path.resolve()
        except (OSError, RuntimeError):
            raise DataError("broken symbolic link") from None
        if not target.is_relative_to(Path(self.name).resolve()):
            raise DataError("symbolic link to a file outside the directory")
        return target

    def location(self, place: int) -> Location:
        """Return the file of a row."""
        return Location(str(Path(self.name, self.names[place])))

    def describe(self, place: int) -> str:
        """Return the file of a row."""
        return str(self.location(place))
