"""Two runs over the same cases: what changed, by how much, and whether it is significant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeAlias

from fieldmark.metrics.bootstrap import (
    AttributeColumns,
    CaseMatrix,
    ResampledFigures,
    interval_around,
    interval_offsets,
    product,
    resampling_weights,
)
from fieldmark.metrics.case_sample import CaseRow, row_means
from fieldmark.metrics.case_score import CaseStats
from fieldmark.metrics.conventions import CountingOptions
from fieldmark.metrics.headline import HEADLINE_FIGURES
from fieldmark.metrics.rates import Interval
from fieldmark.metrics.significance import ALPHA, PERMUTATIONS, flip_signs, holm, permutation_p
from fieldmark.model.case import Verdict
from fieldmark.model.json import JsonObject
from fieldmark.model.outcome import FACT_MASK, FACTS
from fieldmark.model.outcomes import AttributeTable, FieldOutcome, Outcomes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Weights: TypeAlias = NDArray[np.uint8]

__all__ = [
    "GROUPS",
    "SHOWN",
    "CaseChange",
    "CaseInRun",
    "DiffVerdict",
    "FigureDifference",
    "PairedCases",
    "PairedFigures",
    "ResamplingOptions",
    "greatest",
    "paired_figures",
]

GROUPS: Final = 2_048
"""Cases beyond so many share rows: they are drawn and exchanged together."""

SHOWN: Final = 50
"""Changed cases that are named, of each kind."""

Shift: TypeAlias = tuple[str, str]
"""What a field was in the one run and is in the other."""

_OUTCOME: Final = 4
"""Bits of a cell below its outcome: both presences."""
_LABELS: Final = tuple(fact.outcome.label for fact in FACTS)
_WORD: Final = (1 << 64) - 1
NOTHING: Final = "nothing"
"""What a field is that a run has no outcome for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseInRun:
    """One case in one run."""

    block: Outcomes
    stats: CaseStats
    table: AttributeTable


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseChange:
    """A case whose verdict or score is another in the second run."""

    case_id: str
    before: float | None
    after: float | None
    verdict_before: str | None
    verdict_after: str | None

    @property
    def gain(self) -> float:
        """By how much the score rose; without a score there was none to begin with."""
        return (self.after or 0.0) - (self.before or 0.0)


@dataclass(slots=True)
class PairedCases:
    """All that is known of the cases that two runs share."""

    before: list[CaseRow] = field(default_factory=list)
    after: list[CaseRow] = field(default_factory=list)
    cases: int = 0
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    shifts: Counter[Shift] = field(default_factory=Counter)
    scores: Counter[str] = field(default_factory=Counter)
    fixed: list[CaseChange] = field(default_factory=list)
    broken: list[CaseChange] = field(default_factory=list)
    _means: dict[CaseStats, tuple[int, ...]] = field(default_factory=dict)

    def add(self, case_id: str, before: CaseInRun, after: CaseInRun) -> None:
        """Take in one case of both runs."""
        group = self.cases if self.cases < GROUPS else _drawn(self.cases) % GROUPS
        if group == len(self.before):
            self.before.append(CaseRow())
            self.after.append(CaseRow())
        self.cases += 1
        for rows, side in ((self.before, before), (self.after, after)):
            times = side.block.times or Counter(side.block.cells)
            rows[group].add(times, self._means_of(side.stats))
        self._note(case_id, before, after)
        if before.block.cells != after.block.cells or before.table is not after.table:
            self.shifts.update(_shifts(before, after))

    def passes(self) -> tuple[int, int]:
        """How many cases pass only in the second run, and only in the first."""
        mine = Verdict.PASS.value
        gained = sum(n for (old, new), n in self.verdicts.items() if old != mine == new)
        lost = sum(n for (old, new), n in self.verdicts.items() if old == mine != new)
        return gained, lost

    def _means_of(self, stats: CaseStats) -> tuple[int, ...]:
        known = self._means.get(stats)
        if known is None:
            if len(self._means) >= GROUPS:
                self._means.clear()
            known = self._means[stats] = row_means(stats)
        return known

    def _note(self, case_id: str, before: CaseInRun, after: CaseInRun) -> None:
        change = CaseChange(
            case_id=case_id,
            before=before.stats.score,
            after=after.stats.score,
            verdict_before=before.stats.verdict,
            verdict_after=after.stats.verdict,
        )
        old, new = change.verdict_before or "error", change.verdict_after or "error"
        self.verdicts[str(old), str(new)] += 1
        self.scores["up" if change.gain > 0 else "down" if change.gain < 0 else "same"] += 1
        if old != new and Verdict.PASS in {old, new}:
            _keep(self.fixed if new == Verdict.PASS else self.broken, change)


