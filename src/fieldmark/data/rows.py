"""Rows as every reader delivers them: blocks of parsed rows with the places they came from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING

from fieldmark.data.json_parser import Row
from fieldmark.errors import DataError, LimitError, Location

if TYPE_CHECKING:
    from fieldmark.data.json_lines import UnparsedLines

__all__ = ["RowBlock", "RowSource", "with_location"]


@dataclass(slots=True)
class RowBlock:
    """Some rows in order, the place of each, and their ids if the source itself names them.

    Rows that were not parsed are in `lines` and not among `rows`.
    """

    rows: list[Row]
    places: Sequence[int]
    ids: list[str] | None = None
    lines: UnparsedLines | None = None


@dataclass(slots=True)
class RowSource(ABC):
    """One side of a comparison as rows.

    `in_memory` says that all rows are held anyway, `text_cells` that every value is text (CSV).
    `spilled` is the copy that was made to read rows out of order.
    """

    name: str
    text_cells: bool = field(default=False, init=False)
    in_memory: bool = field(default=False, init=False)
    bytes_total: int = field(default=0, init=False)
    bytes_read: int = field(default=0, init=False)
    warnings: list[str] = field(default_factory=list, init=False)
    spilled: IO[bytes] | None = field(default=None, init=False)

    @abstractmethod
    def blocks(self) -> Iterator[RowBlock]:
        """Read the rows from the beginning, a few hundred at a time."""

    def location(self, place: int) -> Location:
        """The file and line of a row; rows of whole documents have no line."""
        del place
        return Location(self.name)

    def describe(self, place: int) -> str:
        """The place of a row in words."""
        return f"{self.name} row {place}" if self.name else f"row {place}"

    def close(self) -> None:
        """Close what is open."""
        if self.spilled is not None:
            self.spilled.close()


def with_location(error: DataError, location: Location) -> DataError:
    """The same error at a location."""
    if isinstance(error, LimitError):
        return LimitError(error.limit, error.message, location)
    return DataError(error.message, location)
