"""Two runs on the same cases: what changed, by how much, and whether that may be chance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeAlias

from fieldmark.metrics.difference_pairs import Pairs
from fieldmark.metrics.intervals import Interval, around, deviations, product, resampling_weights
from fieldmark.metrics.intervals_draws import HEADLINE, Draws
from fieldmark.metrics.intervals_rows import CaseMatrix, Columns
from fieldmark.metrics.options import CountingHalf
from fieldmark.metrics.significance import ALPHA, PERMUTATIONS, flip_signs, holm, permutation_p
from fieldmark.model.json import JsonObject
from fieldmark.model.outcomes import AttributeTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Weights: TypeAlias = NDArray[np.uint8]

__all__ = ["Effort", "FigureDifference", "PairedFigures", "Word", "paired_figures"]

_LIMITS: Final = (-1.0, 1.0)


class Word(StrEnum):
    """What became of a figure, chance aside."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "no difference"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How often cases are drawn anew and exchanged; the same seed gives the same answer."""

    resamples: int = 2_000
    permutations: int = PERMUTATIONS
    seed: int = 0


_USUAL: Final = Effort()


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
    def word(self) -> Word:
        """Better or worse, if that is hardly chance."""
        if not self.delta or self.adjusted > ALPHA:
            return Word.SAME
        return Word.BETTER if self.delta > 0 else Word.WORSE

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
    pairs: Pairs,
    before: AttributeTable,
    after: AttributeTable,
    counting: CountingHalf,
    effort: Effort = _USUAL,
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
            {name: drawn[name] for name in HEADLINE}, _chances(chances), family=False
        ),
        attributes=_differences(attributes, _chances(attribute_chances), family=True),
    )


@dataclass(frozen=True, slots=True)
class _Resampled:
    """Draws the same cases for both runs."""

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
    sides = Draws(draw.draws), Draws(draw.draws)
    attributes: _ByName = {}
    for columns in zip(*(matrix.blocks() for matrix in matrices), strict=True):
        attributes |= _attributes(columns, sides, draw)
    means = draw(matrices[0].means, matrices[1].means)
    before, after = (side.headline(mean) for side, mean in zip(sides, means, strict=True))
    cases = matrices[0].rows
    return {name: _Values(before[name], after[name], cases) for name in before}, attributes


def _attributes(columns: tuple[Columns, ...], sides: tuple[Draws, Draws], draw: _Draw) -> _ByName:
    import numpy as np

    old, new = columns
    drawn = [draw(*pair) for pair in zip(old[1:], new[1:], strict=True)]
    before, after = (
        side.attributes(*(each[place] for each in drawn)) for place, side in enumerate(sides)
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
    off = deviations(apart, values.cases)
    return FigureDifference(
        before=_defined(values.before[0]),
        after=_defined(values.after[0]),
        delta=delta,
        interval=None if off is None or delta is None else around(delta, off, _LIMITS),
        p=p,
        adjusted=adjusted,
    )


def _defined(value: np.float64) -> float | None:
    return None if value != value else float(value)  # noqa: PLR0124 - NaN alone differs from itself
