"""Significance tests with known results."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from fieldmark.metrics.significance import (
    ALPHA,
    critical_difference,
    flip_signs,
    gate_size,
    holm,
    holm_levels,
    holm_of_smallest,
    mcnemar,
    permutation_p,
)


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
        pytest.param(940, 1060, 0.00778, id="normal-approximation-in-both-directions"),
        pytest.param(1000, 1000, 1.0, id="as-many-fixed-as-regressed-of-many"),
        pytest.param(1000, 999, 1.0, id="continuity-correction"),
        pytest.param(1000, 997, 0.9643, id="two-more-than-the-correction"),
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


@given(st.dictionaries(st.sampled_from("abcdef"), st.tuples(st.floats(0, 1), st.floats(0, 1))))
def test_smallest_adjusted_p_value_is_that_of_the_smallest_p_value(found):
    p = {name: max(pair) for name, pair in found.items()}
    smallest = {name: min(pair) for name, pair in found.items()}
    expected = {name: holm({**p, name: least})[name] for name, least in smallest.items()}
    assert holm_of_smallest(p, smallest) == pytest.approx(expected)


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


@pytest.mark.parametrize(
    ("alpha", "power"),
    [pytest.param(0.05, 0.8, id="default"), pytest.param(0.01, 0.9, id="stricter")],
)
def test_size_is_that_of_a_one_sided_test_of_a_mean(alpha, power):
    """At 0.5, the variation does not change with the mean."""
    found = gate_size(0.5, 0.02, 100, drop=1e-3, alpha=alpha, power=power)
    want = ((norm.ppf(1 - alpha) + norm.ppf(power)) * 0.2 / 1e-3) ** 2
    assert found.cases == pytest.approx(want, rel=1e-3)
    assert found.limit == pytest.approx(0.5 - norm.ppf(1 - alpha) * 0.2 / math.sqrt(found.cases))


def test_detectable_drop_needs_as_many_cases_as_the_run_has():
    found = gate_size(0.9, 0.015, 400, drop=0.02)
    assert gate_size(0.9, 0.015, 400, drop=found.detectable).cases == pytest.approx(400, abs=1)


def test_metric_for_which_less_is_better_has_a_limit_above():
    found = gate_size(0.1, 0.015, 400, drop=0.02, less_is_better=True)
    mirrored = gate_size(0.9, 0.015, 400, drop=0.02)
    assert found.cases == mirrored.cases
    assert found.limit == pytest.approx(1 - mirrored.limit)


def test_metric_that_does_not_vary_is_assumed_to_vary_like_a_share():
    found = gate_size(1.0, 0.0, 50, drop=0.02)
    z = norm.ppf(0.95) + norm.ppf(0.8)
    assert found.cases == math.ceil(z**2 * 0.98 * 0.02 / 0.02**2)
    assert found.limit < 1


def test_metric_at_its_end_varies_as_it_was_measured():
    """A share of 0 has no variation of its own to compare with."""
    found = gate_size(1.0, 0.02, 100, drop=0.05)
    z = norm.ppf(0.95) + norm.ppf(0.8)
    assert found.cases == math.ceil((z * 0.2 / 0.05) ** 2)


SOURCES = {
    "pass-or-fail": lambda chance, mean, size: (chance.random(size) < mean).astype(float),
    "shares-of-fields": lambda chance, mean, size: chance.binomial(10, mean, size) / 10,
    "spread-out": lambda chance, mean, size: chance.beta(4 * mean, 4 * (1 - mean), size),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(("mean", "drop"), [(0.9, 0.03), (0.6, 0.05)])
def test_simulated_gates_detect_the_drop_and_rarely_fail_without_one(source, mean, drop):
    """Rates of 4,000 simulated runs have a standard error of at most 0.007."""
    chance = np.random.default_rng(7)
    draw = SOURCES[source]
    deviation = draw(chance, mean, 200_000).std() / math.sqrt(300)
    found = gate_size(mean, deviation, 300, drop=drop)
    below = [
        (draw(chance, center, (4_000, found.cases)).mean(axis=1) < found.limit).mean()
        for center in (mean, mean - drop)
    ]
    assert below[0] == pytest.approx(0.05, abs=0.025)
    assert below[1] == pytest.approx(0.8, abs=0.035)


@pytest.mark.parametrize(
    ("drawn", "level", "significant", "critical"),
    [
        pytest.param(range(39), 0.05, True, 37, id="quantile-of-the-permutations"),
        pytest.param(range(39), 0.05, False, 38.5, id="observed-if-it-is-not-significant"),
        pytest.param([38.5] * 39, 0.05, True, 0, id="next-smaller-if-it-is-significant"),
        pytest.param([-30, 38.5] * 20, 0.05, True, 30, id="size-of-the-next-smaller"),
        pytest.param([2, -2] * 20, 0.001, True, 2 * 3.2905, id="normal-if-permutations-are-few"),
        pytest.param([math.nan] * 9, 0.05, False, 38.5, id="no-permutation"),
    ],
)
def test_critical_difference_agrees_with_the_test(drawn, level, significant, critical):
    differences = np.array([38.5, *drawn])
    found = critical_difference(differences, level, significant=significant)
    assert found == pytest.approx(critical, rel=1e-4)


@given(st.dictionaries(st.text(max_size=2), st.floats(0, 1), min_size=1, max_size=9))
def test_a_p_value_is_at_most_its_level_if_the_adjusted_one_is_at_most_alpha(p_values):
    levels, adjusted = holm_levels(p_values), holm(p_values)
    for name, p in p_values.items():
        if abs(adjusted[name] - ALPHA) > 1e-9:
            assert (p <= levels[name]) is (adjusted[name] <= ALPHA)
