"""Two runs over the same cases: what changed, by how much, and whether it is significant."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from itertools import count
from statistics import NormalDist
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias, TypeVar, cast

from fieldmark.metrics.bootstrap import (
    MEAN_OF,
    CaseMatrix,
    ResampledMetrics,
    intervals_of,
    product,
    resampling_weights,
)
from fieldmark.metrics.case_sample import STEP, CaseRow, CaseSums, case_sums, score_sums
from fieldmark.metrics.case_score import CaseStats, score_in_means
from fieldmark.metrics.conventions import CountingOptions, F1WhenNoMatch
from fieldmark.metrics.counts import ERROR_TABLE, MISTAKES
from fieldmark.metrics.gates import less_is_better
from fieldmark.metrics.headline import HEADLINE_METRICS, MAIN_METRIC, MICRO_F1, QUALITY_METRICS
from fieldmark.metrics.quality import QualityCounts, QualityMetrics
from fieldmark.metrics.rates import Interval, ratio, sortable
from fieldmark.metrics.significance import (
    ALPHA,
    PERMUTATIONS,
    POWER,
    critical_difference,
    flip_signs,
    holm,
    holm_levels,
    holm_of_smallest,
    permutation_p,
    smallest_p,
)
from fieldmark.model.case import Verdict
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.outcome import CELL_BITS, FACT_MASK, FACTS, Presence
from fieldmark.model.outcomes import AttributeTable, Outcomes
from fieldmark.values.arrays import Floats, np

GROUPS: Final = 2_048
"""The maximum number of rows; further cases share them, and are resampled and permuted together."""

OutcomeChange: TypeAlias = tuple[str, str]
"""The outcome of a field in the first run and in the second."""

MARGIN: Final = 0.01
"""The default size up to which a difference does not matter."""

_LIMITS: Final = (-1.0, 1.0)
_NORMAL: Final = NormalDist()
_LABELS: Final = tuple(fact.outcome.label for fact in FACTS)
_MISTAKES: Final = frozenset(outcome.label for outcome in MISTAKES)
_IS_MISTAKE: Final = tuple(any(row) for row in ERROR_TABLE)
_MAX_KNOWN: Final = 1 << 13
_WORD: Final = (1 << 64) - 1
_NO_OUTCOME: Final = "absent"
_NO_VERDICT: Final = "error"
_NO_ATTRIBUTES: Final[Mapping[str, int]] = MappingProxyType({})
_Name = TypeVar("_Name")


class CaseInRun(NamedTuple):
    """One case in one run, with the scores of the evaluators that scored it.

    `vacuous` has the names of the evaluators that had nothing to score.
    """

    block: Outcomes
    stats: CaseStats
    table: AttributeTable
    evaluators: Mapping[str, float] = MappingProxyType({})
    vacuous: frozenset[str] = frozenset()

    def in_means(self, evaluator: str) -> float | None:
        """Return the score of an evaluator as it counts in means over cases."""
        return score_in_means(self.evaluators.get(evaluator), vacuous=evaluator in self.vacuous)


class Direction(StrEnum):
    """How a case changed; a case that could not be scored in one of the runs has no direction."""

    IMPROVED = "improved"
    WORSE = "worse"
    UNCHANGED = "unchanged"
    NOT_SCORED = "not_scored"


class FieldChange(NamedTuple):
    """A field whose outcome differs between the runs; `absent` if a run does not have it."""

    path: str
    before: str
    after: str


class CaseChange(NamedTuple):
    """A case with changed outcomes of fields, or with another score.

    A case improves if its score rises, or if it has fewer mistakes at the same score. The fields
    that changed in the same direction come first. `attributes` says by how much the number of
    mistakes fell in each attribute; it is negative if the number rose.
    """

    case_id: str
    before: float
    after: float
    verdict_before: str | None
    verdict_after: str | None
    fields: tuple[FieldChange, ...] = ()
    attributes: Mapping[str, int] = _NO_ATTRIBUTES

    @property
    def gain(self) -> float:
        """The increase of the score."""
        return self.after - self.before

    def to_dict(self, max_fields: int | None = None) -> JsonObject:
        """Return the case as JSON, with all of its changed fields or the first of them."""
        fields: list[JsonValue] = [field._asdict() for field in self.fields[:max_fields]]
        return {
            "case_id": self.case_id,
            "before": self.before,
            "after": self.after,
            "verdict_before": self.verdict_before,
            "verdict_after": self.verdict_after,
            "attributes": dict(self.attributes),
            "fields": fields,
            "field_count": len(self.fields),
        }


_field_change = lru_cache(maxsize=4_096)(FieldChange)
"""Many cases have the same changes, which share their memory."""


class _Change(NamedTuple):
    """What changed between the two sides of a case, besides the scores of evaluators.

    `fewer` says by how much the number of mistakes fell in each attribute.
    """

    before: CaseStats
    after: CaseStats
    sums_before: Sequence[int]
    sums_after: Sequence[int]
    direction: Direction
    fields: tuple[FieldChange, ...]
    fewer: Mapping[str, int]


class _CellChange(NamedTuple):
    """Two different outcomes of a field.

    `field` is `None` if the only difference is the empty side. `fixed` is 1 if a mistake was
    fixed, -1 if the field became a mistake, and otherwise 0.
    """

    path: str
    field: FieldChange | None
    fixed: int


class _CellChanges(dict[tuple[int, int], "_CellChange | None"]):
    """The changes by both cells, each computed once; `None` for cells of different attributes."""

    def __init__(self, table: AttributeTable) -> None:
        super().__init__()
        self.table = table

    def __missing__(self, cells: tuple[int, int]) -> _CellChange | None:
        before_cell, after_cell = cells
        change: _CellChange | None = None
        if before_cell >> CELL_BITS == after_cell >> CELL_BITS:
            path = self.table.path(before_cell >> CELL_BITS)
            facts = before_cell & FACT_MASK, after_cell & FACT_MASK
            before, after = (_LABELS[fact] for fact in facts)
            was_wrong, is_wrong = (_IS_MISTAKE[fact] for fact in facts)
            field = None if before == after else _field_change(path, before, after)
            change = _CellChange(path, field, was_wrong - is_wrong)
        self[cells] = change
        return change


@dataclass(slots=True)
class PairedCases:
    """The cases that two runs share; memory is bounded except for the cases that changed.

    Unless the runs are `comparable`, no case is called improved or worse. `attributes` counts the
    cases that have fewer and the cases that have more mistakes in an attribute, and `by_evaluator`
    the cases that an evaluator scored higher and lower.
    """

    comparable: bool = True
    evaluators: Sequence[str] = ()
    before: list[CaseRow] = field(default_factory=list)
    after: list[CaseRow] = field(default_factory=list)
    cases: int = 0
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    shifts: Counter[OutcomeChange] = field(default_factory=Counter)
    directions: Counter[Direction] = field(default_factory=Counter)
    changes: dict[Direction, list[CaseChange]] = field(
        default_factory=lambda: {
            Direction.WORSE: [],
            Direction.IMPROVED: [],
            Direction.UNCHANGED: [],
        }
    )
    attributes: dict[str, list[int]] = field(default_factory=dict)
    by_evaluator: dict[str, list[int]] = field(default_factory=dict)
    _known: dict[tuple[int, int], _Change] = field(default_factory=dict, repr=False, compare=False)
    _cells: _CellChanges | None = field(default=None, repr=False, compare=False)

    def add(self, case_id: str, before: CaseInRun, after: CaseInRun) -> None:
        """Add one case of both runs."""
        group = row_of(self.cases)
        if group == len(self.before):
            self.before.append(CaseRow())
            self.after.append(CaseRow())
        self.cases += 1
        old, new, sums_before, sums_after, direction, fields, fewer = self._change(before, after)
        if self.evaluators:
            sums_before = [*sums_before, *score_sums(map(before.in_means, self.evaluators))]
            sums_after = [*sums_after, *score_sums(map(after.in_means, self.evaluators))]
        self.before[group].add(before.block, sums_before)
        self.after[group].add(after.block, sums_after)
        self.verdicts[old.verdict or _NO_VERDICT, new.verdict or _NO_VERDICT] += 1
        for change in fields:
            self.shifts[change[1:]] += 1
        if not self.comparable:
            return
        self.directions[direction] += 1
        for name in before.evaluators and before.evaluators.keys() & after.evaluators.keys():
            gain = sortable(after.evaluators[name] - before.evaluators[name])
            if gain:
                self.by_evaluator.setdefault(name, [0, 0])[gain < 0] += 1
        if (
            old.score is not None
            and new.score is not None
            and (fields or direction is not Direction.UNCHANGED)
        ):
            for path, number in fewer.items():
                self.attributes.setdefault(path, [0, 0])[number < 0] += 1
            self.changes[direction].append(
                CaseChange(case_id, old.score, new.score, old.verdict, new.verdict, fields, fewer)
            )

    def _change(self, before: CaseInRun, after: CaseInRun) -> _Change:
        """Return what changed; cases of saved runs that share statistics have the same cells."""
        cells = self._cells
        if cells is None or cells.table is not before.table:
            cells = self._cells = _CellChanges(before.table)
        if before.block.items or after.block.items:  # they may have other items, and rarely repeat
            return _change(before, after, cells)
        # A change keeps the statistics, so that nothing else has the same identity.
        key = id(before.stats), id(after.stats)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            known = self._known[key] = _change(before, after, cells)
        return known

    def settle(self) -> None:
        """Release the memory that only further cases would need."""
        self._known.clear()
        self._cells = None
        for row in (*self.before, *self.after):
            row.settle()

    def changed(self, direction: Direction, attribute: str | None = None) -> list[CaseChange]:
        """Return the cases that changed in a direction, largest change of the score first.

        A case also counts as unchanged if single fields changed for better and worse alike.
        With an `attribute`, these are the cases with more or fewer mistakes in it.
        """
        cases = self.changes[direction]
        if attribute is not None:
            cases = [case for case in cases if case.attributes.get(attribute)]
        return sorted(cases, key=lambda case: -abs(case.gain))

    def passes(self) -> tuple[int, int]:
        """Return how many cases pass only in the second run, and how many only in the first.

        A case that could not be scored in one of the runs is neither.
        """
        known = {pair: n for pair, n in self.verdicts.items() if _NO_VERDICT not in pair}
        fixed = sum(n for (old, new), n in known.items() if old != Verdict.PASS == new)
        regressed = sum(n for (old, new), n in known.items() if old == Verdict.PASS != new)
        return fixed, regressed


def direction_of(before: CaseStats, after: CaseStats) -> Direction:
    """Return how a case changed: by its score, then by the number of its mistakes."""
    if before.score is None or after.score is None:
        return Direction.NOT_SCORED
    gain = sortable(after.score - before.score) or before.errors.total - after.errors.total
    return Direction.IMPROVED if gain > 0 else Direction.WORSE if gain < 0 else Direction.UNCHANGED


def _change(before: CaseInRun, after: CaseInRun, cells: _CellChanges) -> _Change:
    old, new = before.stats, after.stats
    direction = direction_of(old, new)
    fields: list[FieldChange] = []
    fewer: dict[str, int] = {}
    if before.block.cells != after.block.cells or before.table is not after.table:
        differing = _differing_cells(before, after, cells)
        if differing is None:
            fields = _outcome_changes(before, after)
            fewer = counted = _mistakes(before)
            counted.subtract(_mistakes(after))
        else:
            fields = _field_changes(before, after, differing, cells)
            for path, _, fixed in differing:
                fewer[path] = fewer.get(path, 0) + fixed
        if len(fields) > 1:
            sign = -1 if direction is Direction.WORSE else 1
            fields.sort(key=lambda change: -abs(_fixed(change) + sign / 2))
    fewer = {path: number for path, number in fewer.items() if number and fields}
    sums = case_sums(old), case_sums(new)
    return _Change(old, new, *sums, direction, tuple(fields), fewer or _NO_ATTRIBUTES)


def _fixed(change: FieldChange) -> int:
    """Return 1 if a mistake was fixed, -1 if the field became a mistake, and otherwise 0."""
    return (change.before in _MISTAKES) - (change.after in _MISTAKES)


def _mistakes(side: CaseInRun) -> Counter[str]:
    """Count the mistakes of a case by attribute."""
    return Counter(
        [
            side.table.path(cell >> CELL_BITS)
            for cell in side.block.cells
            if _IS_MISTAKE[cell & FACT_MASK]
        ]
    )


def row_of(number: int) -> int:
    """Return the row of a case, by its number in the run.

    If there are more cases than rows, the row is pseudo-random (SplitMix64): assigning sorted cases
    to rows in turn would make the rows similar and hide how much cases vary.
    """
    if number < GROUPS:
        return number
    mixed = (number + 1) * 0x9E3779B97F4A7C15 & _WORD
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & _WORD
    return (mixed ^ mixed >> 31) % GROUPS


def _differing_cells(
    before: CaseInRun, after: CaseInRun, cells: _CellChanges
) -> list[_CellChange] | None:
    """Return the changes of the fields that differ.

    `None` if the sides do not have the same fields in the same order, which most of them have.
    """
    old, new = before.block, after.block
    if before.table is not after.table or len(old.cells) != len(new.cells):
        return None
    pairs = zip(old.cells, new.cells, strict=True)
    changes = [cells[pair] for pair in pairs if pair[0] != pair[1]]
    return None if None in changes or old.items != new.items else cast("list[_CellChange]", changes)


def _field_changes(
    before: CaseInRun, after: CaseInRun, differing: Sequence[_CellChange], cells: _CellChanges
) -> list[FieldChange]:
    """Return the fields whose outcomes changed; a change of the empty side alone is none."""
    changed = [change.field for change in differing if change.field is not None]
    if not (before.block.items and changed):
        return changed  # without list items, attributes are paths
    paths = (record.path for record in before.block.records(before.table))
    fields = zip(paths, before.block.cells, after.block.cells, strict=True)
    changes = [
        (path, cells[before_cell, after_cell])
        for path, before_cell, after_cell in fields
        if before_cell != after_cell
    ]
    return [
        change.field._replace(path=path)
        for path, change in changes
        if change is not None and change.field is not None
    ]


def _outcome_changes(before: CaseInRun, after: CaseInRun) -> list[FieldChange]:
    """Return the fields whose outcomes changed, if the sides have different fields or tables."""
    # By path, and by whether only the candidate has the field.
    earlier, later = (
        {
            (record.path, record.expected_presence is Presence.ABSENT): record.outcome.label
            for record in side.block.records(side.table)
        }
        for side in (before, after)
    )
    changes = (
        _field_change(key[0], earlier.get(key, _NO_OUTCOME), later.get(key, _NO_OUTCOME))
        for key in {**earlier, **later}
    )
    return [change for change in changes if change.before != change.after]


class DiffVerdict(StrEnum):
    """What the cases say about the difference of a metric between two runs.

    Better, worse: the difference is significant. Equivalent: the whole confidence interval lies
    within the margin, which is tested first. Not proven: neither. Too few cases to tell: so few
    cases differ that even the same change in all of them would not be significant. Not comparable:
    the runs have different rules or conventions.
    """

    BETTER = "better"
    WORSE = "worse"
    EQUIVALENT = "equivalent"
    NOT_PROVEN = "not proven"
    TOO_FEW = "too few cases to tell"
    NOT_COMPARABLE = "not comparable"


SIGNIFICANT: Final = frozenset({DiffVerdict.BETTER, DiffVerdict.WORSE})
"""The verdicts that say that a metric differs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResamplingOptions:
    """The numbers of resamples and permutations, and the seed that makes them reproducible.

    A difference of at most `margin` does not matter.
    """

    resamples: int = 2_000
    permutations: int = PERMUTATIONS
    seed: int = 0
    margin: float = MARGIN


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricDifference:
    """A metric in two runs; `p` is the p-value of the difference.

    `adjusted` is the p-value of an attribute, evaluator, slice or pair of runs, Holm-adjusted over
    all of them; it determines the verdict, `word`. `interval` contains all differences that the
    same test does not reject: it is adjusted too, and contains 0 if and only if `adjusted` is above
    the significance level. `improved` and `worse` are numbers of cases: of the whole run, by their
    mistakes in an attribute, or by the scores of an evaluator. In `differing` cases, the counts or
    scores behind the metric are not the same. If the difference is not proven,
    `cases_needed` is the number of cases that would probably show a difference of this size, or
    that it does not matter.
    """

    before: float | None
    after: float | None
    delta: float | None
    interval: Interval | None
    p: float
    adjusted: float
    word: DiffVerdict
    improved: int
    worse: int
    differing: int
    cases_needed: int | None = None
    less_is_better: bool = False

    @property
    def gain(self) -> float:
        """By how much the metric improved; 0 if that is undefined."""
        delta = sortable(self.delta or 0.0)
        return -delta if self.less_is_better else delta

    @property
    def is_tested(self) -> bool:
        """Whether the p-value means something: with enough differing cases, it could be small."""
        return self.word not in (DiffVerdict.TOO_FEW, DiffVerdict.NOT_COMPARABLE)

    def without_zero(self) -> MetricDifference:
        """Return an F1 that is undefined without a match; the difference still counts it as 0."""
        return replace(self, before=self.before or None, after=self.after or None)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedMetrics:
    """The metrics of two runs, the F1 of every attribute and the mean score of every evaluator.

    `slices` are the differences of the first metric for each slice of the cases.
    """

    headline: Mapping[str, MetricDifference]
    attributes: Mapping[str, MetricDifference]
    evaluators: Mapping[str, MetricDifference] = field(default_factory=dict)
    slices: Mapping[str, MetricDifference] = field(default_factory=dict)

    def named(self, metric: str) -> MetricDifference | None:
        """Return the difference of a metric, named as in gates; `None` if it was not tested.

        >>> PairedMetrics(headline={}, attributes={}).named("attributes.total.recall")
        """
        attribute = metric.removeprefix("attributes.").removesuffix(".f1")
        evaluator = metric.removeprefix("evaluators.").removesuffix(".mean_score")
        for written, known, name in (
            (metric, self.headline, metric),
            (f"attributes.{attribute}.f1", self.attributes, attribute),
            (f"evaluators.{evaluator}.mean_score", self.evaluators, evaluator),
        ):
            if written == metric and name in known:
                return known[name]
        return None


