"""The plan agrees with the reference interpreter and satisfies the laws of comparisons."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from itertools import product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fieldmark.align.exact_methods import Index, Key, SetAlign, Whole
from fieldmark.align.greedy import Greedy
from fieldmark.align.optimal import Optimal
from fieldmark.compare.exact import Exact, Ignore
from fieldmark.compare.fuzzy import Fuzzy
from fieldmark.compare.numeric import NumericTolerance
from fieldmark.compare.wrappers import AnyOf
from fieldmark.model.counts import Counts
from fieldmark.model.json import MISSING
from fieldmark.model.outcome import Outcome
from fieldmark.model.rule import Depth, Rule, Rules, Scope
from fieldmark.plan import compile_plan
from json_strategies import any_json, document_pairs, documents, same_structure, small_json
from reference.interpreter import Fact, interpret, planned

ALIGNERS = {
    "index": Index(),
    "greedy": Greedy(),
    "optimal": Optimal(),
    "key": Key(key=("name",)),
    "set": SetAlign(),
    "whole": Whole(),
}
NUMERIC = NumericTolerance(tolerance=Decimal("0.01"))
RULES = {
    "nothing configured": Rules(),
    "only what the truth has": Rules(scope=Scope.TRUTH),
    "texts are fuzzy": Rules(default=Fuzzy()),
    "empty words and containers": Rules(empty_tokens=frozenset({"N/A"}), empty_containers=True),
    "rules for some fields": Rules(
        fields=(
            Rule(path="total", comparator=NUMERIC),
            Rule(path="items[*].total", comparator=NUMERIC),
            Rule(path="items[].name", comparator=Fuzzy()),
            Rule(path="a.b", comparator=Fuzzy()),
        )
    ),
    "containers compared whole": Rules(
        fields=(
            Rule(path="items", comparator=Exact()),
            Rule(path="a", comparator=Exact()),
            Rule(path="parts[*].items", comparator=Exact()),
        )
    ),
    "ignored fields": Rules(
        fields=(
            Rule(path="a", comparator=Ignore()),
            Rule(path="items[*].name", comparator=Ignore()),
            Rule(path="parts[*]", comparator=Ignore()),
        )
    ),
    "ignored fields of the truth": Rules(
        scope=Scope.TRUTH,
        fields=(
            Rule(path="b", comparator=Ignore()),
            Rule(path="items[*].a", comparator=Ignore()),
        ),
    ),
    "any of several answers": Rules(
        fields=(
            Rule(path="name", comparator=AnyOf(inner=Exact())),
            Rule(path="items", comparator=AnyOf(inner=Fuzzy())),
        )
    ),
    "patterns at any depth": Rules(
        fields=(
            Rule(path="**.total", comparator=NUMERIC),
            Rule(path="**.name", comparator=Ignore()),
            Rule(path="name", comparator=Fuzzy()),
            Rule(path="items[*].total", comparator=Exact()),
        )
    ),
    "one list aligned by another method": Rules(
        fields=(
            Rule(path="items", aligner=Index()),
            Rule(path="items[*].parts", aligner=Greedy()),
        )
    ),
    "top-level keys": Rules(depth=Depth.TOP, fields=(Rule(path="total", comparator=NUMERIC),)),
    "top-level keys with rules inside": Rules(
        depth=Depth.TOP,
        fields=(
            Rule(path="a.b", comparator=Fuzzy()),
            Rule(path="items[*].name", comparator=Fuzzy()),
            Rule(path="items[*].parts[*].a", comparator=Ignore()),
            Rule(path="**.total", comparator=NUMERIC),
            Rule(path="parts", weight=2),
        ),
    ),
    "configured fields": Rules(
        scope=Scope.CONFIGURED,
        fields=(
            Rule(path="a"),
            Rule(path="a.b"),
            Rule(path="total", comparator=NUMERIC),
            Rule(path="items", aligner=Index()),
            Rule(path="items[*].name", comparator=Fuzzy()),
            Rule(path="items[*].total"),
            Rule(path="b", comparator=Ignore()),
        ),
    ),
    "configured list": Rules(
        scope=Scope.CONFIGURED,
        fields=(
            Rule(path="a"),
            Rule(path="items", aligner=Greedy()),
            Rule(path="items[*].parts", aligner=Index()),
            Rule(path="items[*].b", comparator=Ignore()),
        ),
    ),
    "configured fields of nested lists": Rules(
        scope=Scope.CONFIGURED,
        fields=(
            Rule(path="items[*].parts[*].a"),
            Rule(path="items[*].parts[*].name"),
            Rule(path="items[*].b"),
        ),
    ),
}
AGREEMENTS = [
    *product(RULES, ["index", "greedy"]),
    *product(["nothing configured", "rules for some fields"], ["optimal", "key", "set", "whole"]),
]
COST = {
    Outcome.MATCH: Counts(tp=1),
    Outcome.BOTH_EMPTY: Counts(tn=1),
    Outcome.OMISSION: Counts(fn=1),
    Outcome.HALLUCINATION: Counts(fp=1),
    Outcome.WRONG_VALUE: Counts(fp=1, fn=1),
    Outcome.FORMAT_ERROR: Counts(fp=1, fn=1),
}
SWAPPED = {
    Outcome.OMISSION.name: Outcome.HALLUCINATION.name,
    Outcome.HALLUCINATION.name: Outcome.OMISSION.name,
}
RIGHT = {"MATCH", "BOTH_EMPTY"}
EXACT_BY_INDEX = Rules(aligner=Index())


def facts(expected, candidate, rules):
    return planned(compile_plan(rules), expected, candidate)


def counts(expected, candidate, rules):
    total = Counts()
    for fact, number in facts(expected, candidate, rules).items():
        total += COST[Outcome[fact.outcome]].times(number)
    return total


def outcomes(expected, candidate):
    return {fact.outcome for fact in facts(expected, candidate, Rules())}


def precision(tally):
    return tally.tp / (tally.tp + tally.fp) if tally.tp + tally.fp else None


def recall(tally):
    return tally.tp / (tally.tp + tally.fn) if tally.tp + tally.fn else None


@pytest.mark.parametrize(("name", "method"), AGREEMENTS)
@given(pair=document_pairs())
def test_plan_agrees_with_the_interpreter(name, method, pair):
    rules, aligner = RULES[name], ALIGNERS[method]
    expected, candidate = pair
    chosen = Rules(
        fields=rules.fields,
        scope=rules.scope or Scope.UNION,
        depth=rules.depth or Depth.LEAF,
        default=rules.default or Exact(),
        aligner=aligner,
        empty_tokens=rules.empty_tokens,
        empty_containers=rules.empty_containers,
    )
    if chosen.depth is not Depth.LEAF and not isinstance(expected, dict):
        expected, candidate = {"a": expected}, {"a": candidate}
    interpreted = interpret(expected, candidate, chosen)
    assert facts(expected, candidate, chosen) == interpreted


@given(expected=documents)
def test_case_without_a_candidate_is_all_omissions(expected):
    found = facts(expected, MISSING, EXACT_BY_INDEX)
    assert found == interpret(expected, MISSING, EXACT_BY_INDEX)
    assert {fact.outcome for fact in found} <= {"OMISSION", "BOTH_EMPTY"}


@given(pair=document_pairs())
def test_plan_does_not_depend_on_earlier_documents(pair):
    rules = RULES["rules for some fields"]
    seasoned, fresh = compile_plan(rules), compile_plan(rules)
    seasoned.compare({"z": [{"q": 1}], "a": {"b": "x"}, "items": 3}, {"items": [{}], "a": []})
    first = [record._replace(attribute=0) for record in fresh.compare(*pair).records(fresh.table)]
    again = seasoned.compare(*pair)
    assert [record._replace(attribute=0) for record in again.records(seasoned.table)] == first


@pytest.mark.parametrize("aligner", ALIGNERS.values(), ids=ALIGNERS)
@given(document=st.one_of(any_json, small_json))
def test_document_matches_itself(aligner, document):
    found = facts(document, document, Rules(aligner=aligner))
    assert {fact.outcome for fact in found} <= RIGHT


@given(data=st.data(), expected=documents)
def test_swapping_the_sides_swaps_omissions_and_hallucinations(data, expected):
    candidate = data.draw(same_structure(expected))
    swapped = Counter()
    for fact, number in facts(candidate, expected, EXACT_BY_INDEX).items():
        outcome = SWAPPED.get(fact.outcome, fact.outcome)
        swapped[Fact(fact.attribute, outcome, fact.candidate, fact.expected)] += number
    assert facts(expected, candidate, EXACT_BY_INDEX) == swapped


@pytest.mark.parametrize("method", ["greedy", "optimal"])
@given(data=st.data(), pair=document_pairs(st.lists(small_json, max_size=5)))
def test_order_of_items_changes_no_count(method, data, pair):
    expected, candidate = pair
    assume(isinstance(candidate, list))
    shuffled = data.draw(st.permutations(expected)), data.draw(st.permutations(candidate))
    rules = Rules(aligner=ALIGNERS[method])
    assert facts(*shuffled, rules) == facts(expected, candidate, rules)


@given(pair=document_pairs(), extra=small_json)
def test_unrelated_extra_field_never_raises_precision(pair, extra):
    expected, candidate = pair
    if not (isinstance(expected, dict) and isinstance(candidate, dict)):
        expected, candidate = {"a": expected}, {"a": candidate}
    before = precision(counts(expected, candidate, Rules()))
    after = precision(counts(expected, {**candidate, "unrelated": extra}, Rules()))
    assert None in (before, after) or after <= before


@given(data=st.data(), pair=document_pairs())
def test_removing_a_matching_field_never_raises_recall(data, pair):
    objects = [side if isinstance(side, dict) else {} for side in pair]
    expected, candidate = ({**side, "surely right": "yes"} for side in objects)
    right = [
        key
        for key in expected
        if key in candidate and outcomes({key: expected[key]}, {key: candidate[key]}) <= RIGHT
    ]
    removed = data.draw(st.sampled_from(right))
    fewer = {key: value for key, value in candidate.items() if key != removed}
    before = recall(counts(expected, candidate, Rules()))
    after = recall(counts(expected, fewer, Rules()))
    assert None in (before, after) or after <= before
