"""Object detection over a data set: the twelve COCO metrics and PASCAL VOC average precision."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final, TypeAlias

from fieldmark.errors import OptionError
from fieldmark.metrics.detections import (
    CocoGroundTruth,
    IouThreshold,
    MatchedDetections,
    RegionTable,
    matched,
    ordered,
    overlapping,
    read_coco,
)
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.values.annotations import Length, problem_of
from fieldmark.values.arrays import Flags, Floats, Integers, np
from fieldmark.values.strategy_options import check_options

_PASCAL_RECALLS: Final = 11


def pascal_ap(
    ground_truth: CocoGroundTruth,
    detections: Iterable[Mapping[str, object]],
    *,
    iou_threshold: float = 0.5,
    pixels: bool = False,
) -> JsonObject:
    """Compute PASCAL VOC average precision in both variants, from the objects of COCO files.

    With `pixels`, coordinates are pixel indexes as in PASCAL VOC files: a box includes its last row
    and column.

    >>> truth = [{"image_id": 1, "category_id": 7, "bbox": [0, 0, 10, 10]}]
    >>> results = [{"image_id": 1, "category_id": 7, "bbox": [0, 0, 10, 8], "score": 0.9}]
    >>> pascal_ap(truth, results)["every_point"]
    1.0
    """
    table = read_coco(ground_truth, detections)
    return pascal_metrics(table, iou_threshold=iou_threshold, pixels=pixels)


def pascal_metrics(
    table: RegionTable, *, iou_threshold: float = 0.5, pixels: bool = False
) -> JsonObject:
    """Return the means over all classes with regions, and each class's metrics in `classes`."""
    if problem := problem_of(IouThreshold, iou_threshold):
        raise OptionError("iou_threshold", problem)

    right, counted, label_of = _judged(table, iou_threshold, 1.0 if pixels else 0.0)
    truths = table.class_of(table.truth_key)[~table.crowd]
    expected_of = np.bincount(truths, minlength=len(table.labels)).tolist()
    classes: JsonObject = {}
    points: list[tuple[float, float]] = []
    for number, (label, expected) in enumerate(zip(table.labels, expected_of, strict=True)):
        if not expected:
            classes[label] = {"every_point": None, "eleven_point": None}
            continue
        hits = np.cumsum(right[counted & (label_of == number)])
        precision, recall = hits / np.arange(1, len(hits) + 1), hits / expected
        # The area below the curve of the best precision at each recall or above.
        envelope = np.maximum.accumulate(precision[::-1])[::-1]
        every_point = float(np.sum(np.diff(recall, prepend=0.0) * envelope))
        # The mean of the best precision at recalls of at least 0, 0.1, … 1.
        levels = np.linspace(0.0, 1.0, _PASCAL_RECALLS)
        best = [precision[recall >= level].max(initial=0.0) for level in levels]
        eleven_point = float(np.mean(best))
        points.append((every_point, eleven_point))
        classes[label] = {"every_point": every_point, "eleven_point": eleven_point}
    means = np.mean(points, axis=0).tolist() if points else [None, None]
    return {
        "iou_threshold": iou_threshold,
        "every_point": means[0],
        "eleven_point": means[1],
        "classes": classes,
    }


def _judged(table: RegionTable, threshold: float, margin: float) -> tuple[Flags, Flags, Integers]:
    """Return whether each detection is correct, whether it counts, and its class.

    Detections are in order of descending score. A detection is matched to the region that it
    overlaps most, whether that region is free or not.
    """
    detections = ordered(table, len(table.score) + 1)
    order = np.argsort(table.truth_key, kind="stable")
    pairs = overlapping(table, detections, order, threshold, margin)
    # The region that each detection overlaps most, the first one if tied; -1 if there is none.
    truth = np.full(len(detections.key), -1, dtype=np.intp)
    by_overlap = np.lexsort((-pairs.truth, pairs.iou, pairs.detection))
    truth[pairs.detection[by_overlap]] = pairs.truth[by_overlap]  # keeps the last one of each
    label = table.class_of(detections.key)
    sequence = np.lexsort((-detections.score, label))
    truth, label = truth[sequence], label[sequence]
    hits = np.flatnonzero(truth >= 0)
    # The highest-scoring detection of a region is correct; all others are wrong.
    _, first = np.unique(truth[hits], return_index=True)
    right = np.zeros(len(truth), dtype=np.bool_)
    right[hits[first]] = True
    crowd = table.crowd[order]
    passed_over = np.zeros(len(truth), dtype=np.bool_)
    passed_over[hits] = crowd[truth[hits]]
    return right & ~passed_over, ~passed_over, label


