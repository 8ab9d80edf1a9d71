"""What is probably wrong with the input as a whole, said as warnings; nothing is read otherwise."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Protocol

from fieldmark.data.candidate_lookup import UnmatchedCandidates
from fieldmark.data.inputs import Coverage
from fieldmark.data.json_parser import UnreadableRow
from fieldmark.data.layout import Layout, first_object
from fieldmark.data.rows import RowBlock, RowSource
from fieldmark.model.json import JsonValue

__all__ = ["warn_nested_documents", "warn_no_common_ids", "warn_unreadable_sides"]

_LOOKED_AT: Final = 3
_LOOKS: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (re.compile(r"\s*\[\s*(?:\n|\Z)|\s*\{\s*(?:\n|\Z)"), "JSON over several lines; name it .json"),
    (re.compile(r"\s*<"), "XML or HTML; only JSON and CSV are read"),
    (re.compile(r"---\s*(?:\n|\Z)|(?:- )?[\w-]+:(?:\s|\Z)"), "YAML; only JSON and CSV are read"),
    (re.compile(r"[^{}\[\],\t\n]+\t[^{}\[\]\n]*(?:\n|\Z)"), "TSV; name it .tsv"),
    (re.compile(r"[^{}\[\],\n]+(?:,[^{}\[\],\n]*)+(?:\n|\Z)"), "CSV; name it .csv"),
)
"""How the beginning of a file that is no JSON lines looks, and what it is then."""


class _Side(Protocol):
    @property
    def source(self) -> RowSource: ...
    @property
    def sample(self) -> RowBlock: ...
    @property
    def layout(self) -> Layout: ...


def warn_no_common_ids(
    coverage: Coverage, asked: Sequence[str], leftover: UnmatchedCandidates
) -> list[str]:
    """Says that the ids of the two sides have nothing in common, if there are any."""
    paired = coverage.total - coverage.missing - coverage.invalid_truth
    if paired or not (coverage.missing and leftover.total):
        return []
    truth, candidate = (", ".join(map(repr, names)) for names in (asked, leftover.names))
    ids = f"truth: {truth}, …; candidate: {candidate}, …"
    return [f"no candidate has the id of a truth ({ids}): nothing was paired"]


def warn_unreadable_sides(coverage: Coverage, sides: Sequence[_Side]) -> list[str]:
    """Says that no candidate, or no truth, could be read at all, and what the file looks like."""
    readable = coverage.total - coverage.missing - coverage.invalid_truth
    counts = (
        ("truth", coverage.invalid_truth, coverage.total, sides[0]),
        ("candidate", coverage.unparseable, readable, sides[-1]),
    )
    said: list[str] = []
    for role, faults, of, side in counts:
        looks = _looks_of(side.sample)
        if faults and faults == of and looks:
            said.append(f"{side.source.name}: no {role} can be read; it looks like {looks}")
    return said


def _looks_of(sample: RowBlock) -> str:
    """What rows that are no JSON look like; empty if some are, or if nothing comes to mind."""
    row = next(iter(sample.rows), None)
    if len(sample.rows) > 1 and not all(
        isinstance(each, UnreadableRow) for each in sample.rows[:2]
    ):
        return ""
    if isinstance(row, UnreadableRow):
        text = row.head.decode(errors="replace")
    elif isinstance(row, str):
        text = row
    else:
        return ""
    return next((what for look, what in _LOOKS if look.match(text)), "")


def warn_nested_documents(truth: _Side, candidate: _Side) -> list[str]:
    """Says under which key the documents of the candidate seem to be, if they are not the rows."""
    document = first_object(truth.sample)
    if document is not None and truth.layout.value_key is not None:
        inner = document.get(truth.layout.value_key)
        document = inner if isinstance(inner, dict) else None
    rows = [row for row in candidate.sample.rows if isinstance(row, dict)]
    if document is None or not rows or candidate.layout.value_key is not None:
        return []
    keys = document.keys() - {truth.layout.id_key}
    holders = [key for key, value in rows[0].items() if isinstance(value, dict | list)]
    if len(holders) != 1 or _most(keys, rows[0]):
        return []
    key = holders[0]
    if key in keys or not all(_most(keys, row.get(key)) for row in rows[:_LOOKED_AT]):
        return []
    told = f"--candidate {key} (candidate_key={key!r} in Python) reads them there"
    return [f"{candidate.source.name}: the documents seem to be under {key!r}; {told}"]


def _most(keys: set[str], value: JsonValue) -> bool:
    """Whether an object has more than half of the keys."""
    return isinstance(value, dict) and 2 * len(keys & value.keys()) > len(keys)
