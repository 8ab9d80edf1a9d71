"""How far points are from the places where they should be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

from fieldmark.compare.distance import Distance, is_near
from fieldmark.evaluators.by_shape import ShapeEvaluator
from fieldmark.evaluators.shape_pairs import Matching, Measured, Ruler, aligner_for
from fieldmark.model.alignment import Aligner
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.values.boxes import Scale
from fieldmark.values.points import Metric, likeness

__all__ = ["CoordinateDistance"]

_PASS: Final = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinateDistance(ShapeEvaluator):
    """How near a point is to the expected one, or the mean over two lists of points.

    With a `threshold` a point scores 1 within that distance and 0 beyond; without one it scores
    1 / (1 + distance). Lists are paired by place or by nearness; what stays alone counts 0.

    >>> points = CoordinateDistance(path="at", metric="manhattan")
    >>> points.evaluate({"at": [10, 20]}, {"at": [13, 24]}).details["distance"]
    7.0
    """

    name: ClassVar[str] = "coordinate_distance"
    noun: ClassVar[str] = "points"
    metric: Metric = Metric.EUCLIDEAN
    threshold: float | None = None

    @property
    def _needed(self) -> float:
        return _PASS if self.pass_threshold is None else self.pass_threshold

    def _made(self, expected_scale: Scale | None, candidate_scale: Scale | None) -> Ruler:
        distance = Distance(
            metric=self.metric,
            threshold=0.0 if self.threshold is None else self.threshold,
            expected_scale=expected_scale,
            candidate_scale=candidate_scale,
        )
        return _DistanceRuler(distance, self.threshold, self._needed, Matching(self.matching))

    def _is_list(self, value: list[JsonValue]) -> bool:
        return not value or any(isinstance(item, list | dict) for item in value)

    def _settings(self) -> JsonObject:
        return {"metric": self.metric, "threshold": self.threshold}


class _DistanceRuler(NamedTuple):
    """Measures distance."""

    comparator: Distance
    threshold: float | None
    needed: float
    matching: Matching

    def measure(self, expected: JsonValue, candidate: JsonValue) -> Measured:
        """How near two values are, which is 0 if one of them is no point."""
        ours, theirs = self.comparator.read(expected, candidate)
        if isinstance(ours, str):
            return _invalid(f"the expected value: {ours}")
        if isinstance(theirs, str):
            return _invalid(theirs)
        apart = self.comparator.apart(ours, theirs)
        if isinstance(apart, str):
            return _invalid(apart)
        said = f"distance {apart:.6g}"
        figures: JsonObject = {"distance": apart}
        if self.threshold is None:
            score = likeness(apart)
            return Measured(score, score >= self.needed - 1e-9, figures, said)
        near = is_near(apart, self.threshold)
        beyond = "" if near else f", beyond {self.threshold:g}"
        return Measured(float(near), near, figures, said + beyond)

    def aligner(self) -> Aligner:
        """Who pairs lists of points: by nearness, unless by place."""
        least = 0.0 if self.threshold is None else None
        return aligner_for(self.matching, self.comparator, least)


def _invalid(reason: str) -> Measured:
    figures: JsonObject = {"distance": None, "reason": reason}
    return Measured(score=0.0, enough=False, figures=figures, said=reason)
