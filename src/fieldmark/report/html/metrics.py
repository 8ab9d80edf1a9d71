"""The metrics of a run for the page: tiles, gates, attributes, evaluators, detection."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from fieldmark.metrics.confidence import ConfidenceFigures
from fieldmark.metrics.conventions import PrimaryScore
from fieldmark.metrics.counts import ErrorCounts
from fieldmark.metrics.headline import HEADLINE_METRICS, MAIN_METRIC, QUALITY_METRICS
from fieldmark.metrics.judge_details import (
    TRUNCATED,
    ConfusionRow,
    NumberRow,
    confusion_rows,
    number_rows,
)
from fieldmark.metrics.rates import Interval
from fieldmark.metrics.summary import RateVariations, Summary, worst_attributes
from fieldmark.model.case import Verdict
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.report.html.value_encoding import columnar
from fieldmark.report.metric_titles import (
    METRIC_TITLES,
    RQS_DIGITS,
    bounds_text,
    evaluator_note,
    failed_note,
    failed_text,
    flag_text,
    metric_bounds,
    rqs_formula,
    vacuous_text,
)
from fieldmark.report.shown_run import gates_failed_first
from fieldmark.report.tables import error_counts, slice_metrics, slice_rows
from fieldmark.runs.case_result import CaseResult
from fieldmark.runs.failed_cases import CaseBounds
from fieldmark.values.paths import PathError, Wildcard, parse_path
from fieldmark.values.records import to_json
from fieldmark.values.text import plural

_BINS: Final = 20
_NOISE: Final = 1e-9


class ScoreHistogram(NamedTuple):
    """The numbers of cases by score, in steps of 0.05, and of cases without a score."""

    bins: tuple[tuple[float, float, int], ...]
    unscored: int


def score_histogram(scores: Iterable[float | None]) -> ScoreHistogram:
    """Count scores by bin; a score on a boundary belongs to the higher bin, and 1 to the last.

    >>> histogram = score_histogram([0.0, 0.05, 0.0499, 1.0, None])
    >>> [row for row in histogram.bins if row[2]], histogram.unscored
    ([(0.0, 0.05, 2), (0.05, 0.1, 1), (0.95, 1.0, 1)], 1)
    """
    counts, unscored = [0] * _BINS, 0
    for score in scores:
        if score is None or math.isnan(score):
            unscored += 1
        else:
            counts[min(_BINS - 1, max(0, math.floor(score * _BINS + _NOISE)))] += 1
    bins = tuple((n / _BINS, (n + 1) / _BINS, number) for n, number in enumerate(counts))
    return ScoreHistogram(bins, unscored)


COCO_METRICS: Final = {
    "AP": "mean over IoU 0.50 to 0.95",
    "AP50": "IoU 0.50",
    "AP75": "IoU 0.75",
    "APsmall": "small regions",
    "APmedium": "medium regions",
    "APlarge": "large regions",
    "AR1": "1 detection per image",
    "AR10": "10 detections per image",
    "AR100": "100 detections per image",
    "ARsmall": "small regions",
    "ARmedium": "medium regions",
    "ARlarge": "large regions",
}
"""The COCO metrics and their meanings."""
_CLASS_METRICS: Final = ("AP", "AP50", "AP75", "AR100", "PASCAL AP")
_RATED_ATTRIBUTES: Final = 60
"""The number of attributes whose confidences are shown."""


def metrics_view(summary: Summary) -> JsonObject:
    """Return the overview of a run: result of the gates, tiles and counts."""
    micro, shown = summary.micro, tiles(summary)
    return {
        "verdict": summary.verdict,
        "failed": failed_note(summary),
        "failures": [failure.value for failure in summary.failures],
        "gates": [to_json(gate) for gate in gates_failed_first(summary)],
        "tiles": [tile.to_dict() for tile in shown],
        "formula": rqs_formula(summary.rqs_counting) if has_rqs(shown) else "",
        "micro": {"tp": micro.tp, "tn": micro.tn, "fp": micro.fp, "fn": micro.fn},
        "totals": dict(summary.cases._asdict()),
        "verdicts": dict(verdict_counts(summary)),
        "errors": dict(summary.errors_by_type._asdict()),
    }


def verdict_counts(summary: Summary) -> dict[str, int]:
    """Return the number of cases by verdict."""
    return {verdict.value: n for verdict, n in zip(Verdict, summary.verdicts, strict=True)}


_DIGITS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A metric with its meaning and, if available, its confidence interval.

    `flags` say why it means less than it seems to, such as `vacuous` or `not_evaluated`. `bounds`
    are the bounds of a metric that errors leave unknown, and `failed` says how many cases failed.
    `vacuous_cases` are not in a mean that also rests on other cases.
    """

    label: str
    value: float | int | None
    meaning: str
    interval: Interval | None = None
    maximum: float | None = None
    flags: tuple[str, ...] = ()
    vacuous_cases: int = 0
    bounds: Interval | None = None
    failed: str = ""
    digits: int = _DIGITS

    @property
    def note(self) -> str:
        """The flags, the number of vacuous cases and the bounds as text."""
        intro = "with failed cases" if self.failed else "from"
        bounds = bounds_text(self.bounds, intro) or self.failed
        notes = flag_text(self.flags), vacuous_text(self.vacuous_cases), bounds
        return ", ".join(filter(None, notes))

    def to_dict(self) -> JsonObject:
        """Return the tile as JSON for the page."""
        certain = not (self.flags or self.bounds or self.failed)
        flagged: JsonObject = {"note": self.note, "is_result": certain}
        return {
            "label": self.label,
            "value": self.value,
            "meaning": self.meaning,
            **({} if self.interval is None else {"interval": list(self.interval)}),
            **({} if self.maximum is None else {"most": self.maximum}),
            **({} if self.digits == _DIGITS else {"digits": self.digits}),
            **(flagged if self.note else {}),
        }


