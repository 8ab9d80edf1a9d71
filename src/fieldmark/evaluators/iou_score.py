"""How well boxes and polygons cover the places where they should be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from fieldmark.compare.iou import Iou
from fieldmark.evaluators.by_shape import ShapeEvaluator
from fieldmark.evaluators.shape_pairs import Matching, Measured, Ruler, aligner_for
from fieldmark.model.alignment import Aligner
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.values.boxes import BoxFormat, Scale
from fieldmark.values.overlap import PolygonMethod

__all__ = ["IouScore"]

_POINT: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class IouScore(ShapeEvaluator):
    """The intersection over union of a box with the expected one, or the mean over two lists.

    Lists are paired by place, or by their overlap from `threshold` on; what stays alone counts 0.
    The score stays continuous, and `threshold` decides the verdict unless there is a
    `pass_threshold`.

    >>> score = IouScore(path="box").evaluate({"box": [10, 10, 30, 30]}, {"box": [20, 20, 40, 40]})
    >>> score.score == 100 / 700, score.misses
    (True, ('box (IoU 0.143, below 0.5)',))
    """

    name: ClassVar[str] = "iou_score"
    noun: ClassVar[str] = "boxes"
    format: BoxFormat = BoxFormat.XYXY
    expected_format: BoxFormat | None = None
    candidate_format: BoxFormat | None = None
    threshold: float = 0.5
    polygon: PolygonMethod = PolygonMethod.EXACT

    @property
    def _needed(self) -> float:
        return self.threshold if self.pass_threshold is None else self.pass_threshold

    def _made(self, expected_scale: Scale | None, candidate_scale: Scale | None) -> Ruler:
        iou = Iou(
            format=self.format,
            expected_format=self.expected_format,
            candidate_format=self.candidate_format,
            threshold=self.threshold,
            polygon=self.polygon,
            expected_scale=expected_scale,
            candidate_scale=candidate_scale,
        )
        return _OverlapRuler(iou, Matching(self.matching))

    def _is_list(self, value: list[JsonValue]) -> bool:
        formats = (self.format, self.expected_format, self.candidate_format)
        if BoxFormat.POLYGON not in formats:
            return not value or any(isinstance(item, list | dict) for item in value)
        return not value or any(_is_shape(item) for item in value)

    def _settings(self) -> JsonObject:
        return {"threshold": self.threshold}


def _is_shape(item: JsonValue) -> bool:
    """Whether an item is more than a point of a polygon."""
    if isinstance(item, list):
        return len(item) != _POINT or any(isinstance(inner, list) for inner in item)
    return isinstance(item, dict)


class _OverlapRuler(NamedTuple):
    """Measures overlap."""

    iou: Iou
    matching: Matching

    def measure(self, expected: JsonValue, candidate: JsonValue) -> Measured:
        """The overlap of two values, which is 0 if one of them is no shape."""
        iou = self.iou
        ours, theirs = iou.read(expected, candidate)
        if isinstance(ours, str):
            return _invalid(f"the expected value: {ours}")
        if isinstance(theirs, str):
            return _invalid(theirs)
        found = iou.overlap(ours, theirs)
        if isinstance(found, str):
            return _invalid(found)
        enough = found.iou >= iou.threshold - 1e-9
        said = f"IoU {found.iou:.3f}"
        return Measured(
            score=found.iou,
            enough=enough,
            figures=dict(found._asdict()),
            said=said if enough else f"{said}, below {iou.threshold:g}",
        )

    def aligner(self) -> Aligner:
        """Who pairs lists of shapes: by their overlap, unless by place."""
        return aligner_for(self.matching, self.iou)


def _invalid(reason: str) -> Measured:
    return Measured(score=0.0, enough=False, figures={"iou": 0.0, "reason": reason}, said=reason)
