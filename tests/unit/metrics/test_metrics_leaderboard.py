"""Several runs over the same cases: pairwise tests, the best, wins by attribute and cost."""

from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from metrics_cells import block_of
from paired_runs import COUNTING, QUICK

from fieldmark.metrics.case_score import CaseCounter
from fieldmark.metrics.conventions import DEFAULT_CONVENTION
from fieldmark.metrics.difference import (
    CaseInRun,
    DiffVerdict,
    MetricDifference,
    PairedCases,
    ResamplingOptions,
    paired_metrics,
)
from fieldmark.metrics.leaderboard import (
    RunUsage,
    SharedCases,
    attribute_rankings,
    best_runs,
    compare_runs,
    cost_frontier,
    run_usage,
)
from fieldmark.model.outcomes import AttributeTable
from reference import rank_oracle

COUNTS = {"match": (1, 0, 0), "wrong": (0, 1, 1), "omission": (0, 0, 1)}
METRICS = {
    "mean_score": rank_oracle.mean_score,
    "macro_f1_by_attribute": rank_oracle.macro_f1,
}


def runs_of(*cases, evaluators=None):
    """Return the shared cases of runs; a case has a mapping from attributes to facts per run.

    `evaluators` are the scores of each case in each run.
    """
    table = AttributeTable()
    counter = CaseCounter(DEFAULT_CONVENTION, table)
    shared = SharedCases(runs=len(cases[0]), scores=("absent", "judge"))
    slow = [[] for _ in cases[0]]
    sides_of = []
    evaluators = evaluators or [[{}] * len(cases[0])] * len(cases)
    for case, scores_of in zip(cases, evaluators, strict=True):
        sides = []
        for run, fields, scores in zip(slow, case, scores_of, strict=True):
            block = block_of(list(fields.items()), table)
            stats = counter.stats(block)
            sides.append(CaseInRun(block=block, stats=stats, table=table, evaluators=scores))
            run.append((stats.score, {name: COUNTS[fact] for name, fact in fields.items()}))
        shared.add(sides)
        sides_of.append(sides)
    return shared, table, slow, sides_of


FACTS = st.sampled_from(sorted(COUNTS))
CASES = st.lists(
    st.lists(st.fixed_dictionaries({"a": FACTS, "b": FACTS}), min_size=3, max_size=3),
    min_size=2,
    max_size=7,
)


@given(st.sampled_from(sorted(METRICS)), CASES)
def test_p_values_equal_those_of_all_permutations(metric, cases):
    shared, table, slow, _ = runs_of(*cases)
    value = METRICS[metric]
    effort = ResamplingOptions(resamples=100, permutations=2_999)
    estimates = [value(run) for run in slow]
    found = compare_runs(shared, range(3), table, COUNTING, metric, estimates, effort)
    exact = {
        pair: rank_oracle.exact_p(*(slow[place] for place in pair), value)
        for pair in combinations(range(3), 2)
    }
    own = {pair: each.p for pair, each in found.pairs.items()}
    # 2,999 random permutations are within five standard errors of all of them.
    assert own == pytest.approx(exact, abs=0.05)
    adjusted = {pair: each.adjusted for pair, each in found.pairs.items()}
    assert adjusted == pytest.approx(rank_oracle.adjusted(own))
    for (first, second), each in found.pairs.items():
        assert each.delta == pytest.approx(value(slow[first]) - value(slow[second]), abs=1e-6)


