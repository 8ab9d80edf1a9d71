"""Documents as plain text, for terminals, as Markdown and as CSV."""

from __future__ import annotations

import csv
import io
import re
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Final, TextIO, TypeAlias

from rich.cells import cell_len, chop_cells

from fieldmark.metrics.headline import MAIN_METRIC, QUALITY_METRICS
from fieldmark.metrics.judge_details import confusion_rows
from fieldmark.metrics.summary import Summary
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.report.document import (
    Align,
    Block,
    Column,
    Document,
    Format,
    Heading,
    Items,
    Line,
    LineKind,
    Row,
    SideBySide,
    Table,
    Tone,
    value_of,
)
from fieldmark.report.metric_titles import (
    METRIC_TITLES,
    RQS_DIGITS,
    bounds_text,
    failed_note,
    metric_note,
    rqs_formula,
)
from fieldmark.report.run_document import judge_blocks, slice_blocks
from fieldmark.report.tables import (
    AttributeRow,
    attribute_cells,
    attribute_columns,
    attribute_rows,
    error_counts,
    evaluator_errors,
    gate_text,
    noted_number,
    number,
    split_warnings,
)
from fieldmark.values.escape import DASH, for_csv, for_markdown, visible
from fieldmark.values.json_text import strict_json
from fieldmark.values.text import plural, shorten

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

_SAFE_TEXT: Final = re.compile(r"(?:[A-Za-z0-9\[][ -~]{0,200})?\Z")
"""Recognizes text that needs no escaping in CSV."""


def csv_text(columns: Iterable[str], rows: Iterable[Iterable[JsonValue | Missing]]) -> str:
    """Format a header and rows; every cell is quoted, and no cell can be read as a formula."""
    target = io.StringIO()
    write_csv_rows(target, columns, rows)
    return target.getvalue()


def write_csv_rows(
    file: TextIO, columns: Iterable[str], rows: Iterable[Iterable[JsonValue | Missing]]
) -> None:
    """Write a header and rows in the format of `csv_text`."""
    writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_csv_cell(value) for value in row])


def _csv_cell(value: JsonValue | Missing) -> str:
    # The most frequent types come first, because a run may have millions of cells.
    if isinstance(value, str):
        return value if _SAFE_TEXT.match(value) else for_csv(value)
    if value is None or value is MISSING:
        return ""
    if isinstance(value, bool | list | dict):
        return for_csv(strict_json(value).decode())
    return str(value)


