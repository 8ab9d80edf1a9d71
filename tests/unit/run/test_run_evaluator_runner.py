"""Evaluators with metrics over all cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fieldmark.evaluators.base import ConfiguredEvaluator, Score, Status
from fieldmark.evaluators.composite import Composite
from fieldmark.model.case import Case, CaseInput, Verdict
from fieldmark.run.evaluator_runner import open_evaluators


class Counting:
    """Counts cases; raises an exception for one expected value."""

    def __init__(self):
        self.seen = []

    def add(self, expected, candidate, *, unreadable=False):
        if expected == "crash":
            raise RuntimeError("no")
        self.seen.append((expected, candidate, unreadable))
        return Score(score=1.0, verdict=Verdict.PASS)

    def merge(self, other):
        self.seen += other.seen

    def summary(self):
        return {"seen": len(self.seen), "unreadable": sum(each[2] for each in self.seen)}


@dataclass(frozen=True, kw_only=True)
class Gathers:
    name: ClassVar[str] = "gathers"

    def evaluate(self, expected, candidate, *, unreadable=False):
        return self.start().add(expected, candidate, unreadable=unreadable)

    def start(self):
        return Counting()


def member(name, evaluator=None):
    return ConfiguredEvaluator(name=name, type="gathers", evaluator=evaluator or Gathers())


CASES = [Case("a", 1, 1), Case("b", 2, 2, CaseInput.PARSE_ERROR)]


def test_accumulators_see_each_case_once():
    inner = Composite(evaluators=(member("inner"),))
    with open_evaluators([member("one"), member("all", inner)]) as runner:
        results = [runner.score(case) for case in CASES]
        expected = {"seen": 2, "unreadable": 1}
        assert runner.metrics() == {"one": expected, "all": {"inner": expected}}
    assert [[each.score.score for each in row] for row in results] == [[1.0, 1.0]] * 2


def test_stored_cases_are_accumulated_without_scoring():
    with open_evaluators([member("one")]) as runner:
        runner.accumulate(CASES)
        runner.score(Case("c", 3, 3))
        assert runner.metrics()["one"]["seen"] == 3


def test_case_with_own_evaluators_is_accumulated_only_there():
    with open_evaluators([member("one")], {"b": [member("own")]}) as runner:
        [runner.score(case) for case in CASES]
        assert {name: each["seen"] for name, each in runner.metrics().items()} == {
            "one": 1,
            "own": 1,
        }


def test_exception_in_an_evaluator_is_an_error_of_its_case():
    with open_evaluators([member("one")]) as runner:
        (result,) = runner.score(Case("x", "crash", 1))
        runner.accumulate([Case("x", "crash", 1)])
        assert result.score.status is Status.ERROR
        assert runner.metrics()["one"]["seen"] == 0


def test_evaluators_without_accumulators_have_no_metrics():
    with open_evaluators([]) as runner:
        assert not runner.has_accumulators
        assert runner.metrics() == {}
