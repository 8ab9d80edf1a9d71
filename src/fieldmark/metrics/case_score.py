"""The counts, metrics, score and verdict of one case.

Every fact is a row of small numbers (counts, mistakes, buckets, marks) with 32 bits each, and the
sums of a case are the sum of the rows of its facts. Cases with the same cells share one record, so
most cases are a lookup.
"""

from __future__ import annotations

import sys
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import fsum
from operator import itemgetter
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
from fieldmark.metrics.counts import (
    ERROR_TABLE,
    ErrorCounts,
    Mark,
    cost_table,
    mark_table,
    verdict_at,
    verdict_of,
)
from fieldmark.metrics.quality import (
    QualityCounts,
    bucket_table,
    quality_metrics,
    quality_score,
)
from fieldmark.metrics.rates import Rates, clip, f1, rates, weighted_share
from fieldmark.model.case import Verdict
from fieldmark.model.counts import Counts
from fieldmark.model.kernel import COMPILED, kernel
from fieldmark.model.outcome import CELL_BITS, FACT_MASK, FACTS, Outcome, Presence, fact
from fieldmark.model.outcomes import AttributeTable, Outcomes, renumber

SMALL_CASE: Final = 64
"""Cases with more cells rarely repeat, so they are not memoized."""

_PLAIN_MATCH: Final = fact(Outcome.MATCH, Presence.VALUE, Presence.VALUE)
"""The fact of most fields; only other facts are inspected one by one."""


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


class _CellSums(NamedTuple):
    """The sums over the cells of a case.

    `lanes` are the sums of the rows of its facts. `effects` has `tp << 32 | fp + fn` of each
    attribute with a cell that is not a plain match, and `clean` is the number of all others.
    """

    lanes: bytes
    effects: list[int]
    clean: int


class _CaseView(NamedTuple):
    """A case with its sums; `neutral` is the number of misses that do not count."""

    block: Outcomes
    sums: _CellSums
    totals: _Totals
    neutral: int
    safety: float | None

    @property
    def misses(self) -> int:
        """The number of fields that count as missed."""
        return self.totals.misses - self.neutral


_Score: TypeAlias = tuple[float, bool]
"""A score from 0 to 1, and whether it is vacuous because there was nothing to score."""
_NOTHING_TO_FIND: Final[_Score] = (1.0, True)


@lru_cache(maxsize=4096)
def _attribute_f1(effect: int) -> float | None:
    """Return the F1 of `tp << 32 | fp + fn`."""
    return f1(effect >> 32, effect & 0xFFFFFFFF, 0)


class _CellScore(NamedTuple):
    """The summand of a cell in a weighted average; a field that is not scored has weight 0.

    `neutral` means that an optional field is missing and that this does not count.
    """

    weight: float
    earned: float
    neutral: bool


class _CellScores(dict[int, _CellScore]):
    """The scores of cells, each computed once."""

    def __init__(self, counting: CountingOptions, table: AttributeTable) -> None:
        super().__init__()
        self._marks = mark_table(counting)
        self._optional_is_neutral = counting.optional_missing is OptionalMissing.NEUTRAL
        self._table = table

    def __missing__(self, cell: int) -> _CellScore:
        attribute = self._table.attributes[cell >> CELL_BITS]
        code = cell & FACT_MASK
        mark, omitted = self._marks[code], FACTS[code].outcome is Outcome.OMISSION
        neutral = self._optional_is_neutral and omitted and not attribute.required
        scored = mark in {Mark.HIT, Mark.MISS} and not neutral
        weight = attribute.weight if scored else 0.0
        score = self[cell] = _CellScore(weight, weight if mark is Mark.HIT else 0.0, neutral)
        return score


_LANES: Final = Struct("=20I")
_MARK_LANES: Final = (Mark.HIT, Mark.MISS, Mark.SKIPPED, Mark.ERROR)
_MEMO_LIMIT: Final = 4096
"""Bounds memory; frequent entries return soon after a memo is cleared."""