def test_a_pair_has_the_result_of_its_own_comparison():
    facts = ("match", "wrong", "omission")
    cases = [
        [{"a": facts[(n * 7 + run * n) % 3], "b": facts[(n // 2 + run) % 3]} for run in range(3)]
        for n in range(12)
    ]
    # One evaluator did not score every case.
    scores = [
        [{"judge": (n * 5 + run * 3) % 7 / 8} if n % 4 or run else {} for run in range(3)]
        for n in range(12)
    ]
    shared, table, _, sides = runs_of(*cases, evaluators=scores)
    order = [2, 0, 1]
    for first, second in combinations(range(3), 2):
        pairs = PairedCases(evaluators=["judge"])
        for number, case in enumerate(sides):
            pairs.add(str(number), case[order[second]], case[order[first]])
        alone = paired_metrics(pairs, table, table, COUNTING, QUICK)
        metrics = ("mean_score", "macro_f1_by_attribute", "micro_f1", "completeness", "rqs")
        for metric in (*metrics, "judge"):
            found = compare_runs(shared, order, table, COUNTING, metric, [None] * 3, QUICK)
            each, want = found.pairs[first, second], {**alone.headline, **alone.evaluators}[metric]
            assert (each.delta, each.p) == (want.delta, want.p)
            # With more than one test, intervals are wider.
            low, high = each.interval
            assert low <= want.interval[0] < want.interval[1] <= high
            assert (low <= 0 <= high) is (each.adjusted > 0.05)
            if metric != "judge":
                assert (each.improved, each.worse) == (want.improved, want.worse)


def test_mean_of_an_evaluator_covers_the_cases_that_it_scored():
    scores = [[{"judge": 0.25}, {}], [{"judge": 0.75}, {"judge": 1.0}], [{}, {}]]
    shared, *_ = runs_of(*[[{"a": "match"}] * 2] * 3, evaluators=scores)
    assert [shared.mean(run, "judge") for run in range(2)] == [0.5, 1.0]
    assert shared.mean(0, "absent") is None


@pytest.mark.parametrize("metric", ["mean_score", "judge"])
def test_interval_of_each_run_is_around_its_own_estimate(metric):
    """Of 60 cases, a quarter, half and three quarters are right: ± 2 √(p (1 - p) / 60)."""
    right = [[n % 4 < run + 1 for run in range(3)] for n in range(60)]
    cases = [[{"a": "match" if own else "omission"} for own in case] for case in right]
    scores = [[{"judge": float(own)} for own in case] for case in right]
    shared, table, _, _ = runs_of(*cases, evaluators=scores)
    order, estimates = [2, 0, 1], [0.75, 0.25, 0.5]
    effort = ResamplingOptions(resamples=1_000, permutations=99)
    found = compare_runs(shared, order, table, COUNTING, metric, estimates, effort)
    for estimate, (low, high) in zip(estimates, found.intervals, strict=True):
        width = 2 * (estimate * (1 - estimate) / 60) ** 0.5
        assert (estimate - low, high - estimate) == pytest.approx((width, width), rel=0.3)
    assert found.pairs[0, 1].delta == 0.5


def difference(word):
    return MetricDifference(
        before=0,
        after=0,
        delta=0,
        interval=None,
        p=0,
        adjusted=0,
        word=DiffVerdict(word),
        improved=0,
        worse=0,
        differing=0,
    )


TOLD, SAME, FEW = map(difference, ["better", "not proven", "too few cases to tell"])


@pytest.mark.parametrize(
    ("values", "words", "best"),
    [
        pytest.param([0.9, 0.8, 0.7], [TOLD, TOLD, TOLD], (0,), id="one"),
        pytest.param([0.9, 0.8, 0.7], [SAME, TOLD, SAME], (0, 1), id="not-told-from-the-best"),
        pytest.param([0.9, 0.8, 0.7], [FEW, TOLD, SAME], (0, 1), id="too-few-cases"),
        pytest.param([0.9, 0.8, 0.7], [TOLD, SAME, SAME], (0, 2), id="not-in-order"),
        pytest.param([0.9, 0.9, 0.7], [SAME, TOLD, SAME], (0, 1, 2), id="told-from-one-of-two"),
        pytest.param([0.9, 0.9, 0.7], [SAME, TOLD, TOLD], (0, 1), id="told-from-both"),
        pytest.param([0.9, None, 0.7], [SAME, TOLD, SAME], (0,), id="without-a-value"),
        pytest.param([None, None, None], [SAME, SAME, SAME], (), id="no-values"),
    ],
)
def test_runs_that_cannot_be_told_from_the_best(values, words, best):
    pairs = dict(zip(combinations(range(3), 2), words, strict=True))
    assert best_runs(values, pairs) == best


UNDEFINED, HALF, ALL, NONE = (0, 0, 0), (1, 1, 1), (2, 0, 0), (0, 0, 3)


@pytest.mark.parametrize(
    ("counts", "rankings"),
    [
        pytest.param([{"a": HALF}, {"a": ALL}, {"a": ALL}], [("a", (0.5, 1.0, 1.0), (1, 2), True, 0.5)], id="two-best"),
        pytest.param([{"a": HALF}, {"a": HALF}], [("a", (0.5, 0.5), (0, 1), False, 0.0)], id="all-equal"),
        pytest.param([{"a": HALF}, {}], [("a", (0.5, 1.0), (1,), True, 0.5)], id="attribute-of-one-run"),
        pytest.param([{"a": NONE}, {"a": UNDEFINED}], [("a", (0.0, 1.0), (1,), True, 1.0)], id="nothing-to-count-in-one-run"),
        pytest.param([{"a": UNDEFINED}, {"a": UNDEFINED}], [], id="nothing-to-count"),
        pytest.param(
            [{"c": ALL, "b": HALF, "a": NONE, "d": NONE}, {"a": NONE, "b": ALL, "c": NONE, "d": HALF}],
            [("c", (1.0, 0.0), (0,), True, 1.0), ("b", (0.5, 1.0), (1,), True, 0.5),
             ("d", (0.0, 0.5), (1,), True, 0.5), ("a", (0.0, 0.0), (0, 1), False, 0.0)],
            id="largest-difference-first-then-by-path",
        ),
        pytest.param([{"a": (7, 3, 0)}, {"a": (14, 6, 0)}], [("a", (14 / 17, 14 / 17), (0, 1), False, 0.0)], id="same-share-of-more-values"),
    ],
)  # fmt: skip
def test_attributes_are_ranked_by_the_difference_of_their_f1(counts, rankings):
    summaries = [
        SimpleNamespace(
            attributes={
                path: SimpleNamespace(tp=tp, fp=fp, fn=fn) for path, (tp, fp, fn) in run.items()
            }
        )
        for run in counts
    ]
    found = attribute_rankings(summaries)
    assert [(*ranking, ranking.decided, ranking.spread) for ranking in found] == rankings


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=8))
def test_no_run_dominates_one_of_the_frontier(runs):
    values = [value / 4 for value, _ in runs]
    costs = [float(cost) for _, cost in runs]
    found = cost_frontier(values, costs)
    slow = rank_oracle.frontier(list(zip(range(len(runs)), values, costs, strict=True)))
    assert set(found) == slow
    assert [costs[place] for place in found] == sorted(costs[place] for place in found)
    mirrored = cost_frontier([-value for value in values], costs, less_is_better=True)
    assert mirrored == found


def test_a_run_without_cost_or_value_is_not_on_the_frontier():
    assert cost_frontier([0.5, None, 0.9], [1.0, 0.1, None]) == (0,)


@pytest.mark.parametrize(
    ("usages", "correct", "want"),
    [
        pytest.param([{"cost": 1.0, "seconds": 1}] * 4, 2, (4.0, 1.0, 2.0, 1.0), id="known"),
        pytest.param([{"cost": 1.0, "seconds": 1}] * 4, 0, (4.0, 1.0, None, 1.0), id="none-correct"),
        pytest.param(
            [{"cost": 1.0, "seconds": 2}] * 3 + [None], 2, (None, None, None, 2.0), id="one-unknown"
        ),
        pytest.param([{"cost": None, "seconds": 3}] * 4, 2, (None, None, None, 3.0), id="no-price"),
    ],
)  # fmt: skip
def test_cost_of_a_run(usages, correct, want):
    found = run_usage(usages, cases=4, correct=correct)
    assert (found.cost, found.cost_per_case, found.cost_per_correct, found.seconds) == want


@pytest.mark.parametrize(
    ("number", "rank"),
    [(1, 1), (2, 2), (19, 19), (20, 19), (21, 20), (40, 38), (41, 39), (100, 95)],
)
def test_95th_percentile_is_the_shortest_time_that_95_percent_do_not_exceed(number, rank):
    times = range(number, 0, -1)
    found = run_usage([{"seconds": n} for n in times], cases=number, correct=1)
    assert (found.seconds, found.seconds_p95) == ((number + 1) / 2, rank)


def test_run_without_usage_or_with_invalid_numbers():
    assert run_usage([None, None], cases=2, correct=0) is None
    found = run_usage([{"cost": float("nan"), "seconds": "1"}], cases=1, correct=1)
    assert found == RunUsage(
        cost=None, cost_per_case=None, cost_per_correct=None, seconds=None, seconds_p95=None
    )
