"""`improve` names the cause that was planted, and the rules that it proposes remove the mistakes."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

import fieldmark as fm
from fieldmark.metrics.patterns import BY_NAME
from planted_causes import PLANTS, Plant, planted

_FOLLOWS = {"item_offset": {"missing_item", "extra_item"}}
"""What is true beside the cause: the item whose loss moved the others."""


def named(run):
    """Return how many mistakes have each cause."""
    return Counter({each.pattern.name: each.number for each in fm.improve(run).clusters})


def mistakes(run):
    return run.summary.errors_by_type.total


def share_of(plant: Plant, causes: Counter[str]) -> float:
    right = causes[plant.pattern]
    others = sum(causes[name] for name in _FOLLOWS.get(plant.pattern, ()))
    return right / (causes.total() - others) if causes.total() > others else 0.0


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("plant", [pytest.param(plant, id=plant.name) for plant in PLANTS])
def test_planted_cause_is_named(plant):
    run = fm.score(planted(plant, seed=0, cases=20), rules=plant.rules, out="run")
    result = fm.improve(run)
    assert share_of(plant, named(run)) >= 0.9
    cluster = next(each for each in result.clusters if each.pattern.name == plant.pattern)
    assert bool(cluster.rules) is plant.has_rule


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "plant", [pytest.param(plant, id=plant.name) for plant in PLANTS if plant.has_rule]
)
def test_proposed_rule_removes_the_mistakes_that_it_names(plant):
    run = fm.score(planted(plant, seed=1, cases=20), rules=plant.rules, out="run")
    clusters = fm.improve(run).clusters
    [proposed] = next(each for each in clusters if each.pattern.name == plant.pattern).rules
    others = [
        rule
        for rule in (plant.rules or {"fields": []})["fields"]
        if rule["path"] != proposed.rule["path"]
    ]
    again = fm.rescore(run, rules={"fields": [*others, proposed.rule]}, out="again")
    left = named(again)
    assert left[plant.pattern] == 0
    follows = sum(left[name] for name in _FOLLOWS.get(plant.pattern, ())) + 20 * plant.hidden
    assert mistakes(again) <= mistakes(run) - proposed.mistakes + follows


def test_every_pattern_is_planted_unless_it_is_about_unread_predictions():
    assert {plant.pattern for plant in PLANTS} == BY_NAME.keys() - {"no_candidate", "parse_error"}


@pytest.mark.prove
@pytest.mark.usefixtures("folder")
def test_confusion_of_causes():
    """All causes over several data sets: at least 97% of the mistakes have the planted cause."""
    matrix: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for seed in range(5):
        for number, plant in enumerate(PLANTS):
            run = fm.score(planted(plant, seed), rules=plant.rules, out=f"run-{seed}-{number}")
            matrix[plant.pattern] += named(run)
    for pattern, causes in matrix.items():
        others = sum(causes[name] for name in _FOLLOWS.get(pattern, ()))
        assert causes[pattern] >= 0.9 * (causes.total() - others), (pattern, causes)
