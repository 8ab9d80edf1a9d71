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
    ("part", "whole", "interval"),
    [
        pytest.param(0, 0, None, id="of-nothing-there-is-none"),
        pytest.param(5, 10, (0.2366, 0.7634), id="a-half"),
        pytest.param(0, 10, (0.0, 0.2775), id="none-of-ten-may-still-be-some"),
        pytest.param(10, 10, (0.7225, 1.0), id="all-of-ten-may-still-not-be-all"),
        pytest.param(81, 263, (0.2553, 0.3662), id="the-published-example-of-newcombe"),
        pytest.param(1, 1, (0.2065, 1.0), id="a-single-case-says-little"),
    ],
)
def test_the_interval_of_a_share(part, whole, interval):
    assert rates.wilson(part, whole) == (
        None if interval is None else pytest.approx(interval, abs=5e-5)
    )