@dataclass(frozen=True, slots=True)
class MetricSamples:
    """A metric in every resample or permutation of both runs; the first value is the estimate.

    `differing` is the number of cases, or groups of cases, that are not the same in both runs. If
    the change is `unanimous`, they all changed in the same direction.

    If only one run had nothing to compare, its value is `nothing_compared`: an attribute that is no
    longer predicted where nothing is expected has improved. NaN leaves the difference undefined, as
    it is if no case could be scored.
    """

    before: Floats
    after: Floats
    cases: int
    differing: int
    unanimous: bool = False
    nothing_compared: float = 1.0
    less_is_better: bool = False

    def differences(self) -> Floats:
        """Return after minus before."""
        undefined = np.isnan(self.before) & np.isnan(self.after)
        after, before = (
            np.nan_to_num(values, nan=self.nothing_compared) for values in (self.after, self.before)
        )
        return np.where(undefined, np.nan, after - before)


_MEANS: Final = {
    MAIN_METRIC: ("score", MEAN_OF[MAIN_METRIC]),
    "macro_f1_by_case": ("f1", MEAN_OF["macro_f1_by_case"]),
}
_POOLED_COLUMNS: Final[Mapping[str, Sequence[str]]] = {
    **_MEANS,
    "completeness": ("missing", "both_non_null"),
    "hallucination": ("extra", "unexpected", "missing", "both_non_null", "both_null"),
    "accuracy": ("both_non_null", "ignored", "failed", "matched"),
    "safety": ("safety", "judged"),
    "rqs": (*QualityCounts._fields, "safety", "judged"),
}
"""The sums that a metric is computed from; the other metrics are computed from attributes."""
_RATED_COLUMNS: Final[Mapping[str, Sequence[str]]] = {
    **_MEANS,
    "safety": ("safety", "judged"),
    **{name: (name, "rated") for name in (*QualityMetrics._fields, "rqs")},
}
_UNDEFINED_WITHOUT_CASES: Final = frozenset({*_MEANS, *QUALITY_METRICS})
_Transform: TypeAlias = Callable[["Floats", "Floats"], tuple["Floats", "Floats"]]
"""Turns the counts of the cases of both runs into the counts of all resamples."""
_Samples: TypeAlias = dict[str, MetricSamples]
_SampleGroups: TypeAlias = tuple[_Samples, _Samples, _Samples]
"""The samples of metrics, attributes and evaluators."""


