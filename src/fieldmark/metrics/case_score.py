"""The counts, figures, score and verdict of one case.

Every fact is a row of small numbers (counts, mistakes, buckets, marks), packed into one integer
with 32 bits a number, so that adding integers adds whole rows. Cases with the same cells share one
record, which makes most cases a look-up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import fsum
from struct import Struct
from typing import Final, NamedTuple, TypeAlias

from fieldmark.metrics.conventions import (
    Aggregation,
    Convention,
    CountingOptions,
    OnError,
    OptionalMissing,
    PrimaryScore,
)
from fieldmark.metrics.counts import cost_table
from fieldmark.metrics.quality import QualityCounts, bucket_table, quality
from fieldmark.metrics.rates import Rates, f1_score, rates
from fieldmark.metrics.taxonomy import ERROR_TABLE, ErrorCounts
from fieldmark.metrics.verdict import Mark, mark_table, verdict_at, verdict_of
from fieldmark.model.case import Verdict
from fieldmark.model.counts import Counts
from fieldmark.model.outcome import CELL_BITS, FACT_MASK, FACTS, Outcome, Presence, fact
from fieldmark.model.outcomes import AttributeTable, Outcomes, renumber

__all__ = ["SHORT", "CaseCounter", "CaseStats"]

SHORT: Final = 64
"""Cases with more cells hardly ever repeat, so they are not memoized."""

_PLAIN_MATCH: Final = fact(Outcome.MATCH, Presence.VALUE, Presence.VALUE)
"""The fact of most fields; only other facts are looked at one by one."""


class _Totals(NamedTuple):
    """The sums over the facts of a case."""

    counts: Counts
    errors: ErrorCounts
    quality: QualityCounts
    rates: Rates
    hits: int
    misses: int
    skipped: int
    failed: int


class _CaseView(NamedTuple):
    """A case with its sums.

    `times` says how often each cell occurs, `odd` are the cells that are not plain matches, and
    `neutral` counts the misses that do not count.
    """

    block: Outcomes
    times: Mapping[int, int]
    odd: Sequence[int]
    totals: _Totals
    neutral: int
    safety: float | None

    @property
    def misses(self) -> int:
        """Fields that count as missed."""
        return self.totals.misses - self.neutral


class _Scored(NamedTuple):
    """A score in [0, 1]; `vacuous` if there was nothing to score."""

    score: float
    vacuous: bool = False


_Scorer: TypeAlias = Callable[[_CaseView], _Scored]
_NOTHING_TO_FIND: Final = _Scored(1.0, vacuous=True)


class _FieldF1(dict[int, float]):
    """F1 by `tp << 32 | fp + fn`, computed once for each pair of numbers."""

    def __missing__(self, key: int) -> float:
        tp, wrong = key >> 32, key & 0xFFFFFFFF
        value = self[key] = f1_score(tp, wrong, 0) or 0.0
        return value


def _by_attribute(counting: CountingOptions, table: AttributeTable) -> _Scorer:
    """The mean F1 of the attributes that either side has."""
    effects = tuple(cost.tp << 32 | cost.fp + cost.fn for cost in cost_table(counting))
    field_f1 = _FieldF1()

    def score(case: _CaseView) -> _Scored:
        times, odd = case.times, case.odd
        if not table.one_number_a_path:
            merged: Counter[int] = Counter()
            for cell, number in zip(renumber(times, table.firsts), times.values(), strict=True):
                merged[cell] += number
            times = merged
            odd = [cell for cell in times if cell & FACT_MASK != _PLAIN_MATCH]
        groups: dict[int, int] = {}
        for cell in odd:
            attribute = cell >> CELL_BITS
            effect = effects[cell & FACT_MASK] * times[cell]
            groups[attribute] = groups.get(attribute, 0) + effect
        clean = len(times) - len(odd)
        f1s: list[float] = []
        for attribute, effect in groups.items():
            own = attribute << CELL_BITS | _PLAIN_MATCH
            if own in times:
                clean -= 1
                f1s.append(field_f1[effect + (times[own] << 32)])
            elif effect:
                f1s.append(field_f1[effect])
        number = clean + len(f1s)
        f1s.append(clean)
        return _Scored(fsum(f1s) / number) if number else _NOTHING_TO_FIND

    return score


def _by_case(_: CountingOptions, __: AttributeTable) -> _Scorer:
    """The F1 of the case; undefined counts 0 unless there was nothing to find."""

    def score(case: _CaseView) -> _Scored:
        counts, f1 = case.totals.counts, case.totals.rates.f1
        nothing = not (counts.tp or counts.fp or counts.fn)
        if f1 is not None:
            return _Scored(f1, vacuous=nothing)
        return _NOTHING_TO_FIND if nothing else _Scored(0.0)

    return score


def _rqs(counting: CountingOptions, _: AttributeTable) -> _Scorer:
    """The response quality score."""

    def score(case: _CaseView) -> _Scored:
        return _Scored(quality(case.totals.quality, counting, case.safety).rqs)

    return score


def _weighted(counting: CountingOptions, table: AttributeTable) -> _Scorer:
    """The weighted mean of the scores of fields, or all or nothing."""
    scores = _CellScores(counting, table)

    def all_or_nothing(case: _CaseView) -> _Scored:
        if not (case.totals.hits or case.misses):
            return _NOTHING_TO_FIND
        return _Scored(0.0 if case.misses else 1.0)

    def weighted_average(case: _CaseView) -> _Scored:
        if not (case.totals.hits or case.misses):
            return _NOTHING_TO_FIND
        fields = [scores[cell] for cell in case.block.cells]
        if counting.graded:
            for position, comparison in case.block.comparisons.items():
                if comparison.score != comparison.matched:  # elsewhere the cell says it all
                    weight = fields[position][0]
                    fields[position] = (weight, weight * comparison.score)
        weights = fsum([weight for weight, _ in fields])
        if not weights:
            # Weights configured as 0 score 0; if all fields are neutral, there is nothing to find.
            attributes = (table.attributes[cell >> CELL_BITS] for cell in case.block.cells)
            return _NOTHING_TO_FIND if any(each.weight for each in attributes) else _Scored(0.0)
        earned = fsum([earned for _, earned in fields])
        return _Scored(min(1.0, max(0.0, earned / weights)))

    if counting.aggregation is Aggregation.ALL_OR_NOTHING:
        return all_or_nothing
    return weighted_average


class _CellScores(dict[int, tuple[float, float]]):
    """The weight of a cell and its weighted score; a field that is not scored has weight 0."""

    def __init__(self, counting: CountingOptions, table: AttributeTable) -> None:
        super().__init__()
        self._marks = mark_table(counting)
        neutral = counting.optional_missing is OptionalMissing.NEUTRAL
        self._neutral = _OptionalOmissions(table) if neutral else None
        self._table = table

    def __missing__(self, cell: int) -> tuple[float, float]:
        mark = self._marks[cell & FACT_MASK]
        neutral = self._neutral is not None and self._neutral[cell]
        scored = mark in {Mark.HIT, Mark.MISS} and not neutral
        weight = self._table.attributes[cell >> CELL_BITS].weight if scored else 0.0
        weighted = self[cell] = (weight, weight if mark is Mark.HIT else 0.0)
        return weighted


class _OptionalOmissions(dict[int, bool]):
    """Whether a cell is an optional field that was omitted."""

    def __init__(self, table: AttributeTable) -> None:
        super().__init__()
        self._table = table

    def __missing__(self, cell: int) -> bool:
        omitted = FACTS[cell & FACT_MASK].outcome is Outcome.OMISSION
        neutral = omitted and not self._table.attributes[cell >> CELL_BITS].required
        self[cell] = neutral
        return neutral


_SCORERS: Final[Mapping[PrimaryScore, Callable[[CountingOptions, AttributeTable], _Scorer]]] = {
    PrimaryScore.MACRO_F1_BY_ATTRIBUTE: _by_attribute,
    PrimaryScore.MACRO_F1_BY_CASE: _by_case,
    PrimaryScore.WEIGHTED_AVERAGE: _weighted,
    PrimaryScore.RQS: _rqs,
}


_LANES: Final = Struct("<20I")
_MARK_LANES: Final = (Mark.HIT, Mark.MISS, Mark.SKIPPED, Mark.ERROR)
_MEMO_LIMIT: Final = 2048
"""Bounds the memory; frequent entries come back soon after a memo was cleared."""


class CaseStats(NamedTuple):
    """The figures of one case.

    `score` and `verdict` are undefined if a comparison failed. `vacuous` says that there was
    nothing to score. `safety` is the score of a safety judge, if there is one.
    """

    counts: Counts
    errors: ErrorCounts
    quality: QualityCounts
    precision: float | None
    recall: float | None
    f1: float | None
    score: float | None
    verdict: Verdict | None
    hits: int
    misses: int
    skipped: int
    errors_count: int
    vacuous: bool
    safety: float | None = None


class CaseCounter:
    """Computes the figures of cases under one convention."""

    __slots__ = (
        "_cases",
        "_counting",
        "_graded",
        "_neutral",
        "_odd_rows",
        "_plain_row",
        "_score",
        "_sums",
    )

    def __init__(self, convention: Convention, table: AttributeTable) -> None:
        counting = convention.counting
        self._counting = counting
        rows = _packed_rows(counting)
        self._plain_row = rows[_PLAIN_MATCH]
        self._odd_rows = tuple(row - rows[_PLAIN_MATCH] for row in rows)
        self._score = _SCORERS[counting.primary](counting, table)
        neutral = counting.optional_missing is OptionalMissing.NEUTRAL
        self._neutral = _OptionalOmissions(table) if neutral else None
        self._graded = counting.graded and counting.primary is PrimaryScore.WEIGHTED_AVERAGE
        self._cases: dict[tuple[int, ...], CaseStats] = {}
        self._sums: dict[int, _Totals] = {}

    def stats(
        self, block: Outcomes, *, unreadable: bool = False, safety: float | None = None
    ) -> CaseStats:
        """The figures of one case; `unreadable` says that there was no candidate document."""
        alone = len(block.cells) > SHORT or unreadable or safety is not None
        if alone or (
            self._graded and any(each.score != each.matched for each in block.comparisons.values())
        ):
            return self._count(block, unreadable=unreadable, safety=safety)
        key = tuple(block.cells)
        known = self._cases.get(key)
        if known is None:
            if len(self._cases) >= _MEMO_LIMIT:
                self._cases.clear()
            known = self._cases[key] = self._count(block, unreadable=False, safety=None)
        return known

    def all(self, blocks: Sequence[Outcomes]) -> list[CaseStats]:
        """The figures of many cases, all of them readable."""
        cells = [block.cells for block in blocks]
        if self._graded or max(map(len, cells), default=0) > SHORT:
            return [self.stats(block) for block in blocks]
        known = map(self._cases.get, map(tuple, cells))
        return [stats or self.stats(block) for stats, block in zip(known, blocks, strict=True)]

    def _count(self, block: Outcomes, *, unreadable: bool, safety: float | None) -> CaseStats:
        cells = block.cells
        once = dict.fromkeys(cells, 1) if len(cells) <= SHORT else {}
        times = block.times = once if len(once) == len(cells) else Counter(cells)
        odd = [cell for cell in times if cell & FACT_MASK != _PLAIN_MATCH]
        totals = self._sum(len(cells), times, odd)
        neutral = 0
        if self._neutral is not None and not unreadable:
            neutral = sum([times[cell] for cell in odd if self._neutral[cell]])
        view = _CaseView(block, times, odd, totals, neutral, safety)
        scored, verdict = self._judge(view, unreadable=unreadable)
        nothing = not (totals.hits or view.misses or unreadable)
        return CaseStats(
            totals.counts,
            totals.errors,
            totals.quality,
            *totals.rates,
            scored.score if scored else None,
            verdict,
            totals.hits,
            view.misses,
            totals.skipped + neutral,
            totals.failed,
            scored is not None and (scored.vacuous or nothing),
            safety,
        )

    def _sum(self, number: int, times: Mapping[int, int], odd: Sequence[int]) -> _Totals:
        """The sums over `number` cells: as if all were plain matches, corrected for the others."""
        rows = self._odd_rows
        packed = self._plain_row * number
        for cell in odd:
            packed += rows[cell & FACT_MASK] * times[cell]
        known = self._sums.get(packed)
        if known is None:
            if len(self._sums) >= _MEMO_LIMIT:
                self._sums.clear()
            lanes = _LANES.unpack(packed.to_bytes(_LANES.size, "little"))
            counts = Counts(*lanes[:4])
            known = self._sums[packed] = _Totals(
                counts,
                ErrorCounts(*lanes[4:8]),
                QualityCounts(*lanes[8:16]),
                rates(counts, self._counting.zero),
                *lanes[16:],
            )
        return known

    def _judge(self, view: _CaseView, *, unreadable: bool) -> tuple[_Scored | None, Verdict | None]:
        """The score and the verdict; unreadable data scores 0, a failed comparison has no score."""
        counting, failed = self._counting, view.totals.failed
        if failed and counting.on_error is OnError.UNDEFINED:
            return None, None
        if failed or unreadable:
            return _Scored(0.0), Verdict.FAIL
        scored = self._score(view)
        if counting.pass_threshold is not None:
            return scored, verdict_at(scored.score, counting.pass_threshold)
        if counting.aggregation is Aggregation.ALL_OR_NOTHING:
            return scored, Verdict.FAIL if view.misses else Verdict.PASS
        return scored, verdict_of(view.totals.hits, view.misses)


@lru_cache(maxsize=64)
def _packed_rows(counting: CountingOptions) -> tuple[int, ...]:
    """The counts, mistakes, buckets and marks of every fact, each packed into an integer."""
    costs, marks = cost_table(counting), mark_table(counting)
    buckets = bucket_table(counting.ignore_scope)
    return tuple(
        int.from_bytes(
            _LANES.pack(
                *costs[code],
                *ERROR_TABLE[code],
                *buckets[code],
                *(int(marks[code] is mark) for mark in _MARK_LANES),
            ),
            "little",
        )
        for code in range(1 << CELL_BITS)
    )