IouThresholds: TypeAlias = Annotated[tuple[IouThreshold, ...], Length(ge=1, noun="number")]
_UNDEFINED: Final = -1.0
"""The value for a class without regions, as in the reference implementation."""
_COCO_RECALLS: Final = 101
_CURVE_DIGITS: Final = 5


def _precisions(matches: MatchedDetections, label: Integers) -> Floats:
    """Return precision by threshold, recall, class and range; `label` is each detection's class."""
    # The detections that overlap some region, by class and descending score.
    order = np.lexsort((-matches.detections.score, label))
    position = np.empty(len(order), dtype=np.intp)
    position[order] = np.arange(len(order))
    by_place = np.argsort(position[matches.which], kind="stable")
    which = matches.which[by_place]
    hit, ignored, inside = (
        matches.hit[by_place],
        matches.ignored[by_place],
        matches.inside[:, which],
    )
    # For each range, the number of the class's detections of this size up to each detection.
    sizes = np.zeros((len(matches.inside), len(order) + 1), dtype=np.intp)
    np.cumsum(matches.inside[:, order], axis=1, out=sizes[:, 1:])
    first = np.searchsorted(label[order], label[which])
    before = sizes[:, position[which] + 1] - sizes[:, first]

    classes, spans = matches.expected.shape
    bounds = np.searchsorted(label[which], np.arange(classes + 1)).tolist()
    precision = np.full((hit.shape[2], _COCO_RECALLS, classes, spans), _UNDEFINED)
    for number in range(classes):
        here = slice(*bounds[number : number + 2])
        for span, expected in enumerate(matches.expected[number].tolist()):
            if expected:
                precision[:, :, number, span] = _precision(
                    hit[here, span],
                    ignored[here, span],
                    inside[span, here],
                    before[span, here],
                    expected,
                )
    return precision


def _recalls(matches: MatchedDetections, label: Integers, most: tuple[int, ...]) -> Floats:
    """Return recall by threshold, class, range and number of detections.

    Recall is the share of regions found by the `most` highest-scoring detections of each image.
    """
    label = label[matches.which]
    expected = matches.expected[:, :, None]
    right = matches.hit & ~matches.ignored
    rank = matches.detections.rank[matches.which]
    shares = []
    for limit in most:
        top = np.flatnonzero(rank < limit)
        present, starts = np.unique(label[top], return_index=True)
        hits = np.zeros((len(expected), *right.shape[1:]), dtype=np.int32)
        if len(present):
            hits[present] = np.add.reduceat(right[top], starts, axis=0, dtype=np.int32)
        share = np.full(hits.shape, _UNDEFINED)
        np.divide(hits, expected, out=share, where=np.broadcast_to(expected > 0, hits.shape))
        shares.append(share.transpose(2, 0, 1))
    return np.stack(shares, axis=-1)


def _precision(
    hit: Flags, ignored: Flags, inside: Flags, before: Integers, expected: int
) -> Floats:
    """Return the best precision at each recall or above, for every threshold.

    Precision peaks where a region has just been found, so only these positions are considered. A
    detection of an ignored region does not count, whatever its size.
    """
    right = hit & ~ignored
    counted = np.where(hit, ~ignored, inside[:, None]).astype(np.intp)
    among = before[:, None] + np.cumsum(counted - inside[:, None], axis=0)
    hits = np.cumsum(right, axis=0, dtype=np.intp)
    # The reference implementation avoids a division by zero in this way.
    precise = hits / (among + np.spacing(1))
    recalls = np.linspace(0.0, 1.0, _COCO_RECALLS)
    needed = np.searchsorted(np.arange(1, expected + 1) / expected, recalls, side="left")
    best = np.zeros((right.shape[1], _COCO_RECALLS))
    for number, flags in enumerate(right.T):
        envelope = np.maximum.accumulate(precise[flags, number][::-1])[::-1]
        reached = needed < len(envelope)
        best[number, reached] = envelope[needed[reached]]
    return best


_EVERYTHING: Final = (0.0, 1e10)
AREAS: Final[Mapping[str, tuple[float, float]]] = {
    "small": (0.0, 32.0**2),
    "medium": (32.0**2, 96.0**2),
    "large": (96.0**2, 1e10),
}
"""Ranges of areas in square pixels, inclusive."""
MAX_DETECTIONS: Final = (1, 10, 100)
_NAMED_THRESHOLDS: Final = {"AP50": 0.5, "AP75": 0.75}


