"""Attributes of a run as flat rows, types of columns; metrics, gates and outcomes as text."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from math import inf
from typing import Final, NamedTuple, get_type_hints

from fieldmark.metrics.confidence import ConfidenceSummary
from fieldmark.metrics.counts import ErrorCounts
from fieldmark.metrics.gates import GateKind, GateResult, RunFailure, dropped_metric
from fieldmark.metrics.headline import HEADLINE_METRICS
from fieldmark.metrics.rates import Interval, Rates, sortable
from fieldmark.metrics.summary import FieldCost, Summary, worst_attributes
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.report.metric_titles import NO_VALUE, metric_note
from fieldmark.values.records import to_json
from fieldmark.values.text import plural

_WIDE: Final = 0.2
"""The width of an interval from which a slice has few cases: the metric is known to within 0.1."""

DASH: Final = "\N{EN DASH}"
"""Shown for an undefined metric."""

TOP_HINT: Final = "--top 0 shows all"
"""How to see all rows of a table on the command line."""

_OUTCOME_TEXTS: Final = {
    "format_error": "wrong type",
    "omission": "missing",
    "hallucination": "extra",
}
"""Outcomes whose names in JSON differ from their names for people."""

_FAILURE_TEXTS: Final = {
    "unknown_metric": "a gate names an unknown metric",
    "invalid_truth": "some ground truth could not be read",
    "unmet_selection": "no case matches some of the selected tags or ids",
    "too_many_errors": "too many evaluation errors",
    "nothing_scored": "no case was scored",
    "failed_evaluator": "an evaluator found none of its paths",
    "gate_failed": "a gate failed",
}

_INPUT_TEXTS: Final = {
    "missing": "no prediction",
    "parse_error": "unparseable prediction",
    "invalid_truth": "invalid ground truth",
    "failed": "target failed",
}


class ColumnType(StrEnum):
    """The kind of values in a column of a table.

    Words and tags are lists of strings, which flat tables join with blanks and commas. JSON is any
    value, which tables with typed columns contain as JSON text.
    """

    TEXT = "text"
    WORDS = "words"
    TAGS = "tags"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    JSON = "json"


class AttributeRow(NamedTuple):
    """Counts, rates and mistakes of one attribute, and the bounds of rates if cases failed."""

    attribute: str
    tp: int
    tn: int
    fp: int
    fn: int
    precision: float | None
    recall: float | None
    f1: float | None
    accuracy: float | None
    omission: int
    hallucination: int
    format_error: int
    wrong_value: int
    errors: int
    precision_low: float | None = None
    precision_high: float | None = None
    recall_low: float | None = None
    recall_high: float | None = None
    f1_low: float | None = None
    f1_high: float | None = None

    @property
    def f1_bounds(self) -> Interval | None:
        """The bounds of F1, if cases failed."""
        low, high = self.f1_low, self.f1_high
        return None if low is None or high is None else (low, high)

    def to_dict(self) -> JsonObject:
        """Return the row as JSON, without bounds if there are none."""
        return {
            name: value
            for name, value in self._asdict().items()
            if value is not None or name not in _BOUND_COLUMNS
        }


_COLUMN_TYPES: Final[Mapping[object, ColumnType]] = {
    str: ColumnType.TEXT,
    int: ColumnType.INTEGER,
    float | None: ColumnType.NUMBER,
}
_ALL_COLUMNS: Final = {
    name: _COLUMN_TYPES[annotation] for name, annotation in get_type_hints(AttributeRow).items()
}
_BOUND_COLUMNS: Final = frozenset(name for name in _ALL_COLUMNS if name.endswith(("_low", "_high")))
ATTRIBUTE_COLUMNS: Final = {
    name: kind for name, kind in _ALL_COLUMNS.items() if name not in _BOUND_COLUMNS
}
"""The columns of a table of attributes."""


def attribute_columns(summary: Summary) -> Mapping[str, ColumnType]:
    """Return the columns of the table of attributes of a run, with bounds if cases failed."""
    return ATTRIBUTE_COLUMNS if summary.bounds is None else _ALL_COLUMNS


def attribute_rows(summary: Summary) -> list[AttributeRow]:
    """Return one row per attribute: lowest F1 first, then most mistakes, then by name."""
    return [
        AttributeRow(
            attribute=path,
            tp=metrics.tp,
            tn=metrics.tn,
            fp=metrics.fp,
            fn=metrics.fn,
            precision=metrics.precision,
            recall=metrics.recall,
            f1=metrics.f1,
            accuracy=metrics.accuracy,
            errors=metrics.errors,
            **metrics.errors_by_type._asdict(),
            **_rate_bounds(summary, path),  # type: ignore[arg-type] # only bounds
        )
        for path, metrics in worst_attributes(summary.attributes)
    ]


def _rate_bounds(summary: Summary, path: str) -> dict[str, float]:
    """Return the bounds of the rates of an attribute by column."""
    if summary.bounds is None:
        return {}
    rates = {name: summary.bounds.of_attribute(path, name) for name in Rates._fields}
    return {
        f"{name}_{end}": bound
        for name, bounds in rates.items()
        if bounds is not None
        for end, bound in zip(("low", "high"), bounds, strict=True)
    }


CONFIDENCE_COLUMNS: Final = (
    "attribute", "fields", "without_confidence", "wrong", "mean_confidence", "auroc", "ece",
    "brier", "target", "threshold", "coverage", "precision", "lower_bound", "accepted",
    "documents", "perfect", "note",
)  # fmt: skip
"""The columns of a table of confidences."""
ALL_FIELDS: Final = "(all fields)"
"""The first row of such a table."""


def confidence_rows(confidence: ConfidenceSummary) -> list[tuple[JsonValue, ...]]:
    """Return one row for all fields and one per attribute, for each target precision."""
    rows: list[tuple[JsonValue, ...]] = []
    for path, figures in ((ALL_FIELDS, confidence.pooled), *confidence.attributes.items()):
        for precision, target in figures.targets.items():
            of_target = {"target": float(precision), "note": "", **to_json(target)}
            rows.append(
                (
                    path,
                    *(getattr(figures, name) for name in CONFIDENCE_COLUMNS[1:_TARGET_COLUMN]),
                    *(of_target.get(name) for name in CONFIDENCE_COLUMNS[_TARGET_COLUMN:]),
                )
            )
    return rows


_TARGET_COLUMN: Final = CONFIDENCE_COLUMNS.index("target")


def attribute_cells(summary: Summary) -> list[tuple[JsonValue, ...]]:
    """Return the rows as cells in the order of `attribute_columns`."""
    columns = len(attribute_columns(summary))
    return [row[:columns] for row in attribute_rows(summary)]


def number(value: float | None, digits: int = 3) -> str:
    """Format a metric for people: rounded, or a dash if it is undefined.

    A sum such as 0.7374999999999999 is rounded like 0.7375.

    >>> number(0.7374999999999999)
    '0.738'
    """
    return DASH if value is None else f"{round(value, 12):.{digits}f}"


def score_text(score: float | None, *, vacuous: bool) -> str:
    """Format the score of a case for people, and say if there was nothing to score.

    >>> score_text(1.0, vacuous=True)
    '1.000 (vacuous)'
    """
    return noted_number(score, "vacuous" if vacuous else "")


def noted_number(value: float | None, note: str) -> str:
    """Format a metric for people, with a note beside it if there is one.

    >>> noted_number(0.9, "9 vacuous cases"), noted_number(0.9, "")
    ('0.900 (9 vacuous cases)', '0.900')
    """
    return f"{number(value)} ({note})" if note else number(value)


def gate_text(gate: GateResult, *, name: str | None = None) -> str:
    """Describe the metric of a gate and its limit."""
    digits = _gate_digits(gate)
    value = "undefined" if gate.value is None else number(gate.value, digits)
    if gate.bounds is not None:
        value = "between " + " and ".join(number(end, digits) for end in gate.bounds)
    elif gate.failed:
        value += ", without known bounds"
    bound = "at least" if gate.kind is GateKind.MIN else "at most"
    note = f" ({gate.note})" if gate.note not in ("", value) else ""
    if gate.failed:  # the note belongs to the value
        value, note = f"{value}{note}", ""
    return f"{name or gate.name} is {value}, must be {bound} {gate.limit:g}{note}"


def _gate_digits(gate: GateResult) -> int:
    """Return the digits of the value of a gate: three for a drop, if they agree with the result."""
    if dropped_metric(gate) is None or gate.value is None or gate.bounds is not None:
        return 4
    return 3 if (round(gate.value, 3) <= gate.limit) == (gate.value <= gate.limit) else 4


def split_warnings(summary: Summary) -> tuple[list[str], list[str]]:
    """Return the warnings to show before the metrics of a run, and the warnings to show after."""
    first = summary.structural_warnings
    return list(first), [text for text in summary.warnings if text not in first]


def evaluator_errors(summary: Summary) -> list[str]:
    """Return why evaluators could not score anything, with their names."""
    return [
        f"{name}: {evaluator.error}"
        for name, evaluator in summary.evaluators.items()
        if evaluator.error
    ]


def error_counts(summary: Summary) -> list[str]:
    """Return the number of cases with errors, and of errors of evaluators that fail no case."""
    errors = summary.uncounted_errors
    return [
        *([f"{summary.cases.errors:,} with errors"] if summary.cases.errors else []),
        *([f"{plural(errors, 'error')} of evaluators"] if errors else []),
    ]


def gate_line(gate: GateResult) -> str:
    """Describe a gate and whether it passed."""
    return f"gate {'passed' if gate.passed else 'failed'}: {gate_text(gate)}"


def failure_text(failure: RunFailure) -> str:
    """Return why a run did not pass, for people."""
    return _FAILURE_TEXTS[failure]


class SliceRow(NamedTuple):
    """One slice: its value for people, and its metrics in the order of the run.

    `interval` belongs to the first metric. With `few` cases, it is wide.
    """

    value: str
    cases: int
    metrics: tuple[float | None, ...]
    interval: Interval | None
    notes: tuple[str, ...]
    few: bool


def slice_metrics(summary: Summary) -> list[str]:
    """Return the metrics that tables of slices show: the primary one, then the other headlines."""
    lead = next(iter(summary.metrics))
    return list(dict.fromkeys([lead, *HEADLINE_METRICS]))


def slice_rows(summary: Summary) -> dict[str, list[SliceRow]]:
    """Return the slices of a run by key, the lowest primary metric first."""
    shown = slice_metrics(summary)
    rows_by_key: dict[str, list[SliceRow]] = {}
    for key, slices in summary.slice_groups().items():
        rows: list[SliceRow] = []
        for value, metrics in slices.items():
            interval = (
                None if metrics.intervals is None else metrics.intervals.metrics.get(shown[0])
            )
            few = interval is not None and interval[1] - interval[0] > _WIDE
            rows.append(
                SliceRow(
                    value or NO_VALUE,
                    metrics.cases.total,
                    tuple(metrics.metrics[name] for name in shown),
                    interval,
                    tuple(filter(None, [metric_note(metrics, shown[0])])),
                    few,
                )
            )
        rows_by_key[key] = sorted(rows, key=lambda row: (_lowest_first(row.metrics[0]), row.value))
    return rows_by_key


def _lowest_first(value: float | None) -> float:
    return inf if value is None else sortable(value)


def outcome_text(label: str) -> str:
    """Return the name of an outcome for people.

    >>> outcome_text("omission"), outcome_text("wrong_value")
    ('missing', 'wrong value')
    """
    return _OUTCOME_TEXTS.get(label, label.replace("_", " "))


def mistake_counts(errors: ErrorCounts) -> str:
    """Return the mistakes that occur with their counts, such as "2 missing, 1 wrong value"."""
    counts: Mapping[str, int] = errors._asdict()
    return ", ".join(f"{count} {outcome_text(name)}" for name, count in counts.items() if count)


def input_text(status: str) -> str:
    """Return the input status of a case for people.

    >>> input_text("missing")
    'no prediction'
    """
    return _INPUT_TEXTS.get(status, status.replace("_", " "))


def more_text(count: int, noun: str, hint: str = TOP_HINT) -> str:
    """Return the line below a table that was cut, with a hint how to see all of it.

    >>> more_text(1, "attribute")
    '… and 1 more attribute; --top 0 shows all'
    """
    return f"… and {plural(count, f'more {noun}')}; {hint}"


def cost_facts(cost: FieldCost, convention: str) -> list[tuple[str, str]]:
    """Return the cost of a field for people."""
    words = {"tp": "true positive", "tn": "true negative", "fp": "false positive"}
    words |= {"fn": "false negative"}
    counted = [
        f"{number} {words[name]}" for name, number in cost.counts._asdict().items() if number
    ]
    return [
        (f"counts under {convention}", ", ".join(counted) or "nothing"),
        ("part of", ", ".join(cost.metrics) or "no metric"),
    ]
