"""XLSX export: text is stored in string cells, so it is never read as a formula."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from fieldmark.errors import MissingExtra
from fieldmark.metrics.summary import Summary
from fieldmark.model.json import Missing
from fieldmark.report.exports.common import (
    EVALUATOR_RESULTS,
    Cell,
    atomic_path,
    case_columns,
    case_row,
    evaluator_rows,
    field_columns,
    field_row,
    json_text,
    mistakes_of,
    row_cells,
)
from fieldmark.report.html.metrics import detection_tables, has_rqs, tiles, verdict_counts
from fieldmark.report.html.value_encoding import truncate
from fieldmark.report.metric_titles import evaluator_note, rqs_formula
from fieldmark.report.shown_run import ShownRun, gates_failed_first, provider_names
from fieldmark.report.tables import (
    CONFIDENCE_COLUMNS,
    attribute_cells,
    attribute_columns,
    confidence_rows,
    gate_text,
    outcome_text,
    slice_metrics,
    slice_rows,
)
from fieldmark.values.escape import visible
from fieldmark.values.text import plural

if TYPE_CHECKING:
    from openpyxl import Workbook  # type: ignore[import-untyped]
    from openpyxl.cell import WriteOnlyCell  # type: ignore[import-untyped]


_Rows = Iterable[Sequence[Cell]]
_LAST_ROW: Final = 1_048_576
"""The maximum number of rows of a sheet."""

_MAX_LENGTH: Final = 32_000
"""A cell can hold 32,767 characters."""

_EXACT: Final = 1 << 53
"""Spreadsheets round integers from here on."""

_NOT_XML: Final = re.compile("[\ufffe\uffff]")
_ESCAPE: Final = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)")
"""The start of text that a spreadsheet would read as an escaped character."""

_PLAIN: Final = re.compile(r"[A-Za-z0-9\[][ -^`-~]{0,1000}\Z")
"""Text without formulas, error codes, control characters and escapes."""

_MISTAKE_COLUMNS: Final = (
    "case_id", "path", "outcome", "reason", "similarity", "expected", "candidate", "note",
    "confidence",
)  # fmt: skip
_EVALUATOR_COLUMNS: Final = (
    "case_id", "name", "type", "weight", "score", "verdict", "status", "vacuous", "reasoning",
    "hits", "misses", "skipped", "details",
)  # fmt: skip
_METRIC_COLUMNS: Final = ("metric", "value", "low", "high", "meaning", "note")
_HEADINGS: Final = {
    "case_id": "Case",
    "path": "Field",
    "candidate": "Predicted",
    "omission": "Missing",
    "hallucination": "Extra",
    "format_error": "Wrong type",
    "quality_rqs": "RQS",
    "auroc": "AUROC",
    "ece": "ECE",
    **{name: name.upper() for name in ("tp", "tn", "fp", "fn", "f1")},
}
"""Headings that are not the capitalized name of their column."""

_CASE_TOTALS: Final = {
    "missing": "without prediction",
    "invalid_truth": "with invalid ground truth",
    "unexpected": "predictions without ground truth",
    "errors": "with errors",
}


@dataclass(frozen=True, slots=True)
class Xlsx:
    """A workbook with sheets of metrics, attributes, cases and fields."""

    name: ClassVar[str] = "xlsx"
    file: ClassVar[str] = "report.xlsx"

    def write(self, run: ShownRun, out: Path) -> None:
        """Write sheets for the summary, attributes, cases and mistakes, and if any, for others."""
        try:
            from openpyxl import Workbook
        except ImportError as error:
            raise MissingExtra("writing XLSX", "tables") from error
        rated = run.summary.confidence
        known = field_columns(values=run.has_values, confidence=rated is not None)
        columns = [name for name in _MISTAKE_COLUMNS if name in known]
        cells = itemgetter(*columns)
        mistakes = (
            cells(field_row(case, field) | {"outcome": outcome_text(field.outcome)})
            for case in run.cases()
            for field in mistakes_of(case)
        )
        of_cases = case_columns(run.summary.evaluators, values=run.has_values)
        # They have their own sheet.
        of_cases = {name: kind for name, kind in of_cases.items() if name != EVALUATOR_RESULTS}
        cases = (row_cells(case_row(case), of_cases) for case in run.cases())
        evaluations = (
            [case.id, *(row.get(name) for name in _EVALUATOR_COLUMNS[1:])]
            for case in run.cases()
            for row in evaluator_rows(case)
        )
        with atomic_path(out) as path:
            book = Workbook(write_only=True)
            _sheet(book, "Summary", _METRIC_COLUMNS, _metrics(run))
            _sheet(book, "Attributes", attribute_columns(run.summary), attribute_cells(run.summary))
            if run.summary.by:
                names = slice_metrics(run.summary)
                first = ("key", "value", "cases", names[0], "low", "high")
                _sheet(book, "Slices", (*first, *names[1:], "note"), _slices(run.summary))
            if rated is not None:
                _sheet(book, "Confidence", CONFIDENCE_COLUMNS, confidence_rows(rated))
            _sheet(book, "Cases", of_cases, cases)
            _sheet(book, "Mistakes", columns, mistakes)
            if run.summary.evaluators:
                _sheet(book, "Evaluators", _EVALUATOR_COLUMNS, evaluations)
            book.save(path)


def _sheet(book: Workbook, title: str, columns: Iterable[str], rows: _Rows) -> None:
    """Add a sheet with a frozen header; the last row counts the rows that do not fit."""
    sheet = book.create_sheet(title)
    sheet.freeze_panes = "A2"
    try:
        sheet.append([_cell(sheet, _heading(name)) for name in columns])
        omitted = 0
        for number, row in enumerate(rows, 2):
            if number < _LAST_ROW:
                sheet.append([_cell(sheet, value) for value in row])
            else:
                omitted += 1
        if omitted:
            left_out = (
                f"… and {plural(omitted, 'more row')}; the JSON and Parquet exports contain all"
            )
            sheet.append([left_out])
    finally:
        sheet.close()


def _heading(column: str) -> str:
    _, dot, evaluator = column.partition(".")
    if dot:
        return f"Evaluator {evaluator}"
    return _HEADINGS.get(column, column.replace("_", " ").capitalize())


def _cell(sheet: object, value: Cell) -> WriteOnlyCell | str | float | bool | None:
    """Return numbers and booleans unchanged and everything else as a string cell."""
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

    shown = _NOT_XML.sub(lambda character: f"\\u{ord(character.group()):04x}", visible(text))
    cell = WriteOnlyCell(sheet, "")
    # Set directly, because openpyxl treats text that starts with an equals sign as a formula. The
    # quote prefix keeps it text when a person edits the cell.
    cell.value = _ESCAPE.sub("_x005F_", truncate(shown, _MAX_LENGTH))
    cell.data_type = "s"
    cell.quotePrefix = True
    return cell


def _slices(summary: Summary) -> Iterator[list[Cell]]:
    for key, rows in slice_rows(summary).items():
        for row in rows:
            first, *others = row.metrics
            ends = row.interval or (None, None)
            yield [key, row.value, row.cases, first, *ends, *others, ", ".join(row.notes)]


def _metrics(run: ShownRun) -> Iterator[list[Cell]]:
    summary = run.summary
    shown = tiles(summary)
    for tile in shown:
        low, high = tile.interval or (None, None)
        yield [tile.label, tile.value, low, high, tile.meaning, tile.note]
    for table in detection_tables(summary):
        title = f"detection {table.title}".rstrip()
        for name, value, meaning in table.metrics:
            yield [f"{title}: {name}", value, None, None, meaning]
    for name, evaluator in summary.evaluators.items():
        note = evaluator_note(evaluator)
        yield [f"evaluator: {name}", evaluator.mean_score, None, None, "mean score", note]
        if evaluator.error:
            yield [f"evaluator: {name}", None, None, None, f"error: {evaluator.error}"]
    for name, count in summary.cases._asdict().items():
        yield [f"cases: {_CASE_TOTALS.get(name, name)}", count]
    for name, count in verdict_counts(summary).items():
        yield [f"verdict: {name}", count]
    for gate in gates_failed_first(summary):
        yield ["gate", gate.passed, None, None, gate_text(gate)]
    yield ["convention", None, None, None, summary.convention.name]
    for name in provider_names(run.manifest.providers):
        yield ["provider", None, None, None, name]
    if has_rqs(shown):
        yield ["RQS formula", None, None, None, rqs_formula(summary.rqs_counting)]
    for warning in summary.warnings:
        yield ["warning", None, None, None, warning]
