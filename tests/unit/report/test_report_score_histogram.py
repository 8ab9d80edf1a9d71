"""The distribution of the scores of cases."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldmark.report.html.metrics import score_histogram


@pytest.mark.parametrize(
    ("score", "lower"),
    [
        pytest.param(0.0, 0.0, id="zero"),
        pytest.param(0.049, 0.0, id="below-a-boundary"),
        pytest.param(0.05, 0.05, id="on-a-boundary"),
        pytest.param(0.1 + 0.2, 0.3, id="float-noise-above"),
        pytest.param(1 - 0.65, 0.35, id="float-noise-below"),
        pytest.param(0.999, 0.95, id="almost-one"),
        pytest.param(1.0, 0.95, id="one"),
    ],
)
def test_score_belongs_to_the_bin_of_its_lower_bound(score, lower):
    [(low, high, number)] = [each for each in score_histogram([score]).bins if each[2]]
    assert (low, high, number) == (lower, pytest.approx(lower + 0.05), 1)


@given(st.lists(st.none() | st.floats(0, 1)))
def test_every_case_is_counted_once(scores):
    found = score_histogram(scores)
    assert sum(number for *_, number in found.bins) + found.unscored == len(scores)
    assert found.unscored == scores.count(None)
    assert len(found.bins) == 20


def test_nan_is_not_a_score():
    assert score_histogram([math.nan]).unscored == 1
