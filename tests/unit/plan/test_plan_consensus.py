"""The majority vote of several predictions of one document."""

from __future__ import annotations

import pytest

from fieldmark.analyses.consensus import MajorityVote
from fieldmark.model.json import MISSING
from fieldmark.model.rule import Rules
from fieldmark.rules.rules_file import read_rules

VOTE = MajorityVote(Rules())


def vote_of(rules):
    return MajorityVote(read_rules(rules).rules)


@pytest.mark.parametrize(
    ("documents", "result"),
    [
        pytest.param([{"a": 1}, {"a": 1}, {"a": 2}], {"a": 1}, id="majority"),
        pytest.param([{"a": 1}, {"a": 1}, {}], {"a": 1}, id="present-in-most"),
        pytest.param([{"a": 1}, {}, {}], {}, id="absent-in-most"),
        pytest.param([{"a": 1}, {"a": None}, {"a": None}], {"a": None}, id="null-in-most"),
        pytest.param([{"a": None}, {"a": ""}, {}, {"a": 1}, {"a": 1}], {"a": None}, id="empty-values-agree"),
        pytest.param([{"a": 1}, {"a": 1.0}, {"a": 2}], {"a": 1}, id="equal-numbers-agree"),
        pytest.param([{"a": {"b": 1}}, {"a": {"b": 1}}, {"a": "x"}], {"a": {"b": 1}}, id="object-in-most"),
        pytest.param([{"a": {"b": 1}}, {"a": "x"}, {"a": "x"}], {"a": "x"}, id="scalar-in-most"),
        pytest.param([{"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, {}], {"a": {"b": 1}}, id="tie-below-an-object"),
        pytest.param([{"l": [1, 2]}, {"l": [1, 2]}, {"l": [2, 3]}], {"l": [1, 2]}, id="items-in-most"),
        pytest.param([{"l": [{"k": "x", "n": 1}, {"k": "y", "n": 2}]},
                      {"l": [{"k": "y", "n": 2}, {"k": "x", "n": 1}]},
                      {"l": [{"k": "y", "n": 3}, {"k": "x", "n": 1}]}],
                     {"l": [{"k": "x", "n": 1}, {"k": "y", "n": 2}]}, id="order-of-items"),
        pytest.param([[1, 2], [1, 2], [1, 3]], [1, 2], id="document-that-is-a-list"),
        pytest.param([1, 1, 2], 1, id="document-that-is-a-number"),
        pytest.param([{"a": 1}], {"a": 1}, id="one"),
        pytest.param([{"a": 1}, {"b": 2}], {"a": 1, "b": 2}, id="a-value-wins-over-nothing"),
    ],
)  # fmt: skip
def test_result_of_a_vote(documents, result):
    assert VOTE.combine(documents).document == result


def test_values_agree_as_their_rules_say():
    vote = vote_of({"total": {"match": "numeric_tolerance", "tolerance": 0.1}, "notes": "IGNORE"})
    found = vote.combine(
        [{"total": 1.0, "notes": "a"}, {"total": 1.05, "notes": "b"}, {"total": 3, "notes": "c"}]
    )
    assert found.document["total"] in (1.0, 1.05)
    (total,) = found.fields  # an ignored field is in no statistics
    assert [option.voters for option in total.options] == [(0, 1), (2,)]


def test_the_most_frequent_of_the_agreeing_values_is_kept():
    vote = vote_of({"name": {"match": "fuzzy", "threshold": 0.7}})
    names = ["Acme Inc", "Acme Inc.", "Acme Inc.", "Bolt"]
    found = vote.combine([{"name": name} for name in names])
    assert found.document == {"name": "Acme Inc."}
    assert [option.voters for option in found.fields[0].options] == [(0, 1, 2), (3,)]


def test_ties_are_decided_by_the_document_that_agrees_most_and_are_marked():
    good, other = {"a": 1, "b": 1, "c": 1}, {"a": 1, "b": 1, "c": 2}
    odd = [{"a": 1, "b": 8, "c": 2}, {"a": 9, "b": 1, "c": 1}]
    found = VOTE.combine([odd[0], good, other, odd[1]])
    assert found.document == {"a": 1, "b": 1, "c": 1}
    votes = {each.path: each for each in found.fields}
    assert (votes["a"].tie, votes["c"].tie) == (False, True)
    assert votes["c"].agreement == pytest.approx(2 / 6)


def test_items_that_are_left_out_are_named_by_their_attribute():
    found = VOTE.combine(
        [{"l": [{"k": "x"}, {"k": "other"}]}, {"l": [{"k": "x"}]}, {"l": [{"k": "x"}]}]
    )
    assert found.document == {"l": [{"k": "x"}]}
    assert [(each.path, each.attribute) for each in found.fields] == [
        ("l[0].k", "l[].k"),
        ("l[]", "l[]"),
    ]
    left_out = found.fields[1]
    assert left_out.options[0].value is MISSING
    assert [option.voters for option in left_out.options] == [(1, 2), (0,)]
