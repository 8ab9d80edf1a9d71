"""Mistakes grouped by attribute, outcome and reason."""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

from fieldmark.model.json import MISSING, JsonValue, Missing
from fieldmark.model.outcome import CELL_BITS, FACT_MASK, Outcome, Presence, fact_of
from fieldmark.report.html.value_encoding import HIDDEN, encode_value, truncate
from fieldmark.values.paths import resolve
from fieldmark.wire.case_result import CaseResult

__all__ = ["MISTAKES", "MistakeGroups"]

_MAX_GROUPS: Final = 25
_MAX_LENGTH: Final = 200
MISTAKES: Final = frozenset(
    {
        Outcome.WRONG_VALUE,
        Outcome.FORMAT_ERROR,
        Outcome.OMISSION,
        Outcome.HALLUCINATION,
        Outcome.ERROR,
    }
)
"""The outcomes that are listed: mistakes and errors."""
_MISTAKE_CODES: Final = frozenset(
    code for code in range(FACT_MASK + 1) if fact_of(code).outcome in MISTAKES
)


class _Group(NamedTuple):
    """The key of a group of mistakes."""

    attribute: str
    outcome: Outcome
    reason: str


class _Example(NamedTuple):
    """An example of a group: the rank of its case, and both values."""

    rank: int
    expected: JsonValue
    candidate: JsonValue


class MistakeGroups:
    """Counts mistakes by group, with an example from the worst case."""

    def __init__(self) -> None:
        self._times: Counter[_Group] = Counter()
        self._cases: Counter[_Group] = Counter()
        self._examples: dict[_Group, _Example] = {}

    def add(self, case: CaseResult, times: Counter[int], rank: int | None) -> None:
        """Count the mistakes of one case; only listed cases provide examples."""
        if not any(cell & FACT_MASK in _MISTAKE_CODES for cell in times):
            return
        groups = _count_by_group(case, times)
        self._times.update(groups)
        self._cases.update(groups.keys())
        if rank is None:
            return
        known = self._examples
        wanted = {group for group in groups if group not in known or rank < known[group].rank}
        for record in case.outcomes.records(case.attributes) if wanted else ():
            if record.outcome not in MISTAKES:
                continue
            reason = record.comparison.reason if record.comparison else None
            group = _Group(case.attributes.path(record.attribute), record.outcome, reason or "")
            if group in wanted:
                wanted.discard(group)
                sides = (
                    (case.expected, record.path, record.expected_presence),
                    (case.candidate, record.candidate_path, record.candidate_presence),
                )
                shown = (_encode_side(*side) if case.has_values else HIDDEN for side in sides)
                known[group] = _Example(rank, *shown)
                if not wanted:
                    return

    def view(self) -> list[JsonValue]:
        """Return the most frequent groups with their mistakes, cases and example."""
        order = sorted(self._times, key=lambda group: (-self._times[group], group))
        return [
            [*group, self._times[group], self._cases[group], *self._examples.get(group, (None,))]
            for group in order[:_MAX_GROUPS]
        ]


def _encode_side(document: JsonValue | Missing, path: str, presence: Presence) -> JsonValue:
    """Encode one value of a mistake; the path of an absent item may belong to another item."""
    if presence is Presence.ABSENT or document is MISSING:
        return encode_value(MISSING)
    value = resolve(document, path)
    return encode_value(truncate(value, _MAX_LENGTH) if isinstance(value, str) else value)


def _count_by_group(case: CaseResult, times: Counter[int]) -> Counter[_Group]:
    """Count the mistakes of a case by group; comparisons provide the reasons."""
    table, cells = case.attributes, case.outcomes.cells

    def group(cell: int, reason: str = "") -> _Group:
        return _Group(table.path(cell >> CELL_BITS), fact_of(cell).outcome, reason)

    groups: Counter[_Group] = Counter()
    for cell, number in times.items():
        if cell & FACT_MASK in _MISTAKE_CODES:
            groups[group(cell)] += number
    for position, comparison in case.outcomes.comparisons.items():
        cell = cells[position]
        if comparison.reason is not None and cell & FACT_MASK in _MISTAKE_CODES:
            groups[group(cell)] -= 1
            groups[group(cell, comparison.reason.value)] += 1
    return +groups
