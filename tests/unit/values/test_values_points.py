"""Valid and invalid points, and distances."""

from __future__ import annotations

import math

import pytest

from fieldmark.values.geometry import Metric, distance, distance_similarity, distances, read_point

EUCLIDEAN, MANHATTAN, COSINE = Metric


@pytest.mark.parametrize(
    ("expected", "candidate", "metric", "apart"),
    [
        pytest.param((10, 20), (13, 24), EUCLIDEAN, 5.0, id="euclidean"),
        pytest.param((10, 20), (13, 24), MANHATTAN, 7.0, id="manhattan"),
        pytest.param((3, 4), (6, 8), COSINE, 0.0, id="cosine-of-the-same-direction"),
        pytest.param((1, 0), (0, 1), COSINE, 1.0, id="cosine-of-a-right-angle"),
        pytest.param((1, 0), (-1, 0), COSINE, 2.0, id="cosine-of-opposite-directions"),
        pytest.param((0, 0), (3, 4), COSINE, 1.0, id="zero-vector-has-no-direction"),
        pytest.param((0, 0), (0, 0), COSINE, 1.0, id="two-zero-vectors"),
        pytest.param((1e-200, 0), (5, 0), COSINE, 0.0, id="tiny-vector-has-a-direction"),
        pytest.param((1e-200, 0), (1e-200, 0), COSINE, 0.0, id="two-tiny-vectors"),
        pytest.param((1, 2, 3), (1, 2, 3), EUCLIDEAN, 0.0, id="same-place-in-space"),
        pytest.param((0, 0, 0), (1, 2, 2), EUCLIDEAN, 3.0, id="euclidean-in-space"),
        pytest.param((0, 0, 0), (1, 2, 2), MANHATTAN, 5.0, id="manhattan-in-space"),
        pytest.param((7,), (4,), EUCLIDEAN, 3.0, id="on-a-line"),
        pytest.param((0,) * 9, (1,) * 9, EUCLIDEAN, 3.0, id="in-nine-dimensions"),
    ],
)
def test_distance(expected, candidate, metric, apart):
    assert distance(expected, candidate, metric) == apart
    matrix = distances([expected], [candidate], metric)
    assert matrix[0, 0] == pytest.approx(apart, abs=1e-15)


@pytest.mark.parametrize("metric", Metric)
def test_points_of_different_dimensions_cannot_be_compared(metric):
    assert distance((1, 2), (1, 2, 3), metric) == "dimension mismatch: 2 and 3"
    matrix = distances([(1, 2), "no point"], [(1, 2, 3), (1, 2)], metric)
    assert matrix[0, 0] == matrix[1, 0] == matrix[1, 1] == math.inf
    assert matrix[0, 1] == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize(
    ("value", "point"),
    [
        pytest.param([3, 4], (3, 4), id="list-of-numbers"),
        pytest.param({"coordinates": [3, 4]}, (3, 4), id="object-with-coordinates"),
        pytest.param([], "invalid point: expected a list of numbers", id="no-coordinates"),
        pytest.param("3,4", "invalid point: expected a list of numbers", id="text"),
        pytest.param({"x": 3}, "invalid point: expected a list of numbers", id="object-without-coordinates"),
        pytest.param([3, None], "invalid point: coordinates must be numbers", id="null-coordinate"),
        pytest.param([3, float("nan")], "invalid point: a coordinate is not finite", id="not-finite"),
        pytest.param([[3, 4]], "invalid point: coordinates must be numbers", id="list-of-points"),
    ],
)  # fmt: skip
def test_valid_and_invalid_points(value, point):
    assert read_point(value) == point


def test_scale_has_a_number_for_each_dimension():
    assert read_point([0.5, 0.5], (10, 20)) == (5, 10)
    assert read_point([1, 2, 3], (10, 20)) == "invalid point: 3 coordinates, but a scale for 2"


@pytest.mark.parametrize(("apart", "similarity"), [(0.0, 1.0), (1.0, 0.5), (4.0, 0.2)])
def test_similarity_decreases_with_distance(apart, similarity):
    assert distance_similarity(apart) == similarity
