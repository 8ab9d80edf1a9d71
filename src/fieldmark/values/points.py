"""Points of any dimension in JSON values, and their distances."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from operator import sub
from typing import Final, TypeAlias

import numpy as np

from fieldmark.model.json import JsonValue
from fieldmark.values.arrays import Floats
from fieldmark.values.boxes import Scale, coordinates_of, read_numbers

Point: TypeAlias = tuple[float, ...]

NOT_A_POINT: Final = "invalid point"


class Metric(StrEnum):
    """A distance metric."""

    EUCLIDEAN = "euclidean"
    MANHATTAN = "manhattan"
    COSINE = "cosine"


def read_point(value: JsonValue, scale: Scale | None = None) -> Point | str:
    """Return the point of a value, or a description of the problem.

    A value is a list of numbers or `{coordinates}`.

    >>> read_point([3, 4]), read_point([3, "4"])
    ((3.0, 4.0), 'invalid point: coordinates must be numbers')
    """
    value = coordinates_of(value)
    if not isinstance(value, list) or not value:
        return f"{NOT_A_POINT}: expected a list of numbers"
    numbers = read_numbers(value)
    if isinstance(numbers, str):
        return f"{NOT_A_POINT}: {numbers}"
    if scale is None:
        return tuple(numbers)
    if len(scale) != len(numbers):
        return f"{NOT_A_POINT}: {len(numbers)} coordinates, but a scale for {len(scale)}"
    return tuple(number * unit for number, unit in zip(numbers, scale, strict=True))


def distance(expected: Point, candidate: Point, metric: Metric) -> float | str:
    """Return the distance of two points, or why they cannot be compared.

    >>> distance((10, 20), (13, 24), Metric.EUCLIDEAN), distance((10,), (13, 24), Metric.COSINE)
    (5.0, 'dimension mismatch: 1 and 2')
    """
    if len(expected) != len(candidate):
        return f"dimension mismatch: {len(expected)} and {len(candidate)}"
    return _DISTANCES[metric](expected, candidate)


def distance_similarity(apart: float) -> float:
    """Convert a distance to a similarity, which is 1 for distance 0 and decreases towards 0.

    >>> distance_similarity(0.0), distance_similarity(4.0)
    (1.0, 0.2)
    """
    return 1.0 / (1.0 + apart)


def distances(
    expected: Sequence[Point | str], candidate: Sequence[Point | str], metric: Metric
) -> Floats:
    """Return the distances of all pairs of points; infinite if their dimensions differ."""
    from scipy.spatial.distance import cdist

    apart = np.full((len(expected), len(candidate)), np.inf)
    ours, theirs = _by_dimension(expected), _by_dimension(candidate)
    for dimension in ours.keys() & theirs.keys():
        places, others = ours[dimension], theirs[dimension]
        left = np.array([expected[place] for place in places], dtype=np.float64)
        right = np.array([candidate[place] for place in others], dtype=np.float64)
        if metric is Metric.COSINE:
            # A zero vector has no direction; its row of zeros gives the distance 1.
            found = np.clip(1.0 - _unit_rows(left) @ _unit_rows(right).T, 0.0, 2.0)
        else:
            found = cdist(left, right, "euclidean" if metric is Metric.EUCLIDEAN else "cityblock")
        apart[np.ix_(places, others)] = found
    return apart


def _unit_rows(rows: Floats) -> Floats:

    greatest = np.abs(rows).max(axis=1, keepdims=True)
    rows = np.divide(rows, greatest, out=np.zeros_like(rows), where=greatest > 0)
    lengths = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    units: Floats = np.divide(rows, lengths, out=rows, where=lengths > 0)
    return units


def _by_dimension(points: Sequence[Point | str]) -> dict[int, list[int]]:
    places: dict[int, list[int]] = {}
    for place, point in enumerate(points):
        if not isinstance(point, str):
            places.setdefault(len(point), []).append(place)
    return places


def _cosine(expected: Point, candidate: Point) -> float:
    """Return one minus the cosine of the angle, or 1 for a zero vector, which has no direction."""
    lengths = math.hypot(*expected) * math.hypot(*candidate)
    if not lengths:
        ours, theirs = _unit(expected), _unit(candidate)
        return 1.0 if ours is None or theirs is None else _cosine(ours, theirs)
    dot = math.fsum(one * other for one, other in zip(expected, candidate, strict=True))
    return min(max(1.0 - dot / lengths, 0.0), 2.0)


def _unit(point: Point) -> Point | None:
    """Return the point scaled to a greatest coordinate of 1, so that products do not underflow."""
    greatest = max(map(abs, point))
    return tuple(number / greatest for number in point) if greatest else None


_DISTANCES: Final[Mapping[Metric, Callable[[Point, Point], float]]] = {
    Metric.EUCLIDEAN: math.dist,
    Metric.MANHATTAN: lambda one, other: math.fsum(map(abs, map(sub, one, other))),
    Metric.COSINE: _cosine,
}