def metric_columns(metric: str, *, by_case: bool) -> Sequence[str] | None:
    """Return the sums that a metric is computed from; `None` if it is computed from attributes."""
    return (_RATED_COLUMNS if by_case else _POOLED_COLUMNS).get(metric)


def nothing_compared(matrices: Sequence[CaseMatrix], metric: str = "") -> float:
    """Return the value of a metric of a run that had nothing to compare; NaN if it has none."""
    scored = [CaseSums._fields.index(name) for name in ("scored", "left_out")]
    all_scored = all(matrix.sums[:, scored].any() for matrix in matrices)
    return 1.0 if all_scored and metric not in _UNDEFINED_WITHOUT_CASES else math.nan


def paired_metrics(
    pairs: PairedCases,
    before: AttributeTable,
    after: AttributeTable,
    counting: CountingOptions,
    options: ResamplingOptions | None = None,
    *,
    counting_after: CountingOptions | None = None,
) -> PairedMetrics:
    """Return every metric of two runs with its difference, interval and p-value.

    The second run may be counted differently, if the runs are not comparable.

    P-values come from a permutation test that swaps the runs case by case, and intervals from the
    same test and a paired bootstrap. Both treat the fields of a case as one unit.
    """
    options = options or ResamplingOptions()
    tables, countings = (before, after), (counting, counting_after or counting)
    resampled, permuted = _resampled_and_permuted(pairs, tables, countings, options)
    margin = options.margin
    directions = pairs.directions
    of_run = [directions[Direction.IMPROVED], directions[Direction.WORSE]]
    numbers = (dict.fromkeys(HEADLINE_METRICS + QUALITY_METRICS, of_run), pairs.attributes)
    by_metric, by_attribute, by_evaluator = (
        metric_differences(
            drawn,
            swapped,
            cases,
            adjust=cases is not numbers[0],
            comparable=pairs.comparable,
            margin=margin,
        )
        for drawn, swapped, cases in zip(
            resampled, permuted, (*numbers, pairs.by_evaluator), strict=True
        )
    )
    if counting.f1_when_no_match is F1WhenNoMatch.UNDEFINED:
        by_metric[MICRO_F1] = by_metric[MICRO_F1].without_zero()
        by_attribute = {
            path: difference.without_zero() for path, difference in by_attribute.items()
        }
    if by_metric["safety"].before is None is by_metric["safety"].after:
        del by_metric["safety"]  # no judge evaluated it
    return PairedMetrics(
        headline=by_metric,
        attributes=worst_first(by_attribute),
        evaluators=worst_first(by_evaluator),
    )


