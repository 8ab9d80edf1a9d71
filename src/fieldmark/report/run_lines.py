"""A list of runs as lines of text, drawn quickly: a folder may hold ten thousand of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final

from rich.cells import cell_len, chop_cells
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.style import Style

__all__ = ["RunLines"]

_NARROWEST: Final = 8
_FOLDED: Final = (-1, 0)
"""The columns that give way where there is no room: what people noted, then the name."""
_STATUS: Final = 2
_OTHER: Final = "yellow"


class RunLines:
    """Titles and rows; the second column is dim, and the third in the colour of its word."""

    __slots__ = ("_right", "_rows", "_styles")

    def __init__(
        self,
        titles: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        styles: Mapping[str, str],
        right: Sequence[int],
    ) -> None:
        self._rows = [titles, *rows]
        self._styles = styles
        self._right = right

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = self._lines(options.max_width)
        if console.color_system is None:
            yield Segment("".join(" ".join(line).rstrip() + "\n" for _, line in lines))
            return
        dim, plain = Style(dim=True), Style()
        known = {word: Style.parse(style) for word, style in self._styles.items()}
        other = Style.parse(_OTHER)
        for number, line in lines:
            if number == 0:
                yield Segment(" ".join(line).rstrip() + "\n", Style(bold=True))
                continue
            yield Segment(line[0] + " ", plain)
            yield Segment(line[1] + " ", dim)
            yield Segment(line[2] + " ", known.get(self._rows[number][_STATUS], other))
            yield Segment(" ".join(line[3:]).rstrip() + "\n", plain)

    def _lines(self, room: int) -> Iterator[tuple[int, Sequence[str]]]:
        """The number of a row and its cells, all of a column equally wide; a folded row is many."""
        columns = list(zip(*self._rows, strict=True))
        sizes = [list(map(_size, column)) for column in columns]
        widest = list(map(max, sizes))
        widths = _widths(widest, room)
        folded = {
            number
            for place in _FOLDED
            if widths[place] < widest[place]
            for number, size in enumerate(sizes[place])
            if size > widths[place]
        }
        padded = list(map(self._padded, range(len(columns)), columns, sizes, widths))
        for number, cells in enumerate(zip(*padded, strict=True)):
            if number in folded:
                yield from ((number, line) for line in self._folded(self._rows[number], widths))
            else:
                yield number, cells

    def _folded(self, row: Sequence[str], widths: Sequence[int]) -> Iterator[list[str]]:
        parts = [chop_cells(cell, width) for cell, width in zip(row, widths, strict=True)]
        for line in zip_longest(*parts, fillvalue=""):
            cells = enumerate(zip(line, widths, strict=True))
            yield [self._padded(at, [cell], [_size(cell)], width)[0] for at, (cell, width) in cells]

    def _padded(
        self, place: int, cells: Sequence[str], sizes: Sequence[int], width: int
    ) -> list[str]:
        to_width = str.rjust if place in self._right else str.ljust
        pairs = zip(cells, sizes, strict=True)
        return [to_width(cell, width + len(cell) - size) for cell, size in pairs]


def _size(text: str) -> int:
    return len(text) if text.isascii() else cell_len(text)


def _widths(widest: Sequence[int], room: int) -> list[int]:
    """As wide as the widest cell, as long as there is room."""
    widths = list(widest)
    for place in _FOLDED:
        over = sum(widths) + len(widths) - 1 - room
        if over > 0:
            widths[place] = max(min(_NARROWEST, widths[place]), widths[place] - over)
    return widths
