from __future__ import annotations

import pytest

from fieldmark.metrics import rates
from fieldmark.metrics.conventions import ZeroRule
from fieldmark.metrics.rates import Rates
from fieldmark.model.counts import Counts

UNDEFINED, ZERO = ZeroRule


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        pytest.param(Counts(tp=1, fp=4, fn=3), (0.2, 0.25, 2 / 9), id="all-defined"),
        pytest.param(Counts(tp=5), (1.0, 1.0, 1.0), id="perfect"),
        pytest.param(Counts(fn=3), (None, 0.0, None), id="nothing-predicted-has-no-precision"),
        pytest.param(Counts(fp=3), (0.0, None, None), id="nothing-expected-has-no-recall"),
        pytest.param(Counts(fp=1, fn=1), (0.0, 0.0, None), id="both-zero-has-no-f1"),
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
        pytest.param(5, 10, (0.2366, 0.7634), id="half"),
        pytest.param(0, 10, (0.0, 0.2775), id="none-of-ten"),
        pytest.param(10, 10, (0.7225, 1.0), id="all-of-ten"),
        pytest.param(81, 263, (0.2553, 0.3662), id="published-example-of-newcombe"),
        pytest.param(1, 1, (0.2065, 1.0), id="single-case"),
    ],
)
def test_interval_of_a_share(part, whole, interval):
    assert rates.wilson(part, whole) == (
        None if interval is None else pytest.approx(interval, abs=5e-5)
    )
