"""XLSX for people with a spreadsheet: every text is a text, so nothing can be a formula."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fieldmark.errors import MissingExtra
from fieldmark.model.json import JsonValue, Missing
from fieldmark.report.exports.attributes import ATTRIBUTE_COLUMNS, ERROR_TYPES, stored_attributes
from fieldmark.report.exports.gates import gate_texts
from fieldmark.report.exports.hiding import shown_with
from fieldmark.report.exports.outcomes import MISTAKES, VALUES, OutcomeRow, outcome_rows
from fieldmark.report.exports.text import json_text
from fieldmark.report.exports.whole import whole_file
from fieldmark.report.html.detection import detection_lines
from fieldmark.report.html.figures import tiles
from fieldmark.report.html.method import evaluator_lines
from fieldmark.report.html.shown import ShownRun, figure, listed, mapping, whole
from fieldmark.report.html.slots import cut_text
from fieldmark.values.escape import visible

if TYPE_CHECKING:
    from openpyxl import Workbook  # type: ignore[import-untyped]
    from openpyxl.cell import WriteOnlyCell  # type: ignore[import-untyped]

__all__ = ["write_xlsx"]

_Cell = JsonValue | Missing
_Rows = Iterable[Sequence[_Cell]]
_LAST_ROW: Final = 1_048_576
"""A sheet has no more rows."""

_LONGEST: Final = 32_000
"""A cell holds 32,767 characters."""

_EXACT: Final = 1 << 53
"""Beyond this a spreadsheet cannot tell whole numbers apart."""

_NOT_XML: Final = re.compile("[\ufffe\uffff]")
_ESCAPE: Final = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)")
"""What a spreadsheet would read as the code of a character."""

_PLAIN: Final = re.compile(r"[A-Za-z0-9\[][ -^`-~]{0,1000}\Z")
"""Text that needs no care: no formula, no code of an error, no control character, no escape."""

_MISTAKE_COLUMNS: Final = (
    "case_id", "path", "outcome", "reason", "similarity", "expected", "candidate", "note",
)  # fmt: skip
_CASE_COLUMNS: Final = ("case_id", "score", "verdict", "status", "input", "tags", *ERROR_TYPES)


def write_xlsx(run: ShownRun, out: Path, *, values: bool = True) -> None:
    """Four sheets: the figures, the attributes, the cases, and every mistake."""
    try:
        from openpyxl import Workbook
    except ImportError as error:
        raise MissingExtra("writing XLSX", "tables") from error
    shown = shown_with(run, values=values)
    with whole_file(out) as beside:
        book = Workbook(write_only=True)
        for title, columns, rows in _sheets(shown, values=values):
            _sheet(book, title, columns, rows)
        book.save(beside)


def _sheets(run: ShownRun, *, values: bool) -> Iterator[tuple[str, Sequence[str], _Rows]]:
    """Every sheet with its title, its columns and its rows."""
    yield "Summary", ("figure", "value", "low", "high", "meaning"), _figures(run)
    rows = (row.to_dict() for row in stored_attributes(run.summary))
    attributes = ([row[name] for name in ATTRIBUTE_COLUMNS] for row in rows)
    yield "Attributes", ATTRIBUTE_COLUMNS, attributes
    yield "Cases", _CASE_COLUMNS, _cases(run)
    columns = [name for name in _MISTAKE_COLUMNS if values or name not in VALUES]
    yield "Mistakes", columns, _mistakes(run, columns)


def _sheet(book: Workbook, title: str, columns: Sequence[str], rows: _Rows) -> None:
    """A sheet with a head that stays in view; what does not fit is counted in its last row."""
    sheet = book.create_sheet(title)
    sheet.freeze_panes = "A2"
    try:
        sheet.append(list(columns))
        left_out = 0
        for place, row in enumerate(rows, 2):
            if place < _LAST_ROW:
                sheet.append([_cell(sheet, value) for value in row])
            else:
                left_out += 1
        if left_out:
            rest = f"… and {left_out:,} more rows: the JSON and Parquet exports hold them all"
            sheet.append([rest])
    finally:
        sheet.close()


def _cell(sheet: object, value: _Cell) -> WriteOnlyCell | str | float | bool | None:
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
            return _text(sheet, json_text(value) or "")


def _text(sheet: object, text: str) -> WriteOnlyCell:
    from openpyxl.cell import WriteOnlyCell

    shown = _NOT_XML.sub(lambda found: f"\\u{ord(found.group()):04x}", visible(text))
    cell = WriteOnlyCell(sheet, "")
    # By hand: the library takes text that begins with an equals sign for a formula, and a person
    # who edits such a cell would make it one if it were not marked as text.
    cell.value = _ESCAPE.sub("_x005F_", cut_text(shown, _LONGEST))
    cell.data_type = "s"
    cell.quotePrefix = True
    return cell


def _figures(run: ShownRun) -> Iterator[list[_Cell]]:
    for tile in map(mapping, tiles(run.summary)):
        low, high = listed(tile.get("interval")) or (None, None)
        yield [tile["label"], tile["value"], low, high, tile["meaning"]]
    for line in map(listed, detection_lines(run.summary)):
        for name, value, meaning in map(listed, listed(line[2])):
            yield [f"detection {line[0]}: {name}".replace(" :", ":"), value, None, None, meaning]
    for line in map(listed, evaluator_lines(run.summary)):
        yield [f"evaluator: {line[0]}", line[1], None, None, "mean score"]
    for name, count in mapping(run.summary.get("cases")).items():
        yield [f"cases: {name.replace('_', ' ')}", whole(count)]
    for name, count in mapping(run.summary.get("verdicts")).items():
        yield [f"verdict: {name}", whole(count)]
    for gate in gate_texts(run.summary):
        yield ["gate", gate.passed, None, None, gate.text]
    convention = mapping(run.summary.get("convention"))
    yield ["convention", None, None, None, str(convention.get("name", ""))]
    for warning in listed(run.summary.get("warnings")):
        yield ["warning", None, None, None, str(warning)]


def _cases(run: ShownRun) -> Iterator[list[_Cell]]:
    for case in run.cases():
        yield [
            case.id,
            figure(case.score),
            case.verdict,
            case.status,
            case.input,
            ", ".join(case.tags),
            *case.stats.errors,
        ]


def _mistakes(run: ShownRun, columns: Sequence[str]) -> Iterator[Sequence[_Cell]]:
    cells = itemgetter(*map(OutcomeRow._fields.index, columns))
    for case in run.cases():
        for row in outcome_rows(case):
            if row.outcome in MISTAKES:
                yield cells(row)
