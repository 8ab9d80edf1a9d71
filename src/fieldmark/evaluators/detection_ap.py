"""Object detection: COCO and PASCAL VOC figures over a data set, F1 for each image."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final, TypeAlias

from fieldmark.compare.options import check_share, checked_choice
from fieldmark.errors import OptionError
from fieldmark.evaluators.base import UNREADABLE, Score
from fieldmark.evaluators.field_evaluator import MAX_ROWS, check_limit, confusion
from fieldmark.evaluators.path_values import check_value_path, find_values, values_at
from fieldmark.metrics.conventions import ZeroRule
from fieldmark.metrics.detection.coco import AREAS, MAX_DETECTIONS, CocoSettings, coco_figures
from fieldmark.metrics.detection.matching import match_image
from fieldmark.metrics.detection.pascal import pascal_figures
from fieldmark.metrics.detection.regions import DetectedRegion, Extent, Regions, TruthRegion
from fieldmark.metrics.rates import f1
from fieldmark.metrics.verdict import verdict_at
from fieldmark.model.counts import Counts
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.values.boxes import BoxFormat, read_shape
from fieldmark.values.canonical import canonical_text
from fieldmark.values.numbers import as_number
from fieldmark.values.paths import ROOT

__all__ = ["DetectionAp", "DetectionTally"]

_NO_CLASS: Final = "object"
"""The class of regions without one."""
_NOWHERE: Final[Extent] = (0.0, 0.0, 0.0, 0.0)
_LAST: Final = float("-inf")
_SIZE: Final = 4
_ITEMS: Final = "[]"


_Invalid: TypeAlias = dict[int, str]
"""Why boxes could not be read, by position."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionPaths:
    """The paths to regions; values at the same position of their lists belong together.

    An unreadable box is a region without area, which overlaps nothing. A detection without a
    readable score comes last. `crowd` is the path to the flags of the regions, or if it ends in
    `[]` to a separate list of crowds.
    """

    boxes: str
    label: str | None
    score: str | None
    area: str | None
    crowd: str | None
    form: BoxFormat

    def truths(self, document: JsonValue | Missing) -> tuple[list[TruthRegion], _Invalid]:
        """The regions of a ground truth, crowds of a separate list last."""
        crowd = self.crowd or ""
        separate = crowd.endswith(_ITEMS)
        extents, invalid = self._extents(document)
        count = len(extents)
        flags = _column(document, None if separate else self.crowd, count)
        columns = (
            extents,
            map(_label, _column(document, self.label, count)),
            map(_number, _column(document, self.area, count)),
            (flag is True or flag == 1 for flag in flags),
        )
        regions = [TruthRegion(*row) for row in zip(*columns, strict=True)]
        if separate:
            # The paths inside of regions[] hold inside of crowd[], too.
            boxes, label, area = (
                None if path is None else crowd + path.rpartition(_ITEMS)[2]
                for path in (self.boxes, self.label, self.area)
            )
            paths = replace(self, boxes=boxes or crowd, label=label, area=area, crowd=None)
            regions += [each._replace(crowd=True) for each in paths.truths(document)[0]]
        return regions, invalid

    def detections(self, document: JsonValue | Missing) -> tuple[list[DetectedRegion], _Invalid]:
        """The detections of a candidate."""
        extents, invalid = self._extents(document)
        count = len(extents)
        labels = map(_label, _column(document, self.label, count))
        scores = [1.0] * count
        if self.score is not None:
            numbers = map(_number, _column(document, self.score, count))
            scores = [_LAST if number is None else number for number in numbers]
        rows = zip(extents, labels, scores, strict=True)
        return [DetectedRegion(*row) for row in rows], invalid

    def _extents(self, document: JsonValue | Missing) -> tuple[list[Extent], _Invalid]:
        """The corner and the size of each box."""
        extents: list[Extent] = []
        invalid: _Invalid = {}
        for place, value in enumerate(values_at(document, self.boxes)):
            shape = read_shape(None if value is MISSING else value, self.form)
            if isinstance(shape, str):
                invalid[place] = shape
                extents.append(_NOWHERE)
                continue
            left, top, right, bottom, _ = shape.box
            width, height = right - left, bottom - top
            if self.form is BoxFormat.XYWH and isinstance(value, list):
                # Exactly as written, without the rounding of a difference.
                width, height = (float(number) for number in value[2:_SIZE])  # type: ignore[arg-type]
            extents.append((left, top, width, height))
        return extents, invalid


