"""Compare boxes and polygons by their intersection over union (IoU)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, TypeAlias

from fieldmark.errors import MissingExtra
from fieldmark.model.comparison import ComparatorGroup, Comparison, mismatch
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.values.annotations import Length, Share
from fieldmark.values.arrays import Floats
from fieldmark.values.geometry import (
    BoxFormat,
    PolygonMethod,
    Scale,
    Shape,
    as_floats,
    overlap,
    overlaps,
    read_shape,
    require_shapely,
)
from fieldmark.values.strategy_options import check_options

_POINT: Final = 2
_FlatScale: TypeAlias = Annotated[Scale, Length(ge=2, le=2, noun="number")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Iou:
    """Match boxes or polygons whose IoU is at least `threshold`; the score is the IoU.

    If the sides use different formats, set `expected_format` and `candidate_format`. If the
    sides use different units, `expected_scale` and `candidate_scale` are factors for x and y.
    Polygons are intersected exactly, or by their bounding rectangles with `polygon: bounds`.
    """

    name: ClassVar[str] = "iou"
    group: ClassVar[ComparatorGroup] = ComparatorGroup.PLACES
    normalization: ClassVar[str] = "values are read as boxes or polygons"
    # The IoU of a box without area with itself is 0.
    reflexive: ClassVar[bool] = False
    format: BoxFormat = BoxFormat.XYXY
    expected_format: BoxFormat | None = None
    candidate_format: BoxFormat | None = None
    threshold: Share = 0.5
    polygon: PolygonMethod = PolygonMethod.EXACT
    expected_scale: _FlatScale | None = None
    candidate_scale: _FlatScale | None = None

    def __post_init__(self) -> None:
        check_options(self)
        object.__setattr__(self, "expected_scale", as_floats(self.expected_scale))
        object.__setattr__(self, "candidate_scale", as_floats(self.candidate_scale))
        if self.polygon is PolygonMethod.EXACT and BoxFormat.POLYGON in self._formats:
            require_shapely()

    @property
    def _formats(self) -> tuple[BoxFormat, BoxFormat]:
        return self.expected_format or self.format, self.candidate_format or self.format

    @property
    def min_similarity(self) -> float:
        """The lowest similarity that matches."""
        return self.threshold

    def is_list(self, value: list[JsonValue]) -> bool:
        """Whether a list contains shapes and is not itself a shape."""
        if BoxFormat.POLYGON in self._formats:
            return not value or any(map(_is_shape, value))
        return not value or any(isinstance(item, list | dict) for item in value)

    def read(self, expected: JsonValue, candidate: JsonValue) -> tuple[Shape | str, Shape | str]:
        """Return both values as shapes, or the reasons why they are invalid."""
        expected_format, candidate_format = self._formats
        return (
            read_shape(expected, expected_format, self.expected_scale),
            read_shape(candidate, candidate_format, self.candidate_scale),
        )

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Match shapes whose IoU reaches the threshold.

        >>> Iou(format="xywh").compare([0, 0, 10, 10], [0, 0, 10, 8]).score
        0.8
        """
        expected_shape, candidate_shape = self.read(expected, candidate)
        if isinstance(candidate_shape, str):
            return Comparison.wrong_type(Reason.INVALID_SHAPE, note=candidate_shape)
        if isinstance(expected_shape, str):
            invalid = Comparison.differs(
                Reason.INVALID_SHAPE, note=f"expected value: {expected_shape}"
            )
            return mismatch(expected, candidate, invalid)
        try:
            shape_overlap = overlap(expected_shape, candidate_shape, self.polygon)
        except MissingExtra as missing:
            # Values can be polygons even if the options do not name that format.
            return Comparison.error(Reason.PROVIDER_FAILED, note=str(missing))
        if isinstance(shape_overlap, str):
            return Comparison.wrong_type(Reason.INVALID_SHAPE, note=shape_overlap)
        return Comparison.graded(shape_overlap.iou, self.threshold)

    def similarities(self, expected: Sequence[JsonValue], candidate: Sequence[JsonValue]) -> Floats:
        """Return the IoU of every pair of values; 0 if one of them is not a shape."""
        expected_shapes = [self.read(value, None)[0] for value in expected]
        candidate_shapes = [self.read(None, value)[1] for value in candidate]
        return overlaps(expected_shapes, candidate_shapes, self.polygon)


def _is_shape(item: JsonValue) -> bool:
    """Whether an item is a shape and not a point of a polygon."""
    if isinstance(item, list):
        return len(item) != _POINT or any(isinstance(inner, list) for inner in item)
    return isinstance(item, dict)
