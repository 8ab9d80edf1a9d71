"""PASCAL's average precision, over every point of the curve and over eleven."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from fieldmark.errors import OptionError
from fieldmark.metrics.detection.matching import ordered, overlapping
from fieldmark.metrics.detection.regions import CocoGiven, RegionTable, read_coco
from fieldmark.model.json import JsonObject

if TYPE_CHECKING:
    from fieldmark.metrics.arrays import Flags, Integers

__all__ = ["pascal_ap", "pascal_figures"]

_RECALLS: Final = 11


class _Judged(NamedTuple):
    """Detections by class and descending score, and the number of regions of each class."""

    right: Flags
    counted: Flags
    label: Integers
    wanted: Integers


def pascal_ap(
    ground_truth: CocoGiven,
    detections: Iterable[Mapping[str, object]],
    *,
    iou_threshold: float = 0.5,
    pixels: bool = False,
) -> JsonObject:
    """PASCAL VOC's average precision both ways, from objects as COCO files hold them.

    With `pixels`, coordinates name pixels, as in PASCAL's own files: a box includes its last row
    and column.

    >>> truth = [{"image_id": 1, "category_id": 7, "bbox": [0, 0, 10, 10]}]
    >>> found = [{"image_id": 1, "category_id": 7, "bbox": [0, 0, 10, 8], "score": 0.9}]
    >>> pascal_ap(truth, found)["every_point"]
    1.0
    """
    table = read_coco(ground_truth, detections)
    return pascal_figures(table, iou_threshold=iou_threshold, pixels=pixels)


def pascal_figures(
    table: RegionTable, *, iou_threshold: float = 0.5, pixels: bool = False
) -> JsonObject:
    """The means over all classes with regions, and the figures of each class under `classes`."""
    if not 0 < iou_threshold <= 1:
        raise OptionError("iou_threshold", "must be a number above 0 and up to 1")
    import numpy as np

    judged = _judged(table, iou_threshold, 1.0 if pixels else 0.0)
    classes: JsonObject = {}
    points: list[tuple[float, float]] = []
    for number, label in enumerate(table.labels):
        wanted = int(judged.wanted[number])
        if not wanted:
            classes[label] = {"every_point": None, "eleven_point": None}
            continue
        found = np.cumsum(judged.right[judged.counted & (judged.label == number)])
        precision, recall = found / np.arange(1, len(found) + 1), found / wanted
        # The area below the curve of the best precision at each recall or above.
        envelope = np.maximum.accumulate(precision[::-1])[::-1]
        every_point = float(np.sum(np.diff(recall, prepend=0.0) * envelope))
        # The mean of the best precision at the recalls 0, 0.1, … 1 or above.
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


def _judged(table: RegionTable, threshold: float, margin: float) -> _Judged:
    """Every detection against the region that it overlaps most, be that free or not."""
    import numpy as np

    found = ordered(table, len(table.score) + 1)
    order = np.argsort(table.truth_key, kind="stable")
    pairs = overlapping(table, found, order, threshold, margin)
    # The region that each detection overlaps most, the first of equals; -1 for none.
    truth = np.full(len(found.key), -1, dtype=np.intp)
    by_overlap = np.lexsort((-pairs.truth, pairs.iou, pairs.detection))
    truth[pairs.detection[by_overlap]] = pairs.truth[by_overlap]  # the last one of each stays
    label = table.class_of(found.key)
    sequence = np.lexsort((-found.score, label))
    truth, label = truth[sequence], label[sequence]
    hits = np.flatnonzero(truth >= 0)
    # The detection of a region with the highest score is right, and every other one is wrong.
    _, first = np.unique(truth[hits], return_index=True)
    right = np.zeros(len(truth), dtype=np.bool_)
    right[hits[first]] = True
    crowd = table.crowd[order]
    passed_over = np.zeros(len(truth), dtype=np.bool_)
    passed_over[hits] = crowd[truth[hits]]
    kept = table.class_of(table.truth_key)[~table.crowd]
    wanted = np.bincount(kept, minlength=len(table.labels))
    return _Judged(right & ~passed_over, ~passed_over, label, wanted)
