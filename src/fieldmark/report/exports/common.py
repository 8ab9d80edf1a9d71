"""Cases and fields as flat rows, for all exports and data frames, and atomic files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeAlias

from fieldmark.errors import StorageError
from fieldmark.metrics.counts import MISTAKES, ErrorCounts
from fieldmark.metrics.headline import QUALITY_METRICS
from fieldmark.metrics.rates import Rates
from fieldmark.model.counts import Counts
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.outcome import Outcome
from fieldmark.report.shown_run import ShownRun
from fieldmark.report.tables import ColumnType
from fieldmark.runs.case_result import CaseResult, FieldResult
from fieldmark.values.json_text import strict_json
from fieldmark.values.records import to_json

Cell: TypeAlias = JsonValue | Missing
Scalar: TypeAlias = str | float | bool | None
Columns: TypeAlias = Mapping[str, ColumnType]
"""The columns of a table in order, with their types."""

EVALUATOR_RESULTS: Final = "evaluator_results"
"""The column with the results of all evaluators of a case."""

CONFIDENCE: Final = "confidence"
"""The column with the confidence of a field, in runs with confidences."""

FIELD_COLUMNS: Final[Columns] = {
    "case_id": ColumnType.TEXT,
    "path": ColumnType.TEXT,
    "candidate_path": ColumnType.TEXT,
    "attribute": ColumnType.TEXT,
    "outcome": ColumnType.TEXT,
    "expected_presence": ColumnType.TEXT,
    "candidate_presence": ColumnType.TEXT,
    "score": ColumnType.NUMBER,
    "similarity": ColumnType.NUMBER,
    "reason": ColumnType.TEXT,
    "comparator": ColumnType.TEXT,
    "weight": ColumnType.NUMBER,
    "required": ColumnType.BOOLEAN,
    "flags": ColumnType.WORDS,
    "expected": ColumnType.JSON,
    "candidate": ColumnType.JSON,
    "note": ColumnType.TEXT,
    "tags": ColumnType.TAGS,
    "metadata": ColumnType.JSON,
}
"""The columns of a table of fields."""

CASE_LIST_COLUMNS: Final[Columns] = {
    "case_id": ColumnType.TEXT,
    "score": ColumnType.NUMBER,
    "verdict": ColumnType.TEXT,
    "status": ColumnType.TEXT,
    "input": ColumnType.TEXT,
    "tags": ColumnType.TAGS,
    **dict.fromkeys(ErrorCounts._fields, ColumnType.INTEGER),
    "vacuous": ColumnType.BOOLEAN,
}
"""The first columns of a table of cases, for lists."""

CASE_COLUMNS: Final[Columns] = {
    **CASE_LIST_COLUMNS,
    **dict.fromkeys(Counts._fields, ColumnType.INTEGER),
    **dict.fromkeys(Rates._fields, ColumnType.NUMBER),
    **{f"quality_{name}": ColumnType.NUMBER for name in QUALITY_METRICS},
    "quality_flags": ColumnType.WORDS,
    "errors": ColumnType.INTEGER,
    "parsed_from": ColumnType.TEXT,
    "note": ColumnType.TEXT,
    "metadata": ColumnType.JSON,
}
"""The columns of a table of cases, without columns of evaluators.