def paired_slices(
    slices: Mapping[str, PairedCases],
    metric: str,
    before: AttributeTable,
    after: AttributeTable,
    counting: CountingOptions,
    options: ResamplingOptions | None = None,
    *,
    counting_after: CountingOptions | None = None,
) -> dict[str, MetricDifference]:
    """Return one metric of two runs for each slice of the cases, as `paired_metrics` does.

    P-values are Holm-adjusted for the number of slices.
    """
    options = options or ResamplingOptions()
    tables, countings = (before, after), (counting, counting_after or counting)
    resampled: _Samples = {}
    permuted: _Samples = {}
    cases: dict[str, list[int]] = {}
    for name, pairs in slices.items():
        drawn, swapped = _resampled_and_permuted(pairs, tables, countings, options)
        resampled[name], permuted[name] = drawn[0][metric], swapped[0][metric]
        ways = Direction.IMPROVED, Direction.WORSE
        cases[name] = [pairs.directions[way] for way in ways]
    comparable = all(pairs.comparable for pairs in slices.values())
    return worst_first(
        metric_differences(
            resampled, permuted, cases, adjust=True, comparable=comparable, margin=options.margin
        )
    )


def _resampled_and_permuted(
    pairs: PairedCases,
    tables: tuple[AttributeTable, AttributeTable],
    countings: tuple[CountingOptions, CountingOptions],
    options: ResamplingOptions,
) -> tuple[_SampleGroups, _SampleGroups]:
    """Return all metrics of both runs in resamples of the cases, and with swapped cases."""
    paths = sorted({attribute.path for table in tables for attribute in table.attributes})
    matrices = (
        CaseMatrix(pairs.before, tables[0], countings[0], paths),
        CaseMatrix(pairs.after, tables[1], countings[1], paths),
    )
    cases = len(pairs.before)
    weights = resampling_weights(cases, options.resamples, options.seed)
    signs = flip_signs(cases, options.permutations, options.seed + 1)

    def resample(before: Floats, after: Floats) -> tuple[Floats, Floats]:
        return product(weights, before), product(weights, after)

    def permute(before: Floats, after: Floats) -> tuple[Floats, Floats]:
        total = before.sum(0) + after.sum(0)
        apart = after - before
        changed = apart.any(axis=1)
        some = (signs, apart) if changed.all() else (signs[:, changed], apart[changed])
        swapped = product(*some)
        return (total - swapped) / 2, (total + swapped) / 2

    sides = _Sides(
        matrices=matrices,
        countings=countings,
        evaluators=pairs.evaluators,
        comparable=pairs.comparable,
        together=max(1.0, pairs.cases / max(1, cases)),
    )
    return _samples(sides, resample, len(weights)), _samples(sides, permute, len(signs))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sides:
    """The cases of both runs as arrays, and how each run is counted.

    On average, `together` cases share a row.
    """

    matrices: tuple[CaseMatrix, CaseMatrix]
    countings: tuple[CountingOptions, CountingOptions]
    evaluators: Sequence[str]
    comparable: bool
    together: float

    @property
    def by_case(self) -> tuple[bool, bool]:
        """Whether the quality metrics of each run are means over cases.

        Pooled metrics are not compared with means, so comparable runs have the same kind.
        """
        first, second = (matrix.is_rated for matrix in self.matrices)
        return (first or second,) * 2 if self.comparable else (first, second)