_MEANINGS: Final = {
    "macro_f1_by_attribute": "mean over attributes",
    "macro_f1_by_case": "mean over cases",
    "micro_f1": "all fields pooled",
    "rqs": "response quality score",
    "completeness": "share of expected values found",
    "hallucination": "share of keys that are extra",
    "accuracy": "share of compared values that match",
    "safety": "score of the safety judge",
}
_CASE_SCORES: Final = {
    PrimaryScore.MACRO_F1_BY_ATTRIBUTE: ("Macro F1", "score: mean F1 of the attributes"),
    PrimaryScore.MACRO_F1_BY_CASE: ("F1", "score: precision and recall over all fields"),
    PrimaryScore.WEIGHTED_AVERAGE: ("Weighted average", "score: weighted mean of the fields"),
}
_PRIMARY_SCORES: Final = {
    "macro_f1_by_attribute": "macro F1 by attribute",
    "macro_f1_by_case": "F1",
    "weighted_average": "the weighted average",
    "rqs": "RQS",
}


def tiles(summary: Summary) -> list[Tile]:
    """Return the metrics of a run: the primary metric first, and the secondary group last."""
    cases, flags = summary.cases, summary.flags
    intervals = {} if summary.intervals is None else summary.intervals.metrics
    primary = _PRIMARY_SCORES.get(str(summary.convention.options.get("primary")), "the score")
    scored_by = "the scores of the evaluators" if summary.evaluators else f"{primary} over cases"
    meanings = {**_MEANINGS, MAIN_METRIC: f"mean of {scored_by}"}
    of_rqs = {"rqs", MAIN_METRIC} if primary == "RQS" and not summary.evaluators else {"rqs"}
    by_name = {
        name: Tile(
            label=_capitalized(METRIC_TITLES[name]),
            value=value,
            meaning=meanings[name],
            interval=intervals.get(name),
            maximum=summary.quality.rqs_max if name == "rqs" else None,
            flags=flags.get(name, ()),
            vacuous_cases=summary.vacuous_cases.get(name, 0),
            bounds=metric_bounds(summary, name),
            failed=failed_text(summary),
            digits=RQS_DIGITS if name in of_rqs else _DIGITS,
        )
        for name, value in summary.evaluated.items()
    }
    leading = QUALITY_METRICS if next(iter(by_name)) == "rqs" else HEADLINE_METRICS
    nothing_scored = ("vacuous",) if cases.scored and cases.vacuous == cases.scored else ()
    of_cases = [
        Tile(label="Perfect", value=cases.perfect / cases.scored if cases.scored else None,
             meaning=f"{cases.perfect:,} of {plural(cases.scored, 'case')}",
             interval=intervals.get("perfect"), flags=nothing_scored,
             bounds=_perfect_bounds(summary), failed=failed_text(summary)),
        Tile(label="Coverage", value=cases.scored / cases.total if cases.total else None,
             meaning=f"{cases.scored:,} of {plural(cases.total, 'case')} scored"),
        Tile(label="Errors", value=max(cases.errors, summary.uncounted_errors),
             meaning=", ".join(error_counts(summary)) or "cases with errors"),
    ]  # fmt: skip
    first = [tile for name, tile in by_name.items() if name in {*leading, MAIN_METRIC}]
    others = [tile for name, tile in by_name.items() if name not in {*leading, MAIN_METRIC}]
    return [*first, *of_cases, *others]