@dataclass(frozen=True, slots=True, kw_only=True)
class CocoSettings:
    """Settings of the COCO metrics; the COCO leaderboard uses the defaults.

    The default thresholds are 0.50 to 0.95 in steps of 0.05.
    """

    iou_thresholds: IouThresholds | None = None
    max_detections: tuple[int, ...] = MAX_DETECTIONS
    areas: Mapping[str, tuple[float, ...]] = field(default_factory=lambda: dict(AREAS))

    def __post_init__(self) -> None:
        check_options(self)
        most = self.max_detections
        if not most or sorted(set(most)) != list(most) or most[0] < 1:
            raise OptionError("max_detections", "must be positive integers in ascending order")
        for name, span in self.areas.items():
            if len(span) != 2 or not 0 <= span[0] <= span[1]:  # noqa: PLR2004 - two bounds
                raise OptionError("areas", f"{name} must be a lower and an upper bound")

    def thresholds(self) -> Floats:
        """Return the thresholds as an array."""
        if self.iou_thresholds is None:
            return np.linspace(0.5, 0.95, 10)
        return np.array(self.iou_thresholds, dtype=np.float64)

    def ranges(self) -> list[tuple[float, float]]:
        """Return the range of all areas, then each named range."""
        return [_EVERYTHING, *((span[0], span[1]) for span in self.areas.values())]


def coco_ap(
    ground_truth: CocoGroundTruth,
    detections: Iterable[Mapping[str, object]],
    *,
    settings: CocoSettings | None = None,
) -> JsonObject:
    """Compute the COCO metrics of detections, given as the objects of COCO files.

    `ground_truth` contains images, annotations and categories, or is a list of annotations. A
    metric without any regions is `None`.

    >>> truth = [{"image_id": 1, "category_id": 7, "bbox": [0, 0, 10, 10], "area": 100}]
    >>> results = [{"image_id": 1, "category_id": 7, "bbox": [0, 0, 10, 8], "score": 0.9}]
    >>> metrics = coco_ap(truth, results)
    >>> round(metrics["AP50"], 3), metrics["AR100"], metrics["APlarge"]
    (1.0, 0.7, None)
    """
    return coco_metrics(read_coco(ground_truth, detections), settings or CocoSettings())


def coco_metrics(table: RegionTable, settings: CocoSettings) -> JsonObject:
    """Return the metrics over all classes, and the average precision of each class in `classes`.

    `precision_by_recall` contains the precision at 101 recalls from 0 to 1.
    """
    thresholds = settings.thresholds()
    most = settings.max_detections
    matches = matched(table, thresholds, settings.ranges(), most[-1])
    classes = table.class_of(matches.detections.key)
    precision, recall = _precisions(matches, classes), _recalls(matches, classes, most)
    named = {name: thresholds == threshold for name, threshold in _NAMED_THRESHOLDS.items()}
    metrics: JsonObject = {"AP": _mean(precision[:, :, :, 0])}
    for name, chosen in named.items():
        metrics[name] = _mean(precision[chosen][:, :, :, 0])
    for number, name in enumerate(settings.areas, start=1):
        metrics[f"AP{name}"] = _mean(precision[:, :, :, number])
    for number, limit in enumerate(most):
        metrics[f"AR{limit}"] = _mean(recall[:, :, 0, number])
    for number, name in enumerate(settings.areas, start=1):
        metrics[f"AR{name}"] = _mean(recall[:, :, number, -1])
    metrics["precision_by_recall"] = {
        "AP": _curve(precision[:, :, :, 0]),
        **{
            name: _curve(precision[chosen][:, :, :, 0])
            for name, chosen in named.items()
            if chosen.any()
        },
    }
    metrics["classes"] = {
        label: {
            "AP": _mean(precision[:, :, number, 0]),
            **{name: _mean(precision[chosen][:, :, number, 0]) for name, chosen in named.items()},
            f"AR{most[-1]}": _mean(recall[:, number, 0, -1]),
        }
        for number, label in enumerate(table.labels)
    }
    return metrics


def _curve(precision: Floats) -> list[JsonValue]:
    """Return the mean precision over thresholds and classes at each recall, or an empty list.

    The mean of the curve is the average precision, because a class has all recalls or none.
    """
    classes = precision[:, :, (precision > _UNDEFINED).all(axis=(0, 1))]
    if not classes.size:
        return []
    points: list[JsonValue] = np.round(classes.mean(axis=(0, 2)), _CURVE_DIGITS).tolist()
    return points


def _mean(values: Floats) -> float | None:
    """Return the mean of the defined values."""
    defined = values[values > _UNDEFINED]
    return float(defined.mean()) if defined.size else None