def _samples(runs: _Sides, transform: _Transform, number: int) -> _SampleGroups:
    """Return the metrics, the F1 of every attribute and the evaluators in all resamples."""
    matrices = runs.matrices
    sides = ResampledMetrics(number), ResampledMetrics(number)
    attributes: _Samples = {}
    of_attributes = nothing_compared(matrices)
    any_count = np.zeros(matrices[0].rows, bool)
    for old, new in zip(*(matrix.blocks() for matrix in matrices), strict=True):
        counts = [transform(*pair) for pair in zip(old[1:], new[1:], strict=True)]
        before, after = (
            side.add_attributes(*(sides_counts[number] for sides_counts in counts))
            for number, side in enumerate(sides)
        )
        present = (np.add.reduce([*old[1:], *new[1:]]) > 0).sum(0)
        # Fewer false positives and negatives are an increase too.
        apart = np.stack([new.tp - old.tp, old.fp - new.fp, old.fn - new.fn])
        any_count |= apart.any(axis=(0, 2))
        differing = apart.any(axis=0).sum(0)
        same_way = [(apart >= 0).all(axis=(0, 1)), (apart <= 0).all(axis=(0, 1))]
        unanimous = np.logical_or.reduce(same_way)
        for column, path in enumerate(old.paths):
            attributes[path] = MetricSamples(
                before[:, column],
                after[:, column],
                round(present[column] * runs.together),
                int(differing[column]),
                bool(unanimous[column]),
                of_attributes,
            )
    width, rows = len(CaseSums._fields), matrices[0].rows
    sums = transform(matrices[0].sums, matrices[1].sums)
    first, second = (
        side.metrics(side_sums[:, :width], counting, by_case=by_case)
        for side, side_sums, counting, by_case in zip(
            sides, sums, runs.countings, runs.by_case, strict=True
        )
    )
    apart = matrices[0].sums != matrices[1].sums
    differ = dict(zip(CaseSums._fields, apart.T, strict=False))
    headline: _Samples = {}
    for name in (*HEADLINE_METRICS, *QUALITY_METRICS):
        columns = metric_columns(name, by_case=any(runs.by_case))
        differing_cases = (
            any_count
            if columns is None
            else np.logical_or.reduce([differ[column] for column in columns])
        )
        headline[name] = MetricSamples(
            first[name],
            second[name],
            round(
                runs.together
                * (
                    _rows_with(matrices, CaseSums._fields.index(MEAN_OF[name]))
                    if name in MEAN_OF
                    else rows
                )
            ),
            int(differing_cases.sum()),
            nothing_compared=nothing_compared(matrices, name),
            less_is_better=less_is_better(name),
        )
    evaluators: _Samples = {}
    for column, name in zip(count(width, 2), runs.evaluators, strict=False):
        old, new = (
            ratio(side_sums[:, column] / STEP, side_sums[:, column + 1]) for side_sums in sums
        )
        differing = int(apart[:, column : column + 2].any(axis=1).sum())
        counted = round(_rows_with(matrices, column + 1) * runs.together)
        evaluators[name] = MetricSamples(old, new, counted, differing, nothing_compared=math.nan)
    return headline, attributes, evaluators


