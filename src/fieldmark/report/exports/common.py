"""What the exports share: fields as flat rows, and files that are complete or not written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeAlias

from fieldmark.errors import StorageError
from fieldmark.model.json import JsonValue, Missing
from fieldmark.report.html.mistakes import MISTAKES
from fieldmark.values.json_text import strict_json
from fieldmark.wire.case_result import CaseResult, FieldResult

__all__ = [
    "FIELD_COLUMNS",
    "Cell",
    "atomic_path",
    "field_columns",
    "field_row",
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
"""The columns of tables of fields."""

_VALUE_COLUMNS: Final = frozenset({"expected", "candidate", "note"})
"""The columns that may quote a document."""

_MISTAKE_LABELS: Final = frozenset(outcome.label for outcome in MISTAKES)


def field_columns(*, values: bool) -> list[str]:
    """The columns of a table of fields, with or without those that may quote a document."""
    return [name for name in FIELD_COLUMNS if values or name not in _VALUE_COLUMNS]


def field_row(case_id: str, field: FieldResult) -> dict[str, Cell]:
    """One field of a case by column."""
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


def is_mistake(field: FieldResult) -> bool:
    """Whether someone has to look at a field."""
    return field.outcome in _MISTAKE_LABELS


def mistakes_of(case: CaseResult) -> Iterator[FieldResult]:
    """The fields of a case that someone has to look at."""
    return filter(is_mistake, case.iter_fields())


def json_text(value: Cell) -> str:
    """The value as JSON text; nothing for an absent value."""
    return "" if isinstance(value, Missing) else strict_json(value).decode()


@contextmanager
def atomic_path(out: Path) -> Iterator[Path]:
    """A path beside `out` to write to, which replaces `out` at the end if nothing failed."""
    beside = out.with_name(f".{out.name}.{os.getpid()}.part")
    try:
        yield beside
        beside.replace(out)
    except BaseException as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise StorageError(f"cannot write {out}: {error.strerror or error}") from error
        raise