def _perfect_bounds(summary: Summary) -> Interval | None:
    """Return the bounds of the share of perfect cases."""
    bounds = summary.bounds
    if bounds is None or bounds.low is None or bounds.high is None or not bounds.of:
        return None
    return bounds.low.cases.perfect / bounds.of, bounds.high.cases.perfect / bounds.of


def case_tiles(case: CaseResult) -> list[Tile]:
    """Return the metrics of one case, its score first."""
    quality, counting, bounds = case.quality, case.convention.counting, case.bounds or CaseBounds()
    by_name = {
        name: Tile(
            label=_capitalized(METRIC_TITLES[name]),
            value=getattr(quality, name),
            meaning=_MEANINGS[name],
            maximum=quality.rqs_max if name == "rqs" else None,
            flags=quality.flags.get(name, ()),
            bounds=getattr(bounds, name),
            digits=RQS_DIGITS if name == "rqs" else _DIGITS,
        )
        for name in QUALITY_METRICS
    }
    pooled = "precision and recall over all fields"
    f1 = Tile(label="F1", value=case.f1, meaning=pooled, bounds=bounds.f1)
    if counting.primary is PrimaryScore.RQS:
        return [by_name.pop("rqs"), *by_name.values(), f1]
    label, meaning = _CASE_SCORES[counting.primary]
    flags = ("vacuous",) if case.vacuous else ()
    score = Tile(label=label, value=case.score, meaning=meaning, flags=flags, bounds=bounds.score)
    same = counting.primary is PrimaryScore.MACRO_F1_BY_CASE
    if "not_evaluated" in quality.flags.get("safety", ()):
        del by_name["safety"], by_name["rqs"]
    return [score, *([] if same else [f1]), *by_name.values()]


def has_rqs(shown: Sequence[Tile]) -> bool:
    """Whether RQS is among the tiles; its formula is then shown, too."""
    return any(tile.maximum is not None for tile in shown)


def _capitalized(title: str) -> str:
    return title[0].upper() + title[1:]


def attribute_lines(summary: Summary, comparators: Mapping[str, str]) -> list[JsonValue]:
    """Return the metrics of all attributes, with intervals and standard deviations of the rates."""
    intervals = {} if summary.intervals is None else summary.intervals.attributes
    bounds = summary.bounds
    lines: list[JsonValue] = []
    for path, metrics in worst_attributes(summary.attributes):
        f1 = None if bounds is None else bounds.of_attribute(path, "f1")
        note = bounds_text(f1) or failed_text(summary)
        lines.append(
            {
                "attribute": path,
                **({"f1_note": note} if note else {}),
                "comparator": comparators.get(path, ""),
                **to_json(metrics),
                **to_json(intervals.get(path, RateVariations())),
            }
        )
    return lines


