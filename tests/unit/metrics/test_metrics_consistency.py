"""Consistency and ranking of several candidates for one case."""

from __future__ import annotations

from itertools import combinations

import pytest

import fieldmark as fm
from fieldmark.compare.providers import Recorded
from fieldmark.compare.semantic import Semantic
from fieldmark.metrics.consistency import Ranking, agreement, consistency, rank
from fieldmark.model.rule import Rule, Rules
from fieldmark.plan import compile_plan


def pairs_of(candidates, rules=None):
    plan = compile_plan(rules or Rules())
    return [
        list(plan.compare(one, other).records(plan.table))
        for one, other in combinations(candidates, 2)
    ]


@pytest.mark.parametrize(
    ("candidates", "share"),
    [
        pytest.param([{"a": 5}, {"a": 5}, {"a": 5}], 1.0, id="all-agree"),
        pytest.param([{"a": 5}, {"a": 5}, {"a": 6}], 1 / 3, id="one-pair-of-three"),
        pytest.param([{"a": None}, {"a": ""}, {}], 1.0, id="empty-values-agree"),
        pytest.param([{"a": None}, {"a": 5}], 0.0, id="value-and-empty-disagree"),
        pytest.param([{"a": 0}, {"a": False}], 0.0, id="comparator-decides"),
        pytest.param([{}, {}, {"a": 5}], 1 / 3, id="field-absent-from-both"),
    ],
)
def test_agreement_on_a_field(candidates, share):
    assert agreement(pairs_of(candidates)) == {"a": pytest.approx(share)}


def test_failed_comparison_is_excluded():
    provider = Recorded(scores={("one", "two"): 0.9})
    rules = Rules(fields=(Rule(path="a", comparator=Semantic(provider=provider)),))
    candidates = [{"a": "one"}, {"a": "two"}, {"a": "three"}]
    assert agreement(pairs_of(candidates, rules)) == {"a": 1.0}
    assert agreement(pairs_of(candidates[1:], rules)) == {}


@pytest.mark.parametrize(
    ("candidates", "expected"),
    [
        pytest.param([{"a": 1, "b": 1}, {"a": 1}], 0.5, id="mean-over-all-fields"),
        pytest.param([{"a": 1}], None, id="one-candidate-is-undefined"),
        pytest.param([{}, {}], None, id="no-fields-are-undefined"),
    ],
)
def test_consistency(candidates, expected):
    assert consistency(pairs_of(candidates)) == expected


def test_reordered_items_are_consistent():
    one = {"items": [{"d": "red"}, {"d": "blue"}]}
    other = {"items": [{"d": "blue"}, {"d": "red"}]}
    assert consistency(pairs_of([one, other])) == 1.0


def test_candidates_are_ranked_and_compared_with_each_other():
    ranked = fm.compare_many(
        {"total": 5, "name": "x"}, [{"total": 6, "name": "x"}, {"total": 5, "name": "x"}]
    )
    assert ranked.best is ranked.results[1]
    assert ranked.ranking == Ranking((1, 0), (2, 1), 1.0, 0.75, 0.25)
    assert ranked.agreement == {"name": 1.0, "total": 0.0}
    assert ranked.to_dict()["consistency"] == 0.5


@pytest.mark.parametrize(
    ("candidates", "rules", "expected"),
    [
        pytest.param(
            [{"a": "US$ 5"}, {"a": "US$ 5"}], {"a": {"match": "regex"}}, {"a": 1.0}, id="pattern"
        ),
        pytest.param(
            [{"a": ["x"]}, {"a": ["x"]}], {"a": {"any_of": True}}, {"a": 1.0}, id="several-answers"
        ),
        pytest.param(
            [{"a": 1}, {"a": 1, "b": 2}],
            {"scope": "truth"},
            {"a": 1.0, "b": 0.0},
            id="in-one-order",
        ),
        pytest.param(
            [{"a": 1, "b": 2}, {"a": 1}],
            {"scope": "truth"},
            {"a": 1.0, "b": 0.0},
            id="in-the-other-order",
        ),
    ],
)
def test_agreement_is_symmetric(candidates, rules, expected):
    assert fm.compare_many({"a": "x", "b": 2}, candidates, rules=rules).agreement == expected


@pytest.mark.parametrize(
    ("scores", "ranking"),
    [
        pytest.param([0.5, 1.0], Ranking((1, 0), (2, 1), 1.0, 0.75, 0.25), id="best-first"),
        pytest.param(
            [0.5, 0.5], Ranking((0, 1), (1, 1), 0.5, 0.5, 0.0), id="ties-keep-their-order"
        ),
        pytest.param(
            [None, 0.5], Ranking((1, 0), (2, 1), 0.5, 0.5, 0.0), id="without-a-score-last"
        ),
        pytest.param([None], Ranking((0,), (1,), None, None, None), id="no-score-at-all"),
    ],
)
def test_ranking(scores, ranking):
    assert rank(scores) == ranking


def test_scores_that_differ_only_by_float_noise_are_ties():
    found = rank([0.7374999999999999, 0.7375, 0.5])
    assert (found.order, found.ranks) == ((0, 1, 2), (1, 1, 3))
