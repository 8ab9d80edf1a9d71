"""Comparison of points by distance."""

from __future__ import annotations

import pytest

from fieldmark.compare.distance import Distance
from fieldmark.model.outcome import Reason


@pytest.mark.parametrize(
    ("options", "expected", "candidate", "matched", "similarity"),
    [
        pytest.param({}, [1, 2], [1, 2], True, 1.0, id="same-place"),
        pytest.param({}, [1, 2], [1, 2.5], False, 1 / 1.5, id="no-distance-allowed-by-default"),
        pytest.param({"threshold": 5}, [10, 20], [13, 24], True, 1 / 6, id="threshold-is-inside"),
        pytest.param({"threshold": 4.9}, [10, 20], [13, 24], False, 1 / 6, id="above-threshold"),
        pytest.param({"threshold": 0.3}, [0.1], [0.4], True, 1 / 1.3, id="rounding-does-not-decide"),
        pytest.param({"threshold": 6, "metric": "manhattan"}, [10, 20], [13, 24], False, 1 / 8, id="different-metric"),
        pytest.param({"metric": "cosine"}, [3, 4], [6, 8], True, 1.0, id="same-direction"),
        pytest.param({"metric": "cosine"}, [0, 0], [0, 0], False, 0.5, id="zero-vectors-have-no-direction"),
        pytest.param({"candidate_scale": [100, 50]}, [10, 20], [0.1, 0.4], True, 1.0, id="page-fractions-on-one-side"),
    ],
)  # fmt: skip
def test_near_points_match(options, expected, candidate, matched, similarity):
    said = Distance(**options).compare(expected, candidate)
    assert said.matched is matched
    assert said.score == float(matched)
    assert said.similarity == pytest.approx(similarity)


@pytest.mark.parametrize(
    ("expected", "candidate", "wrong_kind", "note"),
    [
        pytest.param([1, 2], [1, 2, 3], True, "dimension mismatch: 2 and 3", id="different-dimension"),
        pytest.param([1, 2], [1, "2"], True, "invalid point", id="string-coordinate"),
        pytest.param([1, "2"], [1, 2], False, "expected value: invalid point", id="truth-not-point"),
        pytest.param([1, 2], 7, True, "invalid point", id="number"),
    ],
)  # fmt: skip
def test_invalid_points_have_a_reason(expected, candidate, wrong_kind, note):
    said = Distance(threshold=100).compare(expected, candidate)
    assert not said.matched
    assert said.wrong_kind is wrong_kind
    assert note in said.note
    dimension = note.startswith("dimension")
    assert said.reason is (Reason.DIMENSION_MISMATCH if dimension else Reason.INVALID_POINT)