def histogram_view(scores: Iterable[float | None]) -> JsonObject:
    """Return how scores are distributed: the bounds of bins, and their numbers of cases."""
    histogram = score_histogram(scores)
    bins: list[JsonValue] = [
        {"low": low, "high": high, "cases": cases} for low, high, cases in histogram.bins
    ]
    return {"bins": bins, "unscored": histogram.unscored}


def slice_lines(summary: Summary) -> list[JsonValue]:
    """Return a table for each key of slices, with the mean and deviation of metrics over slices.

    The interval of a row belongs to the first metric.
    """
    names = slice_metrics(summary)
    means = summary.group_means()
    tables: list[JsonValue] = []
    for key, rows in slice_rows(summary).items():
        over = means[key]
        tables.append(
            {
                "key": key,
                "slices": over.slices,
                "metrics": [
                    {
                        "name": name,
                        "title": _capitalized(METRIC_TITLES[name]),
                        "mean": over.mean.get(name),
                        "deviation": over.deviation.get(name),
                    }
                    for name in names
                ],
                "rows": [
                    {
                        "value": row.value,
                        "cases": row.cases,
                        **dict(zip(names, row.metrics, strict=True)),
                        "interval": None if row.interval is None else list(row.interval),
                        "notes": list(row.notes),
                        "few": row.few,
                    }
                    for row in rows
                ],
            }
        )
    return tables


def domain_lines(summary: Summary) -> list[JsonValue]:
    """Return attributes, fields and mistakes by the first key of the path, worst first."""
    attributes: dict[str, int] = {}
    fields: dict[str, int] = {}
    mistakes: dict[str, ErrorCounts] = {}
    for path, metrics in summary.attributes.items():
        try:
            segments = parse_path(path).segments
        except PathError:
            segments = ()
        name = next(
            (str(segment) for segment in segments if not isinstance(segment, Wildcard)), path
        )
        errors = metrics.errors_by_type
        attributes[name] = attributes.get(name, 0) + 1
        fields[name] = fields.get(name, 0) + metrics.tp + metrics.tn + errors.total
        mistakes[name] = mistakes.get(name, ErrorCounts()) + errors
    order = sorted(mistakes, key=lambda name: (-mistakes[name].total, name))
    return [
        {
            "domain": name,
            "attributes": attributes[name],
            "fields": fields[name],
            "errors_by_type": dict(mistakes[name]._asdict()),
        }
        for name in order
    ]


def evaluator_lines(summary: Summary) -> list[JsonValue]:
    """Return the totals of all evaluators, with the verdicts and the details of judges."""
    return [
        {
            "evaluator": name,
            "mean_score": evaluator.mean_score,
            "scored": evaluator.scored,
            **dict(zip(map(str, Verdict), evaluator.verdicts, strict=True)),
            "errors": evaluator.errors,
            "error": evaluator.error,
            "vacuous": evaluator.is_vacuous,
            "note": evaluator_note(evaluator),
            "confusion": columnar(ConfusionRow._fields, confusion_rows(evaluator.metrics)),
            "numbers": columnar(NumberRow._fields, number_rows(evaluator.metrics)),
            "truncated": TRUNCATED in evaluator.metrics,
        }
        for name, evaluator in summary.evaluators.items()
    ]


class DetectionTable(NamedTuple):
    """The detection metrics of an evaluator, or without a title of the run.

    `sizes` are the numbers of images, regions and detections; `metrics` are names, values and
    meanings; `classes` are names with AP, AP50, AP75, AR100 and PASCAL AP; `curves` are precisions
    at recalls from 0 to 1 by name.
    """

    title: str
    sizes: list[int]
    metrics: list[tuple[str, float | None, str]]
    classes: list[tuple[str | float | None, ...]]
    curves: JsonObject

    def to_json(self) -> JsonValue:
        """Return the table as JSON for the page."""
        return {
            "title": self.title,
            **dict(zip(("images", "regions", "detections"), self.sizes, strict=True)),
            "metrics": [
                dict(zip(("name", "value", "meaning"), metric, strict=True))
                for metric in self.metrics
            ],
            "classes": columnar(("class", *_CLASS_METRICS), self.classes),
            "curves": self.curves,
        }


