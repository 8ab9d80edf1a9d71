"""State that evaluators reuse between cases never affects results."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from fieldmark.compare.exact import Exact
from fieldmark.evaluators import field_evaluators
from fieldmark.evaluators.field_evaluators import (
    ExtractionMetrics,
    FieldAccuracy,
    FieldConfusion,
    ResponseQuality,
)
from fieldmark.evaluators.line_items import LineItems
from fieldmark.model.case import Case, CaseInput
from fieldmark.model.comparison import Comparison
from fieldmark.model.json import MISSING
from fieldmark.model.rule import Rule
from fieldmark.plan import compile_plan

RULES = (Rule(path="a"), Rule(path="b", weight=2.0))
EVALUATORS = [
    FieldAccuracy(fields=RULES),
    FieldConfusion(fields=RULES),
    LineItems(path="a"),
    ExtractionMetrics(),
    ResponseQuality(),
]
PAIRS = [
    ({"a": 1, "b": 2}, {"a": 1, "b": 3}),
    ({"z": {"y": 1}, "a": [{"description": "x"}]}, {"a": [{"description": "x", "k": 1}]}),
    ({"b": None}, {"a": 4, "q": [1, 2]}),
]

evaluators = pytest.mark.parametrize("evaluator", EVALUATORS, ids=lambda each: each.name)


@evaluators
def test_evaluator_result_does_not_depend_on_earlier_cases(evaluator):
    fresh = [replace(evaluator).evaluate(*pair) for pair in PAIRS]
    used = replace(evaluator)
    for order in (PAIRS, PAIRS[::-1], PAIRS):
        again = {id(pair): used.evaluate(*pair) for pair in order}
        assert [again[id(pair)] for pair in PAIRS] == fresh


@evaluators
def test_evaluator_is_thread_safe(evaluator):
    alone = [replace(evaluator).evaluate(*pair) for pair in PAIRS] * 40
    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(lambda pair: evaluator.evaluate(*pair), PAIRS * 40))
    assert together == alone


@evaluators
def test_evaluator_can_be_pickled(evaluator):
    evaluator.evaluate(*PAIRS[0])
    sent = pickle.loads(pickle.dumps(evaluator))  # noqa: S301 - our own bytes
    assert sent == evaluator
    assert hash(sent) == hash(evaluator)
    assert sent.evaluate(*PAIRS[1]) == evaluator.evaluate(*PAIRS[1])


@pytest.mark.parametrize("evaluator", [each for each in EVALUATORS if each.rules is not None])
@pytest.mark.parametrize("candidate", [*(pair[1] for pair in PAIRS), MISSING], ids=range(4))
def test_outcomes_of_the_same_rules_can_be_scored_directly(evaluator, candidate):
    state = CaseInput.MISSING if candidate is MISSING else CaseInput.OK
    plan = compile_plan(evaluator.rules)
    for expected, _ in PAIRS:
        case = Case("id", expected, candidate, state)
        outcomes = plan.compare(expected, candidate)
        assert evaluator.score_outcomes(outcomes, plan.table, case) == evaluator.evaluate(
            expected, candidate
        )


def test_plan_is_compiled_once_for_sequential_cases(monkeypatch):
    compiled = []
    monkeypatch.setattr(
        field_evaluators, "compile_plan", lambda rules: compiled.append(rules) or COMPILE(rules)
    )
    evaluator = ExtractionMetrics()
    for _ in range(5):
        evaluator.evaluate(*PAIRS[0])
    assert len(compiled) == 1


def test_plan_is_replaced_before_rare_keys_accumulate(monkeypatch):
    monkeypatch.setattr(field_evaluators, "_MAX_PLAN_CASES", 3)
    evaluator = ExtractionMetrics()
    sizes = []
    for number in range(7):
        _, table = evaluator._workspace.compare({f"key{number}": 1}, {})
        sizes.append(len(table))
    assert sizes == [1, 2, 3, 1, 2, 3, 1]


COMPILE = field_evaluators.compile_plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreliable:
    """Raises an exception for some values, as a plug-in might."""

    name: ClassVar[str] = "unreliable"
    reflexive: ClassVar[bool] = False

    def compare(self, expected, candidate):
        if expected == "raise":
            raise RuntimeError
        return Comparison.differs() if expected != candidate else Exact().compare(1, 1)


def test_plan_is_discarded_after_an_exception():
    evaluator = FieldAccuracy(fields=(Rule(path="a", comparator=Unreliable()),))
    evaluator.evaluate({"a": 1}, {"a": 1})
    with pytest.raises(RuntimeError):
        evaluator.evaluate({"a": "raise"}, {"a": 1})
    assert evaluator._workspace.idle == []
    assert evaluator.evaluate({"a": 1}, {"a": 1}).score == 1.0
