"""How far points are from the places where they should be."""

from __future__ import annotations

import pytest

from fieldmark.errors import OptionError
from fieldmark.evaluators.geometry import CoordinateDistance
from fieldmark.model.json import MISSING


@pytest.mark.parametrize(
    ("options", "expected", "candidate", "score", "apart", "verdict"),
    [
        pytest.param({}, [10, 20], [13, 24], 1 / 6, 5.0, "fail", id="euclidean"),
        pytest.param({"metric": "manhattan"}, [10, 20], [13, 24], 1 / 8, 7.0, "fail", id="manhattan"),
        pytest.param({"metric": "cosine"}, [3, 4], [6, 8], 1.0, 0.0, "pass", id="cosine"),
        pytest.param({"metric": "cosine"}, [0, 0], [6, 8], 0.5, 1.0, "fail", id="a-zero-vector"),
        pytest.param({}, [1, 2, 3], [1, 2, 3], 1.0, 0.0, "pass", id="the-same-place-in-space"),
        pytest.param({"threshold": 5}, [10, 20], [13, 24], 1.0, 5.0, "pass", id="within-the-threshold"),
        pytest.param({"threshold": 4}, [10, 20], [13, 24], 0.0, 5.0, "fail", id="beyond-the-threshold"),
        pytest.param({"pass_threshold": 0.1}, [10, 20], [13, 24], 1 / 6, 5.0, "pass", id="a-pass-threshold-decides"),
    ],
)  # fmt: skip
def test_one_point(options, expected, candidate, score, apart, verdict):
    got = CoordinateDistance(path="at", **options).evaluate({"at": expected}, {"at": candidate})
    assert (got.score, got.verdict) == (pytest.approx(score), verdict)
    assert got.details["distance"] == pytest.approx(apart)
    assert got.details["metric"] == options.get("metric", "euclidean")


@pytest.mark.parametrize(
    ("options", "expected", "candidate", "score", "hits"),
    [
        pytest.param({"threshold": 1}, [[0, 0], [9, 9]], [[0, 1], [9, 9]], 1.0, 2, id="by-place"),
        pytest.param({"threshold": 1}, [[0, 0], [9, 9]], [[0, 1]], 0.5, 1, id="a-missing-point-counts-0"),
        pytest.param({"threshold": 1, "matching": "greedy"}, [[0, 0], [9, 9]], [[9, 9], [0, 1]], 1.0, 2, id="greedily"),
        pytest.param({"threshold": 1, "matching": "optimal"}, [[0, 0], [9, 9]], [[9, 8], [5, 5]], 0.5, 1, id="optimally-within-the-threshold"),
        pytest.param({"matching": "greedy"}, [[0, 0], [9, 9]], [[9, 12], [0, 0]], (1 + 0.25) / 2, 1, id="without-a-threshold-the-nearest"),
        pytest.param({}, [], [], 1.0, 0, id="no-points-at-all"),
        pytest.param({}, [[0, 0]], [], 0.0, 0, id="one-empty-list"),
    ],
)  # fmt: skip
def test_lists_of_points(options, expected, candidate, score, hits):
    got = CoordinateDistance(path="at", **options).evaluate({"at": expected}, {"at": candidate})
    assert got.score == pytest.approx(score)
    assert len(got.hits) == hits


@pytest.mark.parametrize(
    ("expected", "candidate", "miss"),
    [
        pytest.param([1, 2], [1, 2, 3], "at (dimension mismatch: 2 and 3)", id="another-dimension"),
        pytest.param([1, 2], [1, None], "at (invalid point: not all coordinates are numbers)", id="a-null-coordinate"),
        pytest.param(["x", 2], [1, 2], "at (the expected value: invalid point: not all coordinates are numbers)", id="a-truth-that-is-no-point"),
        pytest.param([1, 2], MISSING, "at (required, missing)", id="absent"),
        pytest.param([1, 2], [1, 9], "at (distance 7, beyond 1)", id="too-far"),
    ],
)  # fmt: skip
def test_a_miss_scores_0_with_a_reason(expected, candidate, miss):
    other = {} if candidate is MISSING else {"at": candidate}
    got = CoordinateDistance(path="at", threshold=1).evaluate({"at": expected}, other)
    assert (got.score, got.misses) == (0.0, (miss,))


@pytest.mark.parametrize(
    ("options", "option"),
    [
        pytest.param({"metric": "haversine"}, "metric", id="an-unknown-metric"),
        pytest.param({"threshold": -1}, "threshold", id="a-negative-threshold"),
        pytest.param({"matching": "set"}, "matching", id="an-unknown-matching"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, option):
    with pytest.raises(OptionError) as caught:
        CoordinateDistance(**options)
    assert caught.value.option == option