WIDTH: Final = 120
"""The width of tables in a file or a pipe."""
_TABLE_GAP: Final = 4
"""The space between tables that are side by side."""
_NARROW: Final = str.maketrans("", "", f"▏▎▍▌▋▊▉█·…{DASH}")
"""Drops the characters beyond ASCII that are as wide as a letter."""
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

    def text(self, width: int) -> str:
        """Return the document without styles."""
        return document_text(self._document, width=width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.segment import Segment
        from rich.style import Style

        if console.color_system is None:
            yield Segment(self.text(options.max_width))
            return
        styles = {tone: Style.parse(style) for tone, style in _STYLES.items()}
        for spans in _lines(self._document, options.max_width):
            yield from (Segment(text, styles.get(tone)) for text, tone in spans)
            yield Segment("\n")


def _lines(document: Document, width: int) -> Iterator[Sequence[Span]]:
    """Yield the lines of all blocks; there is an empty line around tables and above headings."""
    previous: Block | None = None
    for block in document.blocks:
        if isinstance(block, Table) and (block.detail or not block.rows):
            continue
        if previous is not None and _is_apart(block, previous):
            yield ()
        yield from _block_lines(block, width)
        previous = block


def _is_apart(block: Block, previous: Block) -> bool:
    """Whether an empty line separates two blocks; notes are directly above their table."""
    if isinstance(block, Heading) or isinstance(previous, Table | SideBySide):
        return True
    is_note = isinstance(previous, Line) and previous.kind is not LineKind.TEXT
    return isinstance(block, Table | SideBySide) and not is_note


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
            if block.rest:
                yield [(block.rest, Tone.QUIET)]
        case SideBySide():
            yield from _side_by_side(block.tables, width)


def _table_lines(table: Table, width: int) -> Iterator[Sequence[Span]]:
    columns = [
        column for column in table.columns if not column.below and width >= column.min_terminal
    ]
    below = [column for column in table.columns if column.below]
    texts: list[Sequence[str]] = []
    tones: list[Sequence[Tone]] = []
    for column in columns:
        cells = [column.cell(row) for row in table.shown]
        texts.append([visible(column.title), *_visible([text for text, _ in cells])])
        tones.append([Tone.STRONG, *(tone for _, tone in cells)])
    sizes = [_cell_widths(column) for column in texts]
    widest = [
        max(column.min_width, *cell_widths)
        for column, cell_widths in zip(columns, sizes, strict=True)
    ]
    widths = _fit_widths(columns, widest, width - table.gap * (len(columns) - 1))
    gaps = ["", *[" " * table.gap] * (len(columns) - 1)]
    layout = list(zip(columns, widths, gaps, strict=True))
    padded = [_padded(*column) for column in zip(texts, sizes, layout, strict=True)]
    folded = {
        index
        for cells, size in zip(sizes, widths, strict=True)
        if max(cells) > size
        for index, number in enumerate(cells)
        if number > size
    }
    rows = enumerate(zip(zip(*padded, strict=True), zip(*tones, strict=True), strict=True))
    for index, (line, row_tones) in rows:
        if index in folded:
            parts = [
                [shorten(cells[index], size)] if column.cuts else _wrapped(cells[index], size)
                for cells, (column, size, _) in zip(texts, layout, strict=True)
            ]
            for part in zip_longest(*parts, fillvalue=""):
                yield [
                    (_padded([text], _cell_widths([text]), column)[0], tone)
                    for text, column, tone in zip(part, layout, row_tones, strict=True)
                ]
        elif index or table.has_titles:
            yield list(zip(line, row_tones, strict=True))
        for column in below if index else ():
            listed = value_of(table.shown[index - 1].get(column.key))
            for text in listed if isinstance(listed, list) else ():
                yield [(f"  {visible(str(text))}", column.tone)]


def _side_by_side(tables: Sequence[Table], width: int) -> Iterator[Sequence[Span]]:
    """Yield the lines of tables, as many beside each other as fit."""
    beside: list[tuple[int, list[Sequence[Span]]]] = []
    for table in tables:
        lines = list(_table_lines(table, width))
        size = max(_cell_widths(["".join(text for text, _ in spans) for spans in lines]))
        if beside and sum(table_width + _TABLE_GAP for table_width, _ in beside) + size > width:
            yield from _joined(beside)
            yield ()
            beside = []
        beside.append((size, lines))
    yield from _joined(beside)


def _joined(beside: Sequence[tuple[int, Sequence[Sequence[Span]]]]) -> Iterator[Sequence[Span]]:
    for parts in zip_longest(*(lines for _, lines in beside)):
        spans: list[Span] = []
        for (size, _), part in zip(beside, parts, strict=True):
            spans += part or [(" " * size, Tone.PLAIN)]
            spans.append((" " * _TABLE_GAP, Tone.PLAIN))
        yield spans[:-1]


def _padded(
    texts: Sequence[str], sizes: Sequence[int], layout: tuple[Column, int, str]
) -> list[str]:
    """Return cells as wide as their column, with the gap before it."""
    column, width, gap = layout
    pairs = zip(texts, sizes, strict=True)
    if column.alignment is Align.LEFT:
        return [f"{gap}{text}{' ' * (width - size)}" for text, size in pairs]
    return [f"{gap}{' ' * (width - size)}{text}" for text, size in pairs]


def _fit_widths(columns: Sequence[Column], widest: Sequence[int], width: int) -> list[int]:
    """Return the widths of columns: columns that fold are narrowed, beginning with the last."""
    folding = [index for index, column in enumerate(columns) if column.folds or column.cuts]
    if not folding:
        left = [index for index, column in enumerate(columns) if column.alignment is Align.LEFT]
        folding = left[:1]
    widths = list(widest)
    for index in reversed(folding):
        over = sum(widths) - width
        if over > 0:
            widths[index] = max(min(_MIN_WIDTH, widths[index]), widths[index] - over)
    return widths


def _wrapped(text: str, width: int) -> list[str]:
    """Return the lines of a folded cell, between words if possible."""
    if text.isascii():
        return textwrap.wrap(text, width, break_on_hyphens=False) or [""]
    return chop_cells(text, width)


def _visible(texts: Sequence[str]) -> Sequence[str]:
    """Escape control characters; a printable column is detected as a whole."""
    return texts if "".join(texts).isprintable() else list(map(visible, texts))


def _cell_widths(texts: Sequence[str]) -> list[int]:
    """Return the number of characters that each text takes in a terminal."""
    if "".join(texts).translate(_NARROW).isascii():
        return list(map(len, texts))
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
            return [*lines, *([f"- {_more_line(block.more, block.noun)}"] if block.rest else [])]
        case Table():
            return _table_markdown(block)
        case SideBySide():
            return [line for table in block.tables for line in (*_table_markdown(table), "")][:-1]


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
    rows = [[_cell_markdown(column, row) for column in table.columns] for row in table.shown]
    if not table.has_titles:
        return [f"- {': '.join(filter(None, cells))}" for cells in rows]
    sides = {Align.LEFT: "---", Align.RIGHT: "--:"}
    return [
        f"| {' | '.join(for_markdown(column.title) for column in table.columns)} |",
        f"|{'|'.join(sides[column.alignment] for column in table.columns)}|",
        *(f"| {' | '.join(cells)} |" for cells in rows),
        *(["", _more_line(table.more, table.noun)] if table.more > 0 else []),
    ]


def _cell_markdown(column: Column, row: Row) -> str:
    text, tone = column.cell(row)
    shown = for_markdown(text)
    is_number = column.format is not Format.TEXT
    bold = tone is Tone.STRONG or (is_number and tone in {Tone.GOOD, Tone.BAD})
    return f"**{shown}**" if shown and bold else shown


def _more_line(more: int, noun: str) -> str:
    return f"… and {plural(more, f'more {noun}')}"


# --- CSV ------------------------------------------------------------------------------------------


def document_csv(document: Document) -> str:
    """Return the data of a document with full precision."""
    data = document.data
    return csv_text(data.keys, ([value_of(row.get(key)) for key in data.keys] for row in data.rows))


def csv_table(summary: Summary) -> str:
    """Return all attributes with full precision, and the convention in every row.

    The paths with confusion counts in the details of judges follow, with the name of the judge.
    """
    name, own = summary.convention.name, attribute_columns(summary)
    rows: list[Sequence[JsonValue]] = [(*cells, name) for cells in attribute_cells(summary)]
    judged: list[Sequence[JsonValue]] = []
    for evaluator, totals in summary.evaluators.items():
        for row in confusion_rows(totals.metrics):
            cells = {"attribute": row.path, **row._asdict()}
            judged.append([*(cells.get(key) for key in own), name, evaluator])
    if not judged:
        return csv_text((*own, "convention"), rows)
    columns = (*own, "convention", "evaluator")
    return csv_text(columns, [*((*row, None) for row in rows), *judged])


def markdown_summary(summary: Summary, *, top: int | None = None) -> str:
    """Return a summary for a pull request: headline metrics, gates and the worst attributes."""
    rows = attribute_rows(summary)
    structural, others = split_warnings(summary)
    failed = failed_note(summary)
    first = [*structural, *([failed] if failed else [])]
    lines = [f"> warning: {for_markdown(text)}\n" for text in first]
    lines += [headline(summary), ""]
    for gate in summary.gates:
        result = "passed" if gate.passed else "**failed**"
        lines.append(f"- gate {result}: {gate_text(gate, name=f'`{gate.name}`')}")
    lines += [f"- error: {for_markdown(text)}" for text in evaluator_errors(summary)]
    if lines[-1]:
        lines.append("")
    lines += [
        "| Attribute | TP | TN | FP | FN | Precision | Recall | F1 |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    lines += [f"| {for_markdown(row.attribute)} | {counts_and_rates(row)} |" for row in rows[:top]]
    if top is not None and len(rows) > top:
        lines.append(f"\n… and {plural(len(rows) - top, 'more attribute')}")
    slices = document_markdown(Document(*slice_blocks(summary, top=top))).rstrip("\n")
    lines += ["", slices] if slices else []
    details = document_markdown(Document(*judge_blocks(summary, top=top))).rstrip("\n")
    lines += ["", details] if details else []
    lines += [f"\n> warning: {for_markdown(text)}" for text in others]
    return "\n".join(lines) + "\n"


def headline(summary: Summary) -> str:
    """Return the headline metrics in one line, the primary metric first, and the convention."""
    cases, metrics = summary.cases, summary.metrics
    rqs_leads = next(iter(metrics)) == "rqs"
    shown = [
        name for name in metrics if (name in QUALITY_METRICS) == rqs_leads or name == MAIN_METRIC
    ]
    parts: list[str] = []
    for name in shown:
        maximum = f" of {number(summary.quality.rqs_max, 2)}" if name == "rqs" else ""
        note = metric_note(summary, name)
        digits = RQS_DIGITS if name == "rqs" else 3
        value = f"{METRIC_TITLES[name]} {number(metrics[name], digits)}{maximum}"
        parts.append(f"{value} ({note})" if note else value)
    counts = f"{cases.scored:,} of {plural(cases.total, 'case')} scored, {cases.perfect:,} perfect"
    return "; ".join(
        [
            f"**{parts[0]}**, {', '.join(parts[1:])}",
            ", ".join([counts, *(f"**{text}**" for text in error_counts(summary))]),
            f"convention `{summary.convention.name}`",
            *([rqs_formula(summary.rqs_counting)] if rqs_leads else []),
        ]
    )


def counts_and_rates(row: AttributeRow) -> str:
    """Return the counts and rates of an attribute as cells of a Markdown table."""
    f1 = noted_number(row.f1, bounds_text(row.f1_bounds))
    rates = number(row.precision), number(row.recall), f1
    return " | ".join([*map(str, (row.tp, row.tn, row.fp, row.fn)), *rates])


class ShownRecord(ABC):
    """The record of an analysis, which prints itself in Python as on the command line."""

    __slots__ = ()

    @abstractmethod
    def document(self, *, top: int | None = None) -> Document:
        """Return what is shown; tables have at most `top` rows."""

    @abstractmethod
    def to_dict(self) -> JsonObject:
        """Return everything as JSON."""

    def __repr__(self) -> str:
        return document_text(self.document()).rstrip("\n")

    def __rich__(self) -> RenderableType:
        return RichDocument(self.document())

    def terminal(self, *, top: int | None = None, styled: bool = True) -> RenderableType:  # noqa: ARG002 - for others
        """Return the text that the command line shows in a terminal, with or without styles."""
        return RichDocument(self.document(top=top))
