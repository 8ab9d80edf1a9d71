"""One case: its counts, its figures, its score and its verdict, at the price of a look-up.

Every fact is a row of small numbers (counts, mistakes, buckets, marks). A row is packed into one
integer with 32 bits a number, so that adding integers adds whole rows. Cases with the same cells
share one record; how often that happens decides the speed of a run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from struct import Struct
from typing import Final, NamedTuple, TypeVar

from fieldmark.metrics import rates
from fieldmark.metrics.conventions import Convention
from fieldmark.metrics.counts import cost_table
from fieldmark.metrics.options import (
    Aggregation,
    CountingHalf,
    OnError,
    OptionalMissing,
    PrimaryScore,
    ZeroRule,
)
from fieldmark.metrics.quality import QualityCounts, bucket_table
from fieldmark.metrics.scorers import PLAIN, CaseView, Neutral, Scored, Totals, scorer_for
from fieldmark.metrics.taxonomy import ERROR_TABLE, ErrorCounts
from fieldmark.metrics.verdict import Mark, mark_table, verdict_at, verdict_of
from fieldmark.model.case import Verdict
from fieldmark.model.counts import Counts
from fieldmark.model.outcome import CELL_BITS
from fieldmark.model.outcomes import AttributeTable, Outcomes

__all__ = ["SHORT", "CaseCounter", "CaseStats"]

_FACT_MASK: Final = (1 << CELL_BITS) - 1
_LANES: Final = Struct("<20I")
SHORT: Final = 64
"""Cells of a case that may be like another; longer ones hardly ever are."""

_MEMO_LIMIT: Final = 2048
"""Bounds the memory; what is frequent comes back soon after a memo was emptied."""

_MARK_LANES: Final = (Mark.HIT, Mark.MISS, Mark.SKIPPED, Mark.ERROR)


_Key = TypeVar("_Key")
_Known = TypeVar("_Known")


class CaseStats(NamedTuple):
    """What one case adds up to.

    `score` and `verdict` are undefined if a comparison could not be made. `vacuous` says that
    there was nothing to score. `safety` is what a judge of safety said, if one was asked.
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
    """Turns the outcomes of cases into their figures under one convention."""

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
        self._plain_row = rows[PLAIN]
        self._odd_rows = tuple(row - rows[PLAIN] for row in rows)
        self._score = scorer_for(counting, table)
        neutral = counting.optional_missing is OptionalMissing.NEUTRAL
        self._neutral = Neutral(table) if neutral else None
        self._graded = counting.graded and counting.primary is PrimaryScore.WEIGHTED_AVERAGE
        self._cases: dict[tuple[int, ...], CaseStats] = {}
        self._sums: dict[int, Totals] = {}

    def stats(
        self, block: Outcomes, *, unreadable: bool = False, safety: float | None = None
    ) -> CaseStats:
        """The figures of one case; `unreadable` says that there was no candidate document."""
        alone = len(block.cells) > SHORT or unreadable or safety is not None
        if alone or (self._graded and _has_degrees(block)):
            return self._count(block, unreadable=unreadable, safety=safety)
        key = tuple(block.cells)
        known = self._cases.get(key)
        if known is None:
            known = self._count(block, unreadable=False, safety=None)
            _remember(self._cases, key, known)
        return known

    def all(self, blocks: Sequence[Outcomes]) -> list[CaseStats]:
        """The figures of many cases, all of them readable."""
        cells = [block.cells for block in blocks]
        if self._graded or max(map(len, cells), default=0) > SHORT:
            return [self.stats(block) for block in blocks]
        known = map(self._cases.get, map(tuple, cells))
        return [stats or self.stats(block) for stats, block in zip(known, blocks, strict=True)]

    def _count(self, block: Outcomes, *, unreadable: bool, safety: float | None) -> CaseStats:
        times = block.times = _times(block.cells)
        odd = [cell for cell in times if cell & _FACT_MASK != PLAIN]
        totals = self._sum(len(block.cells), times, odd)
        neutral = 0
        if self._neutral is not None and not unreadable:
            neutral = sum([times[cell] for cell in odd if self._neutral[cell]])
        view = CaseView(block, times, odd, totals, neutral, safety)
        scored, verdict = self._judge(view, unreadable=unreadable)
        misses = totals.misses - neutral
        nothing = not (totals.hits or misses or unreadable)
        return CaseStats(
            totals.counts,
            totals.errors,
            totals.quality,
            *totals.rates,
            scored.score if scored else None,
            verdict,
            totals.hits,
            misses,
            totals.skipped + neutral,
            totals.failed,
            scored is not None and (scored.vacuous or nothing),
            safety,
        )

    def _sum(self, number: int, times: Mapping[int, int], odd: Sequence[int]) -> Totals:
        """What `number` cells add up to: as if all were plain, put right for those that are not."""
        rows = self._odd_rows
        packed = self._plain_row * number
        for cell in odd:
            packed += rows[cell & _FACT_MASK] * times[cell]
        known = self._sums.get(packed)
        if known is None:
            known = _remember(self._sums, packed, _unpacked(packed, self._counting.zero))
        return known

    def _judge(self, view: CaseView, *, unreadable: bool) -> tuple[Scored | None, Verdict | None]:
        """The score and the verdict; a fault of the data scores 0, an outage is no score."""
        counting, failed = self._counting, view.totals.failed
        if failed and counting.on_error is OnError.UNDEFINED:
            return None, None
        if failed or unreadable:
            return Scored(0.0), Verdict.FAIL
        scored = self._score(view)
        if counting.pass_threshold is not None:
            return scored, verdict_at(scored.score, counting.pass_threshold)
        if counting.aggregation is Aggregation.ALL_OR_NOTHING:
            return scored, Verdict.FAIL if view.misses else Verdict.PASS
        return scored, verdict_of(view.totals.hits, view.misses)


def _times(cells: Sequence[int]) -> Mapping[int, int]:
    """How often each cell occurs; most often once, unless there are many."""
    once = dict.fromkeys(cells, 1) if len(cells) <= SHORT else {}
    return once if len(once) == len(cells) else Counter(cells)


def _remember(memo: dict[_Key, _Known], key: _Key, value: _Known) -> _Known:
    if len(memo) >= _MEMO_LIMIT:
        memo.clear()
    memo[key] = value
    return value


def _unpacked(packed: int, zero: ZeroRule) -> Totals:
    lanes = _LANES.unpack(packed.to_bytes(_LANES.size, "little"))
    counts = Counts(*lanes[:4])
    return Totals(
        counts,
        ErrorCounts(*lanes[4:8]),
        QualityCounts(*lanes[8:16]),
        rates.rates(counts, zero),
        *lanes[16:],
    )


def _has_degrees(block: Outcomes) -> bool:
    """Whether some field earns more or less than its cell says."""
    return any(comparison.score != comparison.matched for comparison in block.comparisons.values())


@lru_cache(maxsize=64)
def _packed_rows(counting: CountingHalf) -> tuple[int, ...]:
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
