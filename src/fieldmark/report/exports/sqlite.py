"""SQLite export: tables of metrics, attributes, cases, fields and evaluator results."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from fieldmark.errors import StorageError
from fieldmark.metrics.summary import Summary
from fieldmark.report.exports.common import (
    Cell,
    Columns,
    atomic_path,
    case_columns,
    case_row,
    evaluator_rows,
    field_columns,
    field_row,
    row_cells,
    scalar,
)
from fieldmark.report.metric_titles import metric_bounds
from fieldmark.report.shown_run import ShownRun
from fieldmark.report.tables import ColumnType, attribute_cells, attribute_columns

_TYPES: Final = {
    ColumnType.TEXT: "TEXT",
    ColumnType.WORDS: "TEXT",
    ColumnType.TAGS: "TEXT",
    ColumnType.JSON: "TEXT",
    ColumnType.INTEGER: "INTEGER",
    ColumnType.BOOLEAN: "INTEGER",
    ColumnType.NUMBER: "REAL",
}
_METRICS: Final[Columns] = {"metric": ColumnType.TEXT, "value": ColumnType.NUMBER}
_BOUNDS: Final[Columns] = {"low": ColumnType.NUMBER, "high": ColumnType.NUMBER}
_EVALUATORS: Final[Columns] = {
    "case_id": ColumnType.TEXT,
    "name": ColumnType.TEXT,
    "type": ColumnType.TEXT,
    "weight": ColumnType.NUMBER,
    "score": ColumnType.NUMBER,
    "verdict": ColumnType.TEXT,
    "status": ColumnType.TEXT,
    "vacuous": ColumnType.BOOLEAN,
    "reasoning": ColumnType.TEXT,
    "hits": ColumnType.JSON,
    "misses": ColumnType.JSON,
    "skipped": ColumnType.JSON,
    "details": ColumnType.JSON,
}


@dataclass(frozen=True, slots=True)
class Sqlite:
    """A database with tables of metrics, attributes, cases and fields."""

    name: ClassVar[str] = "sqlite"
    file: ClassVar[str] = "report.db"

    def write(self, run: ShownRun, out: Path) -> None:
        """Write a database; lists, objects and the values of fields are JSON text.

        Fields and evaluator results refer to their cases by `case_id`.
        """
        cases = case_columns(values=run.has_values)
        fields = field_columns(values=run.has_values, confidence=run.summary.confidence is not None)
        # Both are columns of the cases.
        fields = {name: kind for name, kind in fields.items() if name not in {"tags", "metadata"}}
        with atomic_path(out) as path:
            try:
                # The file is replaced as a whole, so it needs no journal.
                with closing(sqlite3.connect(path, isolation_level=None)) as database:
                    database.executescript(
                        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN"
                    )
                    _write(database, "metrics", *_metrics(run.summary))
                    columns = attribute_columns(run.summary)
                    _write(database, "attributes", columns, attribute_cells(run.summary))
                    rows = (row_cells(case_row(case), cases) for case in run.cases())
                    _write(database, "cases", cases, rows)
                    rows = (
                        row_cells(field_row(case, field), fields)
                        for case in run.cases()
                        for field in case.iter_fields()
                    )
                    _write(database, "fields", fields, rows)
                    if run.summary.evaluators:
                        rows = (
                            row_cells({"case_id": case.id, **row}, _EVALUATORS)
                            for case in run.cases()
                            for row in evaluator_rows(case)
                        )
                        _write(database, "evaluator_results", _EVALUATORS, rows)
                    database.execute("COMMIT")
            except sqlite3.Error as error:
                raise StorageError(f"cannot write {out}: {error}") from error


def _metrics(summary: Summary) -> tuple[Columns, list[Sequence[Cell]]]:
    """Return the headline metrics, with their bounds and the number of failed cases if any."""
    if summary.bounds is None:
        return _METRICS, [*summary.headline.items()]
    rows: list[Sequence[Cell]] = [
        (name, value, *(metric_bounds(summary, name) or (None, None)))
        for name, value in summary.headline.items()
    ]
    failed = summary.bounds.failed
    return {**_METRICS, **_BOUNDS}, [*rows, ("failed_cases", failed, failed, failed)]


def _write(
    database: sqlite3.Connection, table: str, columns: Columns, rows: Iterable[Sequence[Cell]]
) -> None:
    """Create a table with rows; every name is a column of fieldmark, never from data."""
    defined = [f'"{name}" {_TYPES[kind]}' for name, kind in columns.items()]
    if table == "cases":
        defined[0] += " PRIMARY KEY"
    elif "case_id" in columns:
        defined.append('FOREIGN KEY ("case_id") REFERENCES "cases" ("case_id")')
    database.execute(f'CREATE TABLE "{table}" ({", ".join(defined)})')
    kinds = tuple(columns.values())
    places = ", ".join("?" * len(kinds))
    database.executemany(
        f'INSERT INTO "{table}" VALUES ({places})',  # noqa: S608 - the name of a table above
        ([scalar(cell, kind) for cell, kind in zip(row, kinds, strict=True)] for row in rows),
    )
    for name in ("case_id", "attribute", "outcome"):
        if table != "cases" and name in columns and table != "attributes":
            database.execute(f'CREATE INDEX "{table}_{name}" ON "{table}" ("{name}")')
