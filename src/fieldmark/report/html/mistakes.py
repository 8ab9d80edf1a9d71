"""Mistakes of a kind: the same thing gone wrong at the same attribute, for the same reason."""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

from fieldmark.model.json import MISSING, JsonValue, Missing
from fieldmark.model.outcome import CELL_BITS, FACT_MASK, Outcome, Presence, fact_of
from fieldmark.report.html.slots import HIDDEN, cut_text, slot
from fieldmark.values.paths import resolve
from fieldmark.wire.case_result import CaseResult

__all__ = ["Mistakes"]

_MOST: Final = 25
_LONGEST: Final = 200
_WRONG: Final = frozenset(
    {
        Outcome.WRONG_VALUE,
        Outcome.FORMAT_ERROR,
        Outcome.OMISSION,
        Outcome.HALLUCINATION,
        Outcome.ERROR,
    }
)
_WRONG_CODES: Final = frozenset(
    code for code in range(FACT_MASK + 1) if fact_of(code).outcome in _WRONG
)


class Kind(NamedTuple):
    """What makes two mistakes alike."""

    attribute: str
    outcome: Outcome
    reason: str


class _Example(NamedTuple):
    """One mistake of a kind: the rank of its case, and both sides."""

    rank: int
    expected: JsonValue
    candidate: JsonValue


class Mistakes:
    """Counts mistakes by kind, and keeps the one of the worst case as an example."""

    def __init__(self) -> None:
        self._times: Counter[Kind] = Counter()
        self._cases: Counter[Kind] = Counter()
        self._examples: dict[Kind, _Example] = {}

    def add(self, case: CaseResult, times: Counter[int], rank: int | None) -> None:
        """Count the mistakes of one case; one of the list may serve as an example."""
        if not any(cell & FACT_MASK in _WRONG_CODES for cell in times):
            return
        kinds = _kinds(case, times)
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

    def _take_examples(self, case: CaseResult, rank: int, wanted: set[Kind]) -> None:
        for told in case.outcomes.records(case.attributes):
            if told.outcome not in _WRONG:
                continue
            reason = told.comparison.reason if told.comparison else None
            kind = Kind(case.attributes.path(told.attribute), told.outcome, reason or "")
            if kind in wanted:
                wanted.discard(kind)
                self._examples[kind] = _Example(
                    rank,
                    _shown(case, case.expected, told.path, told.expected_presence),
                    _shown(case, case.candidate, told.candidate_path, told.candidate_presence),
                )
            if not wanted:
                return

    def view(self) -> list[JsonValue]:
        """The most frequent kinds, each with how often it occurs, in how many cases, and where."""
        order = sorted(self._times, key=lambda kind: (-self._times[kind], kind))
        return [
            [*kind, self._times[kind], self._cases[kind], *self._examples.get(kind, (None,))]
            for kind in order[:_MOST]
        ]


def _shown(
    case: CaseResult, document: JsonValue | Missing, path: str, presence: Presence
) -> JsonValue:
    """One side of a mistake; the place of an item that is not there may be that of another."""
    if case.expected is MISSING:
        return HIDDEN
    if presence is Presence.ABSENT or document is MISSING:
        return slot(MISSING)
    value = resolve(document, path)
    return slot(cut_text(value, _LONGEST) if isinstance(value, str) else value)


def _kinds(case: CaseResult, times: Counter[int]) -> Counter[Kind]:
    """The mistakes of a case by kind; what comparators said tells reasons apart."""
    table, cells = case.attributes, case.outcomes.cells

    def kind(cell: int, reason: str = "") -> Kind:
        return Kind(table.path(cell >> CELL_BITS), fact_of(cell).outcome, reason)

    kinds: Counter[Kind] = Counter()
    for cell, number in times.items():
        if cell & FACT_MASK in _WRONG_CODES:
            kinds[kind(cell)] += number
    for position, said in case.outcomes.comparisons.items():
        cell = cells[position]
        if said.reason is not None and cell & FACT_MASK in _WRONG_CODES:
            kinds[kind(cell)] -= 1
            kinds[kind(cell, said.reason.value)] += 1
    return +kinds
