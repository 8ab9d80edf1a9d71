"""Compare points by their distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from fieldmark.model.comparison import ComparatorGroup, Comparison, mismatch
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.values.annotations import NonNegativeFloat
from fieldmark.values.arrays import Floats
from fieldmark.values.geometry import (
    Metric,
    Point,
    Scale,
    as_floats,
    distance,
    distance_similarity,
    distances,
    read_point,
)
from fieldmark.values.strategy_options import check_options

_SLACK: Final = 1e-9


def is_near(apart: float, threshold: float) -> bool:
    """Whether a distance is within a threshold, allowing for rounding errors.

    >>> is_near(0.4 - 0.1, 0.3), is_near(0.31, 0.3)
    (True, False)
    """
    return apart <= threshold + _SLACK * max(1.0, threshold)


@dataclass(frozen=True, slots=True, kw_only=True)
class Distance:
    """Match points that are at most `threshold` apart, in any number of dimensions.

    The similarity of two points is 1 / (1 + distance). If the sides use different units,
    `expected_scale` and `candidate_scale` are factors for each coordinate.
    """

    name: ClassVar[str] = "distance"
    group: ClassVar[ComparatorGroup] = ComparatorGroup.PLACES
    normalization: ClassVar[str] = "values are read as points"
    # Equal values that are not points do not match, and a zero vector has no direction.
    reflexive: ClassVar[bool] = False
    metric: Metric = Metric.EUCLIDEAN
    threshold: NonNegativeFloat = 0.0
    expected_scale: Scale | None = None
    candidate_scale: Scale | None = None

    def __post_init__(self) -> None:
        check_options(self)
        object.__setattr__(self, "expected_scale", as_floats(self.expected_scale))
        object.__setattr__(self, "candidate_scale", as_floats(self.candidate_scale))

    @property
    def min_similarity(self) -> float:
        """The lowest similarity that matches."""
        return distance_similarity(self.threshold)

    def is_list(self, value: list[JsonValue]) -> bool:
        """Whether a list contains points and is not itself a point."""
        return not value or any(isinstance(item, list | dict) for item in value)

    def read(self, expected: JsonValue, candidate: JsonValue) -> tuple[Point | str, Point | str]:
        """Return both values as points, or the reasons why they are invalid."""
        return (
            read_point(expected, self.expected_scale),
            read_point(candidate, self.candidate_scale),
        )

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Match points within the threshold.

        >>> Distance(threshold=5).compare([10, 20], [13, 24]).matched
        True
        """
        expected_point, candidate_point = self.read(expected, candidate)
        if isinstance(candidate_point, str):
            return Comparison.wrong_type(Reason.INVALID_POINT, note=candidate_point)
        if isinstance(expected_point, str):
            invalid = Comparison.differs(
                Reason.INVALID_POINT, note=f"expected value: {expected_point}"
            )
            return mismatch(expected, candidate, invalid)
        apart = distance(expected_point, candidate_point, self.metric)
        if isinstance(apart, str):
            return Comparison.wrong_type(Reason.DIMENSION_MISMATCH, note=apart)
        similarity = distance_similarity(apart)
        if is_near(apart, self.threshold):
            return Comparison(matched=True, score=1.0, similarity=similarity)
        return Comparison(matched=False, similarity=similarity, reason=Reason.OUTSIDE_TOLERANCE)

    def similarities(self, expected: Sequence[JsonValue], candidate: Sequence[JsonValue]) -> Floats:
        """Return the similarity of every pair of values; 0 if one of them is not a point."""
        expected_points = [self.read(value, None)[0] for value in expected]
        candidate_points = [self.read(None, value)[1] for value in candidate]
        similarities: Floats = 1.0 / (
            1.0 + distances(expected_points, candidate_points, self.metric)
        )
        return similarities
