"""Intervals depend on the number of cases, and not on the partition of a run."""

from __future__ import annotations

import pickle
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sampled_runs import Run, drawn
from scipy.stats import norm
from scipy.stats import t as student

from fieldmark.metrics import bootstrap
from fieldmark.metrics.bootstrap import (
    interval_around,
    interval_offsets,
    product,
    resampling_weights,
    run_intervals,
)
from fieldmark.metrics.conventions import CONVENTIONS, DEFAULT_CONVENTION
from fieldmark.metrics.rates import NORMAL_QUANTILE, wilson
from fieldmark.metrics.summary import Resampling, summarize

COUNTING = DEFAULT_CONVENTION.counting
UNDEFINED = {"f1_when_no_match": "undefined"}


@pytest.mark.parametrize("cases", [5, 10, 30, 100, 1000])
def test_interval_of_a_mean_is_as_wide_as_students_t(cases):
    students = {5: 2.776, 10: 2.262, 30: 2.045, 100: 1.984, 1000: 1.962}
    values = np.random.default_rng(1).normal(size=cases)
    weights = resampling_weights(cases, 8000, seed=2)
    [(low, high)] = interval_offsets((weights @ values / cases)[None], [cases])
    half = students[cases] * values.std(ddof=1) / cases**0.5
    assert (high - low) / 2 == pytest.approx(half, rel=0.2 if cases < 10 else 0.06)


@pytest.mark.parametrize("cases", [5, 11, 51])
def test_interval_of_normal_resamples_is_that_of_students_t(cases):
    """The expansion leaves out terms from the fourth power of the degrees of freedom."""
    freedom = cases - 1
    resamples = norm.ppf(np.linspace(0, 1, 100_001).clip(1e-9, 1 - 1e-9))
    [(low, high)] = interval_offsets(np.append(0, resamples)[None], [cases])
    want = student.ppf(0.975, freedom) * (cases / freedom) ** 0.5
    assert (-low, high) == pytest.approx((want, want), abs=3 / freedom**4)


def test_intervals_do_not_depend_on_the_number_of_attributes_in_a_block(monkeypatch):
    run = Run(drawn(60))
    want = run.intervals()
    monkeypatch.setattr(bootstrap, "_ATTRIBUTE_BLOCK", 2)
    assert run.intervals() == want


def test_quantile_is_that_of_the_normal_distribution():
    assert NormalDist().inv_cdf(0.975) == NORMAL_QUANTILE


@pytest.mark.parametrize("resamples", [1, 2, 50, 63, 64, 65, 66, 129])
def test_each_resample_draws_as_many_cases_as_there_are(resamples):
    weights = resampling_weights(40, resamples, seed=0)
    assert weights.shape == (resamples + 1, 40)
    assert (weights.sum(axis=1) == 40).all()
    assert [row for row, own in enumerate(weights) if (own == 1).all()] == [0]


def test_resamples_depend_only_on_the_seed():
    weights = resampling_weights(7, 50, seed=0)
    assert (weights.sum(axis=1) == 7).all()
    assert (weights == resampling_weights(7, 50, seed=0)).all()
    assert not (weights == resampling_weights(7, 50, seed=1)).all()


def test_interval_bounds_are_quantiles_of_resamples():
    values = np.random.default_rng(3).normal(size=(4, 301))
    values[1, 5:40] = np.nan
    for row, found in zip(values, interval_offsets(values, [10**9] * 4), strict=True):
        drawn = row[1:][~np.isnan(row[1:])]
        assert found == pytest.approx(np.quantile(drawn, [0.025, 0.975]) - row[0], abs=1e-6)


