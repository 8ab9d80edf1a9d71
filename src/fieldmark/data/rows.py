"""Rows as every reader delivers them: blocks of parsed rows with the places they came from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Protocol

from fieldmark.data.json_parser import Row
from fieldmark.errors import DataError, LimitError, Location

if TYPE_CHECKING:
    from fieldmark.data.json_lines import UnparsedLines

__all__ = ["RowBlock", "RowSource", "located"]


@dataclass(slots=True)
class RowBlock:
    """Some rows in order, where each stands, and their ids where the source itself names them.

    Rows that were not made into values are `lines`, and not among `rows`.
    """

    rows: list[Row]
    places: Sequence[int]
    ids: list[str] | None = None
    lines: UnparsedLines | None = None


class RowSource(Protocol):
    """One side of a comparison as rows.

    `blocks` starts from the beginning each time; `in_memory` says that all rows are held anyway.
    `text_cells` says that every value is text (CSV).
    """

    name: str
    text_cells: bool
    in_memory: bool
    bytes_total: int
    bytes_read: int
    warnings: list[str]
    spilled: IO[bytes] | None

    def blocks(self) -> Iterator[RowBlock]:
        """The rows, a few hundred at a time."""
        ...

    def where(self, place: int) -> Location:
        """The file and line of a place."""
        ...

    def phrase(self, place: int) -> str:
        """A place in words."""
        ...

    def close(self) -> None:
        """Give back what is open."""
        ...


@dataclass(slots=True)
class SourceBase:
    """What all sources have in common."""

    name: str
    text_cells: bool = field(default=False, init=False)
    in_memory: bool = field(default=False, init=False)
    bytes_total: int = field(default=0, init=False)
    bytes_read: int = field(default=0, init=False)
    warnings: list[str] = field(default_factory=list, init=False)
    spilled: IO[bytes] | None = field(default=None, init=False)

    def where(self, place: int) -> Location:
        """The file; rows of whole documents have no line."""
        del place
        return Location(self.name)

    def phrase(self, place: int) -> str:
        """The row by its number."""
        return f"{self.name} row {place}" if self.name else f"row {place}"

    def close(self) -> None:
        """Close the copy that was made to read rows out of order."""
        if self.spilled is not None:
            self.spilled.close()


def located(error: DataError, location: Location) -> DataError:
    """The same error, saying where."""
    if isinstance(error, LimitError):
        return LimitError(error.limit, error.message, location)
    return DataError(error.message, location)
