"""Compute how many cases a gate needs to detect that a metric became worse."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fieldmark.api.arguments import checked
from fieldmark.api.recount import RunLike, stored_intervals, stored_run
from fieldmark.errors import ConfigError, OptionError
from fieldmark.metrics.gates import Gate, check_gate, less_is_better
from fieldmark.metrics.headline import MAIN_METRIC
from fieldmark.metrics.power import POWER, gate_size
from fieldmark.metrics.significance import ALPHA
from fieldmark.metrics.summary import RunIntervals
from fieldmark.values.strict_json import is_finite
from fieldmark.values.text import shorten
from fieldmark.wire.power import GatePower
from fieldmark.wire.summary import summary_to_json

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["PowerResult", "power"]

_RATE: Final = re.compile(r"attributes\.(?P<path>.*)\.(?P<rate>precision|recall|f1)\Z", re.DOTALL)
_CONSTANT: Final = (
    "the metric does not vary between the cases of the run; it is assumed to vary as much as a "
    "share of cases"
)


@dataclass(frozen=True, kw_only=True, repr=False)
class PowerResult(GatePower):
    """The number of cases that a gate on a metric needs to detect a drop."""

    def __repr__(self) -> str:
        from fieldmark.report.terminal import as_text

        return as_text(self.__rich__())

    def __rich__(self) -> RenderableType:
        from fieldmark.report.power_view import power_view

        return power_view(self)


@checked
def power(
    run: RunLike,
    drop: float,
    *,
    metric: str = MAIN_METRIC,
    alpha: float = ALPHA,
    power: float = POWER,
) -> PowerResult:
    """Compute how many cases a gate needs to detect that a metric became worse by `drop`.

    The gate has a fixed limit, and every run has new cases from the same source. Its limit is such
    that an unchanged system fails with probability `alpha`, and one that is worse by `drop` with
    probability `power`. The standard deviation of the metric is that of bootstrap resamples of the
    run.

    >>> import fieldmark as fm
    >>> truth = [{"id": str(n), "total": n} for n in range(100)]
    >>> found = [{"id": str(n), "total": n if n % 10 else -1} for n in range(100)]
    >>> run = fm.score(truth, found, out="run")
    >>> fm.power(run, drop=0.05, metric="micro_f1").cases_needed
    263
    """
    limits = (("drop", drop, 1.0), ("alpha", alpha, 0.5), ("power", power, 1.0))
    for name, given, most in limits:
        if not 0 < given < most:
            shown = shorten(f"{given:.6g}" if is_finite(given) else "an infinite number", 20)
            raise ConfigError.of(f"{name} must be between 0 and {most:g}, got {shown}")
    stored = stored_run(run)
    summary = stored.summary
    if summary is None:
        raise ConfigError.of(f"{stored.path} is not complete (status: {stored.status})")
    try:
        gate = check_gate(Gate(name=metric, limit=0), summary_to_json(summary))
    except OptionError as error:
        raise ConfigError.of(error.message) from error
    intervals = summary.intervals or stored_intervals(stored)
    deviation = _deviation(metric, intervals)
    value, cases = gate.value, summary.cases.scored
    if value is None or gate.note or deviation is None:
        reason = gate.note or "it has no standard deviation over cases"
        raise ConfigError.of(
            f"{metric} cannot be planned: {reason}",
            hint="choose a headline metric, or the precision, recall or f1 of an attribute",
        )
    if (drop > 1 - value) if less_is_better(metric) else (drop > value):
        raise ConfigError.of(f"drop {drop:g} is larger than possible: {metric} is {value:.4f}")
    size = gate_size(
        value,
        deviation,
        cases,
        drop=drop,
        alpha=alpha,
        power=power,
        less_is_better=less_is_better(metric),
    )
    return PowerResult(
        run=stored.path.name,
        metric=metric,
        value=value,
        deviation=deviation,
        cases=cases,
        drop=drop,
        alpha=alpha,
        power=power,
        cases_needed=size.cases,
        limit=size.limit,
        detectable=size.detectable,
        note="" if deviation else _CONSTANT,
    )


def _deviation(metric: str, intervals: RunIntervals) -> float | None:
    """Return the standard deviation of a metric over resamples, if it is known."""
    found = _RATE.match(metric)
    if found is not None:
        rates = intervals.attributes.get(found["path"])
        return None if rates is None else getattr(rates, found["rate"]).deviation
    return intervals.deviations.get(metric.removeprefix("quality.").replace("micro.", "micro_"))
