"""Object detection: COCO and PASCAL VOC figures over a data set, F1 for each image."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final, Generic, NamedTuple, TypeVar

from fieldmark.compare.options import check_share, checked_choice
from fieldmark.errors import OptionError
from fieldmark.evaluators.base import UNREADABLE, Score
from fieldmark.evaluators.field_evaluator import MAX_ROWS, check_limit, confusion
from fieldmark.evaluators.path_values import check_value_path, find_values, values_at
from fieldmark.metrics.conventions import ZeroRule
from fieldmark.metrics.detection.coco import AREAS, MAX_DETECTIONS, CocoSettings, coco_figures
from fieldmark.metrics.detection.matching import ImageMatch, match_image
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

Region = TypeVar("Region", TruthRegion, DetectedRegion)

_NO_CLASS: Final = "object"
"""The class of regions without one."""
_NOWHERE: Final[Extent] = (0.0, 0.0, 0.0, 0.0)
_LAST: Final = float("-inf")
_SIZE: Final = 4
_ITEMS: Final = "[]"


class RegionsRead(NamedTuple, Generic[Region]):
    """The regions of one document, and why boxes could not be read, by position."""

    regions: list[Region]
    invalid: dict[int, str]


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

    def truths(self, document: JsonValue | Missing) -> RegionsRead[TruthRegion]:
        """The regions of a ground truth, crowds of a separate list last."""
        if self.crowd is None or not self.crowd.endswith(_ITEMS):
            return self._truths(document)
        boxes, label, area = (_in_list(self.crowd, p) for p in (self.boxes, self.label, self.area))
        apart = replace(self, boxes=boxes or self.crowd, label=label, area=area, crowd=None)
        regions, invalid = replace(self, crowd=None).truths(document)
        crowds = [each._replace(crowd=True) for each in apart.truths(document).regions]
        return RegionsRead([*regions, *crowds], invalid)

    def _truths(self, document: JsonValue | Missing) -> RegionsRead[TruthRegion]:
        extents, invalid = self._extents(document)
        count = len(extents)
        columns = (
            extents,
            map(_label, _column(document, self.label, count)),
            map(_number, _column(document, self.area, count)),
            (flag is True or flag == 1 for flag in _column(document, self.crowd, count)),
        )
        return RegionsRead([TruthRegion(*row) for row in zip(*columns, strict=True)], invalid)

    def detections(self, document: JsonValue | Missing) -> RegionsRead[DetectedRegion]:
        """The detections of a candidate."""
        extents, invalid = self._extents(document)
        count = len(extents)
        columns = (
            extents,
            map(_label, _column(document, self.label, count)),
            map(self._score, _column(document, self.score, count)),
        )
        return RegionsRead([DetectedRegion(*row) for row in zip(*columns, strict=True)], invalid)

    def _extents(self, document: JsonValue | Missing) -> tuple[list[Extent], dict[int, str]]:
        extents: list[Extent] = []
        invalid: dict[int, str] = {}
        for place, value in enumerate(values_at(document, self.boxes)):
            extent = self._extent(value)
            if isinstance(extent, str):
                invalid[place] = extent
                extent = _NOWHERE
            extents.append(extent)
        return extents, invalid

    def _score(self, score: JsonValue | Missing) -> float:
        if self.score is None:
            return 1.0
        number = _number(score)
        return _LAST if number is None else number

    def _extent(self, value: JsonValue | Missing) -> Extent | str:
        """A corner and a size, exactly as written if that is the format of the box."""
        read = read_shape(None if value is MISSING else value, self.form)
        if isinstance(read, str):
            return read
        left, top, right, bottom, _ = read.box
        if self.form is BoxFormat.XYWH and isinstance(value, list):
            width, height = (float(number) for number in value[2:_SIZE])  # type: ignore[arg-type]
            return left, top, width, height
        return left, top, right - left, bottom - top


def _in_list(items: str, path: str | None) -> str | None:
    """A path inside the items of one list as a path inside those of another.

    >>> _in_list("crowd[]", "regions[].bbox")
    'crowd[].bbox'
    """
    return None if path is None else items + path.rpartition(_ITEMS)[2]


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
        return DetectionTally(self)

    def evaluate(
        self, expected: JsonValue, candidate: JsonValue | Missing, *, unreadable: bool = False
    ) -> Score:
        """Score one image alone."""
        return self.start().add(expected, candidate, unreadable=unreadable)

    def figures(self, regions: Regions) -> JsonObject:
        """The figures of all images."""
        table = regions.table()
        coco = coco_figures(table, self._settings)
        pascal = pascal_figures(table, iou_threshold=self.iou_threshold, pixels=self.pixels)
        ours, theirs = coco.pop("classes"), pascal.pop("classes")
        assert isinstance(ours, dict)  # noqa: S101 - made above
        assert isinstance(theirs, dict)  # noqa: S101 - made above
        return {
            "images": table.images,
            "regions": len(table.truth_key),
            "detections": len(table.found_key),
            **coco,
            "pascal": pascal,
            "classes": {
                label: {**own, "pascal": theirs[label]}  # type: ignore[dict-item]
                for label, own in ours.items()
            },
        }

    def add_image(
        self, regions: Regions, expected: JsonValue, candidate: JsonValue | Missing
    ) -> Score:
        """Add an image to the others, and return its own F1 at the IoU threshold."""
        ours, theirs = self._paths.truths(expected), self._paths.detections(candidate)
        regions.add(ours.regions, theirs.regions)
        most = self.max_detections[-1]
        found = match_image(ours.regions, theirs.regions, self.iou_threshold, most)
        here = [each.path for each in find_values(expected, self.boxes)]
        there = [each.path for each in find_values(candidate, self.boxes)]
        lost = [f"{here[n]} ({ours.invalid.get(n, 'not detected')})" for n in found.lost]
        invented = [f"{there[n]} ({theirs.invalid.get(n, 'unexpected')})" for n in found.invented]
        unread = [f"{ROOT} ({UNREADABLE})"] if candidate is MISSING else []
        counts = Counts(tp=len(found.pairs), fp=len(invented), fn=len(lost))
        nothing = not any(counts) and not unread
        score = 1.0 if nothing else f1(counts, ZeroRule.ZERO) or 0.0
        return Score(
            score=score,
            verdict=verdict_at(score, self.pass_threshold),
            hits=tuple(here[pair[0]] for pair in found.pairs),
            misses=(*unread, *lost, *invented),
            reasoning=f"{counts.tp} of {counts.tp + counts.fn} regions found, {counts.fp} invented",
            details=self._details(found, counts),
            vacuous=nothing,
        )

    def _details(self, found: ImageMatch, counts: Counts) -> JsonObject:
        rows: list[JsonValue] = [
            {"expected_idx": ours, "parsed_idx": theirs, "iou": iou}
            for ours, theirs, iou in found.pairs
        ]
        return {
            "iou_threshold": self.iou_threshold,
            **confusion(counts, ZeroRule.UNDEFINED),
            "alignment": rows[: self.max_rows],
            "alignment_total": len(rows),
        }


class DetectionTally:
    """The regions of all images so far."""

    __slots__ = ("_evaluator", "_regions")

    def __init__(self, evaluator: DetectionAp) -> None:
        self._evaluator = evaluator
        self._regions = Regions()

    def add(
        self, expected: JsonValue, candidate: JsonValue | Missing, *, unreadable: bool = False
    ) -> Score:
        """Add an image; an unreadable one has no detections."""
        return self._evaluator.add_image(
            self._regions, expected, MISSING if unreadable else candidate
        )

    def merge(self, other: DetectionTally) -> None:
        """Add the images of another part of the data set after these."""
        self._regions.merge(other._regions)

    def summary(self) -> JsonObject:
        """COCO and PASCAL VOC figures, over all classes and for each."""
        return self._evaluator.figures(self._regions)