`hallucination` is a number of fields, and `quality_hallucination` a share of keys.
"""

_VALUE_COLUMNS: Final = frozenset({"expected", "candidate", "note", "metadata"})
"""The columns that may quote a document."""

_WITHOUT_TEXT: Final = ("name", "type", "weight", "score", "verdict", "status", "vacuous")
"""The keys of an evaluator result that never quote a document."""

_MISTAKE_LABELS: Final = frozenset(outcome.label for outcome in (*MISTAKES, Outcome.ERROR))
_SEPARATORS: Final = {ColumnType.WORDS: " ", ColumnType.TAGS: ", "}


def field_columns(
    *, values: bool = True, evaluators: bool = False, confidence: bool = False
) -> Columns:
    """Return the columns of a table of fields, with or without columns that may quote a document.

    Runs with confidences and with evaluators have further columns.
    """
    columns = {
        name: kind for name, kind in FIELD_COLUMNS.items() if values or name not in _VALUE_COLUMNS
    }
    if confidence:
        columns[CONFIDENCE] = ColumnType.NUMBER
    return {**columns, EVALUATOR_RESULTS: ColumnType.JSON} if evaluators else columns


def case_columns(evaluators: Iterable[str] = (), *, values: bool = True) -> Columns:
    """Return the columns of a table of cases: each evaluator has a column with its score."""
    columns = {
        name: kind for name, kind in CASE_COLUMNS.items() if values or name not in _VALUE_COLUMNS
    }
    scores = {_score_column(name): ColumnType.NUMBER for name in evaluators}
    return {**columns, **scores, EVALUATOR_RESULTS: ColumnType.JSON} if scores else columns


def _score_column(evaluator: str) -> str:
    return f"evaluators.{evaluator}"


def field_row(case: CaseResult, field: FieldResult) -> dict[str, Cell]:
    """Return one field of a case, by column; numbers that are not finite are null and flagged."""
    field = field.finite()
    return {
        "case_id": case.id,
        "path": field.path,
        "candidate_path": field.candidate_path,
        "attribute": field.attribute,
        "outcome": field.outcome,
        "expected_presence": field.expected_presence,
        "candidate_presence": field.candidate_presence,
        "score": field.score,
        "similarity": field.similarity,
        "reason": None if field.reason is None else field.reason.value,
        "comparator": field.comparator,
        "weight": field.weight,
        "required": field.required,
        "flags": [*field.flags],
        "expected": field.expected,
        "candidate": field.candidate,
        "note": field.note,
        "tags": [*case.tags],
        "metadata": case.metadata or MISSING,
        CONFIDENCE: field.confidence,
    }


def field_rows(run: ShownRun) -> Iterator[dict[str, Cell]]:
    """Yield all fields of all cases, by column.

    If the run has evaluators, the first row of each case contains their results. A case without
    fields has one row then.
    """
    with_results = bool(run.summary.evaluators)
    for case in run.cases():
        results: list[JsonValue] = [*evaluator_rows(case)] if with_results else []
        first: dict[str, Cell] = {EVALUATOR_RESULTS: results} if results else {}
        for field in case.iter_fields():
            yield field_row(case, field) | first
            first = {}
        if first:
            yield {"case_id": case.id, **first}


def case_row(case: CaseResult) -> dict[str, Cell]:
    """Return one case, by column."""
    stats, quality = case.stats, case.quality
    qualities = {f"quality_{name}": getattr(quality, name) for name in QUALITY_METRICS}
    if quality.flags.get("safety"):
        qualities["quality_safety"] = None  # it counts as 1, but was not evaluated
    flags = (
        f"{metric}:{flag}"
        for metric, metric_flags in quality.flags.items()
        for flag in metric_flags
    )
    return {
        "case_id": case.id,
        "score": case.score,
        "verdict": None if case.verdict is None else case.verdict.value,
        "status": case.status,
        "input": case.input,
        "tags": [*case.tags],
        **stats.errors._asdict(),
        "vacuous": case.vacuous,
        **stats.counts._asdict(),
        **{name: getattr(case, name) for name in Rates._fields},
        **qualities,
        "quality_flags": [*flags],
        "errors": stats.errors_count,
        "parsed_from": case.case.parsed_from,
        "note": case.case.note,
        "metadata": case.metadata or MISSING,
        **{_score_column(result.name): result.score.score for result in case.evaluator_results},
        EVALUATOR_RESULTS: [*evaluator_rows(case)],
    }


def row_cells(row: Mapping[str, Cell], columns: Columns) -> list[Cell]:
    """Return the cells of a row in the order of the columns; words and tags are joined."""
    cells: list[Cell] = []
    for name, kind in columns.items():
        cell = row.get(name, MISSING)
        if kind in _SEPARATORS and isinstance(cell, list):
            cell = _SEPARATORS[kind].join(map(str, cell))
        cells.append(cell)
    return cells


def evaluator_rows(case: CaseResult) -> list[JsonObject]:
    """Return the results of all evaluators of a case with their details.

    Without values, only what cannot quote a document.
    """
    rows = list(map(to_json, case.evaluator_results))
    if case.has_values:
        return rows
    return [{key: row[key] for key in _WITHOUT_TEXT} for row in rows]


def is_mistake(field: FieldResult) -> bool:
    """Whether the outcome of a field is a mistake or an error."""
    return field.outcome in _MISTAKE_LABELS


def mistakes_of(case: CaseResult) -> Iterator[FieldResult]:
    """Return the fields of a case whose outcome is a mistake or an error."""
    return filter(is_mistake, case.iter_fields())


def json_text(value: Cell) -> str:
    """Return the value as JSON, or an empty string for an absent value."""
    return "" if isinstance(value, Missing) else strict_json(value).decode()


def scalar(cell: Cell, kind: ColumnType) -> Scalar:
    """Return a cell of a typed column; text that UTF-8 cannot encode is escaped."""
    if isinstance(cell, Missing):
        return None
    if kind is ColumnType.JSON or isinstance(cell, list | dict):
        return json_text(cell)
    if isinstance(cell, str) and not cell.isascii():
        return cell.encode("utf-8", "backslashreplace").decode()
    return cell


@contextmanager
def atomic_path(out: Path) -> Iterator[Path]:
    """Yield a temporary path next to `out` that replaces `out` if the block succeeds."""
    temporary = out.with_name(f".{out.name}.{os.getpid()}.part")
    try:
        yield temporary
        temporary.replace(out)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise StorageError(f"cannot write {out}: {error.strerror or error}") from error
        raise
