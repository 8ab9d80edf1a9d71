from __future__ import annotations

import pytest

from fieldmark.metrics.averages import ExactSum, MacroMean, macro_mean
from fieldmark.metrics.conventions import CountingOptions, F1WhenNoMatch, ZeroRule
from fieldmark.model.counts import Counts

CONFUSION = CountingOptions()
ZERO = CountingOptions(zero=ZeroRule.ZERO)
NO_MATCH_UNDEFINED = CountingOptions(f1_when_no_match=F1WhenNoMatch.UNDEFINED)


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
