"""Mistakes by kind: the same outcome at the same attribute for the same reason."""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

from fieldmark.model.json import MISSING, JsonValue, Missing
from fieldmark.model.outcome import CELL_BITS, FACT_MASK, Outcome, Presence, fact_of
from fieldmark.report.html.value_encoding import HIDDEN, encode_value, truncate
from fieldmark.values.paths import resolve
from fieldmark.wire.case_result import CaseResult

__all__ = ["MISTAKES", "MistakeKinds"]

_MOST: Final = 25
_LONGEST: Final = 200
MISTAKES: Final = frozenset(
    {
        Outcome.WRONG_VALUE,
        Outcome.FORMAT_ERROR,
        Outcome.OMISSION,
        Outcome.HALLUCINATION,
        Outcome.ERROR,
    }
)
"""Outcomes that someone has to look at."""
_MISTAKE_CODES: Final = frozenset(
    code for code in range(FACT_MASK + 1) if fact_of(code).outcome in MISTAKES
)


class _Kind(NamedTuple):
    """What makes two mistakes alike."""

    attribute: str
    outcome: Outcome
    reason: str


class _Example(NamedTuple):
    """One mistake of a kind: the rank of its case, and both sides."""

    rank: int
    expected: JsonValue
    candidate: JsonValue


class MistakeKinds:
    """Counts mistakes by kind, and keeps the one of the worst case as an example."""

    def __init__(self) -> None:
        self._times: Counter[_Kind] = Counter()
        self._cases: Counter[_Kind] = Counter()
        self._examples: dict[_Kind, _Example] = {}

    def add(self, case: CaseResult, times: Counter[int], rank: int | None) -> None:
        """Count the mistakes of one case; one of the list may serve as an example."""
        if not any(cell & FACT_MASK in _MISTAKE_CODES for cell in times):
            return
        kinds = _count_by_kind(case, times)
        self._times.update(kinds)
        self._cases.update(kinds.keys())
        if rank is not None:
            better = {
                kind
                for kind in kinds
                if kind not in self._examples or rank < self._examples[kind].rank
            }
            if better:
                self._take_examples(case, rank, better)

    def _take_examples(self, case: CaseResult, rank: int, wanted: set[_Kind]) -> None:
        for record in case.outcomes.records(case.attributes):
            if record.outcome not in MISTAKES:
                continue
            reason = record.comparison.reason if record.comparison else None
            kind = _Kind(case.attributes.path(record.attribute), record.outcome, reason or "")
            if kind in wanted:
                wanted.discard(kind)
                sides = (
                    (case.expected, record.path, record.expected_presence),
                    (case.candidate, record.candidate_path, record.candidate_presence),
                )
                shown = (_encode_side(*side) if case.has_values else HIDDEN for side in sides)
                self._examples[kind] = _Example(rank, *shown)
            if not wanted:
                return

    def view(self) -> list[JsonValue]:
        """The most frequent kinds, each with how often it occurs, in how many cases, and where."""
        order = sorted(self._times, key=lambda kind: (-self._times[kind], kind))
        return [
            [*kind, self._times[kind], self._cases[kind], *self._examples.get(kind, (None,))]
            for kind in order[:_MOST]
        ]


def _encode_side(document: JsonValue | Missing, path: str, presence: Presence) -> JsonValue:
    """One side of a mistake; at the path of an absent item there may be another item."""
    if presence is Presence.ABSENT or document is MISSING:
        return encode_value(MISSING)
    value = resolve(document, path)
    return encode_value(truncate(value, _LONGEST) if isinstance(value, str) else value)


def _count_by_kind(case: CaseResult, times: Counter[int]) -> Counter[_Kind]:
    """The mistakes of a case by kind; comparisons give the reasons."""
    table, cells = case.attributes, case.outcomes.cells

    def kind(cell: int, reason: str = "") -> _Kind:
        return _Kind(table.path(cell >> CELL_BITS), fact_of(cell).outcome, reason)

    kinds: Counter[_Kind] = Counter()
    for cell, number in times.items():
        if cell & FACT_MASK in _MISTAKE_CODES:
            kinds[kind(cell)] += number
    for position, comparison in case.outcomes.comparisons.items():
        cell = cells[position]
        if comparison.reason is not None and cell & FACT_MASK in _MISTAKE_CODES:
            kinds[kind(cell)] -= 1
            kinds[kind(cell, comparison.reason.value)] += 1
    return +kinds
