"""Documents as plain text, for terminals, as Markdown and as CSV."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Final, TypeAlias

from fieldmark.report.csv_text import csv_text
from fieldmark.report.document import (
    Align,
    Block,
    Column,
    Document,
    Heading,
    Items,
    Line,
    LineKind,
    Table,
    Tone,
    value_of,
)
from fieldmark.report.tables import more_text
from fieldmark.values.escape import DASH, for_markdown, visible
from fieldmark.values.text import plural

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

__all__ = ["RichDocument", "document_csv", "document_markdown", "document_text"]

WIDTH: Final = 120
"""The width of tables in a file or a pipe."""
_MIN_WIDTH: Final = 8
"""Columns are not folded to fewer characters."""
_STYLES: Final = {
    Tone.STRONG: "bold",
    Tone.QUIET: "dim",
    Tone.GOOD: "green",
    Tone.BAD: "bold red",
    Tone.WARNING: "yellow",
    Tone.ACTIVE: "cyan",
}
_BOLD: Final = frozenset({Tone.STRONG, Tone.GOOD, Tone.BAD})
"""The styles of cells that are bold in Markdown."""
_PREFIXES: Final = {LineKind.WARNING: "warning: ", LineKind.NOTE: "· "}

Span: TypeAlias = tuple[str, Tone]
"""A part of a line with its style."""


def document_text(document: Document, *, width: int = WIDTH) -> str:
    """Return a document without styles; tables are folded to a width, lines are not."""
    lines = ("".join(text for text, _ in spans).rstrip() for spans in _lines(document, width))
    return "\n".join(chain(lines, [""]))


class RichDocument:
    """A document that rich prints with styles, as wide as the terminal."""

    __slots__ = ("_document",)

    def __init__(self, document: Document) -> None:
        self._document = document

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.segment import Segment
        from rich.style import Style

        if console.color_system is None:
            yield Segment(document_text(self._document, width=options.max_width))
            return
        styles = {tone: Style.parse(style) for tone, style in _STYLES.items()}
        for spans in _lines(self._document, options.max_width):
            yield from (Segment(text, styles.get(tone)) for text, tone in spans)
            yield Segment("\n")


def _lines(document: Document, width: int) -> Iterator[Sequence[Span]]:
    """Yield the lines of all blocks; there is an empty line around tables and above headings."""
    separated = True
    for block in document.blocks:
        if isinstance(block, Table) and not block.rows:
            continue
        if not separated and isinstance(block, Heading | Table):
            yield ()
        yield from _block_lines(block, width)
        separated = isinstance(block, Table)
        if separated and block is not document.blocks[-1]:
            yield ()


def _block_lines(block: Block, width: int) -> Iterator[Sequence[Span]]:
    match block:
        case Heading():
            yield [(visible(block.text), Tone.STRONG)]
        case Line():
            yield [(visible(_PREFIXES.get(block.kind, "") + block.text), block.tone)]
        case Items():
            for line in block.lines:
                yield [(f"  {visible(line.text)}", line.tone)]
            if block.rest:
                yield [(f"  {block.rest}", Tone.QUIET)]
        case Table():
            yield from _table_lines(block, width)
            if block.more > 0:
                yield [(more_text(block.more, block.noun), Tone.QUIET)]


def _table_lines(table: Table, width: int) -> Iterator[Sequence[Span]]:
    columns = [column for column in table.columns if not column.below]
    below = [column for column in table.columns if column.below]
    texts: list[Sequence[str]] = []
    tones: list[Sequence[Tone]] = []
    for column in columns:
        cells = [column.cell(row) for row in table.shown]
        texts.append([visible(column.title), *_visible([text for text, _ in cells])])
        tones.append([Tone.STRONG, *(tone for _, tone in cells)])
    sizes = [_cell_widths(column) for column in texts]
    widest = [max(column) for column in sizes]
    gap = " " * table.gap
    widths = _fit_widths(widest, _folding(columns), width - table.gap * (len(columns) - 1))
    for index in range(not table.has_titles, len(table.shown) + 1):
        lines = [[column[index] for column in texts]]
        blanks = [[size - own[index] for size, own in zip(widths, sizes, strict=True)]]
        if min(blanks[0]) < 0:
            parts = [_wrapped(text, size) for text, size in zip(lines[0], widths, strict=True)]
            lines = [list(line) for line in zip_longest(*parts, fillvalue="")]
            blanks = [
                [size - _cell_widths([text])[0] for size, text in zip(widths, line, strict=True)]
                for line in lines
            ]
        for line, line_blanks in zip(lines, blanks, strict=True):
            yield [
                (
                    f"{gap if place else ''}{text}{' ' * missing}"
                    if column.alignment is Align.LEFT
                    else f"{gap if place else ''}{' ' * missing}{text}",
                    column_tones[index],
                )
                for place, (column, text, missing, column_tones) in enumerate(
                    zip(columns, line, line_blanks, tones, strict=True)
                )
            ]
        for column in below if index else ():
            listed = value_of(table.shown[index - 1].get(column.key))
            for text in listed if isinstance(listed, list) else ():
                yield [(f"  {visible(str(text))}", column.tone)]


def _folding(columns: Sequence[Column]) -> list[int]:
    """Return the positions of the columns that may be folded."""
    declared = [place for place, column in enumerate(columns) if column.folds]
    left = [place for place, column in enumerate(columns) if column.alignment is Align.LEFT]
    return declared or left[:1]


def _fit_widths(widest: Sequence[int], folding: Sequence[int], width: int) -> list[int]:
    """Return the widths of columns: those that fold are narrowed, the widest first."""
    widths = list(widest)
    while (over := sum(widths) - width) > 0:
        largest = max((widths[place] for place in folding), default=0)
        if largest <= _MIN_WIDTH:
            break
        same = [place for place in folding if widths[place] == largest]
        lower = max((widths[place] for place in folding if widths[place] < largest), default=0)
        for place in same:
            widths[place] = max(_MIN_WIDTH, lower, largest - -(-over // len(same)))
    return widths


def _wrapped(text: str, width: int) -> list[str]:
    """Return the lines of a folded cell, between words if possible."""
    if text.isascii():
        return textwrap.wrap(text, width, break_on_hyphens=False) or [""]
    from rich.cells import chop_cells  # only for wide characters, of which few documents have any

    return chop_cells(text, width)


def _visible(texts: Sequence[str]) -> Sequence[str]:
    """Escape control characters; a printable column is detected as a whole."""
    return texts if "".join(texts).isprintable() else list(map(visible, texts))


def _cell_widths(texts: Sequence[str]) -> list[int]:
    """Return the number of characters that each text takes in a terminal."""
    if "".join(texts).replace(DASH, "").isascii():
        return list(map(len, texts))
    from rich.cells import cell_len

    return [len(text) if text.isascii() else cell_len(text) for text in texts]


# --- Markdown -------------------------------------------------------------------------------------


def document_markdown(document: Document) -> str:
    """Return a document for a pull request or an issue, without text that is not public."""
    blocks = map(_block_markdown, document.blocks)
    return "\n\n".join("\n".join(lines) for lines in blocks if lines) + "\n"


def _block_markdown(block: Block) -> list[str]:
    match block:
        case Heading():
            return [f"**{for_markdown(block.text)}**"]
        case Line():
            return _line_markdown(block)
        case Items():
            lines = [f"- {line}" for shown in block.lines for line in _line_markdown(shown) if line]
            return [*lines, *([f"- {_rest(block.more, block.noun)}"] if block.rest else [])]
        case Table():
            return _table_markdown(block)


def _line_markdown(line: Line) -> list[str]:
    text = line.text if line.public is None else line.public
    if not text:
        return []
    match line.kind:
        case LineKind.WARNING:
            return [f"> warning: {for_markdown(text)}"]
        case LineKind.NOTE:
            return [f"> {for_markdown(text)}"]
        case LineKind.TEXT:
            return [for_markdown(text)]


def _table_markdown(table: Table) -> list[str]:
    if not table.rows:
        return []
    rows = [[_cell_markdown(*column.cell(row)) for column in table.columns] for row in table.shown]
    if not table.has_titles:
        return [f"- {': '.join(filter(None, cells))}" for cells in rows]
    sides = {Align.LEFT: "---", Align.RIGHT: "--:"}
    return [
        f"| {' | '.join(for_markdown(column.title) for column in table.columns)} |",
        f"|{'|'.join(sides[column.alignment] for column in table.columns)}|",
        *(f"| {' | '.join(cells)} |" for cells in rows),
        *(["", _rest(table.more, table.noun)] if table.more > 0 else []),
    ]


def _cell_markdown(text: str, tone: Tone) -> str:
    shown = for_markdown(text)
    return f"**{shown}**" if shown and tone in _BOLD else shown


def _rest(more: int, noun: str) -> str:
    return f"… and {plural(more, f'more {noun}')}"


# --- CSV ------------------------------------------------------------------------------------------


def document_csv(document: Document) -> str:
    """Return the data of a document with full precision."""
    data = document.data
    return csv_text(data.keys, ([value_of(row.get(key)) for key in data.keys] for row in data.rows))
