"""Differences of metrics and p-values as text, the same in all formats."""

from __future__ import annotations

from typing import Final

from fieldmark.metrics.difference import DiffVerdict, MetricDifference
from fieldmark.metrics.rates import Interval, sortable
from fieldmark.metrics.repeated_errors import RepeatedError, RepeatedKind
from fieldmark.model.json import JsonObject
from fieldmark.report.tables import number
from fieldmark.values.text import plural

_SMALLEST_P: Final = 0.001
_SMALLEST_CHANGE: Final = 0.001
_DIGITS: Final = 3


def named_p(p: float) -> str:
    """Return a p-value for a sentence."""
    text = p_value(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def p_value(p: float) -> str:
    """Return a p-value as text; very small ones as less than a thousandth."""
    return f"<{_SMALLEST_P}" if p < _SMALLEST_P else number(p)


def signed(value: float | None) -> str:
    """Return a difference with its sign; a dot for no difference."""
    return number(None) if value is None else _with_sign(value) if value else "·"


def change_text(metric: MetricDifference) -> str:
    """Return the change of a metric as `signed`, and never a change as none."""
    delta = sortable(metric.delta or 0.0)
    if delta and not round(delta, _DIGITS):
        return f"{'+' if delta > 0 else '−'}<{_SMALLEST_CHANGE}"  # noqa: RUF001 - a minus
    return signed(metric.delta and delta)


def difference_text(metric: MetricDifference) -> str:
    """Return both values of a metric with the change, its interval and its p-value."""
    facts = [change_text(metric)]
    if metric.interval is not None:
        facts.append(f"95% CI {interval_text(metric.interval)}")
    if metric.is_tested:
        facts.append(named_p(metric.p))
    return f"{number(metric.before)} → {number(metric.after)} ({', '.join(facts)})"


def difference_to_json(metric: MetricDifference) -> JsonObject:
    """Return the difference of a metric as JSON."""
    comparable = metric.word is not DiffVerdict.NOT_COMPARABLE
    return {
        "before": metric.before,
        "after": metric.after,
        "delta": metric.delta,
        "interval": None if metric.interval is None else list(metric.interval),
        "p": metric.p,
        "p_adjusted": metric.adjusted,
        "word": metric.word.value,
        "cases_needed": metric.cases_needed,
        "improved": metric.improved if comparable else None,
        "worse": metric.worse if comparable else None,
    }


def interval_text(interval: Interval | None) -> str:
    """Return the confidence interval of a difference."""
    if interval is None:
        return number(None)
    return f"{_with_sign(interval[0])} to {_with_sign(interval[1])}"


def _with_sign(value: float) -> str:
    """Return a number with its sign, if it is not zero after rounding."""
    text = f"{value:+.3f}"
    return text[1:] if not float(text) else text.replace("-", "−")  # noqa: RUF001 - a minus


_MAX_NAMED: Final = 4


def repeated_error_text(error: RepeatedError) -> str:
    """Return an error in words."""
    names = list(error.attributes[:_MAX_NAMED])
    if more := len(error.attributes) - len(names):
        names.append(f"{more} more")
    of = f"{error.values} of {plural(error.compared, 'value')}"
    if error.values == error.compared:
        of = f"all {plural(error.values, 'value')}"
    if error.kind is RepeatedKind.SCALE and error.factor is not None:
        up = error.factor >= 1
        size = f"{error.factor if up else 1 / error.factor:,f}"
        sign = "×" if up else "÷"  # noqa: RUF001 - a multiplication
        return f"{', '.join(names)}: {of} {sign} {size}"
    if error.kind is RepeatedKind.DATE_SWAPPED:
        return f"{', '.join(names)}: day and month swapped in {of}"
    if error.kind is RepeatedKind.EXCHANGED:
        return f"{' and '.join(names)}: exchanged in {of}"
    return f"{names[0]}: value of {names[1]} in {of}"


def repeated_error_to_json(error: RepeatedError) -> JsonObject:
    """Return an error as JSON."""
    return {
        "kind": error.kind.value,
        "text": repeated_error_text(error),
        "attributes": list(error.attributes),
        "values": error.values,
        "wrong": error.wrong,
        "compared": error.compared,
        "factor": None if error.factor is None else float(error.factor),
    }
