"""Rows as CSV that spreadsheets read as values, never as formulas."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from typing import Final, TextIO

from fieldmark.model.json import MISSING, JsonValue, Missing
from fieldmark.values.escape import for_csv
from fieldmark.values.json_text import strict_json

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
