"""A metric over iterations: the best so far, and whether to stop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final

from fieldmark.errors import OptionError
from fieldmark.metrics.worst_first import sortable
from fieldmark.model.json import JsonObject
from fieldmark.values.records import Key, to_json

_SLACK: Final = 1e-9


class TrendConclusion(StrEnum):
    """Whether another iteration is worthwhile."""

    CONTINUE = "continue"
    TARGET_REACHED = "target_reached"
    PLATEAU = "plateau"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendOptions:
    """When to stop: at a target, or after `patience` iterations with too little gain.

    The default target is 0.9, or 0 for a metric where lower is better.
    """

    target: float | None = None
    patience: int = 3
    min_gain: float = 0.01

    def __post_init__(self) -> None:
        if self.target is not None and not 0 <= self.target < math.inf:
            raise OptionError("target", "must be a number that is at least 0")
        if self.patience < 1:
            raise OptionError("patience", "must be at least 1")
        if not 0 <= self.min_gain < math.inf:
            raise OptionError("min_gain", "must be a number that is at least 0")


_TARGET: Final = 0.90
_DEFAULT: Final = TrendOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendStep:
    """One run in a trend: its metric, the gain over the previous best, and the best so far.

    `progress` says whether the gain is large enough to count.
    """

    name: Annotated[str, Key("run")]
    value: float | None
    gain: float | None
    best: float | None
    progress: bool

    def to_dict(self) -> JsonObject:
        """Return the step as JSON."""
        return to_json(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """The steps of a metric in order, and the conclusion."""

    steps: tuple[TrendStep, ...]
    best: str | None
    runs_without_gain: int
    conclusion: TrendConclusion
    target: float
    less_is_better: bool = False

    def to_dict(self) -> JsonObject:
        """Return the trend as JSON."""
        return to_json(self)


def trend(
    values: Sequence[tuple[str, float | None]],
    options: TrendOptions = _DEFAULT,
    *,
    less_is_better: bool = False,
) -> Trend:
    """Return the trend of a metric over named iterations.

    A gain counts if the metric rises at least `min_gain` above the last value that counted, so many
    small gains are progress too, once they add up. With `less_is_better`, it must fall.

    >>> trend([("a", 0.70), ("b", 0.80), ("c", 0.80), ("d", 0.805), ("e", 0.79)]).conclusion
    <TrendConclusion.PLATEAU: 'plateau'>
    """
    steps: list[TrendStep] = []
    best: float | None = None
    best_name: str | None = None
    mark: float | None = None
    idle = 0
    sign = -1 if less_is_better else 1
    default = 0.0 if less_is_better else _TARGET
    target = default if options.target is None else options.target
    shares = [value for _, value in values if isinstance(value, float)]
    if target > 1 and shares and max(shares) <= 1:
        raise OptionError("target", "must be between 0 and 1")
    for name, value in values:
        gain = None if value is None or best is None else sign * (value - best)
        progress = value is not None and (
            mark is None or sign * (value - mark) >= options.min_gain - _SLACK
        )
        mark, idle = (value, 0) if progress else (mark, idle + 1)
        if value is not None and (best is None or sign * sortable(value) > sign * sortable(best)):
            best, best_name = value, name
        steps.append(TrendStep(name=name, value=value, gain=gain, best=best, progress=progress))
    conclusion = TrendConclusion.PLATEAU if idle >= options.patience else TrendConclusion.CONTINUE
    if best is not None and sign * (best - target) >= -_SLACK:
        conclusion = TrendConclusion.TARGET_REACHED
    return Trend(
        steps=tuple(steps),
        best=best_name,
        runs_without_gain=idle,
        conclusion=conclusion,
        target=target,
        less_is_better=less_is_better,
    )
