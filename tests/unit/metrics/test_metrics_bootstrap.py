"""Intervals depend on the number of cases, and not on the partition of a run."""

from __future__ import annotations

import pickle
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sampled_runs import Run, drawn
from scipy.stats import beta

import fieldmark as fm
from fieldmark.metrics import bootstrap
from fieldmark.metrics.bootstrap import (
    intervals_of,
    product,
    resampling_weights,
    run_intervals,
)
from fieldmark.metrics.conventions import CONVENTIONS, DEFAULT_CONVENTION
from fieldmark.metrics.rates import NORMAL_QUANTILE
from fieldmark.metrics.summary import Resampling, summarize

COUNTING = DEFAULT_CONVENTION.counting
UNDEFINED = {"f1_when_no_match": "undefined"}


@pytest.mark.parametrize("cases", [4, 6, 10, 20, 40])
def test_interval_of_a_share_is_close_to_the_exact_one(cases):
    """The interval of Clopper and Pearson, which contains every share with at least 95%."""
    weights = resampling_weights(cases, 8_000, seed=2)
    for right in range(cases + 1):
        values = np.arange(cases) < right
        [(low, high)] = intervals_of((weights @ values / cases)[None], [cases])
        exact = (
            0.0 if right == 0 else beta.ppf(0.025, right, cases - right + 1),
            1.0 if right == cases else beta.ppf(0.975, right + 1, cases - right),
        )
        assert (low, high) == pytest.approx(exact, abs=0.07)
        assert high - low > exact[1] - exact[0] - 0.02


@pytest.mark.parametrize("cases", [2, 4, 10, 40])
def test_equal_cases_leave_room_for_one_that_is_unlike_them(cases):
    [(low, high)] = intervals_of(np.full((1, 1_001), 0.5), [cases])
    share = 0.025 ** (1 / cases)
    assert (low, high) == pytest.approx((0.5 * share, 1 - 0.5 * share), abs=1e-4)


def test_more_cases_make_the_interval_of_a_mean_that_of_the_normal_distribution():
    values = np.random.default_rng(1).uniform(size=4_000)
    weights = resampling_weights(4_000, 1_000, seed=2)
    [(low, high)] = intervals_of((weights @ values / 4_000)[None], [4_000])
    half = 1.96 * values.std() / 4_000**0.5
    assert (high - low) / 2 == pytest.approx(half, rel=0.08)


def test_interval_excludes_no_value_that_cases_can_have():
    """Scores of four cases: 0.8 and 1 are the means of samples that are not unlikely."""
    right = dict.fromkeys("abcde", 1)
    run = fm.score(
        [(right, {**right, "a": 0} if number < 2 else right) for number in range(4)],
        intervals=True,
        convention="field_accuracy",
        rules={"fields": [{"path": name} for name in right]},
    )
    assert [run.cases[str(n)].score for n in range(1, 5)] == [0.8, 0.8, 1.0, 1.0]
    low, high = run.summary.intervals.metrics["mean_score"]
    assert 0.0 < low <= 0.8
    assert high == 1.0


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


def test_interval_bounds_of_very_many_cases_are_quantiles_of_resamples():
    values = np.random.default_rng(3).normal(size=(4, 301))
    values[1, 5:40] = np.nan
    limits = (-9.0, 9.0)
    found = intervals_of(values, [10**9] * 4, limits=limits, alphas=[0.05, 0.05, 0.05, 0.2])
    for row, interval, tail in zip(values, found, [0.025, 0.025, 0.025, 0.1], strict=True):
        drawn = row[1:][~np.isnan(row[1:])]
        low, high = np.quantile(drawn, [tail, 1 - tail])
        assert interval == pytest.approx((min(low, row[0]), max(high, row[0])), abs=1e-3)


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
        pytest.param([0.5, 0.4], 0, id="no-case"),
        pytest.param([float("nan"), 0.4], 9, id="undefined-metric"),
        pytest.param([0.5, float("nan")], 9, id="undefined-resamples"),
        pytest.param([0.5], 9, id="no-resamples"),
    ],
)
def test_no_interval_without_values(values, cases):
    assert intervals_of(np.array([values]), [cases]) == [None]


def test_metric_after_one_without_an_interval_has_its_own():
    values = np.array([[float("nan"), 0.4, 0.4], [0.5, 0.4, 0.6]])
    first, second = intervals_of(values, [9, 10**9])
    assert first is None
    assert second == pytest.approx((0.405, 0.595))


