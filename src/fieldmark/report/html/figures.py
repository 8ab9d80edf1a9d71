"""The figures of a run as the page shows them: tiles, gates, attributes, evaluators, detection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from fieldmark.metrics.rates import Interval
from fieldmark.metrics.summary import AttributeSummary, Summary
from fieldmark.metrics.taxonomy import ErrorCounts
from fieldmark.metrics.worst_first import attribute_sort_key
from fieldmark.model.case import Verdict
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.report.shown_run import gates_failed_first
from fieldmark.values.paths import PathError, parse_path

__all__ = [
    "FIGURES",
    "DetectionTable",
    "EarlierRun",
    "Tile",
    "attribute_lines",
    "detection_tables",
    "domain_lines",
    "evaluator_lines",
    "figures_view",
    "gate_lines",
    "tiles",
    "trends",
    "verdict_counts",
    "verdict_of_gates",
    "worst_attributes",
]

FIGURES: Final = {
    "AP": "mean of overlaps from 0.50 to 0.95",
    "AP50": "overlap of 0.50",
    "AP75": "overlap of 0.75",
    "APsmall": "small regions",
    "APmedium": "medium regions",
    "APlarge": "large regions",
    "AR1": "1 detection an image",
    "AR10": "10 detections an image",
    "AR100": "100 detections an image",
    "ARsmall": "small regions",
    "ARmedium": "medium regions",
    "ARlarge": "large regions",
}
"""The COCO figures, and what each is about."""


def figures_view(summary: Summary) -> JsonObject:
    """The overview of a run: verdict, gates, tiles and counts."""
    micro = summary.micro
    return {
        "verdict": verdict_of_gates(summary),
        "gates": gate_lines(summary),
        "tiles": [tile.to_dict() for tile in tiles(summary)],
        "micro": {"tp": micro.tp, "tn": micro.tn, "fp": micro.fp, "fn": micro.fn},
        "totals": dict(summary.cases._asdict()),
        "verdicts": dict(verdict_counts(summary)),
        "errors": dict(summary.errors_by_type._asdict()),
    }


def verdict_of_gates(summary: Summary) -> str:
    """`pass` or `fail` by the gates, or `none` where no gate was set."""
    if not summary.gates:
        return "none"
    return "pass" if all(gate.passed for gate in summary.gates) else "fail"


def verdict_counts(summary: Summary) -> dict[str, int]:
    """The number of cases by verdict."""
    return {verdict.value: n for verdict, n in zip(Verdict, summary.verdicts, strict=True)}


def gate_lines(summary: Summary) -> list[JsonValue]:
    """Every gate as name, kind, limit, value, passed, note; those that failed first."""
    return [
        [gate.name, gate.kind.value, gate.limit, gate.value, gate.passed, gate.note]
        for gate in gates_failed_first(summary)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A headline figure with its meaning and, where the summary has one, its interval."""

    label: str
    value: float | int | None
    meaning: str
    better: str = "high"
    interval: Interval | None = None
    most: float | None = None

    def to_dict(self) -> JsonObject:
        """The tile as the page reads it."""
        return {
            "label": self.label,
            "value": self.value,
            "meaning": self.meaning,
            "better": self.better,
            **({} if self.interval is None else {"interval": list(self.interval)}),
            **({} if self.most is None else {"most": self.most}),
        }


def tiles(summary: Summary) -> list[Tile]:
    """The headline figures."""
    quality, cases = summary.quality, summary.cases
    intervals = {} if summary.intervals is None else summary.intervals.figures

    def tile(label: str, name: str, value: float | None, meaning: str) -> Tile:
        return Tile(label=label, value=value, meaning=meaning, interval=intervals.get(name))

    return [
        tile("Macro F1", "macro_f1_by_attribute", summary.macro_f1_by_attribute,
             "mean over attributes"),
        tile("Micro F1", "micro_f1", summary.micro.f1, "all fields pooled"),
        tile("Macro F1 by case", "macro_f1_by_case", summary.macro_f1_by_case, "mean over cases"),
        tile("Completeness", "completeness", quality.completeness, "of what was there, found"),
        Tile(label="Hallucination", value=quality.hallucination, meaning="of all keys, invented",
             better="low", interval=intervals.get("hallucination")),
        tile("Accuracy", "accuracy", quality.accuracy, "of what both have, right"),
        Tile(label="RQS", value=quality.rqs, meaning="response quality score",
             interval=intervals.get("rqs"), most=quality.rqs_max),
        tile("Perfect", "perfect", cases.perfect / cases.scored if cases.scored else None,
             f"{cases.perfect:,} of {cases.scored:,} cases"),
        Tile(label="Coverage", value=cases.scored / cases.total if cases.total else None,
             meaning=f"{cases.scored:,} of {cases.total:,} cases scored"),
        Tile(label="Errors", value=cases.errors, meaning="cases not evaluated", better="low"),
    ]  # fmt: skip