def _drawn(place: int) -> int:
    """A number that looks drawn by chance, for a case by its place.

    Cases must not take turns: where they are in some order, turns would make all rows alike and
    hide how much cases differ.
    """
    mixed = (place + 1) * 0x9E3779B97F4A7C15 & _WORD
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & _WORD
    return mixed ^ mixed >> 31


def greatest(changes: list[CaseChange]) -> list[CaseChange]:
    """The changes with the greatest effect, earlier ones first among equals."""
    return sorted(changes, key=lambda each: -abs(each.gain))[:SHOWN]


def _keep(changes: list[CaseChange], change: CaseChange) -> None:
    changes.append(change)
    if len(changes) >= 2 * SHOWN:
        changes[:] = greatest(changes)


def _shifts(before: CaseInRun, after: CaseInRun) -> Mapping[Shift, int]:
    """Fields that are something else in the second run, by what they were and are."""
    if _in_step(before, after):
        cells = zip(before.block.cells, after.block.cells, strict=True)
        apart = (pair for pair in cells if pair[0] >> _OUTCOME != pair[1] >> _OUTCOME)
        return Counter((_LABELS[old & FACT_MASK], _LABELS[new & FACT_MASK]) for old, new in apart)
    old, new = _outcomes(before), _outcomes(after)
    found: Counter[Shift] = Counter()
    for place in {**old, **new}:
        pair = old.get(place, NOTHING), new.get(place, NOTHING)
        if pair[0] != pair[1]:
            found[pair] += 1
    return found


def _in_step(before: CaseInRun, after: CaseInRun) -> bool:
    """Whether both runs have the same fields in the same order, as most cases do."""
    old, new = before.block, after.block
    return (
        before.table is after.table
        and len(old.cells) == len(new.cells)
        and old.items == new.items
        and all(one ^ other <= FACT_MASK for one, other in zip(old.cells, new.cells, strict=True))
    )


def _outcomes(side: CaseInRun) -> dict[tuple[str, bool], str]:
    """Outcomes by path; what stands only in the candidate is no field of the truth."""
    records = side.block.records(side.table)
    return {(each.path, _is_extra(each)): _LABELS[each.outcome << _OUTCOME] for each in records}


def _is_extra(record: FieldOutcome) -> bool:
    return not record.expected_presence


_LIMITS: Final = (-1.0, 1.0)