def _rows_with(matrices: Sequence[CaseMatrix], column: int) -> int:
    """Return the number of rows that have cases in a mean, by the column with their number."""
    return int(np.logical_or.reduce([matrix.sums[:, column] > 0 for matrix in matrices]).sum())


def metric_differences(
    resampled: Mapping[_Name, MetricSamples],
    permuted: Mapping[_Name, MetricSamples],
    cases: Mapping[_Name, Sequence[int]],
    *,
    adjust: bool,
    comparable: bool = True,
    margin: float = MARGIN,
) -> dict[_Name, MetricDifference]:
    """Return differences with p-values, Holm-adjusted if they form one family of tests.

    `cases` are the numbers of improved and of worse cases by metric.
    """
    differences = {name: samples.differences() for name, samples in resampled.items()}
    swapped = {name: samples.differences() for name, samples in permuted.items()}
    p = {
        name: smallest_p(samples.differing)
        if samples.unanimous and abs(differences[name][0]) > 0
        else permutation_p(swapped[name])
        for name, samples in resampled.items()
    }
    tested = {name: p[name] for name, values in differences.items() if not np.isnan(values[0])}
    adjusted = holm(tested) if adjust else tested
    levels = holm_levels(tested) if adjust else dict.fromkeys(tested, ALPHA)
    smallest = {name: smallest_p(resampled[name].differing) for name in tested}
    smallest = holm_of_smallest(tested, smallest) if adjust else smallest
    metrics: dict[_Name, MetricDifference] = {}
    for name, samples in resampled.items():
        improved, worse = cases.get(name, (0, 0))
        change = MetricDifference(
            before=_defined(samples.before[0]),
            after=_defined(samples.after[0]),
            delta=_defined(differences[name][0]),
            interval=None,
            p=p[name],
            adjusted=adjusted.get(name, 1.0),
            word=DiffVerdict.TOO_FEW if comparable else DiffVerdict.NOT_COMPARABLE,
            improved=improved,
            worse=worse,
            differing=samples.differing,
            less_is_better=samples.less_is_better,
        )
        if comparable and name in tested:
            change = replace(
                change, interval=_interval(change, samples, swapped[name], levels[name])
            )
            word = _verdict(change, margin, can_be_significant=smallest[name] <= ALPHA)
            needed = None
            if word is DiffVerdict.NOT_PROVEN:
                needed = _cases_needed(change, samples.cases, swapped[name], levels[name], margin)
            change = replace(change, word=word, cases_needed=needed)
        metrics[name] = change
    return metrics


