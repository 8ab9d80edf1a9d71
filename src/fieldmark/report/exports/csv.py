"""CSV for spreadsheets: cells cannot be taken for formulas, every cell is quoted."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, TextIO

from fieldmark.model.json import MISSING, JsonValue, Missing
from fieldmark.report.exports.attributes import ATTRIBUTE_COLUMNS, stored_attributes
from fieldmark.report.exports.hiding import shown_with
from fieldmark.report.exports.outcomes import VALUES, OutcomeRow, outcome_rows
from fieldmark.report.exports.text import json_text
from fieldmark.report.exports.whole import whole_file
from fieldmark.report.html.shown import ShownRun
from fieldmark.values.escape import for_csv

__all__ = ["csv_text", "write_csv", "write_outcomes_csv"]

_PLAIN: Final = re.compile(r"(?:[A-Za-z0-9\[][ -~]{0,200})?\Z")
"""Text that is safe as it stands, known at a look."""

_Row = Iterable[JsonValue | Missing]


def write_csv(run: ShownRun, out: Path, *, values: bool = True) -> None:
    """One row an attribute, the worst first, with full precision."""
    shown = shown_with(run, values=values)
    rows = (row.to_dict() for row in stored_attributes(shown.summary))
    _write(out, ATTRIBUTE_COLUMNS, ([row[name] for name in ATTRIBUTE_COLUMNS] for row in rows))


def write_outcomes_csv(run: ShownRun, out: Path, *, values: bool = True) -> None:
    """One row a field of a case; lists and objects are JSON text."""
    shown = shown_with(run, values=values)
    columns = [name for name in OutcomeRow._fields if values or name not in VALUES]
    _write(out, columns, _fields(shown, columns))


def _fields(run: ShownRun, columns: list[str]) -> Iterator[list[JsonValue | Missing]]:
    for case in run.cases():
        for row in outcome_rows(case):
            yield list(row[: len(columns)])


def csv_text(columns: Iterable[str], rows: Iterable[_Row]) -> str:
    """Rows below a header, as text."""
    target = io.StringIO()
    _put(target, columns, rows)
    return target.getvalue()


def _write(out: Path, columns: Iterable[str], rows: Iterable[_Row]) -> None:
    with (
        whole_file(out) as beside,
        beside.open("w", encoding="utf-8", newline="") as file,
    ):
        _put(file, columns, rows)


def _put(target: TextIO, columns: Iterable[str], rows: Iterable[_Row]) -> None:
    writer = csv.writer(target, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(value) for value in row])


def _cell(value: JsonValue | Missing) -> str:
    """Text that is safe, and other values as a table of figures or JSON writes them."""
    # The most frequent kinds first: a run has millions of cells.
    if isinstance(value, str):
        return value if _PLAIN.match(value) else for_csv(value)
    if value is None or value is MISSING:
        return ""
    if isinstance(value, bool | list | dict):
        return for_csv(json_text(value) or "")
    return str(value)
