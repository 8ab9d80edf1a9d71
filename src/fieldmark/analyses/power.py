"""Compute how many cases a gate needs to detect that a metric became worse."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import ClassVar, Final, cast

from fieldmark.analyses.arguments import checked
from fieldmark.analyses.diff import obstacles
from fieldmark.analyses.saved_run import RunLike, stored_intervals, stored_run
from fieldmark.errors import ConfigError, OptionError
from fieldmark.metrics.gates import Gate, GateResult, check_gate, less_is_better
from fieldmark.metrics.headline import MAIN_METRIC
from fieldmark.metrics.significance import ALPHA, POWER, gate_size
from fieldmark.metrics.summary import RunIntervals, Summary, summary_to_json
from fieldmark.model.json import JsonObject
from fieldmark.report.document import Data, Document, Line, note
from fieldmark.report.render import ShownRecord
from fieldmark.report.tables import number
from fieldmark.runs.stored_run import StoredRun
from fieldmark.values.json_text import is_finite
from fieldmark.values.records import to_json
from fieldmark.values.text import plural, shorten

_RATE: Final = re.compile(r"attributes\.(?P<path>.*)\.(?P<rate>precision|recall|f1)\Z", re.DOTALL)
_CONSTANT: Final = (
    "the metric does not vary between the cases of the run; it is assumed to vary as much as a "
    "share of cases"
)


@dataclass(frozen=True, kw_only=True, repr=False)
class PowerResult(ShownRecord):
    """The number of cases that a gate on a metric needs to detect a drop.

    Attributes:
        run: The name of the run.
        metric: The name of the metric.
        value: The value of the metric.
        deviation: The standard deviation of the metric.
        cases: The number of cases of the run.
        drop: The drop to detect.
        alpha: The probability that an unchanged system fails the gate.
        power: The probability that the gate detects the drop.
        cases_needed: The number of cases that the gate needs.
        limit: The limit of the gate.
        detectable: The smallest drop that as many cases as the run has can detect.
        note: A remark on the estimate.
    """

    FORMAT: ClassVar[int] = 1

    run: str
    metric: str
    value: float
    deviation: float
    cases: int
    drop: float
    alpha: float
    power: float
    cases_needed: int
    limit: float
    detectable: float
    note: str = ""

    def to_dict(self) -> JsonObject:
        """Return everything as JSON."""
        return to_json(self)

    def document(self, *, top: int | None = None) -> Document:  # noqa: ARG002 - no table
        """Return the conclusion, the gate to set, and the drop that the run itself can detect."""
        way, option = ("an increase", "max") if less_is_better(self.metric) else ("a drop", "min")
        needed = plural(self.cases_needed, "case")
        lines = [
            Line(
                f"{needed} needed to detect {way} of {self.metric} by {self.drop:g} "
                f"(now {number(self.value)}) with a probability of {self.power:.0%}"
            ),
            Line(
                f"gate for {needed}: --{option} '{self.metric}={self.limit:.4f}' "
                f"(fails {self.alpha:.0%} of unchanged runs)"
            ),
            Line(
                f"the {plural(self.cases, 'case')} of {self.run} can detect {way} by "
                f"{number(self.detectable)} or more"
            ),
        ]
        record = asdict(self)
        notes = [note(self.note)] if self.note else []
        return Document(*lines, *notes, data=Data(list(record), [record]))


@checked
def power(
    run: RunLike,
    drop: float | None = None,
    *,
    after: RunLike | None = None,
    metric: str = MAIN_METRIC,
    alpha: float = ALPHA,
    power: float = POWER,
) -> PowerResult:
    """Compute how many cases a gate needs to detect a drop of a metric.

    The gate has a fixed limit, and every run has new cases from the same source. The standard
    deviation of the metric is estimated from bootstrap resamples of the run.

    Args:
        run: A saved run.
        drop: The smallest change for the worse that the gate must detect.
        after: A comparable run, instead of `drop`: the drop is how much worse it is.
        metric: The name of the metric.
        alpha: The probability that an unchanged system fails the gate.
        power: The probability that a system that is worse by `drop` fails the gate.

    >>> import fieldmark as fm
    >>> truth = [{"id": str(n), "total": n} for n in range(100)]
    >>> found = [{"id": str(n), "total": n if n % 10 else -1} for n in range(100)]
    >>> run = fm.score(truth, found, out="run")
    >>> fm.power(run, drop=0.05, metric="micro_f1").cases_needed
    263
    """
    if (drop is None) == (after is None):
        raise ConfigError.of("either drop or after is required")
    stored = stored_run(run)
    if drop is None:
        drop = _observed_drop(stored, stored_run(cast("RunLike", after)), metric)
    limits = (("drop", drop, 1.0), ("alpha", alpha, 0.5), ("power", power, 1.0))
    for name, argument, most in limits:
        if not 0 < argument < most:
            shown = shorten(f"{argument:.6g}" if is_finite(argument) else "an infinite number", 20)
            raise ConfigError.of(f"{name} must be between 0 and {most:g}, got {shown}")
    summary, gate = _metric(stored, metric)
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


def _metric(run: StoredRun, metric: str) -> tuple[Summary, GateResult]:
    """Return the summary of a run and the value of a metric in it."""
    summary = run.summary
    if summary is None:
        raise ConfigError.of(f"{run.path} is not complete (status: {run.status})")
    try:
        return summary, check_gate(Gate(name=metric, limit=0), summary_to_json(summary))
    except OptionError as error:
        raise ConfigError.of(error.message) from error


def _observed_drop(before: StoredRun, after: StoredRun, metric: str) -> float:
    """Return how much worse a metric is in the second of two comparable runs."""
    if different := [text for _, text in obstacles(before, after, rescore=False)]:
        raise ConfigError.of(f"the runs cannot be compared: {different[0]}", hint="name the drop")
    first, second = (_metric(run, metric)[1].value for run in (before, after))
    if first is None or second is None:
        raise ConfigError.of(f"{metric} is undefined in one of the runs")
    drop = second - first if less_is_better(metric) else first - second
    if drop <= 0:
        values = f"{number(first)} before, {number(second)} after"
        message = f"{metric} is not worse in {after.path.name} than in {before.path.name}"
        raise ConfigError.of(f"{message} ({values})", hint="name the drop")
    return drop


def _deviation(metric: str, intervals: RunIntervals) -> float | None:
    """Return the standard deviation of a metric over resamples, if it is known."""
    match = _RATE.match(metric)
    if match is not None:
        rates = intervals.attributes.get(match["path"])
        deviation: float | None = None if rates is None else getattr(rates.deviation, match["rate"])
        return deviation
    return intervals.deviations.get(metric.removeprefix("quality.").replace("micro.", "micro_"))
