"""Processing of cases: exceptions in comparators are errors, invalid cases are counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest

from fieldmark.compare.wrappers import AnyOf
from fieldmark.metrics.conventions import find_convention
from fieldmark.metrics.summary import summarize
from fieldmark.model.case import Case, CaseInput
from fieldmark.model.comparison import MATCHED
from fieldmark.model.json import MISSING
from fieldmark.model.rule import Rule, Rules
from fieldmark.plan import compile_plan
from fieldmark.runs.case_processor import CaseProcessor, RunTotals, split_unreadable
from fieldmark.runs.case_result import case_columns

CONFUSION = find_convention("confusion")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragile:
    """Raises an exception for one value."""

    name: ClassVar[str] = "fragile"
    reflexive: ClassVar[bool] = False

    def compare(self, expected, candidate):  # noqa: ARG002 - a comparator's signature
        if candidate == "crash":
            raise ZeroDivisionError("no such luck")
        return MATCHED


def run(cases, rules=None):
    """Return the results of cases and their totals."""
    plan = compile_plan(CONFUSION.rules_for(rules or Rules()))
    readable, unreadable = split_unreadable(cases)
    results = CaseProcessor(plan, CONFUSION).process(readable)
    totals = RunTotals(plan.table, values=True, sampled=False)
    totals.add(results, unreadable)
    return results, totals


@pytest.mark.parametrize(
    "comparator",
    [
        pytest.param(Fragile(), id="in-a-comparator"),
        pytest.param(AnyOf(inner=Fragile()), id="in-any-of"),
    ],
)
def test_exception_in_a_comparator_fails_only_its_case(comparator):
    rules = Rules(fields=(Rule(path="a", comparator=comparator),))
    cases = [Case(str(n), {"a": "x", "b": 1}, {"a": word, "b": 1}) for n, word in enumerate("x!y")]
    crashing = [
        case._replace(candidate={"a": "crash", "b": 1}) if n == 1 else case
        for n, case in enumerate(cases)
    ]
    results, totals = run(crashing, rules)
    assert [result.stats.errors_count for result in results] == [0, 1, 0]
    assert [result.score for result in results] == [1.0, None, 1.0]
    attributes = summarize(totals.tally, CONFUSION).attributes
    assert set(attributes) == {"a", "b"}
    assert (attributes["a"].tp, attributes["a"].errors) == (2, 1)
    assert (attributes["b"].tp, attributes["b"].errors) == (2, 0)


def test_note_of_a_failed_comparison_contains_the_exception():
    rules = Rules(fields=(Rule(path="a", comparator=Fragile()),))
    results, totals = run([Case("1", {"a": "x"}, {"a": "crash"})], rules)
    notes = [value.note for value in results[0].outcomes.comparisons.values()]
    assert notes == ["ZeroDivisionError: no such luck"]
    assert totals.warnings.errors() == [
        "evaluation failed: case '1': a: ZeroDivisionError: no such luck"
    ]


def test_case_with_invalid_truth_is_counted_without_a_result():
    cases = [
        Case("bad", None, MISSING, CaseInput.INVALID_TRUTH, "t:1: not JSON"),
        Case("good", {"a": 1}, {"a": 1}),
    ]
    results, totals = run(cases)
    assert [result.id for result in results] == ["good"]
    assert totals.tally.sums().cases.invalid_truth == 1
    assert totals.warnings.errors() == ["cannot parse ground truth: t:1: not JSON"]


def test_case_whose_target_failed_is_an_error_without_outcomes():
    cases = [Case("1", {"a": 1}, MISSING, CaseInput.FAILED, "no answer"), Case("2", {}, {})]
    (failed, _), totals = run(cases)
    assert (failed.score, failed.status, failed.reasoning) == (None, "error", "no answer")
    assert totals.tally.sums().cases.errors == 1


def test_keyboard_interrupt_is_not_an_evaluation_error():
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Interrupted:
        name: ClassVar[str] = "interrupted"
        reflexive: ClassVar[bool] = False

        def compare(self, expected, candidate):  # noqa: ARG002 - a comparator's signature
            raise KeyboardInterrupt

    rules = Rules(fields=(Rule(path="a", comparator=Interrupted()),))
    with pytest.raises(KeyboardInterrupt):
        run([Case("1", {"a": "x"}, {"a": "y"})], rules)


def test_results_are_a_sequence():
    cases = [Case(name, {"a": 1}, {"a": number}) for number, name in enumerate("abc")]
    results = CaseProcessor(compile_plan(Rules()), CONFUSION).process(cases)
    assert [result.id for result in results] == ["a", "b", "c"]
    assert [results[index].score for index in (0, 1, -1)] == [0.0, 1.0, 0.0]
    assert [result.id for result in results[1:]] == ["b", "c"]
    assert len(results[:2]) == 2
    assert results[1].case is cases[1]
    with pytest.raises(IndexError):
        results[3]


def test_columns_are_those_of_the_results():
    cases = [Case("a", {"a": 1}, {"a": 1}), Case("b", {"a": 1}, input=CaseInput.MISSING)]
    processor = CaseProcessor(compile_plan(Rules()), CONFUSION)
    for some in (cases, cases[:1]):
        results = processor.process(some)
        columns = case_columns(results)
        assert [*columns.cases] == [result.case for result in results]
        assert [*columns.outcomes] == [result.outcomes for result in results]
        assert [*columns.stats] == [result.stats for result in results]