def detection_tables(summary: Summary) -> list[DetectionTable]:
    """Return the detection metrics of the run, and of evaluators with other metrics."""
    of_run = summary.detection
    tables = {"": of_run} if of_run else {}
    for name, evaluator in summary.evaluators.items():
        if "AP" in evaluator.metrics and evaluator.metrics != of_run:
            tables[name] = evaluator.metrics
    return [_detection_table(title, metrics) for title, metrics in tables.items()]


def _detection_table(title: str, detection: JsonObject) -> DetectionTable:
    pascal = _object(detection.get("pascal"))
    threshold = _number(pascal.get("iou_threshold"))
    iou = "IoU" if threshold is None else f"IoU {threshold:.2f}"
    sizes = (detection.get(name) for name in ("images", "regions", "detections"))
    classes: list[tuple[str | float | None, ...]] = []
    for name, value in _object(detection.get("classes")).items():
        metrics = _object(value)
        values = [_number(metrics.get(metric)) for metric in _CLASS_METRICS[:-1]]
        classes.append((name, *values, _number(_object(metrics.get("pascal")).get("every_point"))))
    return DetectionTable(
        title,
        [size if isinstance(size, int) else 0 for size in sizes],
        [
            *(
                (name, _number(detection.get(name)), meaning)
                for name, meaning in COCO_METRICS.items()
            ),
            ("PASCAL AP", _number(pascal.get("every_point")), f"{iou}, all points"),
            ("PASCAL AP 11", _number(pascal.get("eleven_point")), f"{iou}, 11 points"),
        ],
        classes,
        _object(detection.get("precision_by_recall")),
    )


def confidence_view(summary: Summary) -> JsonObject | None:
    """Return the confidences of all fields and of the attributes with the most wrong values.

    Each row has counts, rates, bins of similar confidences, the curve of risk and coverage, and
    the results for each target precision; the first row has no attribute.
    """
    confidence = summary.confidence
    if confidence is None:
        return None
    attributes = sorted(confidence.attributes.items(), key=lambda item: (-item[1].wrong, item[0]))
    shown = [("", confidence.pooled), *attributes[:_RATED_ATTRIBUTES]]
    return {
        "documents": confidence.documents,
        "targets": list[JsonValue](confidence.pooled.targets),
        "rows": [_confidence_row(name, figures) for name, figures in shown],
        "more": len(attributes) + 1 - len(shown),
    }


def _confidence_row(name: str, figures: ConfidenceFigures) -> JsonValue:
    return {
        "attribute": name,
        "fields": figures.fields,
        "without_confidence": figures.without_confidence,
        "wrong": figures.wrong,
        "auroc": figures.auroc,
        "ece": figures.ece,
        "brier": figures.brier,
        "bins": columnar(
            ("fields", "confidence", "precision", "interval"),
            [
                (bin_.fields, bin_.confidence, bin_.precision, list(bin_.interval or (0.0, 1.0)))
                for bin_ in figures.bins
            ],
        ),
        "curve": columnar(
            ("threshold", "coverage", "precision"),
            [
                (point.threshold, *(round(share, 5) for share in point[1:]))
                for point in figures.curve
            ],
        ),
        "targets": {key: to_json(target) for key, target in figures.targets.items()},
    }


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _number(value: JsonValue) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


class EarlierRun(NamedTuple):
    """An earlier run; without a summary, its metrics are undefined."""

    name: str
    summary: Summary | None


def trends(summary: Summary, earlier: Sequence[EarlierRun]) -> JsonObject | None:
    """Return F1 over earlier runs and this one, oldest first; `None` without earlier runs."""
    if not earlier:
        return None
    history = [*(run.summary for run in earlier), summary]
    attributes: list[JsonValue] = []
    for path in summary.attributes:
        metrics = [None if run is None else run.attributes.get(path) for run in history]
        f1: list[JsonValue] = [None if attribute is None else attribute.f1 for attribute in metrics]
        attributes.append({"attribute": path, "f1": f1})
    return {
        "runs": [*(run.name for run in earlier), ""],
        "macro": [None if run is None else run.macro_f1_by_attribute for run in history],
        "attributes": attributes,
    }
