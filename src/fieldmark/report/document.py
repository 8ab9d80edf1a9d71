"""Documents: the content of an analysis, for every output format.

A function of an analysis turns its record into headings, lines, lists and tables. All text is as
it was found; `report/render.py` escapes it for a terminal, Markdown and CSV.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.report.tables import DASH, TOP_HINT, more_text, number
from fieldmark.values.json_text import strict_json


class Tone(StrEnum):
    """The meaning of a text for its style."""

    PLAIN = ""
    STRONG = "strong"
    QUIET = "quiet"
    GOOD = "good"
    BAD = "bad"
    WARNING = "warning"
    ACTIVE = "active"


class Align(StrEnum):
    """The alignment of the cells of a column."""

    LEFT = "left"
    RIGHT = "right"


class Format(StrEnum):
    """How the values of a column are shown."""

    TEXT = "text"
    COUNT = "count"
    NUMBER = "number"
    COST = "cost"
    SECONDS = "seconds"


_DIGITS: Final[Mapping[Format, int]] = {Format.NUMBER: 3, Format.COST: 4, Format.SECONDS: 2}


class LineKind(StrEnum):
    """The purpose of a line."""

    TEXT = "text"
    WARNING = "warning"
    NOTE = "note"


class Line(NamedTuple):
    """A line of text.

    `public` replaces the text where others read it, such as in a comment on a pull request: text
    that quotes documents may be confidential. An empty string removes the line.
    """

    text: str
    tone: Tone = Tone.PLAIN
    public: str | None = None
    kind: LineKind = LineKind.TEXT


def warning(text: str) -> Line:
    """Return a line that warns."""
    return Line(text, Tone.BAD, kind=LineKind.WARNING)


def note(text: str) -> Line:
    """Return a line with a remark."""
    return Line(text, Tone.QUIET, kind=LineKind.NOTE)


class Heading(NamedTuple):
    """The heading of the blocks that follow."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    """A list of lines; `more` items are not shown, and `noun` is what the items are."""

    lines: Sequence[Line]
    more: int = 0
    noun: str = "item"
    hint: str = TOP_HINT

    @property
    def rest(self) -> str:
        """The last line of a list that does not show all items."""
        return more_text(self.more, self.noun, self.hint) if self.more > 0 else ""


class Cell(NamedTuple):
    """A value with its text, unless the format of the column gives it, and its style."""

    value: JsonValue | Missing = None
    text: str | None = None
    tone: Tone = Tone.PLAIN


Row: TypeAlias = Mapping[str, JsonValue | Missing | Cell]
"""The cells of a row by the key of their column."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its title, the key of its cells, and how their values are shown.

    Text is aligned left and other values right, unless `align` says otherwise. A column that
    `folds` is wrapped if the table is too wide; by default, the first column of text. One that
    `cuts` is cut, and one with a `min_terminal` is not shown in a narrower terminal. The values of
    a column `below` are lists of texts, which a terminal shows below their row.
    """

    title: str
    key: str
    format: Format = Format.TEXT
    align: Align | None = None
    tone: Tone = Tone.PLAIN
    folds: bool = False
    cuts: bool = False
    below: bool = False
    min_width: int = 0
    min_terminal: int = 0

    @property
    def alignment(self) -> Align:
        """The alignment of cells."""
        return self.align or (Align.LEFT if self.format is Format.TEXT else Align.RIGHT)

    def cell(self, row: Row) -> tuple[str, Tone]:
        """Return the text and the style of the cell of a row."""
        cell = row.get(self.key)
        if not isinstance(cell, Cell):
            return cell if isinstance(cell, str) else _text(cell, self.format), self.tone
        text = _text(cell.value, self.format) if cell.text is None else cell.text
        return text, cell.tone or self.tone


def _text(value: JsonValue | Missing, shown: Format) -> str:
    """Return a value as text; undefined numbers are a dash."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, Missing):
        return "" if shown is Format.TEXT else DASH
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "; ".join(map(str, value))
    if isinstance(value, bool | list | dict) or shown is Format.TEXT:
        return strict_json(value).decode()
    return f"{value:,}" if shown is Format.COUNT else number(value, _DIGITS[shown])


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of cells; without rows, it is not shown.

    At most `top` rows are shown, and `total` is their number if the table does not have all of
    them; `noun` names the rows. `gap` is the space between columns in a terminal, which does
    not show a table of `detail`.
    """

    columns: Sequence[Column]
    rows: Sequence[Row]
    name: str = ""
    top: int | None = None
    total: int | None = None
    noun: str = "row"
    hint: str = TOP_HINT
    gap: int = 2
    detail: bool = False

    @property
    def shown(self) -> Sequence[Row]:
        """The rows that are shown."""
        return self.rows[: self.top]

    @property
    def more(self) -> int:
        """The number of rows that are not shown."""
        return (len(self.rows) if self.total is None else self.total) - len(self.shown)

    @property
    def rest(self) -> str:
        """The last line of a table that does not show all rows."""
        return more_text(self.more, self.noun, self.hint) if self.more > 0 else ""

    @property
    def has_titles(self) -> bool:
        """Whether any column has a title."""
        return any(column.title for column in self.columns)


def facts(pairs: Sequence[tuple[str, str]]) -> Table:
    """Return labels and texts as a table without titles."""
    columns = Column("", "fact", tone=Tone.QUIET), Column("", "value", folds=True)
    return Table(
        name="facts",
        columns=columns,
        rows=[{"fact": label, "value": text} for label, text in pairs],
    )


class SideBySide(NamedTuple):
    """Small tables, which a terminal shows side by side if they fit."""

    tables: Sequence[Table]


Block: TypeAlias = Heading | Line | Items | Table | SideBySide


@dataclass(frozen=True, slots=True)
class Data:
    """The rows of an analysis with full precision, for CSV."""

    keys: Sequence[str]
    rows: Sequence[Row] = field(default=())


class Document:
    """The blocks of an analysis from top to bottom, and its `data` for CSV.

    >>> table = Table(columns=[Column("Drop", "drop", Format.NUMBER)], rows=[{"drop": 0.02}])
    >>> [column["title"] for column in document_to_json(Document(table))[0]["columns"]]
    ['Drop']
    """

    __slots__ = ("blocks", "data")

    def __init__(self, *blocks: Block, data: Data | None = None) -> None:
        self.blocks: tuple[Block, ...] = blocks
        self.data = data or Data(())


def value_of(cell: JsonValue | Missing | Cell) -> JsonValue | Missing:
    """Return the value of a cell with full precision."""
    return cell.value if isinstance(cell, Cell) else cell


def document_to_json(document: Document) -> list[JsonObject]:
    """Return the blocks for a page, which draws them; nothing is escaped."""
    return [_block_to_json(block) for block in document.blocks]


def _block_to_json(block: Block) -> JsonObject:
    match block:
        case Heading():
            return {"block": "heading", "text": block.text}
        case Line():
            return {"block": "line", **_line_to_json(block)}
        case Items():
            lines: list[JsonValue] = [_line_to_json(line) for line in block.lines]
            return {"block": "items", "lines": lines, "rest": block.rest}
        case Table():
            return {"block": "table", **table_to_json(block)}
        case SideBySide():
            tables: list[JsonValue] = [table_to_json(table) for table in block.tables]
            return {"block": "tables", "tables": tables}


def _line_to_json(line: Line) -> JsonObject:
    return {"kind": line.kind.value, "text": line.text, "tone": line.tone.value}


def table_to_json(table: Table) -> JsonObject:
    """Return a table with all of its rows; each cell has its value, its text and its style."""
    columns: list[JsonValue] = [
        {
            "key": column.key,
            "title": column.title,
            "format": column.format.value,
            "align": column.alignment.value,
        }
        for column in table.columns
    ]
    rows: list[JsonValue] = []
    for row in table.rows:
        cells: JsonObject = {}
        for column in table.columns:
            text, tone = column.cell(row)
            value = value_of(row.get(column.key))
            cells[column.key] = {
                "value": None if value is MISSING else value,
                "text": text,
                "tone": tone.value,
            }
        rows.append(cells)
    return {
        "name": table.name,
        "columns": columns,
        "rows": rows,
        "top": table.top,
        "total": len(table.rows) if table.total is None else table.total,
        "noun": table.noun,
    }
