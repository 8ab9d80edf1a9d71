"""What may be chance, by tests with known answers."""

from __future__ import annotations

import numpy as np
import pytest

from fieldmark.metrics.significance import flip_signs, holm, mcnemar, permutation_p


@pytest.mark.parametrize(
    ("fixed", "broken", "p"),
    [
        pytest.param(0, 0, 1.0, id="nothing-changed"),
        pytest.param(1, 0, 1.0, id="a-single-case-proves-nothing"),
        pytest.param(5, 0, 0.0625, id="five-to-none-is-not-yet-enough"),
        pytest.param(6, 0, 0.03125, id="six-to-none-is"),
        pytest.param(0, 6, 0.03125, id="either-way"),
        pytest.param(3, 3, 1.0, id="as-many-fixed-as-broken"),
        pytest.param(12, 3, 0.0352, id="exact-for-few"),
        pytest.param(1060, 940, 0.00778, id="by-the-normal-distribution-for-many"),
    ],
)
def test_changed_cases(fixed, broken, p):
    assert mcnemar(fixed, broken) == pytest.approx(p, abs=1e-4)


@pytest.mark.parametrize(
    ("chances", "adjusted"),
    [
        pytest.param({}, {}, id="none"),
        pytest.param({"a": 0.04}, {"a": 0.04}, id="one-stays-as-it-is"),
        pytest.param(
            {"a": 0.01, "b": 0.02}, {"a": 0.02, "b": 0.02}, id="never-below-a-smaller-one"
        ),
        pytest.param({"a": 0.5, "b": 0.9}, {"a": 1.0, "b": 1.0}, id="never-above-one"),
        pytest.param(
            {"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005},
            {"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02},
            id="the-usual-example",
        ),
    ],
)
def test_many_at_once_are_put_right(chances, adjusted):
    assert holm(chances) == pytest.approx(adjusted)


def test_signs_are_even_and_the_first_row_swaps_nothing():
    signs = flip_signs(50, 400, seed=0)
    assert (signs[0] == 1).all()
    assert set(np.unique(signs)) == {-1.0, 1.0}
    assert abs(signs[1:].mean()) < 0.03


def test_a_difference_in_few_cases_is_as_likely_as_counting_says():
    signs = flip_signs(5, 20_000, seed=0)
    assert permutation_p(signs.sum(axis=1)) == pytest.approx(2 / 32, abs=0.006)


def test_beyond_the_number_of_permutations_the_normal_tail_goes_on():
    signs = flip_signs(400, 999, seed=0)
    assert permutation_p(signs.sum(axis=1)) < 1e-6


@pytest.mark.parametrize(
    "differences",
    [
        pytest.param([0.0, 0.0, 0.0], id="no-difference-at-all"),
        pytest.param([float("nan"), 0.1], id="a-figure-that-is-undefined"),
        pytest.param([0.2, float("nan")], id="permutations-that-all-are"),
    ],
)
def test_what_cannot_be_told_apart(differences):
    assert permutation_p(np.array(differences)) == 1.0
