"""Object detection: COCO and PASCAL VOC metrics over a data set, and F1 per image."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final, NamedTuple

from fieldmark.align.greedy import Greedy
from fieldmark.compare.iou import Iou
from fieldmark.evaluators.base import MAX_ROWS, Score, confusion, unreadable_reason
from fieldmark.evaluators.geometry import measure_options, rules_of_shapes
from fieldmark.evaluators.hits_and_misses import pair_label
from fieldmark.evaluators.path_values import ValuePath, find_values, values_at
from fieldmark.metrics.average_precision import (
    AREAS,
    MAX_DETECTIONS,
    CocoSettings,
    IouThresholds,
    coco_metrics,
    pascal_metrics,
)
from fieldmark.metrics.counts import verdict_at
from fieldmark.metrics.detections import (
    DetectedRegion,
    Extent,
    IouThreshold,
    Regions,
    TruthRegion,
    match_image,
)
from fieldmark.metrics.rates import f1
from fieldmark.model.counts import Counts
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.rule import Rule
from fieldmark.values.annotations import NonNegativeInt, Share
from fieldmark.values.equality import canonical_text
from fieldmark.values.geometry import BoxFormat, PolygonMethod, read_shape
from fieldmark.values.numbers import as_number
from fieldmark.values.paths import ROOT
from fieldmark.values.strategy_options import check_options

_NO_CLASS: Final = "object"
"""The class of regions without a class."""
_NOWHERE: Final[Extent] = (0.0, 0.0, 0.0, 0.0)
_LAST: Final = float("-inf")
_SIZE: Final = 4
_ITEMS: Final = "[]"


class _Boxes(NamedTuple):
    """The boxes of a document: their paths, extents, and why some are invalid.

    An invalid box has no area and overlaps nothing.
    """

    paths: list[str]
    extents: list[Extent]
    invalid: dict[int, str]


def _read_boxes(document: JsonValue | Missing, path: str, form: BoxFormat) -> _Boxes:
    boxes = _Boxes([], [], {})
    for index, (box_path, value) in enumerate(find_values(document, path)):
        boxes.paths.append(box_path)
        shape = read_shape(None if value is MISSING else value, form)
        if isinstance(shape, str):
            boxes.invalid[index] = shape
            boxes.extents.append(_NOWHERE)
            continue
        left, top, right, bottom, _ = shape.box
        width, height = right - left, bottom - top
        if form is BoxFormat.XYWH and isinstance(value, list):
            # The size as written, without the rounding error of a difference.
            width, height = (float(number) for number in value[2:_SIZE])  # type: ignore[arg-type]
        boxes.extents.append((left, top, width, height))
    return boxes


def _column(
    document: JsonValue | Missing, path: str | None, count: int
) -> list[JsonValue | Missing]:
    """Return the values at a path, with as many entries as there are boxes."""
    values = [] if path is None else values_at(document, path)[:count]
    return values + [MISSING] * (count - len(values))


def _truth_regions(
    document: JsonValue,
    boxes: _Boxes,
    label: str | None,
    area: str | None,
    crowds: Iterable[bool],
) -> list[TruthRegion]:
    count = len(boxes.extents)
    labels = map(_label, _column(document, label, count))
    areas = map(_number, _column(document, area, count))
    return list(map(TruthRegion, boxes.extents, labels, areas, crowds))


def _label(value: JsonValue | Missing) -> str:
    if value is MISSING or value is None:
        return _NO_CLASS
    return value if isinstance(value, str) else canonical_text(value).decode("utf-8", "replace")


def _number(value: JsonValue | Missing) -> float | None:
    if value is MISSING or isinstance(value, str):
        return None
    number = as_number(value)
    try:
        return None if number is None else float(number)
    except OverflowError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectionAp:
    """Compute the average precision of detected regions over all cases; each case scores its F1.

    `boxes`, `class`, `score`, `area` and `crowd` are paths such as `regions[].bbox`. Regions of
    different classes never match. A crowd region can be matched any number of times, or not at all;
    `crowd` is the path of a flag or, as `crowd[]`, of a separate list of crowd regions. The default
    area is the area of the box. Polygons are replaced by their bounding rectangle.

    >>> score = DetectionAp().evaluate(
    ...     {"regions": [{"bbox": [0, 0, 9, 9], "class": "car"}]},
    ...     {"regions": [{"bbox": [0, 0, 9, 8], "class": "car", "score": 0.9}]},
    ... )
    >>> score.score, score.hits
    (1.0, ('regions[0].bbox',))
    """

    name: ClassVar[str] = "detection_ap"
    boxes: ValuePath = "regions[].bbox"
    class_: ValuePath | None = "regions[].class"
    score: ValuePath | None = "regions[].score"
    area: ValuePath | None = None
    crowd: ValuePath | None = None
    format: BoxFormat = BoxFormat.XYXY
    iou_thresholds: IouThresholds | None = None
    max_detections: tuple[int, ...] = MAX_DETECTIONS
    areas: Mapping[str, tuple[float, ...]] = field(default_factory=lambda: dict(AREAS))
    iou_threshold: IouThreshold = 0.5
    pixels: bool = False
    pass_threshold: Share = 0.8
    max_rows: NonNegativeInt = MAX_ROWS
    _settings: CocoSettings = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_options(self)
        settings = CocoSettings(
            iou_thresholds=self.iou_thresholds,
            max_detections=self.max_detections,
            areas=self.areas,
        )
        object.__setattr__(self, "_settings", settings)

    @property
    def paths(self) -> tuple[str, ...]:
        """The path of the boxes; an image without regions has an empty list at its beginning."""
        return (self.boxes.partition(_ITEMS)[0] or ROOT,)

    def shape_rules(self) -> tuple[Rule, ...]:
        """Return the rules that compare the boxes in whole documents, aligned by their overlap."""
        comparator = Iou(
            format=self.format, threshold=self.iou_threshold, polygon=PolygonMethod.BOUNDS
        )
        return rules_of_shapes(
            self.boxes,
            comparator,
            lambda measure, match_fields: Greedy(
                match_fields=match_fields, similarity=measure_options(measure)
            ),
        )

    def start(self) -> DetectionTally:
        """Return a new accumulator of images."""
        return DetectionTally(self, self._settings)

    def evaluate(
        self, expected: JsonValue, candidate: JsonValue | Missing, *, unreadable: bool = False
    ) -> Score:
        """Score a single image."""
        return self.start().add(expected, candidate, unreadable=unreadable)

    def truths(self, document: JsonValue) -> tuple[_Boxes, list[TruthRegion]]:
        """Return the regions of a ground truth; regions of a separate list of crowds are last."""
        boxes = _read_boxes(document, self.boxes, self.format)
        crowd = self.crowd or ""
        separate = crowd.endswith(_ITEMS)
        flags = _column(document, None if separate else self.crowd, len(boxes.extents))
        crowds = [flag is True or flag == 1 for flag in flags]
        regions = _truth_regions(document, boxes, self.class_, self.area, crowds)
        if not separate:
            return boxes, regions
        # Items of crowd[] have the same structure as items of regions[].
        path, label, area = (
            None if option is None else crowd + option.rpartition(_ITEMS)[2]
            for option in (self.boxes, self.class_, self.area)
        )
        crowd_boxes = _read_boxes(document, path or crowd, self.format)
        crowds = [True] * len(crowd_boxes.extents)
        return boxes, regions + _truth_regions(document, crowd_boxes, label, area, crowds)

    def detections(self, document: JsonValue | Missing) -> tuple[_Boxes, list[DetectedRegion]]:
        """Return the detections of a candidate; an invalid score is ranked last."""
        boxes = _read_boxes(document, self.boxes, self.format)
        count = len(boxes.extents)
        labels = map(_label, _column(document, self.class_, count))
        scores = [1.0] * count
        if self.score is not None:
            numbers = map(_number, _column(document, self.score, count))
            scores = [_LAST if number is None else number for number in numbers]
        return boxes, list(map(DetectedRegion, boxes.extents, labels, scores))


class DetectionTally:
    """Accumulates the regions of images."""

    __slots__ = ("_options", "_regions", "_settings")

    def __init__(self, options: DetectionAp, settings: CocoSettings) -> None:
        self._options = options
        self._settings = settings
        self._regions = Regions()

    def add(
        self, expected: JsonValue, candidate: JsonValue | Missing, *, unreadable: bool = False
    ) -> Score:
        """Add an image and return its F1; an unreadable candidate has no detections."""
        options = self._options
        absent = unreadable_reason(candidate, unreadable=unreadable)
        if absent:
            candidate = MISSING
        truth_boxes, truths = options.truths(expected)
        boxes, detections = options.detections(candidate)
        self._regions.add(truths, detections)
        match = match_image(truths, detections, options.iou_threshold, options.max_detections[-1])
        missing = [
            f"{truth_boxes.paths[index]} ({truth_boxes.invalid.get(index, 'not detected')})"
            for index in match.missing
        ]
        extra = [
            f"{pair_label(None, boxes.paths[index])} ({boxes.invalid.get(index, 'unexpected')})"
            for index in match.extra
        ]
        unreadable_miss = [f"{ROOT} ({absent})"] if absent else []
        counts = Counts(tp=len(match.pairs), fp=len(extra), fn=len(missing))
        vacuous = not any(counts) and not unreadable_miss
        score = 1.0 if vacuous else f1(counts.tp, counts.fp, counts.fn) or 0.0
        rows: list[JsonValue] = [
            {"expected_idx": truth, "parsed_idx": detection, "iou": iou}
            for truth, detection, iou in match.pairs
        ]
        return Score(
            score=score,
            verdict=verdict_at(score, options.pass_threshold),
            hits=tuple(
                pair_label(truth_boxes.paths[truth], boxes.paths[detection])
                for truth, detection, _ in match.pairs
            ),
            misses=(*unreadable_miss, *missing, *extra),
            reasoning=f"{counts.tp}/{counts.tp + counts.fn} regions detected, {counts.fp} extra",
            details={
                "iou_threshold": options.iou_threshold,
                **confusion(counts),
                "alignment": rows[: options.max_rows],
                "alignment_total": len(rows),
            },
            vacuous=vacuous,
        )

    def merge(self, other: DetectionTally) -> None:
        """Append the images of another accumulator."""
        self._regions.merge(other._regions)

    def summary(self) -> JsonObject:
        """Return COCO and PASCAL VOC metrics, overall and per class."""
        options, table = self._options, self._regions.table()
        coco = coco_metrics(table, self._settings)
        pascal = pascal_metrics(table, iou_threshold=options.iou_threshold, pixels=options.pixels)
        coco_classes, pascal_classes = coco.pop("classes"), pascal.pop("classes")
        assert isinstance(coco_classes, dict)  # noqa: S101 - made above
        assert isinstance(pascal_classes, dict)  # noqa: S101 - made above
        return {
            "images": table.images,
            "regions": len(table.truth_key),
            "detections": len(table.detection_key),
            **coco,
            "pascal": pascal,
            "classes": {
                label: {**metrics, "pascal": pascal_classes[label]}  # type: ignore[dict-item]
                for label, metrics in coco_classes.items()
            },
        }
