"""Whole documents: what has no fields, and what is no object."""

from __future__ import annotations

import pytest

import fieldmark as fm
from fieldmark.model.json import MISSING
from fieldmark.model.rule import Depth, Rules
from fieldmark.plan import compile_plan


def told(expected, candidate, rules=None):
    plan = compile_plan(rules or Rules())
    block = plan.compare(expected, candidate)
    return [(record.path, record.outcome.label) for record in block.records(plan.table)]


@pytest.mark.parametrize(
    ("expected", "candidate", "fields"),
    [
        pytest.param({}, {}, [], id="two-empty-objects-have-no-fields"),
        pytest.param({}, MISSING, [], id="an-empty-object-without-candidate-has-no-fields"),
        pytest.param({}, {"a": 1}, [("a", "hallucination")], id="what-the-truth-lacks-is-invented"),
        pytest.param({"a": 1}, {}, [("a", "omission")], id="what-the-candidate-lacks-is-missing"),
        pytest.param({}, 5, [("$", "hallucination")], id="a-value-where-no-field-is-expected"),
        pytest.param([], [], [("$", "match")], id="two-empty-lists-are-one-value-each"),
        pytest.param(7, 7, [("$", "match")], id="a-document-that-is-a-number"),
        pytest.param("x", ["x"], [("$", "format_error")], id="a-text-against-a-list"),
        pytest.param([1], [1], [("[0]", "match")], id="a-list-is-aligned"),
    ],
)
def test_a_document_is_its_fields(expected, candidate, fields):
    assert told(expected, candidate) == fields


def test_without_keys_there_is_nothing_to_judge():
    result = fm.compare({}, {}, convention="four_phase")
    assert result.fields == ()
    assert "vacuous" in result.quality.flags["completeness"]
    assert told({}, {}, Rules(depth=Depth.TOP)) == []
