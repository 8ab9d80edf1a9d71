from __future__ import annotations

from operator import eq

import pytest

from fieldmark.metrics.consistency import Ranking, agreement, consistency, rank
from fieldmark.model.json import MISSING


def same(_path, one, two):
    return eq(one, two)


@pytest.mark.parametrize(
    ("values", "share"),
    [
        pytest.param([5, 5, 5], 1.0, id="all-agree"),
        pytest.param([5, 5, 6], 1 / 3, id="one-pair-of-three"),
        pytest.param([None, "", MISSING], 1.0, id="empty-values-agree"),
        pytest.param([None, 5], 0.0, id="a-value-and-nothing-do-not"),
        pytest.param([0, False], 1.0, id="the-comparator-decides-on-values"),
        pytest.param([5], None, id="one-candidate-is-undefined"),
    ],
)
def test_agreement_on_a_field(values, share):
    assert agreement("total", values, same) == share


def test_a_pair_that_could_not_be_compared_is_left_out():
    def fails_on_six(_path, one, two):
        return None if 6 in (one, two) else one == two

    assert agreement("total", [5, 5, 6], fails_on_six) == 1.0
    assert agreement("total", [5, 6], fails_on_six) is None


def test_each_field_is_compared_by_its_own_comparator():
    def strict_on_a(path, one, two):
        return path != "a" or one == two

    assert consistency({"a": [1, 2], "b": [1, 2]}, strict_on_a) == 0.5


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"a": [1, 1], "b": [1, MISSING]}, 0.5, id="mean-over-all-fields"),
        pytest.param({"a": [1]}, None, id="one-run-is-undefined"),
        pytest.param({}, None, id="no-fields-are-undefined"),
    ],
)
def test_consistency(fields, expected):
    assert consistency(fields, same) == expected


@pytest.mark.parametrize(
    ("scores", "ranking"),
    [
        pytest.param([0.5, 1.0], Ranking((1, 0), 1.0, 0.75, 0.25), id="best-first"),
        pytest.param([0.5, 0.5], Ranking((0, 1), 0.5, 0.5, 0.0), id="equals-in-their-order"),
        pytest.param([None, 0.5], Ranking((1, 0), 0.5, 0.5, 0.0), id="without-a-score-last"),
        pytest.param([None], Ranking((0,), None, None, None), id="no-score-at-all"),
    ],
)
def test_ranking(scores, ranking):
    assert rank(scores) == ranking
