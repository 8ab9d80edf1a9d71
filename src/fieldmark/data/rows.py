"""Sources of rows: blocks of parsed rows with their positions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, ClassVar, Final, NamedTuple

from fieldmark.data.input_files import InputFile, open_file
from fieldmark.data.json_parser import Row
from fieldmark.errors import DataError, Location
from fieldmark.model.case import CaseContext
from fieldmark.model.reader import LeftOut, ReadExport

if TYPE_CHECKING:
    from fieldmark.model.kernel._kernel import Document


ID_KEYS: Final = ("id", "case_id", "key")
"""The keys that may contain the id of a row."""


class UnparsedRows(NamedTuple):
    """The ids and documents of rows; rows that had to be parsed are still the bytes of lines."""

    ids: list[str | None]
    documents: list[Document | bytes]


class RowBlock(NamedTuple):
    """Some rows in order, their positions, and their ids if the source provides them.

    If documents are `unparsed`, `rows` are only the rows that had to be parsed.
    """

    rows: list[Row]
    positions: Sequence[int]
    ids: list[str] | None = None
    unparsed: UnparsedRows | None = None


@dataclass(slots=True, eq=False)
class RowSource(ABC):
    """The rows of one side of a comparison.

    The position of a row is its line number if `has_lines` is true, otherwise its row number.

    Attributes:
        name: The name of the file, or of the side if rows are not in a file.
        path: The location of the file, if it is not its name.
        version: The version of a remote file.
        is_table: Whether the rows have columns.
        is_workbook: Whether there are sheets to choose from.
        text_cells: Whether values are strings, as in CSV files.
        json_cells: Whether some of these strings were JSON.
        in_memory: Whether all rows are in memory.
        read_once: Whether the rows cannot be read again.
        notes: How the rows are read.
        files: The files to close, also the copy for reading rows out of order.
        contexts: The contexts of cases by id, if rows do not contain them.
        tool: The tool whose export is read, if it is one.
        left_out: What is not read of an export, by the position of its file.
    """

    has_lines: ClassVar[bool] = False
    is_table: ClassVar[bool] = False
    is_workbook: ClassVar[bool] = False
    name: str
    path: str = field(default="", kw_only=True)
    version: str = field(default="", init=False)
    text_cells: bool = field(default=False, init=False)
    json_cells: bool = field(default=False, init=False)
    in_memory: bool = field(default=False, init=False)
    read_once: bool = field(default=False, init=False)
    bytes_total: int = field(default=0, init=False)
    bytes_read: int = field(default=0, init=False)
    notes: list[str] = field(default_factory=list, init=False)
    warnings: list[str] = field(default_factory=list, init=False)
    files: list[IO[bytes] | InputFile] = field(default_factory=list, init=False)
    contexts: Mapping[str, CaseContext] = field(default_factory=dict, init=False)
    tool: str = field(default="", init=False)
    left_out: dict[int, LeftOut] = field(default_factory=dict, init=False)

    @abstractmethod
    def blocks(self) -> Iterator[RowBlock]:
        """Read the rows from the start, a few hundred at a time."""

    def add_note(self, text: str) -> None:
        """Add a note about how the rows are read, once."""
        note = f"{self.name}: {text}"
        if note not in self.notes:
            self.notes.append(note)

    def read_export(self) -> ReadExport | None:
        """Return what was read of an export so far, or `None` if the rows are not from one."""
        if not self.tool:
            return None
        left_out: Counter[str] = Counter()
        for counted in self.left_out.values():
            left_out.update(counted.counts)
        return ReadExport(self.name, self.tool, dict(sorted(left_out.items())))

    def open_file(self) -> InputFile:
        """Open the file; `close` closes it if it is still open."""
        opened = self.open_unchanged()
        self.files.append(opened)
        return opened

    def open_unchanged(self) -> InputFile:
        """Open the file; an error is raised if a remote file has changed since it was opened."""
        opened = open_file(self.path or self.name)
        if self.version and opened.version != self.version:
            opened.close()
            raise changed_error(self.name)
        self.version = opened.version
        return opened

    def check_unchanged(self) -> None:
        """Raise an error if a remote file has changed since it was opened."""
        if self.version:
            self.open_unchanged().close()

    def location(self, position: int) -> Location:
        """Return the file and line of a row; a row of a document has no line."""
        return Location(self.name, position) if self.has_lines else Location(self.name)

    def describe(self, position: int) -> str:
        """Return the position of a row for messages."""
        if self.has_lines:
            return f"{self.name}:{position}"
        return f"{self.name} row {position}" if self.name else f"row {position}"

    def close(self) -> None:
        """Close all open files."""
        for file in self.files:
            file.close()


@dataclass(slots=True)
class DerivedSource(RowSource):
    """The rows of another source, changed; they keep the positions of that source."""

    source: RowSource

    def __post_init__(self) -> None:
        self.text_cells, self.in_memory = self.source.text_cells, self.source.in_memory
        self.bytes_total = self.source.bytes_total
        self.notes, self.warnings = self.source.notes, self.source.warnings
        self.tool, self.left_out = self.source.tool, self.source.left_out

    def _source_blocks(self) -> Iterator[RowBlock]:
        for block in self.source.blocks():
            self.bytes_read = self.source.bytes_read
            self.json_cells = self.source.json_cells
            yield block

    def location(self, position: int) -> Location:
        """Return the location in the other source."""
        return self.source.location(position)

    def describe(self, position: int) -> str:
        """Return the position in the other source."""
        return self.source.describe(position)

    def check_unchanged(self) -> None:
        """Raise an error if a remote file has changed since it was opened."""
        self.source.check_unchanged()

    def close(self) -> None:
        """Close the files of both sources."""
        RowSource.close(self)
        self.source.close()


def changed_error(name: str) -> DataError:
    """Return the error for a file that is not the same as at the start of the run."""
    return DataError("the file has changed while it was read", Location(name))
