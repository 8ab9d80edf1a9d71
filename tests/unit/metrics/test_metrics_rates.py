from __future__ import annotations

import pytest

from fieldmark.metrics import rates
from fieldmark.metrics.averages import ExactSum, MacroMean, macro_mean
from fieldmark.metrics.conventions import ZeroRule
from fieldmark.metrics.rates import Rates
from fieldmark.model.counts import Counts

UNDEFINED, ZERO = ZeroRule


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        pytest.param(Counts(tp=1, fp=4, fn=3), (0.2, 0.25, 2 / 9), id="all-defined"),
        pytest.param(Counts(tp=5), (1.0, 1.0, 1.0), id="perfect"),
        pytest.param(Counts(fn=3), (None, 0.0, None), id="nothing-extracted-no-precision"),
        pytest.param(Counts(fp=3), (0.0, None, None), id="nothing-to-find-no-recall"),
        pytest.param(Counts(fp=1, fn=1), (0.0, 0.0, None), id="both-zero-no-f1"),
        pytest.param(Counts(tn=9), (None, None, None), id="only-true-negatives"),
    ],
)
def test_undefined_stays_undefined(counts, expected):
    assert rates.rates(counts, UNDEFINED) == pytest.approx(Rates(*expected))


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        pytest.param(Counts(tp=1, fp=4, fn=1), (0.2, 0.5, 2 / 7), id="all-defined"),
        pytest.param(Counts(fn=7), (0.0, 0.0, 0.0), id="empty-results-score-zero"),
        pytest.param(Counts(tp=7), (1.0, 1.0, 1.0), id="perfect-extraction-scores-one"),
        pytest.param(Counts(fp=2), (0.0, 0.0, 0.0), id="no-truth-fields-recall-zero"),
        pytest.param(Counts(), (0.0, 0.0, 0.0), id="nothing-at-all"),
    ],
)
def test_undefined_counts_zero_where_asked(counts, expected):
    assert rates.rates(counts, ZERO) == pytest.approx(Rates(*expected))


@pytest.mark.parametrize(
    ("counts", "wrong", "expected"),
    [
        pytest.param(Counts(tp=6, fp=4, fn=4), 4, 0.6, id="a-wrong-value-is-one-field"),
        pytest.param(Counts(tp=1, tn=1), 0, 1.0, id="true-negatives-are-right"),
        pytest.param(Counts(), 0, None, id="nothing-counted"),
    ],
)
def test_accuracy_is_the_share_of_fields_that_are_right(counts, wrong, expected):
    assert rates.accuracy(counts, wrong) == expected


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        pytest.param(
            [Counts(tp=1), Counts(fp=1, fn=1)], MacroMean(0.5, 0.5, 0.5), id="undefined-f1-is-zero"
        ),
        pytest.param(
            [Counts(tp=1), Counts(tn=5)], MacroMean(1.0, 1.0, 1.0), id="true-negatives-are-left-out"
        ),
        pytest.param(
            [Counts(tp=1), Counts(fn=1)], MacroMean(1.0, 0.5, 0.5), id="means-of-the-defined-ones"
        ),
        pytest.param([Counts(tn=2)], MacroMean(None, None, 1.0, vacuous=True), id="nothing-left"),
        pytest.param([], MacroMean(None, None, 1.0, vacuous=True), id="nothing-at-all"),
    ],
)
def test_macro_mean_over_attributes(groups, expected):
    assert macro_mean(groups, UNDEFINED) == expected


def test_macro_mean_counts_undefined_rates_as_zero_under_that_rule():
    assert macro_mean([Counts(tp=1), Counts(fn=1)], ZERO) == MacroMean(0.5, 0.5, 0.5)


def test_exact_sums_do_not_lose_what_floats_lose():
    assert ExactSum.of([(1e16, 1), (1.0, 2), (-1e16, 1)]).mean == 0.5


def test_the_mean_of_nothing_is_undefined():
    assert ExactSum().mean is None
