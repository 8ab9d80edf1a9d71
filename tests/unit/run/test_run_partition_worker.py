"""One pass over the cases: faults are counted, crashes are errors, rules that met nothing are told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest

from fieldmark.compare.any_of import AnyOf
from fieldmark.metrics.conventions import find_convention
from fieldmark.metrics.summary import summarise
from fieldmark.model.case import Case, CaseInput
from fieldmark.model.comparison import MATCHED
from fieldmark.model.json import MISSING
from fieldmark.model.rule import Rule, Rules
from fieldmark.plan import compile_plan
from fieldmark.run.partition_worker import CaseProcessor, RunTotals, split_unreadable
from fieldmark.run.run_warnings import unused_rules

CONFUSION = find_convention("confusion")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragile:
    """Crashes on one value."""

    name: ClassVar[str] = "fragile"
    reflexive: ClassVar[bool] = False

    def compare(self, expected, candidate):  # noqa: ARG002 - a comparator's signature
        if candidate == "crash":
            raise ZeroDivisionError("no such luck")
        return MATCHED


def run(cases, rules=None):
    """The results of cases and their totals."""
    plan = compile_plan(CONFUSION.rules_for(rules or Rules()))
    readable, unreadable = split_unreadable(cases)
    results = CaseProcessor(plan, CONFUSION).process(readable)
    totals = RunTotals(plan.table, values=True, sampled=False)
    totals.add(results, unreadable)
    return results, totals


def test_a_crash_inside_a_comparator_is_the_error_of_its_case_alone():
    rules = Rules(fields=(Rule(path="a", comparator=Fragile()),))
    cases = [Case(str(n), {"a": "x"}, {"a": word}) for n, word in enumerate(["x", "crash", "y"])]
    results, _ = run(cases, rules)
    assert [each.stats.errors_count for each in results] == [0, 1, 0]
    assert [each.score for each in results] == [1.0, None, 1.0]


@pytest.mark.parametrize(
    "comparator",
    [
        pytest.param(Fragile(), id="of-a-comparator"),
        pytest.param(AnyOf(inner=Fragile()), id="of-one-of-several-answers"),
    ],
)
def test_a_crash_costs_its_field_and_no_other(comparator):
    rules = Rules(fields=(Rule(path="a", comparator=comparator),))
    cases = [Case(str(n), {"a": "x", "b": 1}, {"a": word, "b": 1}) for n, word in enumerate("x!y")]
    crashing = [
        case._replace(candidate={"a": "crash", "b": 1}) if n == 1 else case
        for n, case in enumerate(cases)
    ]
    _, totals = run(crashing, rules)
    attributes = summarise(totals.tally, CONFUSION, rules=rules).attributes
    assert set(attributes) == {"a", "b"}
    assert (attributes["a"].tp, attributes["a"].errors) == (2, 1)
    assert (attributes["b"].tp, attributes["b"].errors) == (3, 0)


def test_the_note_of_a_crash_says_what_happened():
    rules = Rules(fields=(Rule(path="a", comparator=Fragile()),))
    results, totals = run([Case("1", {"a": "x"}, {"a": "crash"})], rules)
    notes = [each.note for each in results[0].outcomes.comparisons.values()]
    assert notes == ["ZeroDivisionError: no such luck"]
    assert totals.warnings.errors() == [
        "case that could not be evaluated: case '1', a: ZeroDivisionError: no such luck"
    ]


def test_a_case_without_a_readable_truth_has_no_result_and_is_counted():
    cases = [
        Case("bad", None, MISSING, CaseInput.INVALID_TRUTH, "t:1: not JSON"),
        Case("good", {"a": 1}, {"a": 1}),
    ]
    results, totals = run(cases)
    assert [each.id for each in results] == ["good"]
    assert totals.tally.sums().cases.invalid_truth == 1
    assert totals.warnings.errors() == ["truth that cannot be read: t:1: not JSON"]


def test_a_case_whose_target_failed_is_an_error_without_outcomes():
    cases = [Case("1", {"a": 1}, MISSING, CaseInput.FAILED, "no answer"), Case("2", {}, {})]
    (failed, _), totals = run(cases)
    assert (failed.score, failed.status, failed.reasoning) == (None, "error", "no answer")
    assert totals.tally.sums().cases.errors == 1


def test_an_interruption_is_not_a_crash():
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Interrupted:
        name: ClassVar[str] = "interrupted"
        reflexive: ClassVar[bool] = False

        def compare(self, expected, candidate):  # noqa: ARG002 - a comparator's signature
            raise KeyboardInterrupt

    rules = Rules(fields=(Rule(path="a", comparator=Interrupted()),))
    with pytest.raises(KeyboardInterrupt):
        run([Case("1", {"a": "x"}, {"a": "y"})], rules)


@pytest.mark.parametrize(
    ("path", "warnings"),
    [
        pytest.param("total", [], id="a-field"),
        pytest.param("items", [], id="something-above-a-field"),
        pytest.param("items[*].amount", [], id="a-pattern"),
        pytest.param("items[0].amount", [], id="a-place-in-a-list"),
        pytest.param("**.amount", [], id="a-pattern-of-any-depth"),
        pytest.param("note", [], id="a-field-that-only-the-candidate-has"),
        pytest.param("totl", ["no document has totl. Did you mean total?"], id="a-misspelt-path"),
        pytest.param(
            "items[*].amont",
            ["no document has items[*].amont. Did you mean items[].amount?"],
            id="a-misspelt-path-in-a-list",
        ),
        pytest.param("zzz", ["no document has zzz."], id="nothing-like-it"),
        pytest.param("a..b", [], id="a-malformed-path-is-told-elsewhere"),
    ],
)
def test_a_rule_that_met_nothing_is_told(path, warnings):
    rules = Rules(fields=(Rule(path=path),))
    cases = [Case("1", {"total": 1, "items": [{"amount": 1}]}, {"total": 1, "note": "x"})]
    _, totals = run(cases, rules)
    assert unused_rules(rules, totals.tally.facts()) == warnings


def test_what_deserves_a_word_is_counted():
    from fieldmark.compare.date import DateMatch
    from fieldmark.compare.semantic import Semantic

    rules = Rules(
        fields=(
            Rule(path="day", comparator=DateMatch()),
            Rule(path="text", comparator=Semantic()),
        )
    )
    pair = (
        {"day": "01/02/2024", "text": "net 30 days"},
        {"day": "2024-01-02", "text": "30 days net"},
    )
    _, totals = run([Case("1", *pair), Case("2", *pair)], rules)
    said = totals.warnings.doubts()
    assert [text.split(" ")[0] for text in said] == ["2", "2"]
    assert "lexical" in said[0]
    assert "month first" in said[1]
    assert run([])[1].warnings.doubts() == []
