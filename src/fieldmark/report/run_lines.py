"""A list of runs as lines of text, drawn quickly: a folder may hold ten thousand of them.

Where nothing is styled, `text` draws them without loading the library that styles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Final, Protocol

from fieldmark.metrics.headline import HEADLINE_FIGURES
from fieldmark.report.tables import DASH
from fieldmark.report.tables import number as figure

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

__all__ = ["FIGURES", "ListedRun", "RunLines", "began", "lines_of", "noted"]

_NARROWEST: Final = 8
_FOLDED: Final = (-1, 0)
"""The columns that give way where there is no room: what people noted, then the name."""
_STATUS: Final = 2
_OTHER: Final = "yellow"
_STYLES: Final = {"complete": "green", "running": "cyan", "corrupt": "bold red"}
FIGURES: Final = dict(
    zip(HEADLINE_FIGURES, ("Score", "F1 attr", "F1 case", "F1 micro"), strict=True)
)
"""The figures of a run, and what they are called above a column."""
_SECONDS: Final = len("2025-01-31T12:00:00")
_NO_FIGURES: Final[Mapping[str, float | None]] = {}


class ListedRun(Protocol):
    """What is shown of a run."""

    @property
    def id(self) -> str:
        """Its name."""

    @property
    def status(self) -> str:
        """What became of it."""

    @property
    def started_at(self) -> str:
        """When it began."""

    @property
    def cases(self) -> int | None:
        """How many cases it has."""

    @property
    def figures(self) -> Mapping[str, float | None] | None:
        """Its figures by their names."""

    @property
    def tags(self) -> Sequence[str]:
        """Its tags."""

    @property
    def note(self) -> str:
        """What somebody noted."""

    @property
    def problem(self) -> str:
        """What is wrong with it."""


class RunLines:
    """Titles and rows; the second column is dim, and the third in the colour of its word."""

    __slots__ = ("_columns", "_right", "_styles")

    def __init__(
        self,
        titles: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        styles: Mapping[str, str],
        right: Sequence[int],
    ) -> None:
        self._columns: Sequence[Sequence[str]] = list(zip(titles, *rows, strict=True))
        self._styles = styles
        self._right = right

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.segment import Segment
        from rich.style import Style

        if console.color_system is None:
            yield Segment(self.text(options.max_width))
            return
        dim, plain = Style(dim=True), Style()
        known = {word: Style.parse(style) for word, style in self._styles.items()}
        other = Style.parse(_OTHER)
        for number, line in self._lines(options.max_width):
            if number == 0:
                yield Segment(" ".join(line).rstrip() + "\n", Style(bold=True))
                continue
            yield Segment(line[0] + " ", plain)
            yield Segment(line[1] + " ", dim)
            yield Segment(line[2] + " ", known.get(self._columns[_STATUS][number], other))
            yield Segment(" ".join(line[3:]).rstrip() + "\n", plain)

    def text(self, room: int) -> str:
        """All lines, none wider than the room as far as that is possible, without any style."""
        lines = map(str.rstrip, map(" ".join, (line for _, line in self._lines(room))))
        return "\n".join(chain(lines, [""]))

    def _lines(self, room: int) -> Iterator[tuple[int, Sequence[str]]]:
        """The number of a row and its cells, all of a column equally wide; a folded row is many."""
        sizes = list(map(_sizes, self._columns))
        widest = list(map(max, sizes))
        widths = _widths(widest, room)
        folded = {
            number
            for place in _FOLDED
            if widths[place] < widest[place]
            for number, size in enumerate(sizes[place])
            if size > widths[place]
        }
        padded = map(self._padded, range(len(widths)), self._columns, sizes, widths)
        lines = enumerate(zip(*padded, strict=True))
        if not folded:
            yield from lines
            return
        for number, cells in lines:
            if number in folded:
                row = [column[number] for column in self._columns]
                yield from ((number, line) for line in self._folded(row, widths))
            else:
                yield number, cells

    def _folded(self, row: Sequence[str], widths: Sequence[int]) -> Iterator[list[str]]:
        from rich.cells import chop_cells

        parts = [chop_cells(cell, width) for cell, width in zip(row, widths, strict=True)]
        for line in zip_longest(*parts, fillvalue=""):
            cells = enumerate(zip(line, widths, strict=True))
            yield [
                self._padded(at, [cell], _sizes([cell]), width)[0] for at, (cell, width) in cells
            ]

    def _padded(
        self, place: int, cells: Sequence[str], sizes: Sequence[int], width: int
    ) -> Sequence[str]:
        to_width = str.rjust if place in self._right else str.ljust
        if sizes == list(map(len, cells)):
            return [to_width(cell, width) for cell in cells]
        pairs = zip(cells, sizes, strict=True)
        return [to_width(cell, width + len(cell) - size) for cell, size in pairs]


def lines_of(runs: Sequence[ListedRun]) -> RunLines:
    """One line a run, in the order in which they are given."""
    figures = [run.figures or _NO_FIGURES for run in runs]
    columns = [
        _visible([run.id for run in runs]),
        _visible([began(run.started_at) for run in runs]),
        _visible([run.status for run in runs]),
        [DASH if run.cases is None else str(run.cases) for run in runs],
        *([figure(found.get(name)) for found in figures] for name in FIGURES),
        _visible([noted(run.tags, run.note, run.problem) for run in runs]),
    ]
    titles = ("Run", "Began", "Status", "Cases", *FIGURES.values(), "Tags and note")
    rows = list(zip(*columns, strict=True))
    return RunLines(titles, rows, styles=_STYLES, right=range(3, 4 + len(FIGURES)))


def began(started_at: str) -> str:
    """When a run began, to the second."""
    return started_at[:_SECONDS].replace("T", " ")


def noted(tags: Sequence[str], note: str, problem: str) -> str:
    """What is wrong with a run or, if nothing is, what people noted."""
    if problem or not (tags or note):
        return problem
    return " ".join([*(f"[{tag}]" for tag in tags), " ".join(note.split())]).strip()


def _visible(column: Sequence[str]) -> Sequence[str]:
    """The cells as they may be shown; most columns have nothing that may not, which one look says.

    What is said of all cells together holds for each of them.
    """
    if "".join(column).isprintable():
        return column
    from fieldmark.values.escape import visible

    return list(map(visible, column))


def _sizes(column: Sequence[str]) -> list[int]:
    """How many places each cell takes on a screen."""
    if "".join(column).replace(DASH, "").isascii():
        return list(map(len, column))
    from rich.cells import cell_len

    return [len(cell) if cell.isascii() else cell_len(cell) for cell in column]


def _widths(widest: Sequence[int], room: int) -> list[int]:
    """As wide as the widest cell, as long as there is room."""
    widths = list(widest)
    for place in _FOLDED:
        over = sum(widths) + len(widths) - 1 - room
        if over > 0:
            widths[place] = max(min(_NARROWEST, widths[place]), widths[place] - over)
    return widths