@pytest.mark.parametrize(
    ("rows", "inner", "columns"),
    [
        pytest.param(0, 3, 2, id="no-rows"),
        pytest.param(5, 7, 0, id="no-columns"),
        pytest.param(5, 7, 3, id="small"),
        pytest.param(131, 517, 1, id="single-column"),
        pytest.param(131, 517, 90, id="many-blocks"),
        pytest.param(3, 4, 5000, id="wider-than-a-block"),
    ],
)
def test_product_in_blocks_equals_the_product(rows, inner, columns):
    chance = np.random.default_rng(0)
    left = chance.integers(0, 9, (rows, inner)).astype(np.uint8)
    right = chance.integers(0, 1 << 24, (inner, columns)).astype(np.float64)
    assert (product(left, right) == left.astype(np.float64) @ right).all()


@pytest.mark.parametrize(
    ("values", "cases"),
    [
        pytest.param([0.5, 0.4], 1, id="single-case"),
        pytest.param([float("nan"), 0.4], 9, id="undefined-metric"),
        pytest.param([0.5, float("nan")], 9, id="undefined-resamples"),
    ],
)
def test_no_interval_without_variation(values, cases):
    assert interval_offsets(np.array([values]), [cases]) == [None]


def test_metric_after_one_without_an_interval_has_its_own():
    values = np.array([[float("nan"), 0.4, 0.4], [0.5, 0.4, 0.6]])
    first, second = interval_offsets(values, [9, 10**9])
    assert first is None
    assert second == pytest.approx((-0.095, 0.095))


@pytest.mark.parametrize(
    ("offsets", "interval"),
    [
        pytest.param((-0.1, 0.2), (0.4, 0.7), id="around-the-estimate"),
        pytest.param((0.1, 0.2), (0.5, 0.7), id="resamples-all-above"),
        pytest.param((-0.2, -0.1), (0.3, 0.5), id="resamples-all-below"),
        pytest.param((-0.9, 0.9), (0.0, 1.0), id="within-the-limits"),
    ],
)
def test_interval_contains_its_estimate(offsets, interval):
    assert interval_around(0.5, offsets) == pytest.approx(interval)


@given(st.floats(0, 1), st.floats(-2, 2), st.floats(-2, 2))
def test_every_interval_contains_its_estimate_and_stays_within_limits(estimate, low, high):
    low, high = interval_around(estimate, (low, high))
    assert 0 <= low <= estimate <= high <= 1


def intervals_of(run):
    found = run.intervals()
    f1s = {path: each.interval.f1 for path, each in found.attributes.items()}
    return found.metrics, {path: each for path, each in f1s.items() if each is not None}


def test_every_headline_metric_and_every_attribute_has_an_interval():
    metrics, attributes = intervals_of(Run(drawn(40)))
    assert set(metrics) == {
        "mean_score", "macro_f1_by_attribute", "macro_f1_by_case", "micro_f1", "micro_precision",
        "micro_recall", "completeness", "hallucination", "accuracy", "rqs", "passed", "perfect",
    }  # fmt: skip
    assert set(attributes) == {"a", "b", "rows[].x"}


@pytest.mark.parametrize("convention", sorted(CONVENTIONS))
def test_interval_contains_its_metric(convention):
    run = Run(drawn(40), convention=convention)
    summary = summarize(run.tally, run.convention)
    found = run.intervals()
    for path, each in found.attributes.items():
        for rate, (low, high) in each.interval._asdict().items():
            assert 0 <= low < getattr(summary.attributes[path], rate) < high <= 1
            deviation = getattr(each.deviation, rate)
            assert (high - low) / deviation == pytest.approx(2 * 1.96, rel=0.35)
    assert found.deviations["mean_score"] > 0
    low, high = found.metrics["mean_score"]
    assert low < summary.mean_score < high
    low, high = found.metrics["rqs"]
    assert low < summary.quality.rqs < high


def test_more_cases_give_a_narrower_interval():
    wide, narrow = (intervals_of(Run(drawn(cases)))[0]["micro_f1"] for cases in (30, 480))
    assert (wide[1] - wide[0]) / (narrow[1] - narrow[0]) == pytest.approx(4, rel=0.4)


