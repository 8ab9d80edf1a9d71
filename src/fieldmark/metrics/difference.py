"""Two runs over the same cases: what changed, by how much, and whether it is significant."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from fieldmark.metrics.bootstrap import (
    CaseMatrix,
    ResampledMetrics,
    interval_around,
    interval_offsets,
    product,
    resampling_weights,
)
from fieldmark.metrics.case_sample import CaseRow, row_means
from fieldmark.metrics.case_score import CaseStats
from fieldmark.metrics.conventions import CountingOptions, F1WhenNoMatch
from fieldmark.metrics.headline import HEADLINE_METRICS, MICRO_F1
from fieldmark.metrics.rates import Interval
from fieldmark.metrics.significance import (
    ALPHA,
    PERMUTATIONS,
    flip_signs,
    holm,
    holm_of_smallest,
    permutation_p,
    smallest_p,
)
from fieldmark.metrics.taxonomy import ERROR_TABLE, MISTAKES
from fieldmark.model.case import Verdict
from fieldmark.model.outcome import CELL_BITS, FACT_MASK, FACTS, Presence
from fieldmark.model.outcomes import AttributeTable, Outcomes

if TYPE_CHECKING:
    import numpy as np

    from fieldmark.values.arrays import Floats

__all__ = [
    "GROUPS",
    "CaseChange",
    "CaseInRun",
    "DiffVerdict",
    "Direction",
    "FieldChange",
    "MetricDifference",
    "PairedCases",
    "PairedMetrics",
    "ResamplingOptions",
    "paired_metrics",
]

GROUPS: Final = 2_048
"""The maximum number of rows; further cases share them, and are resampled and permuted together."""

OutcomeChange: TypeAlias = tuple[str, str]
"""The outcome of a field in the first run and in the second."""

_LIMITS: Final = (-1.0, 1.0)
_OUTCOME_SHIFT: Final = 4
"""The bits of a cell below its outcome: both presences."""
_LABELS: Final = tuple(fact.outcome.label for fact in FACTS)
_MISTAKES: Final = frozenset(outcome.label for outcome in MISTAKES)
_WORD: Final = (1 << 64) - 1
_NO_OUTCOME: Final = "absent"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseInRun:
    """One case in one run."""

    block: Outcomes
    stats: CaseStats
    table: AttributeTable


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


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseChange:
    """A case that improved or got worse, with the fields whose outcomes changed.

    A case improves if its score rises, or if it has fewer mistakes at the same score. The fields
    that changed in the same direction come first.
    """

    case_id: str
    before: float
    after: float
    verdict_before: str | None
    verdict_after: str | None
    fields: tuple[FieldChange, ...] = ()

    @property
    def gain(self) -> float:
        """The increase of the score."""
        return self.after - self.before


@dataclass(slots=True)
class PairedCases:
    """The cases that two runs share; memory is bounded except for the cases that changed.

    Unless the runs are `comparable`, no case is called improved or worse. `attributes` counts the
    cases that have fewer and the cases that have more mistakes in an attribute.
    """

    comparable: bool = True
    before: list[CaseRow] = field(default_factory=list)
    after: list[CaseRow] = field(default_factory=list)
    cases: int = 0
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    shifts: Counter[OutcomeChange] = field(default_factory=Counter)
    directions: Counter[Direction] = field(default_factory=Counter)
    changes: dict[Direction, list[CaseChange]] = field(
        default_factory=lambda: {Direction.IMPROVED: [], Direction.WORSE: []}
    )
    attributes: dict[str, list[int]] = field(default_factory=dict)

    def add(self, case_id: str, before: CaseInRun, after: CaseInRun) -> None:
        """Add one case of both runs."""
        group = self.cases if self.cases < GROUPS else _scramble(self.cases) % GROUPS
        if group == len(self.before):
            self.before.append(CaseRow())
            self.after.append(CaseRow())
        self.cases += 1
        cells: list[Mapping[int, int]] = []
        for rows, side in ((self.before, before), (self.after, after)):
            times = side.block.times or Counter(side.block.cells)
            rows[group].add(times, row_means(side.stats))
            cells.append(times)
        old, new = before.stats, after.stats
        self.verdicts[str(old.verdict or "error"), str(new.verdict or "error")] += 1
        fields: list[FieldChange] = []
        if before.block.cells != after.block.cells or before.table is not after.table:
            fields = _outcome_changes(before, after)
            self.shifts.update((each.before, each.after) for each in fields)
        if not self.comparable:
            return
        direction = _direction(old, new)
        self.directions[direction] += 1
        if fields and direction is not Direction.NOT_SCORED:
            fewer = _mistakes(cells[0], before.table)
            fewer.subtract(_mistakes(cells[1], after.table))
            for path, number in fewer.items():
                if number:
                    self.attributes.setdefault(path, [0, 0])[number < 0] += 1
        if direction in self.changes and old.score is not None and new.score is not None:
            sign = -1 if direction is Direction.WORSE else 1
            fields.sort(key=lambda each: -abs(_fixed(each) + sign / 2))
            self.changes[direction].append(
                CaseChange(
                    case_id=case_id,
                    before=old.score,
                    after=new.score,
                    verdict_before=old.verdict,
                    verdict_after=new.verdict,
                    fields=tuple(fields),
                )
            )

    def changed(self, direction: Direction) -> list[CaseChange]:
        """Return the cases that improved or got worse, largest change of the score first."""
        return sorted(self.changes[direction], key=lambda each: -abs(each.gain))

    def passes(self) -> tuple[int, int]:
        """Return how many cases pass only in the second run, and how many only in the first.

        A case that could not be scored in one of the runs is neither.
        """
        known = {pair: n for pair, n in self.verdicts.items() if "error" not in pair}
        fixed = sum(n for (old, new), n in known.items() if old != Verdict.PASS == new)
        regressed = sum(n for (old, new), n in known.items() if old == Verdict.PASS != new)
        return fixed, regressed


def _direction(before: CaseStats, after: CaseStats) -> Direction:
    """Return how a case changed: by its score, then by the number of its mistakes."""
    if before.score is None or after.score is None:
        return Direction.NOT_SCORED
    gain = after.score - before.score or before.errors.total - after.errors.total
    return Direction.IMPROVED if gain > 0 else Direction.WORSE if gain < 0 else Direction.UNCHANGED


def _fixed(change: FieldChange) -> int:
    """Return 1 if a mistake was fixed, -1 if the field became a mistake, and otherwise 0."""
    return (change.before in _MISTAKES) - (change.after in _MISTAKES)


def _mistakes(cells: Mapping[int, int], table: AttributeTable) -> Counter[str]:
    """Count the mistakes of a case by attribute."""
    mistakes: Counter[str] = Counter()
    for cell, times in cells.items():
        if any(ERROR_TABLE[cell & FACT_MASK]):
            mistakes[table.path(cell >> CELL_BITS)] += times
    return mistakes


def _scramble(number: int) -> int:
    """Return a pseudo-random number for a case (SplitMix64).

    Assigning sorted cases to rows in turn would make the rows similar and hide how much cases vary.
    """
    mixed = (number + 1) * 0x9E3779B97F4A7C15 & _WORD
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & _WORD
    return mixed ^ mixed >> 31


def _outcome_changes(before: CaseInRun, after: CaseInRun) -> list[FieldChange]:
    """Return the fields whose outcomes changed."""
    old, new = before.block, after.block
    if before.table is after.table and len(old.cells) == len(new.cells) and old.items == new.items:
        cells = list(zip(old.cells, new.cells, strict=True))
        if all(one ^ other <= FACT_MASK for one, other in cells):
            # The same fields in the same order, as in most cases.
            changed = [
                place
                for place, (one, other) in enumerate(cells)
                if one >> _OUTCOME_SHIFT != other >> _OUTCOME_SHIFT
            ]
            paths = [each.path for each in old.records(before.table)] if changed else []
            return [
                FieldChange(paths[place], *(_LABELS[each & FACT_MASK] for each in cells[place]))
                for place in changed
            ]
    # By path, and by whether only the candidate has the field.
    earlier, later = (
        {
            (each.path, each.expected_presence is Presence.ABSENT): each.outcome.label
            for each in side.block.records(side.table)
        }
        for side in (before, after)
    )
    found = (
        FieldChange(place[0], earlier.get(place, _NO_OUTCOME), later.get(place, _NO_OUTCOME))
        for place in {**earlier, **later}
    )
    return [each for each in found if each.before != each.after]


class DiffVerdict(StrEnum):
    """Whether a metric changed significantly.

    Too few cases to tell: so few cases differ that even the same change in all of them would not
    be significant. Not comparable: the runs have different rules or conventions.
    """

    BETTER = "better"
    WORSE = "worse"
    SAME = "no difference"
    TOO_FEW = "too few cases to tell"
    NOT_COMPARABLE = "not comparable"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResamplingOptions:
    """The numbers of resamples and permutations, and the seed that makes them reproducible."""

    resamples: int = 2_000
    permutations: int = PERMUTATIONS
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricDifference:
    """A metric in two runs; `p` is the p-value of the difference.

    `adjusted` is the Holm-adjusted p-value over all attributes; it determines the verdict, `word`.
    `improved` and `worse` are numbers of cases: of the whole run for a headline metric, and by
    their mistakes in an attribute.
    """

    before: float | None
    after: float | None
    delta: float | None
    interval: Interval | None
    p: float
    adjusted: float
    word: DiffVerdict
    improved: int = 0
    worse: int = 0

    def without_zero(self) -> MetricDifference:
        """Return an F1 that is undefined without a match; the difference still counts it as 0."""
        return replace(self, before=self.before or None, after=self.after or None)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedMetrics:
    """The headline metrics and the F1 of every attribute in two runs."""

    headline: Mapping[str, MetricDifference]
    attributes: Mapping[str, MetricDifference]


@dataclass(frozen=True, slots=True)
class _MetricSamples:
    """A metric in every resample or permutation of both runs; the first value is the estimate.

    `differing` is the number of cases, or groups of cases, that are not the same in both runs. If
    the change is `unanimous`, they all changed in the same direction.
    """

    before: Floats
    after: Floats
    cases: int
    differing: int
    unanimous: bool = False

    def differences(self) -> Floats:
        """Return after minus before: more is better.

        If only one run had nothing to compare, its value is 1: an attribute that is no longer
        predicted where nothing is expected has improved.
        """
        import numpy as np

        undefined = np.isnan(self.before) & np.isnan(self.after)
        apart = np.nan_to_num(self.after, nan=1.0) - np.nan_to_num(self.before, nan=1.0)
        return np.where(undefined, np.nan, apart)


_Transform: TypeAlias = Callable[["Floats", "Floats"], tuple["Floats", "Floats"]]
"""Turns the counts of the cases of both runs into the counts of all resamples."""
_Samples: TypeAlias = dict[str, _MetricSamples]


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

    Intervals come from a paired bootstrap, p-values from a permutation test that swaps the runs
    case by case. Both treat the fields of a case as one unit.
    """
    options = options or ResamplingOptions()
    paths = sorted({each.path for table in (before, after) for each in table.attributes})
    matrices = (
        CaseMatrix(pairs.before, before, counting, paths),
        CaseMatrix(pairs.after, after, counting_after or counting, paths),
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
        swapped = signs[:, changed] @ apart[changed]
        return (total - swapped) / 2, (total + swapped) / 2

    headline, attributes = _samples(matrices, resample, len(weights))
    permuted_headline, permuted_attributes = _samples(matrices, permute, len(signs))
    found = pairs.directions
    of_run = found[Direction.IMPROVED], found[Direction.WORSE]
    by_metric = _differences(
        headline,
        permuted_headline,
        dict.fromkeys(headline, of_run),
        adjust=False,
        comparable=pairs.comparable,
    )
    by_attribute = _differences(
        attributes,
        permuted_attributes,
        {path: (better, worse) for path, (better, worse) in pairs.attributes.items()},
        adjust=True,
        comparable=pairs.comparable,
    )
    if counting.f1_when_no_match is F1WhenNoMatch.UNDEFINED:
        by_metric[MICRO_F1] = by_metric[MICRO_F1].without_zero()
        by_attribute = {path: each.without_zero() for path, each in by_attribute.items()}
    return PairedMetrics(headline=by_metric, attributes=by_attribute)


def _samples(
    matrices: tuple[CaseMatrix, CaseMatrix], transform: _Transform, number: int
) -> tuple[_Samples, _Samples]:
    """Return the headline metrics and the F1 of every attribute in all resamples."""
    import numpy as np

    sides = ResampledMetrics(number), ResampledMetrics(number)
    attributes: _Samples = {}
    any_count = np.zeros(matrices[0].rows, bool)
    for old, new in zip(*(matrix.blocks() for matrix in matrices), strict=True):
        counts = [transform(*pair) for pair in zip(old[1:], new[1:], strict=True)]
        before, after = (
            side.add_attributes(*(each[place] for each in counts))
            for place, side in enumerate(sides)
        )
        present = (np.add.reduce([*old[1:], *new[1:]]) > 0).sum(0)
        # Fewer false positives and negatives are an increase too.
        apart = np.stack([new.tp - old.tp, old.fp - new.fp, old.fn - new.fn])
        any_count |= apart.any(axis=(0, 2))
        differing = apart.any(axis=0).sum(0)
        same_way = [(apart >= 0).all(axis=(0, 1)), (apart <= 0).all(axis=(0, 1))]
        unanimous = np.logical_or.reduce(same_way)
        for place, path in enumerate(old.paths):
            attributes[path] = _MetricSamples(
                before[:, place],
                after[:, place],
                int(present[place]),
                int(differing[place]),
                bool(unanimous[place]),
            )
    means = transform(matrices[0].means, matrices[1].means)
    first, second = (side.metrics(mean) for side, mean in zip(sides, means, strict=True))
    score, number, f1, f1s = (matrices[0].means != matrices[1].means).T
    rows_differ = (score | number, any_count, f1 | f1s, any_count)
    headline = {
        name: _MetricSamples(first[name], second[name], matrices[0].rows, int(rows.sum()))
        for name, rows in zip(HEADLINE_METRICS, rows_differ, strict=True)
    }
    return headline, attributes


def _differences(
    resampled: _Samples,
    permuted: _Samples,
    cases: Mapping[str, tuple[int, int]],
    *,
    adjust: bool,
    comparable: bool,
) -> dict[str, MetricDifference]:
    """Return differences with p-values, Holm-adjusted if they form one family of tests.

    `cases` are the numbers of improved and of worse cases by metric.
    """
    import numpy as np

    differences = {name: each.differences() for name, each in resampled.items()}
    p = {
        name: smallest_p(each.differing)
        if each.unanimous and abs(differences[name][0]) > 0
        else permutation_p(permuted[name].differences())
        for name, each in resampled.items()
    }
    tested = {name: p[name] for name, each in differences.items() if not np.isnan(each[0])}
    adjusted = holm(tested) if adjust else tested
    smallest = {name: smallest_p(resampled[name].differing) for name in tested}
    smallest = holm_of_smallest(tested, smallest) if adjust else smallest
    found: dict[str, MetricDifference] = {}
    for name, samples in resampled.items():
        delta = _defined(differences[name][0])
        [offsets] = interval_offsets(differences[name][None], [samples.cases])
        interval = None
        if delta is not None and offsets is not None:
            interval = interval_around(delta, offsets, _LIMITS)
        word = DiffVerdict.SAME
        if not comparable:
            word = DiffVerdict.NOT_COMPARABLE
        elif samples.differing and smallest.get(name, 0.0) > ALPHA:
            word = DiffVerdict.TOO_FEW
        elif delta and adjusted[name] <= ALPHA:
            word = DiffVerdict.BETTER if delta > 0 else DiffVerdict.WORSE
        improved, worse = cases.get(name, (0, 0))
        found[name] = MetricDifference(
            before=_defined(samples.before[0]),
            after=_defined(samples.after[0]),
            delta=delta,
            interval=interval,
            p=p[name],
            adjusted=adjusted.get(name, 1.0),
            word=word,
            improved=improved,
            worse=worse,
        )
    return found


def _defined(value: np.float64) -> float | None:
    return None if math.isnan(value) else float(value)
