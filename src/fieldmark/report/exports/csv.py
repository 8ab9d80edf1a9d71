"""CSV exports: attributes, cases, or all fields of all cases."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from fieldmark.report.exports.common import (
    atomic_path,
    case_columns,
    case_row,
    field_columns,
    field_rows,
    row_cells,
)
from fieldmark.report.render import csv_table, write_csv_rows
from fieldmark.report.shown_run import ShownRun


@dataclass(frozen=True, slots=True)
class AttributesCsv:
    """One row per attribute."""

    name: ClassVar[str] = "csv"
    file: ClassVar[str] = "attributes.csv"

    def write(self, run: ShownRun, out: Path) -> None:
        """Write one row per attribute, worst first, with full precision."""
        with atomic_path(out) as path:
            path.write_text(csv_table(run.summary), "utf-8", newline="")


@dataclass(frozen=True, slots=True)
class CasesCsv:
    """One row per case."""

    name: ClassVar[str] = "csv-cases"
    file: ClassVar[str] = "cases.csv"

    def write(self, run: ShownRun, out: Path) -> None:
        """Write one row per case: score, mistakes, counts, rates and quality metrics."""
        columns = case_columns(run.summary.evaluators, values=run.has_values)
        convention = run.summary.convention.name
        rows = ([*row_cells(case_row(case), columns), convention] for case in run.cases())
        with atomic_path(out) as path, path.open("w", encoding="utf-8", newline="") as file:
            write_csv_rows(file, [*columns, "convention"], rows)


@dataclass(frozen=True, slots=True)
class OutcomesCsv:
    """One row per field of each case."""

    name: ClassVar[str] = "csv-outcomes"
    file: ClassVar[str] = "outcomes.csv"

    def write(self, run: ShownRun, out: Path) -> None:
        """Write one row per field of each case; lists and objects are written as JSON.

        The results of evaluators are in the first row of each case.
        """
        columns = field_columns(
            values=run.has_values,
            evaluators=bool(run.summary.evaluators),
            confidence=run.summary.confidence is not None,
        )
        convention = run.summary.convention.name
        rows = ([*row_cells(row, columns), convention] for row in field_rows(run))
        with atomic_path(out) as path, path.open("w", encoding="utf-8", newline="") as file:
            write_csv_rows(file, [*columns, "convention"], rows)