def _column(
    document: JsonValue | Missing, path: str | None, count: int
) -> list[JsonValue | Missing]:
    """As many values at a path as there are boxes."""
    found = [] if path is None else values_at(document, path)[:count]
    return found + [MISSING] * (count - len(found))


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
    """Average precision of detected regions over a data set; a case alone scores its F1.

    `boxes` names the boxes of both documents; `class`, `score`, `area` and `crowd` what belongs
    to each of them. Classes that differ never match. A crowd may be found any number of times, or
    not at all; `crowd` names their flags, or as `crowd[]` a list of crowds kept apart. Without an
    area it is that of the box; polygons count by their bounding rectangle.

    >>> found = DetectionAp().evaluate(
    ...     {"regions": [{"bbox": [0, 0, 9, 9], "class": "car"}]},
    ...     {"regions": [{"bbox": [0, 0, 9, 8], "class": "car", "score": 0.9}]},
    ... )
    >>> found.score, found.hits
    (1.0, ('regions[0].bbox',))
    """

    name: ClassVar[str] = "detection_ap"
    boxes: str = "regions[].bbox"
    class_: str | None = "regions[].class"
    score: str | None = "regions[].score"
    area: str | None = None
    crowd: str | None = None
    format: BoxFormat = BoxFormat.XYXY
    iou_thresholds: tuple[float, ...] | None = None
    max_detections: tuple[int, ...] = MAX_DETECTIONS
    areas: Mapping[str, tuple[float, ...]] = field(default_factory=lambda: dict(AREAS))
    iou_threshold: float = 0.5
    pixels: bool = False
    pass_threshold: float = 0.8
    max_rows: int = MAX_ROWS
    _paths: RegionPaths = field(init=False, repr=False, compare=False)
    _settings: CocoSettings = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        columns = {
            "boxes": self.boxes,
            "class": self.class_,
            "score": self.score,
            "area": self.area,
            "crowd": self.crowd,
        }
        for option, path in columns.items():
            if path is not None:
                check_value_path(option, path)
        form = checked_choice("format", self.format, BoxFormat)
        if not 0 < self.iou_threshold <= 1:
            raise OptionError("iou_threshold", "must be a number above 0 and up to 1")
        check_share("pass_threshold", self.pass_threshold)
        check_limit("max_rows", self.max_rows)
        paths = RegionPaths(
            boxes=self.boxes,
            label=self.class_,
            score=self.score,
            area=self.area,
            crowd=self.crowd,
            form=form,
        )
        settings = CocoSettings(
            iou_thresholds=self.iou_thresholds,
            max_detections=self.max_detections,
            areas=self.areas,
        )
        object.__setattr__(self, "_paths", paths)
        object.__setattr__(self, "_settings", settings)

    def start(self) -> DetectionTally:
        """A new accumulator of images."""
        return DetectionTally(self, self._paths, self._settings)

    def evaluate(
        self, expected: JsonValue, candidate: JsonValue | Missing, *, unreadable: bool = False
    ) -> Score:
        """Score one image alone."""
        return self.start().add(expected, candidate, unreadable=unreadable)


class DetectionTally:
    """The regions of all images so far."""

    __slots__ = ("_options", "_paths", "_regions", "_settings")

    def __init__(self, options: DetectionAp, paths: RegionPaths, settings: CocoSettings) -> None:
        self._options = options
        self._paths = paths
        self._settings = settings
        self._regions = Regions()

    def add(
        self, expected: JsonValue, candidate: JsonValue | Missing, *, unreadable: bool = False
    ) -> Score:
        """Add an image, and return its own F1; an unreadable one has no detections."""
        options = self._options
        if unreadable:
            candidate = MISSING
        truths, invalid_truths = self._paths.truths(expected)
        detections, invalid_detections = self._paths.detections(candidate)
        self._regions.add(truths, detections)
        match = match_image(truths, detections, options.iou_threshold, options.max_detections[-1])
        truth_paths = [each.path for each in find_values(expected, options.boxes)]
        paths = [each.path for each in find_values(candidate, options.boxes)]
        lost = [
            f"{truth_paths[place]} ({invalid_truths.get(place, 'not detected')})"
            for place in match.lost
        ]
        invented = [
            f"{paths[place]} ({invalid_detections.get(place, 'unexpected')})"
            for place in match.invented
        ]
        unread = [f"{ROOT} ({UNREADABLE})"] if candidate is MISSING else []
        counts = Counts(tp=len(match.pairs), fp=len(invented), fn=len(lost))
        nothing = not any(counts) and not unread
        score = 1.0 if nothing else f1(counts, ZeroRule.ZERO) or 0.0
        rows: list[JsonValue] = [
            {"expected_idx": truth, "parsed_idx": detection, "iou": iou}
            for truth, detection, iou in match.pairs
        ]
        return Score(
            score=score,
            verdict=verdict_at(score, options.pass_threshold),
            hits=tuple(truth_paths[pair[0]] for pair in match.pairs),
            misses=(*unread, *lost, *invented),
            reasoning=f"{counts.tp} of {counts.tp + counts.fn} regions found, {counts.fp} invented",
            details={
                "iou_threshold": options.iou_threshold,
                **confusion(counts, ZeroRule.UNDEFINED),
                "alignment": rows[: options.max_rows],
                "alignment_total": len(rows),
            },
            vacuous=nothing,
        )

    def merge(self, other: DetectionTally) -> None:
        """Add the images of another part of the data set after these."""
        self._regions.merge(other._regions)

    def summary(self) -> JsonObject:
        """COCO and PASCAL VOC figures, over all classes and for each."""
        options, table = self._options, self._regions.table()
        coco = coco_figures(table, self._settings)
        pascal = pascal_figures(table, iou_threshold=options.iou_threshold, pixels=options.pixels)
        coco_classes, pascal_classes = coco.pop("classes"), pascal.pop("classes")
        assert isinstance(coco_classes, dict)  # noqa: S101 - made above
        assert isinstance(pascal_classes, dict)  # noqa: S101 - made above
        return {
            "images": table.images,
            "regions": len(table.truth_key),
            "detections": len(table.found_key),
            **coco,
            "pascal": pascal,
            "classes": {
                label: {**figures, "pascal": pascal_classes[label]}  # type: ignore[dict-item]
                for label, figures in coco_classes.items()
            },
        }
