"""XLSX: every text is stored as text, so nothing can become a formula."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fieldmark.errors import MissingExtra
from fieldmark.metrics.summary import Summary
from fieldmark.metrics.taxonomy import ErrorCounts
from fieldmark.model.json import Missing
from fieldmark.report.exports.common import (
    Cell,
    atomic_path,
    field_columns,
    field_row,
    json_text,
    mistakes_of,
)
from fieldmark.report.html.figures import detection_tables, tiles, verdict_counts
from fieldmark.report.html.value_encoding import truncate
from fieldmark.report.shown_run import ShownRun, gates_failed_first
from fieldmark.report.tables import ATTRIBUTE_COLUMNS, attribute_cells, gate_text
from fieldmark.values.escape import visible

if TYPE_CHECKING:
    from openpyxl import Workbook  # type: ignore[import-untyped]
    from openpyxl.cell import WriteOnlyCell  # type: ignore[import-untyped]

__all__ = ["write_xlsx"]

_Rows = Iterable[Sequence[Cell]]
_LAST_ROW: Final = 1_048_576
"""The most rows that a sheet can have."""

_LONGEST: Final = 32_000
"""A cell holds 32,767 characters."""

_EXACT: Final = 1 << 53
"""Beyond this a spreadsheet cannot tell whole numbers apart."""

_NOT_XML: Final = re.compile("[\ufffe\uffff]")
_ESCAPE: Final = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)")
"""The start of what a spreadsheet would read as an escaped character."""

_PLAIN: Final = re.compile(r"[A-Za-z0-9\[][ -^`-~]{0,1000}\Z")
"""Text that needs no care: no formula, no error code, no control character, no escape."""

_MISTAKE_COLUMNS: Final = (
    "case_id", "path", "outcome", "reason", "similarity", "expected", "candidate", "note",
)  # fmt: skip
_FIGURE_COLUMNS: Final = ("figure", "value", "low", "high", "meaning")
_CASE_COLUMNS: Final = (
    "case_id",
    "score",
    "verdict",
    "status",
    "input",
    "tags",
    *ErrorCounts._fields,
)


def write_xlsx(run: ShownRun, out: Path) -> None:
    """Four sheets: the figures, the attributes, the cases, and every mistake."""
    try:
        from openpyxl import Workbook
    except ImportError as error:
        raise MissingExtra("writing XLSX", "tables") from error
    known = field_columns(values=run.has_values)
    columns = [name for name in _MISTAKE_COLUMNS if name in known]
    cells = itemgetter(*columns)
    mistakes = (
        cells(field_row(case.id, field)) for case in run.cases() for field in mistakes_of(case)
    )
    with atomic_path(out) as beside:
        book = Workbook(write_only=True)
        _sheet(book, "Summary", _FIGURE_COLUMNS, _figures(run.summary))
        _sheet(book, "Attributes", ATTRIBUTE_COLUMNS, attribute_cells(run.summary))
        _sheet(book, "Cases", _CASE_COLUMNS, _cases(run))
        _sheet(book, "Mistakes", columns, mistakes)
        book.save(beside)


def _sheet(book: Workbook, title: str, columns: Sequence[str], rows: _Rows) -> None:
    """A sheet with a fixed header; rows that do not fit are counted in the last one."""
    sheet = book.create_sheet(title)
    sheet.freeze_panes = "A2"
    try:
        sheet.append(list(columns))
        left_out = 0
        for number, row in enumerate(rows, 2):
            if number < _LAST_ROW:
                sheet.append([_cell(sheet, value) for value in row])
            else:
                left_out += 1
        if left_out:
            rest = f"… and {left_out:,} more rows: the JSON and Parquet exports hold them all"
            sheet.append([rest])
    finally:
        sheet.close()


def _cell(sheet: object, value: Cell) -> WriteOnlyCell | str | float | bool | None:
    """Numbers and booleans as they are, everything else as a text that stays one."""
    match value:
        case None | Missing() | "":
            return None
        case bool() | float():
            return value
        case int() if -_EXACT < value < _EXACT:
            return value
        case str():
            return value if _PLAIN.match(value) else _text(sheet, value)
        case _:
            return _text(sheet, json_text(value))


def _text(sheet: object, text: str) -> WriteOnlyCell:
    from openpyxl.cell import WriteOnlyCell

    shown = _NOT_XML.sub(lambda found: f"\\u{ord(found.group()):04x}", visible(text))
    cell = WriteOnlyCell(sheet, "")
    # By hand: the library takes text that begins with an equals sign for a formula, and a person
    # who edits such a cell would make it one if it were not marked as text.
    cell.value = _ESCAPE.sub("_x005F_", truncate(shown, _LONGEST))
    cell.data_type = "s"
    cell.quotePrefix = True
    return cell


def _figures(summary: Summary) -> Iterator[list[Cell]]:
    for tile in tiles(summary):
        low, high = tile.interval or (None, None)
        yield [tile.label, tile.value, low, high, tile.meaning]
    for table in detection_tables(summary):
        title = f"detection {table.title}".rstrip()
        for name, value, meaning in table.figures:
            yield [f"{title}: {name}", value, None, None, meaning]
    for name, each in summary.evaluators.items():
        yield [f"evaluator: {name}", each.mean_score, None, None, "mean score"]
    for name, count in summary.cases._asdict().items():
        yield [f"cases: {name.replace('_', ' ')}", count]
    for name, count in verdict_counts(summary).items():
        yield [f"verdict: {name}", count]
    for gate in gates_failed_first(summary):
        yield ["gate", gate.passed, None, None, gate_text(gate)]
    yield ["convention", None, None, None, summary.convention.name]
    for warning in summary.warnings:
        yield ["warning", None, None, None, warning]


def _cases(run: ShownRun) -> Iterator[list[Cell]]:
    for case in run.cases():
        tags = ", ".join(case.tags)
        facts = [case.id, case.score, case.verdict, case.status, case.input]
        yield [*facts, tags, *case.stats.errors]