def worst_first(changes: Mapping[_Name, MetricDifference]) -> dict[_Name, MetricDifference]:
    """Return changes for the worse, then changes for the better, each by size, then the others."""

    def sort_key(item: tuple[_Name, MetricDifference]) -> tuple[bool, int, float, str]:
        name, change = item
        gain = change.gain
        return change.delta is None, (gain > 0) + 2 * (gain == 0), -abs(gain), str(name)

    return dict(sorted(changes.items(), key=sort_key))


def cases_for_equivalence(margin: float) -> int:
    """Return the number of cases that show equivalence if no case differs.

    >>> cases_for_equivalence(0.01)
    299
    """
    return math.ceil(math.log(ALPHA) / math.log1p(-margin))


def cases_for_significance() -> int:
    """Return the number of cases that must differ so that a difference can be significant.

    >>> cases_for_significance()
    6
    """
    return next(number for number in count() if smallest_p(number) <= ALPHA)


def _verdict(change: MetricDifference, margin: float, *, can_be_significant: bool) -> DiffVerdict:
    if change.interval is not None and max(map(abs, change.interval)) <= margin:
        return DiffVerdict.EQUIVALENT
    if change.gain and change.adjusted <= ALPHA:
        return DiffVerdict.BETTER if change.gain > 0 else DiffVerdict.WORSE
    return DiffVerdict.NOT_PROVEN if can_be_significant else DiffVerdict.TOO_FEW


