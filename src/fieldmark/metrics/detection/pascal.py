"""PASCAL VOC average precision, over every point of the curve and over eleven points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np

from fieldmark.errors import OptionError
from fieldmark.metrics.detection.matching import IouThreshold, ordered, overlapping
from fieldmark.metrics.detection.regions import CocoGiven, RegionTable, read_coco
from fieldmark.model.json import JsonObject
from fieldmark.values.annotations import problem_of
from fieldmark.values.arrays import Flags, Integers

_RECALLS: Final = 11


def pascal_ap(
    ground_truth: CocoGiven,
    detections: Iterable[Mapping[str, object]],
    *,
    iou_threshold: float = 0.5,
    pixels: bool = False,
) -> JsonObject:
    """Compute PASCAL VOC average precision in both variants, from the objects of COCO files.

    With `pixels`, coordinates are pixel indexes as in PASCAL VOC files: a box includes its last row
    and column.

    >>> truth = [{"image_id": 1, "category_id": 7, "bbox": [0, 0, 10, 10]}]
    >>> found = [{"image_id": 1, "category_id": 7, "bbox": [0, 0, 10, 8], "score": 0.9}]
    >>> pascal_ap(truth, found)["every_point"]
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
        found = np.cumsum(right[counted & (label_of == number)])
        precision, recall = found / np.arange(1, len(found) + 1), found / expected
        # The area below the curve of the best precision at each recall or above.
        envelope = np.maximum.accumulate(precision[::-1])[::-1]
        every_point = float(np.sum(np.diff(recall, prepend=0.0) * envelope))
        # The mean of the best precision at recalls of at least 0, 0.1, … 1.
        levels = np.linspace(0.0, 1.0, _RECALLS)
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
    found = ordered(table, len(table.score) + 1)
    order = np.argsort(table.truth_key, kind="stable")
    pairs = overlapping(table, found, order, threshold, margin)
    # The region that each detection overlaps most, the first one if tied; -1 if there is none.
    truth = np.full(len(found.key), -1, dtype=np.intp)
    by_overlap = np.lexsort((-pairs.truth, pairs.iou, pairs.detection))
    truth[pairs.detection[by_overlap]] = pairs.truth[by_overlap]  # keeps the last one of each
    label = table.class_of(found.key)
    sequence = np.lexsort((-found.score, label))
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
