"""Warnings about inputs that are probably read in a way the user did not intend."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from fieldmark.data.inputs import Coverage
from fieldmark.data.json_parser import UnreadableRow
from fieldmark.data.layout import first_object
from fieldmark.data.rows import RowBlock
from fieldmark.model.json import JsonValue

if TYPE_CHECKING:
    from fieldmark.data.candidate_lookup import UnmatchedCandidates
    from fieldmark.data.sides import InputSide

__all__ = ["warn_nested_documents", "warn_no_common_ids", "warn_unreadable_sides"]

_CHECKED_ROWS: Final = 3
_OTHER_FORMATS: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (
        re.compile(r"\s*\[\s*(?:\n|\Z)|\s*\{\s*(?:\n|\Z)"),
        "multi-line JSON; use the extension .json",
    ),
    (re.compile(r"\s*<"), "XML or HTML, which is not supported"),
    (re.compile(r"---\s*(?:\n|\Z)|(?:- )?[\w-]+:(?:\s|\Z)"), "YAML, which is not supported"),
    (re.compile(r"[^{}\[\],\t\n]+\t[^{}\[\]\n]*(?:\n|\Z)"), "TSV; use the extension .tsv"),
    (re.compile(r"[^{}\[\],\n]+(?:,[^{}\[\],\n]*)+(?:\n|\Z)"), "CSV; use the extension .csv"),
)
"""Patterns for the start of files that are not JSONL, and their likely formats."""


def warn_no_common_ids(
    coverage: Coverage, truth_ids: Sequence[str], unmatched: UnmatchedCandidates
) -> list[str]:
    """Return a warning if the two sides have no id in common."""
    paired = coverage.total - coverage.missing - coverage.invalid_truth
    if paired or not (coverage.missing and unmatched.total):
        return []
    truth, candidate = (", ".join(map(repr, names)) for names in (truth_ids, unmatched.names))
    ids = f"ground truth: {truth}, …; predictions: {candidate}, …"
    return [f"no rows paired: the two inputs have no id in common ({ids})"]


def warn_unreadable_sides(coverage: Coverage, sides: Sequence[InputSide]) -> list[str]:
    """Return a warning for each side without a readable row, with its likely format."""
    readable = coverage.total - coverage.missing - coverage.invalid_truth
    counts = (
        (coverage.invalid_truth, coverage.total, sides[0]),
        (coverage.unparseable, readable, sides[-1]),
    )
    warnings: list[str] = []
    for faults, total, side in counts:
        looks = _guess_format(side.sample)
        if faults and faults == total and looks:
            name = side.source.name
            warnings.append(f"{name}: cannot parse any row; the file looks like {looks}")
    return warnings


def _guess_format(sample: RowBlock) -> str:
    """Return the likely format if the first rows are not JSON, or an empty string."""
    row = next(iter(sample.rows), None)
    if len(sample.rows) > 1 and not all(isinstance(r, UnreadableRow) for r in sample.rows[:2]):
        return ""
    if isinstance(row, UnreadableRow):
        text = row.head.decode(errors="replace")
    elif isinstance(row, str):
        text = row
    else:
        return ""
    return next((name for pattern, name in _OTHER_FORMATS if pattern.match(text)), "")


def warn_nested_documents(truth: InputSide, candidate: InputSide) -> list[str]:
    """Return a warning with the key that seems to contain the documents of the candidate."""
    document = first_object(truth.sample)
    if document is not None and truth.layout.value_key is not None:
        inner = document.get(truth.layout.value_key)
        document = inner if isinstance(inner, dict) else None
    rows = [row for row in candidate.sample.rows if isinstance(row, dict)]
    if document is None or not rows or candidate.layout.value_key is not None:
        return []
    keys = document.keys() - {truth.layout.id_key}
    holders = [key for key, value in rows[0].items() if isinstance(value, dict | list)]
    if len(holders) != 1 or _has_most(keys, rows[0]):
        return []
    key = holders[0]
    if key in keys or not all(_has_most(keys, row.get(key)) for row in rows[:_CHECKED_ROWS]):
        return []
    hint = f"set the candidate key to {key!r} to read them"
    return [f"{candidate.source.name}: the predictions appear to be in {key!r}; {hint}"]


def _has_most(keys: set[str], value: JsonValue) -> bool:
    """Return whether an object has more than half of the keys."""
    return isinstance(value, dict) and 2 * len(keys & value.keys()) > len(keys)
