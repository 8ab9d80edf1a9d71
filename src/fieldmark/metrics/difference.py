"""Two runs over the same cases: what changed, by how much, and whether it is significant."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeAlias

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
from fieldmark.metrics.significance import ALPHA, PERMUTATIONS, flip_signs, holm, permutation_p
from fieldmark.model.case import Verdict
from fieldmark.model.outcome import FACT_MASK, FACTS, Presence
from fieldmark.model.outcomes import AttributeTable, Outcomes

if TYPE_CHECKING:
    import numpy as np

    from fieldmark.values.arrays import Floats

__all__ = [
    "GROUPS",
    "SHOWN",
    "CaseChange",
    "CaseInRun",
    "DiffVerdict",
    "MetricDifference",
    "PairedCases",
    "PairedMetrics",
    "ResamplingOptions",
    "greatest",
    "paired_metrics",
]

GROUPS: Final = 2_048
"""The maximum number of rows; further cases share them, and are resampled and permuted together."""

SHOWN: Final = 50
"""The maximum number of listed changes, separately for fixed and regressed cases."""

OutcomeChange: TypeAlias = tuple[str, str]
"""The outcome of a field in the first run and in the second."""

_LIMITS: Final = (-1.0, 1.0)
_OUTCOME_SHIFT: Final = 4
"""The bits of a cell below its outcome: both presences."""
_LABELS: Final = tuple(fact.outcome.label for fact in FACTS)
_WORD: Final = (1 << 64) - 1
_NO_OUTCOME: Final = "absent"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseInRun:
    """One case in one run."""

    block: Outcomes
    stats: CaseStats
    table: AttributeTable


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseChange:
    """A case whose verdict or score differs between the runs."""

    case_id: str
    before: float | None
    after: float | None
    verdict_before: str | None
    verdict_after: str | None

    @property
    def gain(self) -> float:
        """The increase of the score; an undefined score counts as 0."""
        return (self.after or 0.0) - (self.before or 0.0)


@dataclass(slots=True)
class PairedCases:
    """The cases that two runs share, collected in bounded memory."""

    before: list[CaseRow] = field(default_factory=list)
    after: list[CaseRow] = field(default_factory=list)
    cases: int = 0
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    shifts: Counter[OutcomeChange] = field(default_factory=Counter)
    scores: Counter[str] = field(default_factory=Counter)
    fixed: list[CaseChange] = field(default_factory=list)
    regressed: list[CaseChange] = field(default_factory=list)

    def add(self, case_id: str, before: CaseInRun, after: CaseInRun) -> None:
        """Add one case of both runs."""
        group = self.cases if self.cases < GROUPS else _scramble(self.cases) % GROUPS
        if group == len(self.before):
            self.before.append(CaseRow())
            self.after.append(CaseRow())
        self.cases += 1
        for rows, side in ((self.before, before), (self.after, after)):
            times = side.block.times or Counter(side.block.cells)
            rows[group].add(times, row_means(side.stats))
        change = CaseChange(
            case_id=case_id,
            before=before.stats.score,
            after=after.stats.score,
            verdict_before=before.stats.verdict,
            verdict_after=after.stats.verdict,
        )
        old, new = (str(each.stats.verdict or "error") for each in (before, after))
        self.verdicts[old, new] += 1
        self.scores["up" if change.gain > 0 else "down" if change.gain < 0 else "same"] += 1
        if old != new and Verdict.PASS in {old, new}:
            changes = self.fixed if new == Verdict.PASS else self.regressed
            changes.append(change)
            if len(changes) >= 2 * SHOWN:
                changes[:] = greatest(changes)
        if before.block.cells != after.block.cells or before.table is not after.table:
            self.shifts.update(_outcome_changes(before, after))

    def passes(self) -> tuple[int, int]:
        """Return how many cases pass only in the second run, and how many only in the first."""
        fixed = sum(n for (old, new), n in self.verdicts.items() if old != Verdict.PASS == new)
        regressed = sum(n for (old, new), n in self.verdicts.items() if old == Verdict.PASS != new)
        return fixed, regressed


def _scramble(number: int) -> int:
    """Return a pseudo-random number for a case (SplitMix64).

    Assigning sorted cases to rows in turn would make the rows similar and hide how much cases vary.
    """
    mixed = (number + 1) * 0x9E3779B97F4A7C15 & _WORD
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & _WORD
    return mixed ^ mixed >> 31


def greatest(changes: list[CaseChange]) -> list[CaseChange]:
    """Return the changes with the largest effect; ties keep the order of the cases."""
    return sorted(changes, key=lambda each: -abs(each.gain))[:SHOWN]


def _outcome_changes(before: CaseInRun, after: CaseInRun) -> Mapping[OutcomeChange, int]:
    """Count the fields whose outcome changed, by both outcomes."""
    old, new = before.block, after.block
    if before.table is after.table and len(old.cells) == len(new.cells) and old.items == new.items:
        cells = list(zip(old.cells, new.cells, strict=True))
        if all(one ^ other <= FACT_MASK for one, other in cells):
            # The same fields in the same order, as in most cases.
            return Counter(
                (_LABELS[one & FACT_MASK], _LABELS[other & FACT_MASK])
                for one, other in cells
                if one >> _OUTCOME_SHIFT != other >> _OUTCOME_SHIFT
            )
    # By path, and by whether only the candidate has the field.
    earlier, later = (
        {
            (each.path, each.expected_presence is Presence.ABSENT): each.outcome.label
            for each in side.block.records(side.table)
        }
        for side in (before, after)
    )
    pairs = (
        (earlier.get(field, _NO_OUTCOME), later.get(field, _NO_OUTCOME))
        for field in {**earlier, **later}
    )
    return Counter((one, other) for one, other in pairs if one != other)


class DiffVerdict(StrEnum):
    """Whether a metric changed significantly."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "no difference"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResamplingOptions:
    """The numbers of resamples and permutations, and the seed that makes them reproducible."""

    resamples: int = 2_000
    permutations: int = PERMUTATIONS
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricDifference:
    """A metric in two runs; `p` is the p-value of the difference.

    `adjusted` is the Holm-adjusted p-value over all attributes; it determines the verdict.
    """

    before: float | None
    after: float | None
    delta: float | None
    interval: Interval | None
    p: float
    adjusted: float

    @property
    def word(self) -> DiffVerdict:
        """Better or worse if the difference is significant, else no difference."""
        if not self.delta or self.adjusted > ALPHA:
            return DiffVerdict.SAME
        return DiffVerdict.BETTER if self.delta > 0 else DiffVerdict.WORSE

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
    """A metric in every resample or permutation of both runs; the first value is the estimate."""

    before: Floats
    after: Floats
    cases: int = 0

    def differences(self) -> Floats:
        """Return after minus before; if only one run had nothing to compare, its value is 1."""
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
) -> PairedMetrics:
    """Return every metric of two runs with its difference, interval and p-value.

    Intervals come from a paired bootstrap, p-values from a permutation test that swaps the runs
    case by case. Both treat the fields of a case as one unit.
    """
    options = options or ResamplingOptions()
    paths = sorted({each.path for table in (before, after) for each in table.attributes})
    matrices = (
        CaseMatrix(pairs.before, before, counting, paths),
        CaseMatrix(pairs.after, after, counting, paths),
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
    by_metric = _differences(headline, permuted_headline, adjust=False)
    by_attribute = _differences(attributes, permuted_attributes, adjust=True)
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
    for old, new in zip(*(matrix.blocks() for matrix in matrices), strict=True):
        counts = [transform(*pair) for pair in zip(old[1:], new[1:], strict=True)]
        before, after = (
            side.add_attributes(*(each[place] for each in counts))
            for place, side in enumerate(sides)
        )
        present = (np.add.reduce([*old[1:], *new[1:]]) > 0).sum(0)
        for place, path in enumerate(old.paths):
            cases = int(present[place])
            attributes[path] = _MetricSamples(before[:, place], after[:, place], cases)
    means = transform(matrices[0].means, matrices[1].means)
    first, second = (side.metrics(mean) for side, mean in zip(sides, means, strict=True))
    headline = {
        name: _MetricSamples(first[name], second[name], matrices[0].rows)
        for name in HEADLINE_METRICS
    }
    return headline, attributes


def _differences(
    resampled: _Samples, permuted: _Samples, *, adjust: bool
) -> dict[str, MetricDifference]:
    """Return differences with p-values, Holm-adjusted if they form one family of tests."""
    import numpy as np

    differences = {name: each.differences() for name, each in resampled.items()}
    p = {name: permutation_p(permuted[name].differences()) for name in resampled}
    tested = {name: p[name] for name, each in differences.items() if not np.isnan(each[0])}
    adjusted = holm(tested) if adjust else tested
    found: dict[str, MetricDifference] = {}
    for name, samples in resampled.items():
        delta = _defined(differences[name][0])
        [offsets] = interval_offsets(differences[name][None], [samples.cases])
        interval = None
        if delta is not None and offsets is not None:
            interval = interval_around(delta, offsets, _LIMITS)
        found[name] = MetricDifference(
            before=_defined(samples.before[0]),
            after=_defined(samples.after[0]),
            delta=delta,
            interval=interval,
            p=p[name],
            adjusted=adjusted.get(name, 1.0),
        )
    return found


def _defined(value: np.float64) -> float | None:
    return None if math.isnan(value) else float(value)
