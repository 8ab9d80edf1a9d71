from __future__ import annotations

import math

import numpy as np
import pytest

from fieldmark.metrics import rates
from fieldmark.metrics.conventions import CountingOptions, F1WhenNoMatch, ZeroRule
from fieldmark.metrics.rates import ExactSum, MacroMean, Rates, macro_mean
from fieldmark.model.counts import Counts

CONFUSION = CountingOptions()
ZERO = CountingOptions(zero=ZeroRule.ZERO)
NO_MATCH_UNDEFINED = CountingOptions(f1_when_no_match=F1WhenNoMatch.UNDEFINED)
ZERO_NO_MATCH_UNDEFINED = CountingOptions(
    zero=ZeroRule.ZERO, f1_when_no_match=F1WhenNoMatch.UNDEFINED
)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        pytest.param(Counts(tp=1, fp=4, fn=3), (0.2, 0.25, 2 / 9), id="all-defined"),
        pytest.param(Counts(tp=5), (1.0, 1.0, 1.0), id="perfect"),
        pytest.param(Counts(fn=3), (None, 0.0, 0.0), id="nothing-predicted-has-no-precision"),
        pytest.param(Counts(fp=3), (0.0, None, 0.0), id="nothing-expected-has-no-recall"),
        pytest.param(Counts(fp=1, fn=1), (0.0, 0.0, 0.0), id="f1-is-zero-if-nothing-matched"),
        pytest.param(Counts(tn=9), (None, None, None), id="only-true-negatives"),
        pytest.param(Counts(), (None, None, None), id="nothing-counted-at-all"),
    ],
)
def test_rates_are_undefined_only_without_anything_to_count(counts, expected):
    assert rates.rates(counts, CONFUSION) == pytest.approx(Rates(*expected))


@pytest.mark.parametrize(
    ("counts", "f1"),
    [
        pytest.param(Counts(tp=1, fp=4, fn=3), 2 / 9, id="with-a-match-nothing-changes"),
        pytest.param(Counts(fp=1, fn=1), None, id="wrong-values-only"),
        pytest.param(Counts(fn=3), None, id="missing-values-only"),
        pytest.param(Counts(fp=3), None, id="extra-values-only"),
        pytest.param(Counts(tn=9), None, id="nothing-to-count"),
    ],
)
def test_option_leaves_f1_undefined_if_nothing_matched_and_nothing_else_changes(counts, f1):
    found = rates.rates(counts, NO_MATCH_UNDEFINED)
    assert found == pytest.approx(rates.rates(counts, CONFUSION)._replace(f1=f1))


def test_undefined_f1_is_zero_if_every_undefined_ratio_is():
    assert rates.rates(Counts(fn=1), ZERO_NO_MATCH_UNDEFINED) == Rates(0.0, 0.0, 0.0)


def test_f1_of_arrays_equals_f1_of_numbers():
    counts = [(tp, fp, fn) for tp in range(3) for fp in range(3) for fn in range(3)]
    arrays = rates.f1(*np.array(counts, float).T)
    for each, found in zip(counts, arrays.tolist(), strict=True):
        assert rates.f1(*each) == (None if math.isnan(found) else found)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        pytest.param(Counts(tp=1, fp=4, fn=1), (0.2, 0.5, 2 / 7), id="all-defined"),
        pytest.param(Counts(fn=7), (0.0, 0.0, 0.0), id="empty-results-score-zero"),
        pytest.param(Counts(tp=7), (1.0, 1.0, 1.0), id="perfect-extraction-scores-one"),
        pytest.param(Counts(fp=2), (0.0, 0.0, 0.0), id="no-truth-fields-recall-zero"),
        pytest.param(Counts(), (0.0, 0.0, 0.0), id="nothing-counted-at-all"),
    ],
)
def test_undefined_is_zero_under_the_zero_rule(counts, expected):
    assert rates.rates(counts, ZERO) == pytest.approx(Rates(*expected))


@pytest.mark.parametrize(
    ("counts", "wrong", "expected"),
    [
        pytest.param(Counts(tp=6, fp=4, fn=4), 4, 0.6, id="wrong-value-is-one-field"),
        pytest.param(Counts(tp=1, tn=1), 0, 1.0, id="true-negatives-are-correct"),
        pytest.param(Counts(), 0, None, id="nothing-counted"),
    ],
)
def test_accuracy_is_the_share_of_correct_fields(counts, wrong, expected):
    assert rates.accuracy(counts, wrong) == expected


@pytest.mark.parametrize(
    ("part", "whole", "interval"),
    [
        pytest.param(0, 0, None, id="zero-cases-have-no-interval"),
        pytest.param(5, 10, (0.2014, 0.7986), id="half"),
        pytest.param(0, 10, (0.0, 0.3445), id="none-of-ten"),
        pytest.param(10, 10, (0.6555, 1.0), id="all-of-ten"),
        pytest.param(81, 263, (0.2535, 0.3682), id="published-example-of-newcombe"),
        pytest.param(1, 1, (0.0546, 1.0), id="single-case"),
    ],
)
def test_interval_of_a_share(part, whole, interval):
    assert rates.wilson(part, whole) == (
        None if interval is None else pytest.approx(interval, abs=5e-5)
    )


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        pytest.param(
            [Counts(tp=1), Counts(fp=1, fn=1)],
            MacroMean(0.5, 0.5, 0.5),
            id="f1-without-a-match-is-zero",
        ),
        pytest.param(
            [Counts(tp=1), Counts(tn=5)], MacroMean(1.0, 1.0, 1.0), id="true-negatives-are-excluded"
        ),
        pytest.param(
            [Counts(tp=1), Counts(fn=1)], MacroMean(1.0, 0.5, 0.5), id="mean-of-defined-values"
        ),
        pytest.param([Counts(tn=2)], MacroMean(None, None, 1.0, vacuous=True), id="no-groups-left"),
        pytest.param([], MacroMean(None, None, 1.0, vacuous=True), id="no-groups"),
    ],
)
def test_macro_mean_over_attributes(groups, expected):
    assert macro_mean(groups, CONFUSION) == expected


@pytest.mark.parametrize("groups", [[Counts(tp=1), Counts(fp=1, fn=1)], [Counts(fn=1)], []])
def test_reporting_f1_as_undefined_does_not_change_the_mean(groups):
    assert macro_mean(groups, NO_MATCH_UNDEFINED) == macro_mean(groups, CONFUSION)


def test_macro_mean_counts_undefined_rates_as_zero_under_that_rule():
    assert macro_mean([Counts(tp=1), Counts(fn=1)], ZERO) == MacroMean(0.5, 0.5, 0.5)


def test_exact_sums_keep_digits_that_float_sums_drop():
    assert ExactSum.of([(1e16, 1), (1.0, 2), (-1e16, 1)]).mean == 0.5


def test_mean_of_no_values_is_undefined():
    assert ExactSum().mean is None