def score_in_means(score: float | None, *, vacuous: bool) -> float | None:
    """Return the score of a case as it counts in means over cases; `None` if it is left out.

    A case that could not be scored is left out, and so is a vacuous case. A vacuous score of 0
    counts: `taxonomy` gives it, because a case without fields is 0 there.

    >>> score_in_means(1.0, vacuous=True), score_in_means(0.0, vacuous=True)
    (None, 0.0)
    """
    return None if vacuous and score else score


class CaseMeans(NamedTuple):
    """What a case adds to means over cases; `None` where the case is left out."""

    score: float | None = None
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    rqs: float | None = None


class CaseStats(NamedTuple):
    """The metrics of one case.

    `score` and `verdict` are undefined if a comparison failed. `vacuous` means that there was
    nothing to score. `safety` is the score of a safety judge, and `rqs` the response quality score
    of an evaluator, if there is one. `failing` means that an evaluator failed the candidate, even
    one that has no weight. With `evaluator_rates`, an evaluator computed precision,
    recall and F1.
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
    rqs: float | None = None
    failing: bool = False
    evaluator_rates: bool = False

    @property
    def failed(self) -> bool:
        """Whether the case could not be scored because of an error.

        Only this property decides which cases are left out of all metrics of a run.
        """
        return self.score is None and self.errors_count > 0

    @property
    def perfect(self) -> bool:
        """Whether fields were compared or evaluators scored the case, and found no mistake.

        A missing optional field is a mistake, although it does not lower the score.
        """
        if self.score is None or self.errors_count or self.failing or self.verdict is Verdict.FAIL:
            return False
        return not (self.misses or self.errors.total) and (
            any(self.counts) or self.hits > 0 or not self.vacuous
        )

    @property
    def in_means(self) -> CaseMeans:
        """What the case adds to the means over cases of a run.

        A vacuous case has no F1 in means either, unless its fields were compared, or an evaluator
        decides. F1 is 0 without a match, however the convention reports it.
        """
        rqs = None
        if self.rqs is not None:
            rqs = score_in_means(self.rqs, vacuous=not self.quality.distinct)
        score = score_in_means(self.score, vacuous=self.vacuous)
        counts = self.counts
        compared = counts.tp or counts.fp or counts.fn
        if self.score is None or not (score is not None or compared or self.evaluator_rates):
            return CaseMeans(rqs=rqs)
        no_rates = self.precision is None and self.recall is None
        f1 = 0.0 if self.f1 is None and not no_rates else self.f1
        return CaseMeans(score, self.precision, self.recall, f1, rqs)


ERRORS_COUNT: Final = itemgetter(CaseStats._fields.index("errors_count"))
"""The number of errors of a case; getting many by position is several times faster than by name."""


class CaseCounter:
    """Computes the metrics of cases under one convention."""

    __slots__ = (
        "_cases",
        "_cell_scores",
        "_counting",
        "_effects",
        "_graded",
        "_neutral",
        "_rows",
        "_sums",
        "_table",
    )

    def __init__(self, convention: Convention, table: AttributeTable) -> None:
        counting = convention.counting
        self._counting, self._table = counting, table
        self._rows = _packed_rows(counting)
        self._effects = _packed_effects(counting)
        self._cell_scores = _CellScores(counting, table)
        self._neutral = counting.optional_missing is OptionalMissing.NEUTRAL
        self._graded = counting.graded and counting.primary is PrimaryScore.WEIGHTED_AVERAGE
        self._cases: dict[tuple[int, ...], CaseStats] = {}
        self._sums: dict[bytes, _Totals] = {}

    def stats(
        self, block: Outcomes, *, unreadable: bool = False, safety: float | None = None
    ) -> CaseStats:
        """Return the metrics of one case; `unreadable` means that it has no candidate document."""
        alone = len(block.cells) > SMALL_CASE or unreadable or safety is not None
        if alone or (
            self._graded
            and any(
                comparison.score != comparison.matched for comparison in block.comparisons.values()
            )
        ):
            return self._count(block, unreadable=unreadable, safety=safety)
        key = tuple(block.cells)
        return self._cases.get(key) or self._count_new(key, block)

    def all(self, blocks: Sequence[Outcomes]) -> list[CaseStats]:
        """Return the metrics of many readable cases."""
        cells = [block.cells for block in blocks]
        if self._graded or max(map(len, cells), default=0) > SMALL_CASE:
            return [self.stats(block) for block in blocks]
        known, count = self._cases.get, self._count_new
        return [
            known(key) or count(key, block)
            for key, block in zip(map(tuple, cells), blocks, strict=True)
        ]

    def _count_new(self, key: tuple[int, ...], block: Outcomes) -> CaseStats:
        """Return the metrics of a case whose cells, the key, are not known yet."""
        if len(self._cases) >= _MEMO_LIMIT:
            self._cases.pop(next(iter(self._cases)))
        stats = self._cases[key] = self._count(block, unreadable=False, safety=None)
        return stats

    def _count(self, block: Outcomes, *, unreadable: bool, safety: float | None) -> CaseStats:
        cells = block.cells
        if len(cells) > SMALL_CASE:
            block.times = count_cells(cells)
        if not self._table.one_number_a_path:
            cells = renumber(cells, self._table.firsts)
        sums = _sum_cells(cells, self._rows, self._effects)
        totals = self._totals(sums.lanes)
        neutral = 0
        if self._neutral and not unreadable:
            neutral = sum([self._cell_scores[cell].neutral for cell in block.cells])
        view = _CaseView(block, sums, totals, neutral, safety)
        score: float | None = None
        verdict: Verdict | None = None
        vacuous = False
        if not (totals.failed and self._counting.on_error is OnError.UNDEFINED):
            nothing = not (totals.hits or view.misses or unreadable)
            if totals.failed or unreadable:
                score, vacuous, verdict = 0.0, nothing, Verdict.FAIL
            else:
                score, vacuous = self._score(view)
                vacuous, verdict = vacuous or nothing, self._verdict(view, score)
        return CaseStats(
            totals.counts,
            totals.errors,
            totals.quality,
            *totals.rates,
            score,
            verdict,
            totals.hits,
            view.misses,
            totals.skipped + neutral,
            totals.failed,
            vacuous,
            safety,
        )

    def _totals(self, lanes: bytes) -> _Totals:
        """Return the sums over facts as records; many cases have the same."""
        known = self._sums.get(lanes)
        if known is None:
            if len(self._sums) >= _MEMO_LIMIT:
                self._sums.pop(next(iter(self._sums)))
            numbers = _LANES.unpack(lanes)
            counts = Counts(*numbers[:4])
            known = self._sums[lanes] = _Totals(
                counts,
                ErrorCounts(*numbers[4:8]),
                QualityCounts(*numbers[8:16]),
                rates(counts, self._counting),
                *numbers[16:],
            )
        return known

    def _verdict(self, case: _CaseView, score: float) -> Verdict:
        counting = self._counting
        if counting.pass_threshold is not None:
            return verdict_at(score, counting.pass_threshold)
        if counting.aggregation is Aggregation.ALL_OR_NOTHING:
            return Verdict.FAIL if case.misses else Verdict.PASS
        return verdict_of(case.totals.hits, case.misses)

    def _score(self, view: _CaseView) -> _Score:
        sums, totals = view.sums, view.totals
        match self._counting.primary:
            case PrimaryScore.MACRO_F1_BY_ATTRIBUTE:
                # The mean F1 of the attributes that either side has.
                f1s = [value for value in map(_attribute_f1, sums.effects) if value is not None]
                number = sums.clean + len(f1s)
                return (fsum([*f1s, sums.clean]) / number, False) if number else _NOTHING_TO_FIND
            case PrimaryScore.MACRO_F1_BY_CASE:
                # An undefined F1 is 0 unless there was nothing to count.
                counts = totals.counts
                nothing = not (counts.tp or counts.fp or counts.fn)
                if totals.rates.f1 is None:
                    return _NOTHING_TO_FIND if nothing else (0.0, False)
                return totals.rates.f1, nothing
            case PrimaryScore.WEIGHTED_AVERAGE:
                return self._score_weighted(view)
            case PrimaryScore.RQS:
                own = quality_metrics(totals.quality)
                safety = 1.0 if view.safety is None else view.safety
                return quality_score(own, self._counting, safety), False

    def _score_weighted(self, case: _CaseView) -> _Score:
        """Return the weighted mean of the field scores, or 0 or 1 if it is all or nothing."""
        if not (case.totals.hits or case.misses):
            return _NOTHING_TO_FIND
        if self._counting.aggregation is Aggregation.ALL_OR_NOTHING:
            return 0.0 if case.misses else 1.0, False
        scores = [self._cell_scores[cell] for cell in case.block.cells]
        earned = [score.earned for score in scores]
        if self._graded:
            for position, comparison in case.block.comparisons.items():
                if comparison.score != comparison.matched:  # otherwise the cell decides
                    earned[position] = scores[position].weight * comparison.score
        share = weighted_share(earned, [score.weight for score in scores])
        if share is None:
            # If all weights are 0, the score is 0; if all fields are neutral, there is nothing to
            # score.
            attributes = (self._table.attributes[cell >> CELL_BITS] for cell in case.block.cells)
            return (
                _NOTHING_TO_FIND
                if any(attribute.weight for attribute in attributes)
                else (0.0, False)
            )
        return clip(share), False


def count_cells(cells: list[int]) -> Mapping[int, int]:
    """Return how often each cell occurs, in the order of their first occurrence."""
    return kernel.count(cells) if COMPILED else Counter(cells)


def _sum_cells(cells: list[int], rows: bytes, effects: array[int]) -> _CellSums:
    """Return the sums over cells, given the rows and the effects of all facts."""
    if COMPILED:
        return _CellSums(*kernel.sum_cells(cells, _PLAIN_MATCH, rows, effects))
    facts: Counter[int] = Counter([cell & FACT_MASK for cell in cells])
    size = _LANES.size
    packed = sum(
        int.from_bytes(rows[fact * size : (fact + 1) * size], sys.byteorder) * times
        for fact, times in facts.items()
    )
    by_attribute: dict[int, int] = {}
    odd: dict[int, None] = {}
    for cell, times in Counter(cells).items():
        attribute, fact = cell >> CELL_BITS, cell & FACT_MASK
        effect = 1 << 32 if fact == _PLAIN_MATCH else effects[fact]
        by_attribute[attribute] = by_attribute.get(attribute, 0) + effect * times
        if fact != _PLAIN_MATCH:
            odd[attribute] = None
    return _CellSums(
        packed.to_bytes(size, sys.byteorder),
        [by_attribute[attribute] for attribute in odd],
        len(by_attribute) - len(odd),
    )


@lru_cache(maxsize=64)
def _packed_rows(counting: CountingOptions) -> bytes:
    """Return the counts, mistakes, buckets and marks of every fact."""
    costs, marks = cost_table(counting), mark_table(counting)
    buckets = bucket_table(counting.ignore_scope)
    return b"".join(
        _LANES.pack(
            *costs[code],
            *ERROR_TABLE[code],
            *buckets[code],
            *(int(marks[code] is mark) for mark in _MARK_LANES),
        )
        for code in range(1 << CELL_BITS)
    )


@lru_cache(maxsize=64)
def _packed_effects(counting: CountingOptions) -> array[int]:
    """Return what every fact adds to the F1 of its attribute, as `tp << 32 | fp + fn`."""
    return array("q", [cost.tp << 32 | cost.fp + cost.fn for cost in cost_table(counting)])
