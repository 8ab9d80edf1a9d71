"""Documents without fields, and documents that are not objects."""

from __future__ import annotations

import pytest

import fieldmark as fm
from fieldmark.compare.exact import Exact
from fieldmark.model.json import MISSING
from fieldmark.model.rule import Depth, Rule, Rules
from fieldmark.plan import compile_plan


def outcomes(expected, candidate, rules=None):
    plan = compile_plan(rules or Rules())
    block = plan.compare(expected, candidate)
    return [(record.path, record.outcome.label) for record in block.records(plan.table)]


@pytest.mark.parametrize(
    ("expected", "candidate", "fields"),
    [
        pytest.param({}, {}, [], id="two-empty-objects-have-no-fields"),
        pytest.param({}, MISSING, [], id="empty-object-without-candidate-has-no-fields"),
        pytest.param({}, {"a": 1}, [("a", "hallucination")], id="what-the-truth-lacks-is-extra"),
        pytest.param({"a": 1}, {}, [("a", "omission")], id="what-the-candidate-lacks-is-missing"),
        pytest.param({}, 5, [("$", "hallucination")], id="value-where-no-field-is-expected"),
        pytest.param([], [], [("$", "match")], id="two-empty-lists-are-one-value-each"),
        pytest.param(7, 7, [("$", "match")], id="document-that-is-a-number"),
        pytest.param("x", ["x"], [("$", "format_error")], id="text-against-a-list"),
        pytest.param([1], [1], [("[0]", "match")], id="list-is-aligned"),
    ],
)
def test_fields_of_a_document(expected, candidate, fields):
    assert outcomes(expected, candidate) == fields


def test_documents_without_keys_have_no_fields():
    result = fm.compare({}, {}, convention="four_phase")
    assert result.fields == ()
    assert "vacuous" in result.quality.flags["completeness"]
    assert outcomes({}, {}, Rules(depth=Depth.TOP)) == []


def test_list_that_was_compared_earlier_is_added_by_the_path_of_its_items():
    rules = Rules(fields=(Rule(path="notes", comparator=Exact()),))
    plan = compile_plan(rules)
    for path in ("orders[].items[]", "notes[]", "[]"):
        plan.add_list(path)
    assert list(plan.lists()) == ["orders", "orders[].items", "$"]
