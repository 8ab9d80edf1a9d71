"""Gates: limits on the metrics of a run and on their drop below a baseline; why a run fails."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Annotated, Final, NamedTuple, TypeAlias

from fieldmark.errors import OptionError, with_hint
from fieldmark.metrics.rates import Interval
from fieldmark.metrics.tally import CaseTotals
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.values.json_text import is_finite
from fieldmark.values.records import OMIT_DEFAULT, from_json
from fieldmark.values.text import did_you_mean

MetricValue: TypeAlias = "float | int | None"

_SLACK: Final = 1e-9
_DROP: Final = "drop of "
_NOT_METRICS: Final = frozenset({"format", "convention", "gates", "warnings", "by", "slices"})
_SLICE: Final = re.compile(r"""slices\[(["'])(?P<name>.*)\1\]\.(?P<metric>.*)""", re.DOTALL)
_SHORT: Final[Mapping[str, str]] = {
    "completeness": "quality.completeness",
    "hallucination": "quality.hallucination",
    "accuracy": "quality.accuracy",
    "safety": "quality.safety",
    "rqs": "quality.rqs",
    "micro_f1": "micro.f1",
    "micro_precision": "micro.precision",
    "micro_recall": "micro.recall",
}
_SUGGESTED: Final = 3
_NAMED: Final = 3
"""The maximum number of missing paths that are named beside a gate."""
_DEPTH: Final = 2
"""The most dots in the name of a metric of the whole run; other metrics have more."""
_ATTRIBUTE_METRICS: Final = frozenset(
    {"accuracy", "f1", "fn", "fp", "precision", "recall", "tn", "tp"}
)
_EXAMPLES: Final = "for example mean_score, micro_f1 or attributes.total.f1"
_OF_FIELDS: Final = frozenset(
    {"micro", "macro", "macro_f1_by_attribute", "macro_f1_by_case", "mean_score", "quality"}
)
"""Metrics that are vacuous, even if perfect, when no field was scored."""
_OF_MISTAKES: Final = frozenset({"attributes", "errors_by_type"})
"""Metrics that are vacuous too if no prediction was compared: there are no mistakes to count."""

_OF_CASES: Final = frozenset({"mean_score", "verdicts"})
"""Metrics that are vacuous if there was nothing to score in any case, by fields or evaluators."""
_PERFECT: Final = "cases.perfect"
"""The only number of cases that is vacuous in the same way."""
_COUNTS_OF_EVALUATORS: Final = frozenset({"scored", "errors", "vacuous"})
"""Metrics of an evaluator that are never vacuous."""


class GateKind(StrEnum):
    """Whether the limit is a minimum or a maximum."""

    MIN = "min"
    MAX = "max"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """A limit on a metric."""

    name: str
    limit: float
    kind: GateKind = GateKind.MIN

    def __post_init__(self) -> None:
        if not self.name:
            raise OptionError(self.kind, "the name of a metric is required")
        if not is_finite(self.limit):
            raise OptionError(self.kind, f"the limit of {self.name} must be a finite number")


class MissingPath(NamedTuple):
    """A required path of the configuration that no document of a run has.

    `nearest` is the most similar path that exists, if there is one.
    """

    path: str
    nearest: Annotated[str, OMIT_DEFAULT] = ""

    def __str__(self) -> str:
        """Return what is wrong, for people."""
        hint = f"did you mean {self.nearest!r}?" if self.nearest else ""
        return with_hint(f"no document has {self.path!r}", hint)


class GateResult(NamedTuple):
    """The result of a gate; `known` is false if the run does not have the metric.

    With `failed` cases, the less favorable one of the `bounds` decides, and a metric without bounds
    fails.
    """

    name: str
    kind: GateKind
    limit: float
    value: MetricValue
    passed: bool
    note: Annotated[str, OMIT_DEFAULT] = ""
    known: Annotated[bool, OMIT_DEFAULT] = True
    bounds: Annotated[Interval | None, OMIT_DEFAULT] = None
    failed: Annotated[bool, OMIT_DEFAULT] = False


def dropped_metric(gate: GateResult) -> str | None:
    """Return the metric of a gate against a baseline, under its short name if it has one.

    >>> dropped_metric(GateResult("drop of micro.f1", GateKind.MAX, 0.01, 0.02, False))
    'micro_f1'
    """
    if not gate.name.startswith(_DROP):
        return None
    return short_name(gate.name.removeprefix(_DROP))


def short_name(metric: str) -> str:
    """Return the short name of a metric, if it has one.

    >>> short_name("micro.f1"), short_name("attributes.total.f1")
    ('micro_f1', 'attributes.total.f1')
    """
    return next((short for short, name in _SHORT.items() if name == metric), metric)


class RunFailure(StrEnum):
    """Why a run did not pass, most important first."""

    UNKNOWN_METRIC = "unknown_metric"
    INVALID_TRUTH = "invalid_truth"
    UNMET_SELECTION = "unmet_selection"
    TOO_MANY_ERRORS = "too_many_errors"
    NOTHING_SCORED = "nothing_scored"
    FAILED_EVALUATOR = "failed_evaluator"
    GATE_FAILED = "gate_failed"


def run_failures(
    cases: CaseTotals,
    gates: Sequence[GateResult],
    *,
    max_errors: int = 0,
    failed_evaluator: bool = False,
    unmet: bool = False,
) -> tuple[RunFailure, ...]:
    """Return why a run did not pass; nothing if it did.

    `max_errors` is the number of cases that may have errors. With `failed_evaluator`, an evaluator
    could not score anything. A selection of cases is `unmet` if it names a tag or an id that no
    case has.
    """
    applies = {
        RunFailure.UNKNOWN_METRIC: any(not gate.known for gate in gates),
        RunFailure.INVALID_TRUTH: cases.invalid_truth > 0,
        RunFailure.UNMET_SELECTION: unmet,
        RunFailure.TOO_MANY_ERRORS: cases.errors > max_errors,
        RunFailure.NOTHING_SCORED: cases.errors > 0 and not cases.scored,
        RunFailure.FAILED_EVALUATOR: failed_evaluator,
        RunFailure.GATE_FAILED: any(gate.known and not gate.passed for gate in gates),
    }
    return tuple(failure for failure, applies in applies.items() if applies)


def parse_gate(text: str, kind: GateKind) -> Gate:
    """Parse `METRIC=LIMIT`; the name of the metric may contain dots and equals signs.

    >>> parse_gate("attributes.total.recall=0.95", GateKind.MIN).limit
    0.95
    """
    name, equals, limit = text.rpartition("=")
    if not equals:
        raise OptionError(kind, f"expected METRIC=LIMIT, got {text!r}")
    try:
        number = float(limit)
    except ValueError:
        raise OptionError(kind, f"expected a number, got {limit!r} in {text!r}") from None
    return Gate(name=name.strip(), limit=number, kind=kind)


def check_gates(gates: Sequence[Gate], summary: JsonObject) -> tuple[GateResult, ...]:
    """Check every gate against a summary as JSON.

    An unknown metric fails its gate, and a required path that no document has fails all gates.
    """
    return _without_missing_paths([_check_gate_or_fail(gate, summary) for gate in gates], summary)


def _check_gate_or_fail(gate: Gate, summary: JsonObject) -> GateResult:
    """Check one gate; an unknown metric fails it."""
    try:
        return check_gate(gate, summary)
    except OptionError as error:
        return GateResult(**asdict(gate), value=None, passed=False, note=error.message, known=False)


def _without_missing_paths(
    results: Sequence[GateResult], summary: JsonObject
) -> tuple[GateResult, ...]:
    """Fail all gates of a run whose configuration names a path that no document has."""
    missing = from_json(_MissingPaths, summary).missing_paths
    if not missing:
        return tuple(results)
    more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    note = f"{', '.join(map(str, missing[:_NAMED]))}{more}"
    return tuple(
        result._replace(passed=False, note=f"{result.note}; {note}" if result.note else note)
        if result.known
        else result
        for result in results
    )


class _MissingPaths(NamedTuple):
    """The part of a summary that fails all gates."""

    missing_paths: Annotated[tuple[MissingPath, ...], OMIT_DEFAULT] = ()


def gates_of(results: Sequence[GateResult]) -> tuple[tuple[Gate, ...], tuple[str, ...]]:
    """Return the gates on metrics behind results, and a text for each gate against a baseline."""
    limits, drops = [], []
    for result in results:
        if result.name.startswith(_DROP):
            drops.append(f"{result.name} at most {result.limit:g}")
        else:
            limits.append(Gate(name=result.name, limit=result.limit, kind=result.kind))
    return tuple(limits), tuple(drops)


def check_gate(gate: Gate, summary: JsonObject) -> GateResult:
    """Check one gate; an unknown metric raises `OptionError` with a suggestion.

    A metric of a slice is named `slices["vendor=Acme"].micro.f1`.
    """
    name = gate.name
    if match := _SLICE.match(name):
        name, summary = match["metric"], _slice(match["name"], summary, gate.kind)
    value, noted = _metric_value(name, summary, gate.kind)
    name = _SHORT.get(name, name)
    vacuous = _vacuous_reason(name, summary)
    failed = _failed_cases(name, summary)
    bounds = _bounds(name, summary) if failed else None
    # The note beside an undefined metric says why it is undefined.
    note = (failed or noted or "undefined") if value is None else vacuous or failed
    passed = False
    if value is not None and not vacuous and (bounds is not None or not failed):
        low, high = bounds or (value, value)
        minimum = gate.kind is GateKind.MIN
        passed = low >= gate.limit - _SLACK if minimum else high <= gate.limit + _SLACK
    return GateResult(
        **asdict(gate),
        value=value,
        passed=passed,
        note=note,
        bounds=bounds,
        failed=bool(failed) and not vacuous,
    )


_EXACT: Final = re.compile(
    r"cases\.(?!perfect$|vacuous$)|usage\.|spent\.|attributes[.\[].*\berrors$|"
    r"evaluators[.\[].*\b(?:scored|errors)$"
)
"""Metrics that are known although cases failed: how many there are, and what models cost."""


def _failed_cases(name: str, summary: JsonObject) -> str:
    """Return how many cases a metric leaves out because they failed, or an empty string."""
    if _EXACT.match(name):
        return ""
    match summary.get("bounds"):
        case {"failed": int(failed), "of": int(cases)} if failed:
            return f"{failed:,} of {cases:,} {'case' if cases == 1 else 'cases'} failed"
        case {"failed": 0} if name.startswith("quality.") or "by_case" in name:
            return "an evaluator failed in some cases"
        case _:
            pass
    for key, evaluator in _evaluators(summary):
        if name.startswith(f"evaluators.{key}.") and evaluator.get("bounds"):
            return f"{evaluator['errors']} of its results are errors"
    return ""


def _evaluators(summary: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    evaluators = summary.get("evaluators")
    for key, evaluator in evaluators.items() if isinstance(evaluators, dict) else ():
        if isinstance(evaluator, dict):
            yield key, evaluator


def _bounds(name: str, summary: JsonObject) -> Interval | None:
    """Return the bounds of a metric of a run with failed cases, if they are known."""
    run = summary.get("bounds")
    ends: list[MetricValue] = []
    for position, key in enumerate(("low", "high")):
        own = run.get(key) if isinstance(run, dict) else None
        evaluators: JsonObject = {}
        for evaluator, metrics in _evaluators(summary):
            bounds = metrics.get("bounds")
            evaluators[evaluator] = {
                "mean_score": bounds[position] if isinstance(bounds, list) else None
            }
        document: JsonObject = {
            **(own if isinstance(own, dict) else {}),
            "evaluators": evaluators,
        }
        ends.append(next(_resolve(name, document), (None, ""))[0])
    low, high = ends
    return None if low is None or high is None else (float(low), float(high))


def _slice(name: str, summary: JsonObject, option: str) -> JsonObject:
    """Return the metrics of a slice; an unknown one raises `OptionError` with a suggestion."""
    slices = summary.get("slices")
    known = slices if isinstance(slices, dict) else {}
    metrics = known.get(name)
    if not isinstance(metrics, dict):
        hint = did_you_mean(name, known) or "no case is in this slice"
        raise OptionError(option, f"unknown slice {name!r}", hint)
    return metrics


def _vacuous_reason(name: str, summary: JsonObject) -> str:
    """Return why nothing is behind a metric, or an empty string."""
    group, _, metric = name.partition(".")
    micro, quality = summary.get("micro"), summary.get("quality")
    if _nothing_compared(summary) and group in _OF_FIELDS | _OF_MISTAKES:
        # The scores of evaluators do not depend on fields.
        scored_otherwise = group == "mean_score" and summary.get("evaluators")
        if not scored_otherwise:
            return "no expected value was compared with a prediction"
    if group in _OF_CASES or name == _PERFECT:
        return "nothing was scored" if _is_vacuous(summary.get("cases")) else ""
    if group == "evaluators" and _is_vacuous_evaluator(metric, summary.get(group)):
        return "nothing was scored"
    nothing_scored = isinstance(micro, dict) and not any(map(micro.get, ("tp", "fp", "fn")))
    flags = quality.get("flags") if group == "quality" and isinstance(quality, dict) else None
    own = flags.get(metric) if isinstance(flags, dict) else None
    flagged = own if isinstance(own, list) else []
    if "not_evaluated" in flagged:
        return "not evaluated"
    vacuous = "vacuous" in flagged or (nothing_scored and group in _OF_FIELDS)
    return "nothing was scored" if vacuous else ""


def _is_vacuous_evaluator(name: str, evaluators: JsonValue) -> bool:
    """Return whether `NAME.METRIC` is a result of an evaluator that had nothing to score."""
    for key, evaluator in evaluators.items() if isinstance(evaluators, dict) else ():
        metric = name.removeprefix(f"{key}.")
        if metric != name and metric not in _COUNTS_OF_EVALUATORS and _is_vacuous(evaluator):
            return True
    return False


def _is_vacuous(totals: JsonValue) -> bool:
    """Return whether there was nothing to score in any of the scored cases."""
    scored = totals.get("scored") if isinstance(totals, dict) else None
    return bool(scored) and isinstance(totals, dict) and scored == totals.get("vacuous")


def _metric_value(
    name: str, summary: JsonObject, option: str = "metric"
) -> tuple[MetricValue, str]:
    """Return a metric of a summary as JSON, and the note beside it.

    A key can be quoted in brackets. An unknown metric raises `OptionError` with a suggestion.

    >>> _metric_value('confidence["0.99"].coverage', {"confidence": {"0.99": {"coverage": 0.9}}})
    (0.9, '')
    """
    metrics = {key: value for key, value in summary.items() if key not in _NOT_METRICS}
    value = next(_resolve(_SHORT.get(name, name), metrics), None)
    if value is None:
        hint = _suggest(name, [*_names(metrics), *_SHORT]) or _EXAMPLES
        raise OptionError(option, f"unknown metric {name!r}", hint)
    return value


def _nothing_compared(metrics: JsonObject) -> bool:
    """Return whether there are expected values, and none of them met a value of a candidate."""
    micro, errors = metrics.get("micro"), metrics.get("errors_by_type")
    if not isinstance(micro, dict) or not isinstance(errors, dict) or not errors.get("omission"):
        return False
    return not any(
        (micro.get("tp"), micro.get("tn"), errors["wrong_value"], errors["format_error"])
    )


def _suggest(name: str, known: Sequence[str]) -> str:
    """Return a suggestion: metrics with the same last part or start, or the most similar name."""
    same = [
        repr(metric)
        for metric in known
        if metric.endswith(f".{name}") and metric.count(".") <= _DEPTH
    ]
    same = same or [repr(metric) for metric in known if metric.startswith(f"{name}_")]
    if same:
        return f"did you mean {' or '.join(same[:_SUGGESTED])}?"
    similar = did_you_mean(name, known)
    first, dot, metric = name.rpartition(".")
    if not similar and dot and metric in _ATTRIBUTE_METRICS:
        return f"did you mean 'attributes.{first}.{metric}'?"
    return similar


def _is_metric(value: JsonValue) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _resolve(name: str, metrics: JsonObject) -> Iterator[tuple[MetricValue, str]]:
    """Yield every metric that the name can mean, with the note beside it.

    Keys may contain dots, so longer keys go first. A key may also be written in brackets:
    `groups["metadata.fold"].mean.micro_f1`.
    """
    note = metrics.get("note")
    for key in sorted(metrics, key=len, reverse=True):
        value = metrics[key]
        for written in (key, f'["{key}"]', f"['{key}']"):
            remaining = name[len(written) :] if name.startswith(written) else None
            if remaining == "" and _is_metric(value):
                yield value, note if isinstance(note, str) else ""  # type: ignore[misc]
            elif remaining and remaining[0] in ".[" and isinstance(value, dict):
                yield from _resolve(remaining.removeprefix("."), value)


def _names(metrics: JsonObject, prefix: str = "") -> Iterator[str]:
    for key, value in metrics.items():
        if isinstance(value, dict):
            yield from _names(value, f"{prefix}{key}.")
        elif _is_metric(value):
            yield f"{prefix}{key}"


_LESS_IS_BETTER: Final = frozenset({
    "errors", "fn", "format_error", "fp", "hallucination", "invalid_truth", "missing", "omission",
    "unexpected", "unparseable", "wrong_value",
})  # fmt: skip
"""Metrics for which lower is better, by the last part of their name."""


def less_is_better(name: str) -> bool:
    """Return whether a metric improves when it decreases."""
    return name.rpartition(".")[2] in _LESS_IS_BETTER


def drop_gates(
    before: JsonObject,
    after: JsonObject,
    limits: Mapping[str, float],
    common: tuple[JsonObject, JsonObject] | None = None,
) -> tuple[GateResult, ...]:
    """Check how much worse metrics are than the metrics of a baseline.

    A metric that is undefined in the baseline passes; a metric that is undefined now fails. If
    cases failed, `common` are the metrics of both runs for the cases that both scored: the drop
    between these and the largest possible drop must be allowed.
    """
    results: list[GateResult] = []
    for name, limit in limits.items():
        gate = Gate(name=name, limit=limit, kind=GateKind.MAX)
        old, new = check_gate(gate, before), _check_gate_or_fail(gate, after)
        result = new._replace(name=f"{_DROP}{name}", known=True, bounds=None)
        if old.value is None:
            failed = old.failed and f"{old.note} in the baseline"
            note = failed or "undefined in the baseline"
            result = result._replace(value=0.0, passed=not failed, note=note)
        elif new.value is None:
            result = result._replace(passed=False, note=new.note if new.failed else "undefined")
        else:
            sign = -1 if less_is_better(name) else 1
            ends = old.value, new.value
            if common is not None:
                first, second = (_check_gate_or_fail(gate, metrics).value for metrics in common)
                ends = ends[0] if first is None else first, ends[1] if second is None else second
            drop = sign * float(ends[0] - ends[1])
            earlier, later = (
                side.bounds or (number, number)
                for side, number in ((old, old.value), (new, new.value))
            )
            drops = [sign * float(earlier[1] - later[0]), sign * float(earlier[0] - later[1])]
            bounds = (min(drops), max(drops)) if old.bounds or new.bounds else None
            unbounded = any(side.failed and side.bounds is None for side in (old, new))
            worst = drop if bounds is None else max(drop, bounds[1])
            passed = worst <= limit + _SLACK and not unbounded and (new.failed or not new.note)
            note = new.note
            if old.failed:
                note = "; ".join(filter(None, (new.note, f"{old.note} in the baseline")))
            result = result._replace(value=drop, passed=passed, note=note, bounds=bounds)
        results.append(result)
    return _without_missing_paths(results, after)
