"""The primary score of a convention, taken on one case alone: one scorer a score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import fsum
from typing import Final, NamedTuple, TypeAlias

from fieldmark.metrics import rates
from fieldmark.metrics.counts import cost_table
from fieldmark.metrics.options import Aggregation, CountingHalf, OptionalMissing, PrimaryScore
from fieldmark.metrics.quality import QualityCounts, quality
from fieldmark.metrics.rates import Rates
from fieldmark.metrics.taxonomy import ErrorCounts
from fieldmark.metrics.verdict import Mark, mark_table
from fieldmark.model.counts import Counts
from fieldmark.model.outcome import CELL_BITS, FACTS, Outcome, Presence, fact
from fieldmark.model.outcomes import AttributeTable, Outcomes

__all__ = ["PLAIN", "CaseView", "Neutral", "Scored", "Scorer", "Totals", "scorer_for"]

PLAIN: Final = fact(Outcome.MATCH, Presence.VALUE, Presence.VALUE)
"""The fact that most fields are; whatever is rare can then cost more."""

_FACT_MASK: Final = (1 << CELL_BITS) - 1


class Totals(NamedTuple):
    """What the facts of a case add up to, wherever they stand."""

    counts: Counts
    errors: ErrorCounts
    quality: QualityCounts
    rates: Rates
    hits: int
    misses: int
    skipped: int
    failed: int


class CaseView(NamedTuple):
    """A case with what was already summed over it.

    `times` says how often each cell happened, `odd` are those cells that are not plain, and
    `neutral` counts misses that are none after all.
    """

    block: Outcomes
    times: Mapping[int, int]
    odd: Sequence[int]
    totals: Totals
    neutral: int
    safety: float | None

    @property
    def misses(self) -> int:
        """Fields that count as missed."""
        return self.totals.misses - self.neutral


class Scored(NamedTuple):
    """A score in [0, 1]; `vacuous` if there was nothing that could be scored."""

    score: float
    vacuous: bool = False


Scorer: TypeAlias = Callable[[CaseView], Scored]
_NOTHING_TO_FIND: Final = Scored(1.0, vacuous=True)


class _FieldF1(dict[int, float]):
    """F1 by `tp << 32 | fp + fn`, worked out once for each pair of numbers."""

    def __missing__(self, key: int) -> float:
        tp, wrong = key >> 32, key & 0xFFFFFFFF
        value = self[key] = rates.f1(Counts(tp=tp, fp=wrong)) or 0.0
        return value


def _by_attribute(counting: CountingHalf, table: AttributeTable) -> Scorer:
    """The mean F1 of the attributes in which there was something to find or something found."""
    effects = tuple(cost.tp << 32 | cost.fp + cost.fn for cost in cost_table(counting))
    field_f1 = _FieldF1()

    def score(case: CaseView) -> Scored:
        times, odd = case.times, case.odd
        if not table.one_number_a_path:
            times = _by_path(times, table)
            odd = [cell for cell in times if cell & _FACT_MASK != PLAIN]
        groups: dict[int, int] = {}
        for cell in odd:
            attribute = cell >> CELL_BITS
            effect = effects[cell & _FACT_MASK] * times[cell]
            groups[attribute] = groups.get(attribute, 0) + effect
        clean = len(times) - len(odd)
        f1s: list[float] = []
        for attribute, effect in groups.items():
            own = attribute << CELL_BITS | PLAIN
            if own in times:
                clean -= 1
                f1s.append(field_f1[effect + (times[own] << 32)])
            elif effect:
                f1s.append(field_f1[effect])
        number = clean + len(f1s)
        f1s.append(clean)
        return Scored(fsum(f1s) / number) if number else _NOTHING_TO_FIND

    return score


def _by_path(times: Mapping[int, int], table: AttributeTable) -> dict[int, int]:
    """The cells with one number for each path."""
    merged: dict[int, int] = {}
    for cell, number in times.items():
        own = table.firsts[cell >> CELL_BITS] << CELL_BITS | cell & _FACT_MASK
        merged[own] = merged.get(own, 0) + number
    return merged


def _by_case(_: CountingHalf, __: AttributeTable) -> Scorer:
    """The F1 of the case; undefined counts 0 unless there was nothing to find."""

    def score(case: CaseView) -> Scored:
        counts, f1 = case.totals.counts, case.totals.rates.f1
        nothing = not (counts.tp or counts.fp or counts.fn)
        if f1 is not None:
            return Scored(f1, vacuous=nothing)
        return _NOTHING_TO_FIND if nothing else Scored(0.0)

    return score


def _rqs(counting: CountingHalf, _: AttributeTable) -> Scorer:
    """The response quality score."""

    def score(case: CaseView) -> Scored:
        return Scored(quality(case.totals.quality, counting, case.safety).rqs)

    return score


def _weighted(counting: CountingHalf, table: AttributeTable) -> Scorer:
    """The mean of what fields earn, weighted; all or nothing where that is asked for."""
    worth = _Worth(counting, table)

    def all_or_nothing(case: CaseView) -> Scored:
        if not (case.totals.hits or case.misses):
            return _NOTHING_TO_FIND
        return Scored(0.0 if case.misses else 1.0)

    def weighted_average(case: CaseView) -> Scored:
        if not (case.totals.hits or case.misses):
            return _NOTHING_TO_FIND
        fields = [worth[cell] for cell in case.block.cells]
        if counting.graded:
            for position, comparison in case.block.comparisons.items():
                if comparison.score != comparison.matched:  # elsewhere the cell says it all
                    weight = fields[position][0]
                    fields[position] = (weight, weight * comparison.score)
        weights = fsum([weight for weight, _ in fields])
        if not weights:
            return _weightless(case.block.cells, table)
        earned = fsum([earned for _, earned in fields])
        return Scored(min(1.0, max(0.0, earned / weights)))

    if counting.aggregation is Aggregation.ALL_OR_NOTHING:
        return all_or_nothing
    return weighted_average


class _Worth(dict[int, tuple[float, float]]):
    """The weight of a cell and what it earns; a field that is not scored weighs nothing."""

    def __init__(self, counting: CountingHalf, table: AttributeTable) -> None:
        super().__init__()
        self._marks = mark_table(counting)
        self._neutral = (
            Neutral(table) if counting.optional_missing is OptionalMissing.NEUTRAL else None
        )
        self._table = table

    def __missing__(self, cell: int) -> tuple[float, float]:
        mark = self._marks[cell & _FACT_MASK]
        scored = mark in _SCORED_MARKS and not (self._neutral is not None and self._neutral[cell])
        weight = self._table.attributes[cell >> CELL_BITS].weight if scored else 0.0
        worth = self[cell] = (weight, weight if mark is Mark.HIT else 0.0)
        return worth


_SCORED_MARKS: Final = frozenset({Mark.HIT, Mark.MISS})


class Neutral(dict[int, bool]):
    """Whether a cell says that an optional field was left out."""

    def __init__(self, table: AttributeTable) -> None:
        super().__init__()
        self._table = table

    def __missing__(self, cell: int) -> bool:
        left_out = FACTS[cell & _FACT_MASK].outcome is Outcome.OMISSION
        neutral = left_out and not self._table.attributes[cell >> CELL_BITS].required
        self[cell] = neutral
        return neutral


def _weightless(cells: Sequence[int], table: AttributeTable) -> Scored:
    """Weight 0 by configuration earns nothing; where the weight is neutral, nothing is to find."""
    configured = any(table.attributes[cell >> CELL_BITS].weight for cell in cells)
    return _NOTHING_TO_FIND if configured else Scored(0.0)


_SCORERS: Final[Mapping[PrimaryScore, Callable[[CountingHalf, AttributeTable], Scorer]]] = {
    PrimaryScore.MACRO_F1_BY_ATTRIBUTE: _by_attribute,
    PrimaryScore.MACRO_F1_BY_CASE: _by_case,
    PrimaryScore.WEIGHTED_AVERAGE: _weighted,
    PrimaryScore.RQS: _rqs,
}


def scorer_for(counting: CountingHalf, table: AttributeTable) -> Scorer:
    """The scorer of a convention's primary score."""
    return _SCORERS[counting.primary](counting, table)