def worst_attributes(summary: Summary) -> list[tuple[str, AttributeSummary]]:
    """The attributes with their figures, the worst first."""

    def sort_key(item: tuple[str, AttributeSummary]) -> tuple[float, int, str]:
        path, figures = item
        return attribute_sort_key(path, figures.f1, figures.errors_by_type.total, figures.errors)

    return sorted(summary.attributes.items(), key=sort_key)


def attribute_lines(summary: Summary, comparators: Mapping[str, str]) -> list[JsonValue]:
    """Every attribute as path, counts, rates, interval, mistakes by type, errors, comparator."""
    intervals = {} if summary.intervals is None else summary.intervals.attributes
    lines: list[JsonValue] = []
    for path, each in worst_attributes(summary):
        interval = intervals.get(path)
        lines.append(
            [
                path,
                [each.tp, each.tn, each.fp, each.fn],
                [each.precision, each.recall, each.f1, each.accuracy],
                None if interval is None else list(interval),
                list(each.errors_by_type),
                each.errors,
                comparators.get(path, ""),
            ]
        )
    return lines


def domain_lines(summary: Summary) -> list[JsonValue]:
    """Mistakes by the first step of their path: name, attributes, fields, mistakes by type."""
    attributes: dict[str, int] = {}
    fields: dict[str, int] = {}
    mistakes: dict[str, ErrorCounts] = {}
    for path, each in summary.attributes.items():
        try:
            name = str(parse_path(path).segments[0])
        except PathError:
            name = path
        errors = each.errors_by_type
        attributes[name] = attributes.get(name, 0) + 1
        fields[name] = fields.get(name, 0) + each.tp + each.tn + errors.total
        mistakes[name] = mistakes.get(name, ErrorCounts()) + errors
    order = sorted(mistakes, key=lambda name: (-mistakes[name].total, name))
    return [[name, attributes[name], fields[name], *mistakes[name]] for name in order]


def evaluator_lines(summary: Summary) -> list[JsonValue]:
    """Every evaluator as name, mean score, cases scored, verdicts, errors."""
    return [
        [name, each.mean_score, each.scored, *each.verdicts, each.errors]
        for name, each in summary.evaluators.items()
    ]


class DetectionTable(NamedTuple):
    """The figures of one data set of regions; those of the run itself have no title.

    `sizes` are the numbers of images, regions and detections; `figures` are names, values and
    meanings; `classes` are names with AP, AP50, AP75, AR100 and PASCAL AP.
    """

    title: str
    sizes: list[int]
    figures: list[tuple[str, float | None, str]]
    classes: list[tuple[str | float | None, ...]]

    def to_json(self) -> JsonValue:
        """The table as the page reads it."""
        figures: list[JsonValue] = [list(each) for each in self.figures]
        classes: list[JsonValue] = [list(each) for each in self.classes]
        return [self.title, list(self.sizes), figures, classes]


def detection_tables(summary: Summary) -> list[DetectionTable]:
    """The detection figures of the run, and of evaluators whose figures differ from them."""
    own = summary.detection
    found = {"": own} if own else {}
    for name, each in summary.evaluators.items():
        if "AP" in each.figures and each.figures != own:
            found[name] = each.figures
    return [_detection_table(title, figures) for title, figures in found.items()]


def _detection_table(title: str, found: JsonObject) -> DetectionTable:
    pascal = _object(found.get("pascal"))
    threshold = _number(pascal.get("iou_threshold"))
    overlap = "overlap" if threshold is None else f"overlap of {threshold:.2f}"
    sizes = (found.get(name) for name in ("images", "regions", "detections"))
    classes = _object(found.get("classes")).items()
    return DetectionTable(
        title,
        [size if isinstance(size, int) else 0 for size in sizes],
        [
            *((name, _number(found.get(name)), meaning) for name, meaning in FIGURES.items()),
            ("PASCAL AP", _number(pascal.get("every_point")), f"{overlap}, every point"),
            ("PASCAL AP 11", _number(pascal.get("eleven_point")), f"{overlap}, eleven points"),
        ],
        [(name, *_class_figures(_object(figures))) for name, figures in classes],
    )


def _class_figures(found: JsonObject) -> list[float | None]:
    own = [_number(found.get(name)) for name in ("AP", "AP50", "AP75", "AR100")]
    return [*own, _number(_object(found.get("pascal")).get("every_point"))]


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _number(value: JsonValue) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


class EarlierRun(NamedTuple):
    """A run before this one; without a summary, its figures are undefined."""

    name: str
    summary: Summary | None


def trends(summary: Summary, earlier: Sequence[EarlierRun]) -> JsonObject | None:
    """F1 over earlier runs and this one, the oldest first; nothing without earlier runs."""
    if not earlier:
        return None
    history = [*(each.summary for each in earlier), summary]
    attributes: list[JsonValue] = []
    for path in summary.attributes:
        own = [None if each is None else each.attributes.get(path) for each in history]
        attributes.append([path, [None if each is None else each.f1 for each in own]])
    return {
        "runs": [*(each.name for each in earlier), ""],
        "macro": [None if each is None else each.macro_f1_by_attribute for each in history],
        "attributes": attributes,
    }
