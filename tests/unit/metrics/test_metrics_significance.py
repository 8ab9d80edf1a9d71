"""Significance tests with known results."""

from __future__ import annotations

import numpy as np
import pytest

from fieldmark.metrics.significance import flip_signs, holm, mcnemar, permutation_p


@pytest.mark.parametrize(
    ("fixed", "regressed", "p"),
    [
        pytest.param(0, 0, 1.0, id="nothing-changed"),
        pytest.param(1, 0, 1.0, id="single-case-is-not-significant"),
        pytest.param(5, 0, 0.0625, id="five-to-none-is-not-significant"),
        pytest.param(6, 0, 0.03125, id="six-to-none-is-significant"),
        pytest.param(0, 6, 0.03125, id="in-both-directions"),
        pytest.param(3, 3, 1.0, id="as-many-fixed-as-regressed"),
        pytest.param(12, 3, 0.0352, id="exact-for-few"),
        pytest.param(1060, 940, 0.00778, id="normal-approximation-for-many"),
    ],
)
def test_mcnemar(fixed, regressed, p):
    assert mcnemar(fixed, regressed) == pytest.approx(p, abs=1e-4)


@pytest.mark.parametrize(
    ("chances", "adjusted"),
    [
        pytest.param({}, {}, id="none"),
        pytest.param({"a": 0.04}, {"a": 0.04}, id="one-is-unchanged"),
        pytest.param({"a": 0.01, "b": 0.02}, {"a": 0.02, "b": 0.02}, id="order-is-preserved"),
        pytest.param({"a": 0.5, "b": 0.9}, {"a": 1.0, "b": 1.0}, id="never-above-one"),
        pytest.param(
            {"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005},
            {"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02},
            id="textbook-example",
        ),
    ],
)
def test_holm_adjustment(chances, adjusted):
    assert holm(chances) == pytest.approx(adjusted)


def test_signs_are_balanced_and_the_first_row_swaps_nothing():
    signs = flip_signs(50, 400, seed=0)
    assert (signs[0] == 1).all()
    assert set(np.unique(signs)) == {-1.0, 1.0}
    assert abs(signs[1:].mean()) < 0.03


def test_p_value_of_few_cases_is_exact():
    signs = flip_signs(5, 20_000, seed=0)
    assert permutation_p(signs.sum(axis=1)) == pytest.approx(2 / 32, abs=0.006)


def test_normal_tail_extends_beyond_the_permutations():
    signs = flip_signs(400, 999, seed=0)
    assert permutation_p(signs.sum(axis=1)) < 1e-6


@pytest.mark.parametrize(
    "differences",
    [
        pytest.param([0.0, 0.0, 0.0], id="no-difference-at-all"),
        pytest.param([float("nan"), 0.1], id="undefined-metric"),
        pytest.param([0.2, float("nan")], id="undefined-permutations"),
    ],
)
def test_p_value_without_variation_is_one(differences):
    assert permutation_p(np.array(differences)) == 1.0