def _interval(
    change: MetricDifference, samples: MetricSamples, swapped: Floats, level: float
) -> Interval | None:
    """Return the interval of a difference, which contains 0 if and only if it is not significant.

    It has all differences that the permutation test does not reject. Changes that no case shows are
    not in its permutations, so it is widened to the interval of the bootstrap, but not across 0 if
    the difference is significant. If no case differs, the interval is the largest share of cases
    that may differ then.
    """
    delta = change.delta
    if delta is None or not samples.cases:
        return None
    if not samples.differing:
        share = -math.expm1(math.log(ALPHA) / samples.cases)
        return -share, share
    significant = bool(delta) and change.adjusted <= ALPHA
    most = critical_difference(swapped, level, significant=significant)
    low, high = delta - most, delta + most
    [seen] = intervals_of(
        samples.differences()[None], [samples.cases], limits=_LIMITS, alphas=[level]
    )
    if seen is not None:
        low = low if significant and delta > 0 else min(low, seen[0])
        high = high if significant and delta < 0 else max(high, seen[1])
    return max(_LIMITS[0], low), min(_LIMITS[1], high)


def _cases_needed(
    change: MetricDifference, cases: int, swapped: Floats, level: float, margin: float
) -> int | None:
    """Return how many cases would show that a metric differs, or that it is equivalent.

    The power is 80% if the true difference is the observed one.
    """
    size = abs(change.delta or 0.0)
    spread = math.sqrt(float(np.nanmean(swapped[1:] ** 2))) if len(swapped) > 1 else 0.0
    detectable = (_NORMAL.inv_cdf(1 - level / 2) + _NORMAL.inv_cdf(POWER)) * spread
    needed = [cases * (detectable / size) ** 2] if size and detectable else []
    if (room := margin - size) > 0:
        unseen = math.log(ALPHA / 2) / math.log1p(-min(room, 0.5))
        needed.append(max(cases * (detectable / room) ** 2, unseen))
    return max(cases + 1, math.ceil(min(needed))) if needed else None


def _defined(value: np.float64) -> float | None:
    return None if math.isnan(value) else float(value)
