"""The outcome of a field, by the presence of both sides and the result of the comparator."""

from __future__ import annotations

from itertools import product

import pytest

from fieldmark.model.comparison import MATCHED, Comparison
from fieldmark.model.json import MISSING
from fieldmark.model.outcome import Outcome, Presence, Reason, fact_of
from fieldmark.plan.classify import (
    IGNORED_FACTS,
    PRESENCE_FACTS,
    VALUE_FACTS,
    acceptable,
    outcome_of_values,
)
from fieldmark.values.presence import presence

ABSENT, NULL, BLANK, VALUE = Presence
EMPTY = ABSENT, NULL, BLANK


@pytest.mark.parametrize(
    ("expected", "candidate", "outcome"),
    [
        *((one, other, Outcome.BOTH_EMPTY) for one, other in product(EMPTY, EMPTY)),
        *((VALUE, empty, Outcome.OMISSION) for empty in EMPTY),
        *((empty, VALUE, Outcome.HALLUCINATION) for empty in EMPTY),
        (VALUE, VALUE, Outcome.ERROR),
    ],
)
def test_outcome_of_two_presences(expected, candidate, outcome):
    assert fact_of(PRESENCE_FACTS[expected][candidate]) == (outcome, expected, candidate)


@pytest.mark.parametrize(("expected", "candidate"), list(product(Presence, Presence)))
def test_ignored_field_keeps_both_presences(expected, candidate):
    found = fact_of(IGNORED_FACTS[expected][candidate])
    assert found == (Outcome.IGNORED, expected, candidate)


@pytest.mark.parametrize("outcome", Outcome)
def test_every_outcome_of_two_values_has_a_fact(outcome):
    assert fact_of(VALUE_FACTS[outcome]) == (outcome, VALUE, VALUE)


DIFFERS = Comparison.differs(Reason.DIFFERENT)


@pytest.mark.parametrize(
    ("comparison", "expected", "candidate", "outcome"),
    [
        pytest.param(MATCHED, "a", "a", Outcome.MATCH, id="match"),
        pytest.param(MATCHED, "1", 1, Outcome.MATCH, id="match-after-coercion-of-the-type"),
        pytest.param(DIFFERS, "a", "b", Outcome.WRONG_VALUE, id="same-type-no-match"),
        pytest.param(DIFFERS, 1, 1.5, Outcome.WRONG_VALUE, id="integers-and-floats-are-numbers"),
        pytest.param(DIFFERS, "1", 1, Outcome.FORMAT_ERROR, id="text-against-a-number"),
        pytest.param(DIFFERS, 1, True, Outcome.FORMAT_ERROR, id="boolean-is-not-a-number"),
        pytest.param(DIFFERS, [1], {"a": 1}, Outcome.FORMAT_ERROR, id="array-against-object"),
        pytest.param(DIFFERS, [1], [2], Outcome.WRONG_VALUE, id="array-against-array"),
        pytest.param(
            Comparison.wrong_type(Reason.UNPARSEABLE_DATE),
            "2024-01-01",
            "soon",
            Outcome.FORMAT_ERROR,
            id="candidate-cannot-be-read-as-the-comparators-type",
        ),
        pytest.param(
            Comparison.error(Reason.PROVIDER_FAILED),
            "a",
            "a",
            Outcome.ERROR,
            id="comparison-could-not-be-made",
        ),
    ],
)
def test_outcome_of_two_values(comparison, expected, candidate, outcome):
    assert outcome_of_values(comparison, expected, candidate) is outcome


@pytest.mark.parametrize(
    ("expected", "candidate", "answers", "present"),
    [
        pytest.param(["a", "b"], VALUE, ["a", "b"], VALUE, id="several-values"),
        pytest.param(["a", None, " "], VALUE, ["a"], VALUE, id="empty-values-are-omitted"),
        pytest.param(["a", None], NULL, ["a", None], NULL, id="empty-value-is-acceptable"),
        pytest.param(["a", "b"], NULL, ["a", "b"], VALUE, id="no-empty-value-is-acceptable"),
        pytest.param([], VALUE, [], BLANK, id="empty-list-is-empty"),
        pytest.param([None, ""], VALUE, [None, ""], BLANK, id="list-of-empty-values-is-empty"),
        pytest.param("a", VALUE, "a", VALUE, id="single-value"),
        pytest.param(None, VALUE, None, NULL, id="null"),
        pytest.param(MISSING, VALUE, MISSING, ABSENT, id="absent"),
    ],
)
def test_acceptable_values(expected, candidate, answers, present):
    assert acceptable(expected, candidate, presence) == (answers, present)
