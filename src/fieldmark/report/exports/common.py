"""Shared parts of the exports: fields as flat rows, and atomic files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeAlias

from fieldmark.errors import StorageError
from fieldmark.metrics.taxonomy import ErrorCounts
from fieldmark.model.json import JsonObject, JsonValue, Missing
from fieldmark.report.html.mistake_groups import MISTAKES
from fieldmark.report.shown_run import ShownRun
from fieldmark.values.json_text import strict_json
from fieldmark.wire.case_result import CaseResult, FieldResult
from fieldmark.wire.scores import evaluator_result_to_json

__all__ = [
    "CASE_COLUMNS",
    "EVALUATOR_RESULTS",
    "FIELD_COLUMNS",
    "Cell",
    "atomic_path",
    "evaluator_rows",
    "field_columns",
    "field_row",
    "field_rows",
    "is_mistake",
    "json_text",
    "mistakes_of",
]

Cell: TypeAlias = JsonValue | Missing

FIELD_COLUMNS: Final = (
    "case_id", "path", "candidate_path", "attribute", "outcome", "expected_presence",
    "candidate_presence", "score", "similarity", "reason", "comparator", "weight", "required",
    "flags", "expected", "candidate", "note",
)  # fmt: skip
"""The columns of a table of fields."""

CASE_COLUMNS: Final = (
    "case_id", "score", "verdict", "status", "input", "tags", *ErrorCounts._fields, "vacuous",
)  # fmt: skip
"""The columns of a table of cases."""

_VALUE_COLUMNS: Final = frozenset({"expected", "candidate", "note"})
"""The columns that may quote a document."""

EVALUATOR_RESULTS: Final = "evaluator_results"
"""The column with the results of all evaluators of a case, in tables of fields."""

_WITHOUT_TEXT: Final = ("name", "type", "weight", "score", "verdict", "status", "vacuous")
"""The keys of an evaluator result that never quote a document."""

_MISTAKE_LABELS: Final = frozenset(outcome.label for outcome in MISTAKES)


def field_columns(*, values: bool, evaluators: bool = False) -> list[str]:
    """Return the columns of a table of fields, with or without those that may quote a document."""
    columns = [name for name in FIELD_COLUMNS if values or name not in _VALUE_COLUMNS]
    return [*columns, EVALUATOR_RESULTS] if evaluators else columns


def field_row(case_id: str, field: FieldResult) -> dict[str, Cell]:
    """Return one field of a case, by column."""
    return {
        "case_id": case_id,
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
        "flags": " ".join(field.flags),
        "expected": field.expected,
        "candidate": field.candidate,
        "note": field.note,
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
            yield field_row(case.id, field) | first
            first = {}
        if first:
            yield {"case_id": case.id, **first}


def evaluator_rows(case: CaseResult) -> list[JsonObject]:
    """Return the results of all evaluators of a case with their details.

    Without values, only what cannot quote a document.
    """
    rows = list(map(evaluator_result_to_json, case.evaluator_results))
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