@given(
    st.lists(st.floats(0, 1), min_size=2, max_size=30), st.integers(1, 100), st.floats(0.05, 1.0)
)
def test_every_interval_contains_its_estimate_and_stays_within_limits(values, cases, scale):
    [(low, high)] = intervals_of(np.array([values]), [cases], scale=scale)
    assert 0 <= low <= values[0] <= high <= 1


def shown_intervals(run):
    found = run.intervals()
    f1s = {path: each.interval.f1 for path, each in found.attributes.items()}
    return found.metrics, {path: each for path, each in f1s.items() if each is not None}


def test_every_headline_metric_and_every_attribute_has_an_interval():
    metrics, attributes = shown_intervals(Run(drawn(40)))
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
            assert 1 < (high - low) / deviation / (2 * 1.96) < 2.5
    assert found.deviations["mean_score"] > 0
    low, high = found.metrics["mean_score"]
    assert low < summary.mean_score < high
    low, high = found.metrics["rqs"]
    assert low < summary.quality.rqs < high


def test_more_cases_give_a_narrower_interval():
    wide, narrow = (shown_intervals(Run(drawn(cases)))[0]["micro_f1"] for cases in (30, 480))
    assert (wide[1] - wide[0]) / (narrow[1] - narrow[0]) > 4


def at_least(cases):
    return pytest.approx((0.025 ** (1 / cases), 1.0), abs=0.01)


def at_most(cases):
    return pytest.approx((0.0, 1 - 0.025 ** (1 / cases)), abs=0.01)


def test_run_without_mistakes_still_has_an_interval():
    _, attributes = shown_intervals(Run(drawn(10, right=1.0)))
    assert attributes["a"] == at_least(10)


def test_undefined_metric_has_no_interval():
    run = Run([("a", [("total", "wrong")]), ("b", [("total", "wrong")])], options=UNDEFINED)
    assert summarize(run.tally, run.convention).attributes["total"].f1 is None
    assert "total" not in shown_intervals(run)[1]


def test_attribute_without_a_match_has_an_interval_from_zero():
    run = Run([("a", [("total", "wrong")]), ("b", [("total", "wrong")])])
    assert summarize(run.tally, run.convention).attributes["total"].f1 == 0
    assert shown_intervals(run)[1]["total"] == at_most(2)


@pytest.mark.parametrize("cases", [1, 2, 5])
def test_equal_cases_have_wide_intervals(cases):
    half = [("total", "wrong"), ("vendor", "match")]
    run = Run([(str(n), half) for n in range(cases)])
    metrics, attributes = shown_intervals(run)
    assert attributes == {"total": at_most(cases), "vendor": at_least(cases)}
    found = run.intervals().attributes
    assert {each.deviation.f1 for each in found.values()} == {None if cases == 1 else 0}
    share = 0.5 * 0.025 ** (1 / cases)
    assert metrics["micro_f1"] == pytest.approx((share, 1 - share), abs=0.01)
    assert metrics["completeness"] == at_least(cases)


def test_interval_of_a_perfect_rate_counts_only_its_own_cases():
    """Eight missing values say nothing about precision, and eight extra ones nothing about recall."""
    cases = [(str(n), [("total", "match")]) for n in range(2)]
    missing = Run(cases + [(str(n), [("total", "omission")]) for n in range(2, 10)])
    [found] = missing.intervals().attributes.values()
    assert found.interval.precision == at_least(2)
    assert found.interval.recall[1] < 1
    extra = Run(cases + [(str(n), [("total", "extra-key")]) for n in range(2, 10)])
    [found] = extra.intervals().attributes.values()
    assert found.interval.recall == at_least(2)


def test_empty_run_has_no_intervals():
    assert shown_intervals(Run([])) == ({}, {})


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
    alone = shown_intervals(run)
    monkeypatch.setattr(bootstrap, "GROUPS", 250)
    together = shown_intervals(run)
    for one, other in zip(alone, together, strict=True):
        for name, (low, high) in one.items():
            assert other[name][1] - other[name][0] == pytest.approx(high - low, rel=0.3)


def test_intervals_of_a_sample_are_close_to_those_of_the_run():
    cases = drawn(3000)
    part, whole = (shown_intervals(Run(cases, limit=limit))[0]["micro_f1"] for limit in (256, 4096))
    assert part[1] - part[0] == pytest.approx(whole[1] - whole[0], rel=0.35)
