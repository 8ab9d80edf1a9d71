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
from fieldmark.run.flags import Flags
from fieldmark.run.pipeline import run_cases
from fieldmark.run.unused import unused_rules

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


def run(cases, rules=None, watchers=()):
    plan = compile_plan(CONFUSION.rules_for(rules or Rules()))
    return run_cases([cases], plan, CONFUSION, watchers), plan


def test_a_crash_inside_a_comparator_is_the_error_of_its_case_alone():
    seen = []
    rules = Rules(fields=(Rule(path="a", comparator=Fragile()),))
    cases = [Case(str(n), {"a": "x"}, {"a": word}) for n, word in enumerate(["x", "crash", "y"])]
    run(cases, rules, [lambda batch: seen.extend(batch.stats)])
    assert [figures.errors_count for figures in seen] == [0, 1, 0]
    assert [figures.score for figures in seen] == [1.0, None, 1.0]


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
    tally, _ = run(crashing, rules)
    attributes = summarise(tally, CONFUSION, rules=rules).attributes
    assert set(attributes) == {"a", "b"}
    assert (attributes["a"].tp, attributes["a"].errors) == (2, 1)
    assert (attributes["b"].tp, attributes["b"].errors) == (3, 0)


def test_the_note_of_a_crash_says_what_happened():
    seen = []
    rules = Rules(fields=(Rule(path="a", comparator=Fragile()),))
    run(
        [Case("1", {"a": "x"}, {"a": "crash"})],
        rules,
        [lambda batch: seen.extend(batch.blocks)],
    )
    assert [said.note for said in seen[0].comparisons.values()] == [
        "ZeroDivisionError: no such luck"
    ]


def test_a_case_without_a_readable_truth_is_shown_to_no_watcher():
    seen = []
    cases = [
        Case("bad", None, MISSING, CaseInput.INVALID_TRUTH, "t:1: not JSON"),
        Case("good", {"a": 1}, {"a": 1}),
    ]
    run(cases, watchers=[lambda batch: seen.extend(case.id for case in batch.cases)])
    assert seen == ["good"]


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
    tally, _ = run(cases, rules)
    assert unused_rules(rules, tally.facts()) == warnings


def test_what_deserves_a_word_is_counted():
    from fieldmark.compare.date import DateMatch
    from fieldmark.compare.semantic import Semantic

    flags = Flags()
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
    run([Case("1", *pair), Case("2", *pair)], rules, [flags])
    said = flags.warnings()
    assert [text.split(" ")[0] for text in said] == ["2", "2"]
    assert "lexical" in said[0]
    assert "month first" in said[1]
    assert Flags().warnings() == []