def test_run_without_mistakes_still_has_an_interval():
    _, attributes = intervals_of(Run(drawn(10, right=1.0)))
    assert attributes["a"] == wilson(10, 10)


def test_undefined_metric_has_no_interval():
    run = Run([("a", [("total", "wrong")]), ("b", [("total", "wrong")])], options=UNDEFINED)
    assert summarize(run.tally, run.convention).attributes["total"].f1 is None
    assert "total" not in intervals_of(run)[1]


def test_attribute_without_a_match_has_an_interval_from_zero():
    run = Run([("a", [("total", "wrong")]), ("b", [("total", "wrong")])])
    assert summarize(run.tally, run.convention).attributes["total"].f1 == 0
    assert intervals_of(run)[1]["total"] == wilson(0, 2)


@pytest.mark.parametrize("cases", [1, 2, 5])
def test_equal_cases_have_an_interval_only_for_metrics_of_0_or_1(cases):
    half = [("total", "wrong"), ("vendor", "match")]
    metrics, attributes = intervals_of(Run([(str(n), half) for n in range(cases)]))
    assert attributes == {"total": wilson(0, cases), "vendor": wilson(cases, cases)}
    found = Run([(str(n), half) for n in range(cases)]).intervals().attributes
    assert {each.deviation.f1 for each in found.values()} == {None if cases == 1 else 0}
    estimates = {"completeness": 1.0, "hallucination": 0.0}
    assert {name for name in metrics if name not in ("passed", "perfect")} == set(estimates)


def test_interval_of_a_perfect_rate_counts_only_its_own_cases():
    """Eight missing values say nothing about precision, and eight extra ones nothing about recall."""
    cases = [(str(n), [("total", "match")]) for n in range(2)]
    missing = Run(cases + [(str(n), [("total", "omission")]) for n in range(2, 10)])
    [found] = missing.intervals().attributes.values()
    assert found.interval.precision == wilson(2, 2)
    assert found.interval.recall[1] < 1
    extra = Run(cases + [(str(n), [("total", "extra-key")]) for n in range(2, 10)])
    [found] = extra.intervals().attributes.values()
    assert found.interval.recall == wilson(2, 2)


def test_empty_run_has_no_intervals():
    assert intervals_of(Run([])) == ({}, {})


def test_intervals_do_not_depend_on_order_or_partition():
    cases = drawn(300)
    whole = Run(cases, limit=64)
    backwards = Run(cases[::-1], limit=64)
    parts = [Run(cases[start::3], limit=64) for start in range(3)]
    merged = pickle.loads(pickle.dumps(parts[1].sample))  # noqa: S301 - made a line above
    merged.merge(parts[0].sample)
    merged.merge(parts[2].sample)
    whole_rows, others = whole.sample.rows(), (backwards.sample.rows(), merged.rows())
    for rows in others:
        assert [row.sums for row in rows] == [row.sums for row in whole_rows]
    summary = summarize(whole.tally, DEFAULT_CONVENTION)
    merged_intervals = run_intervals(merged, summary, COUNTING, Resampling(resamples=300))
    assert merged_intervals == whole.intervals()


def test_grouped_cases_vary_as_single_cases_do(monkeypatch):
    run = Run(drawn(1000))
    alone = intervals_of(run)
    monkeypatch.setattr(bootstrap, "GROUPS", 250)
    together = intervals_of(run)
    for one, other in zip(alone, together, strict=True):
        for name, (low, high) in one.items():
            assert other[name][1] - other[name][0] == pytest.approx(high - low, rel=0.3)


def test_intervals_of_a_sample_are_close_to_those_of_the_run():
    cases = drawn(3000)
    part, whole = (intervals_of(Run(cases, limit=limit))[0]["micro_f1"] for limit in (256, 4096))
    assert part[1] - part[0] == pytest.approx(whole[1] - whole[0], rel=0.35)