class DiffVerdict(StrEnum):
    """What became of a figure, chance aside."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "no difference"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResamplingOptions:
    """How often cases are drawn anew and exchanged; the same seed gives the same answer."""

    resamples: int = 2_000
    permutations: int = PERMUTATIONS
    seed: int = 0


_USUAL: Final = ResamplingOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureDifference:
    """A figure in two runs; `p` is the chance of such a difference between equal runs.

    `adjusted` is that chance when all attributes were asked about, and decides the word.
    """

    before: float | None
    after: float | None
    delta: float | None
    interval: Interval | None
    p: float
    adjusted: float

    @property
    def word(self) -> DiffVerdict:
        """Better or worse, if that is hardly chance."""
        if not self.delta or self.adjusted > ALPHA:
            return DiffVerdict.SAME
        return DiffVerdict.BETTER if self.delta > 0 else DiffVerdict.WORSE

    def to_dict(self) -> JsonObject:
        """The difference as JSON."""
        return {
            "before": self.before,
            "after": self.after,
            "delta": self.delta,
            "interval": None if self.interval is None else list(self.interval),
            "p": self.p,
            "p_adjusted": self.adjusted,
            "word": self.word.value,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedFigures:
    """The headline figures and the F1 of every attribute in two runs."""

    headline: Mapping[str, FigureDifference]
    attributes: Mapping[str, FigureDifference]


@dataclass(frozen=True, slots=True)
class _Values:
    """A figure in every draw of both runs; the first draw is the runs as they are."""

    before: Floats
    after: Floats
    cases: int = 0


def paired_figures(
    pairs: PairedCases,
    before: AttributeTable,
    after: AttributeTable,
    counting: CountingOptions,
    effort: ResamplingOptions = _USUAL,
) -> PairedFigures:
    """Every figure of two runs with its difference, an interval and the chance of it.

    Intervals come from drawing cases anew, chances from exchanging the two runs' answers to a
    case. Both keep the fields of a case together.
    """
    paths = sorted({each.path for table in (before, after) for each in table.attributes})
    matrices = (
        CaseMatrix(pairs.before, before, counting, paths),
        CaseMatrix(pairs.after, after, counting, paths),
    )
    weights = resampling_weights(len(pairs.before), effort.resamples, effort.seed)
    drawn, attributes = _figures(matrices, _Resampled(weights))
    signs = flip_signs(len(pairs.before), effort.permutations, effort.seed + 1)
    chances, attribute_chances = _figures(matrices, _Exchanged(signs))
    return PairedFigures(
        headline=_differences(
            {name: drawn[name] for name in HEADLINE_FIGURES}, _chances(chances), family=False
        ),
        attributes=_differences(attributes, _chances(attribute_chances), family=True),
    )


@dataclass(frozen=True, slots=True)
class _Resampled:
    """ResampledFigures the same cases for both runs."""

    weights: Weights

    @property
    def draws(self) -> int:
        return len(self.weights)

    def __call__(self, before: Floats, after: Floats) -> tuple[Floats, Floats]:
        return product(self.weights, before), product(self.weights, after)


@dataclass(frozen=True, slots=True)
class _Exchanged:
    """Swaps the runs in some cases."""

    signs: Floats

    @property
    def draws(self) -> int:
        return len(self.signs)

    def __call__(self, before: Floats, after: Floats) -> tuple[Floats, Floats]:
        both = before.sum(0) + after.sum(0)
        apart = after - before
        changed = apart.any(axis=1)
        swapped = self.signs[:, changed] @ apart[changed]
        return (both - swapped) / 2, (both + swapped) / 2


_Draw: TypeAlias = _Resampled | _Exchanged
_ByName: TypeAlias = dict[str, _Values]


def _figures(matrices: tuple[CaseMatrix, CaseMatrix], draw: _Draw) -> tuple[_ByName, _ByName]:
    """The headline figures and the attributes' F1 in every draw."""
    sides = ResampledFigures(draw.draws), ResampledFigures(draw.draws)
    attributes: _ByName = {}
    for columns in zip(*(matrix.blocks() for matrix in matrices), strict=True):
        attributes |= _attributes(columns, sides, draw)
    means = draw(matrices[0].means, matrices[1].means)
    before, after = (side.headline(mean) for side, mean in zip(sides, means, strict=True))
    cases = matrices[0].rows
    return {name: _Values(before[name], after[name], cases) for name in before}, attributes


def _attributes(
    columns: tuple[AttributeColumns, ...],
    sides: tuple[ResampledFigures, ResampledFigures],
    draw: _Draw,
) -> _ByName:
    import numpy as np

    old, new = columns
    drawn = [draw(*pair) for pair in zip(old[1:], new[1:], strict=True)]
    before, after = (
        side.add_attributes(*(each[place] for each in drawn)) for place, side in enumerate(sides)
    )
    touched = np.add.reduce([*old[1:], *new[1:]]) > 0
    return {
        path: _Values(before[:, place], after[:, place], int(touched[:, place].sum()))
        for place, path in enumerate(old.paths)
    }


def _chances(drawn: _ByName) -> dict[str, float]:
    return {name: permutation_p(_apart(each)) for name, each in drawn.items()}


def _apart(values: _Values) -> Floats:
    """The differences; where nothing was to be found and nothing was found, all was right."""
    import numpy as np

    gone = np.isnan(values.before) & np.isnan(values.after)
    apart = np.nan_to_num(values.after, nan=1.0) - np.nan_to_num(values.before, nan=1.0)
    return np.where(gone, np.nan, apart)


def _differences(
    drawn: _ByName, chances: Mapping[str, float], *, family: bool
) -> dict[str, FigureDifference]:
    """Differences with their chances, put right where they are a family that is asked as one."""
    import numpy as np

    asked = {name: chances[name] for name, each in drawn.items() if not np.isnan(_apart(each)[0])}
    adjusted = holm(asked) if family else asked
    return {
        name: _difference(each, chances[name], adjusted.get(name, 1.0))
        for name, each in drawn.items()
    }


def _difference(values: _Values, p: float, adjusted: float) -> FigureDifference:
    import numpy as np

    apart = _apart(values)
    delta = None if np.isnan(apart[0]) else float(apart[0])
    off = interval_offsets(apart[None], [values.cases])[0]
    return FigureDifference(
        before=_defined(values.before[0]),
        after=_defined(values.after[0]),
        delta=delta,
        interval=None if off is None or delta is None else interval_around(delta, off, _LIMITS),
        p=p,
        adjusted=adjusted,
    )


def _defined(value: np.float64) -> float | None:
    return None if value != value else float(value)  # noqa: PLR0124 - NaN alone differs from itself
