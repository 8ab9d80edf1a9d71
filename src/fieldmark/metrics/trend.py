"""A figure over iterations: the best so far, and whether to stop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from fieldmark.errors import OptionError
from fieldmark.model.json import JsonObject

__all__ = ["Stop", "Trend", "TrendOptions", "TrendStep", "trend"]

_SLACK: Final = 1e-9


class Stop(StrEnum):
    """What a trend says about the next iteration."""

    GO_ON = "go on"
    TARGET = "target reached"
    PLATEAU = "plateau"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendOptions:
    """When to stop: at a target, or after `patience` iterations that gained too little."""

    target: float = 0.90
    patience: int = 3
    min_gain: float = 0.01

    def __post_init__(self) -> None:
        if not 0 <= self.target <= 1:
            raise OptionError("target", "must lie between 0 and 1")
        if self.patience < 1:
            raise OptionError("patience", "must be at least 1")
        if not 0 <= self.min_gain <= 1:
            raise OptionError("min_gain", "must lie between 0 and 1")


_DEFAULT: Final = TrendOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendStep:
    """One iteration: its figure, the gain over the best before it, and the best with it.

    `counts` says that the gain is large enough to be taken for progress.
    """

    name: str
    value: float | None
    gain: float | None
    best: float | None
    counts: bool

    def to_dict(self) -> JsonObject:
        """The step as JSON."""
        return {
            "run": self.name,
            "value": self.value,
            "gain": self.gain,
            "best": self.best,
            "counts": self.counts,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """The steps of a figure in their order, and what they add up to."""

    steps: tuple[TrendStep, ...]
    best: str | None
    without_gain: int
    stop: Stop

    def to_dict(self) -> JsonObject:
        """The trend as JSON."""
        return {
            "steps": [step.to_dict() for step in self.steps],
            "best": self.best,
            "without_gain": self.without_gain,
            "stop": self.stop.value,
        }


def trend(values: Sequence[tuple[str, float | None]], options: TrendOptions = _DEFAULT) -> Trend:
    """What became of a figure over named iterations.

    A gain counts when it lifts the figure by at least `min_gain` above the last value that
    counted, so that many small steps are progress too, once they add up.

    >>> trend([("a", 0.70), ("b", 0.80), ("c", 0.80), ("d", 0.805), ("e", 0.79)]).stop
    <Stop.PLATEAU: 'plateau'>
    """
    steps: list[TrendStep] = []
    best: float | None = None
    best_name: str | None = None
    mark: float | None = None
    idle = 0
    for name, value in values:
        gain = None if value is None or best is None else value - best
        counts = value is not None and (mark is None or value - mark >= options.min_gain - _SLACK)
        mark, idle = (value, 0) if counts else (mark, idle + 1)
        if value is not None and (best is None or value > best):
            best, best_name = value, name
        steps.append(TrendStep(name=name, value=value, gain=gain, best=best, counts=counts))
    stop = Stop.PLATEAU if idle >= options.patience else Stop.GO_ON
    if best is not None and best >= options.target - _SLACK:
        stop = Stop.TARGET
    return Trend(steps=tuple(steps), best=best_name, without_gain=idle, stop=stop)
