"""The majority vote of any documents: it is symmetric, keeps what all agree on, and counts."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldmark.analyses.consensus import MajorityVote
from fieldmark.model.json import MISSING
from fieldmark.model.rule import Rules
from fieldmark.rules.rules_file import read_rules
from json_strategies import any_json
from reference import consensus_oracle as oracle

VOTE = MajorityVote(Rules())
VALUES = st.sampled_from([None, "", 1, 2, "x"])
ITEMS = st.lists(
    st.fixed_dictionaries({"sku": st.sampled_from("abc")}, optional={"n": VALUES}),
    unique_by=lambda item: item["sku"],
    max_size=3,
)
DOCUMENTS = st.lists(
    st.fixed_dictionaries({}, optional={"x": VALUES, "y": VALUES, "items": ITEMS}),
    min_size=2,
    max_size=5,
)
KEYED = MajorityVote(read_rules({"items": {"align": "key", "key": ["sku"]}}).rules)


def as_text(value):
    return oracle.NOTHING if value in (None, "", MISSING) else json.dumps(value)


@given(DOCUMENTS)
def test_fields_and_keyed_items_equal_a_slow_vote(documents):
    found = KEYED.combine(documents)
    items = {item["sku"]: item for item in found.document.get("items") or []}
    lists = [document.get("items") or [] for document in documents]
    with_items = sum(map(bool, lists))
    for name, wanted in oracle.fields(documents, "sku").items():
        if isinstance(name, str):
            assert as_text(found.document.get(name)) in wanted
        elif wanted is not None and 2 * with_items > len(documents):
            assert as_text(items.get(name[0], {}).get(name[1])) in wanted
    for vote in found.fields:
        if vote.path in ("x", "y"):
            values = [document.get(vote.path) for document in documents]
            assert vote.agreement == pytest.approx(oracle.agreement(values))
            assert vote.tie == (len(oracle.most_frequent(values)) > 1)


OBJECTS = st.dictionaries(st.sampled_from("abcd"), any_json, max_size=4)


@given(st.lists(OBJECTS, min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_the_order_of_documents_does_not_matter(documents, random):
    shuffled = random.sample(documents, len(documents))
    found, again = VOTE.combine(documents), VOTE.combine(shuffled)
    assert repr(found.document) == repr(again.document)
    assert [each.agreement for each in found.fields] == [each.agreement for each in again.fields]


@given(any_json, st.integers(1, 3))
def test_a_document_that_all_agree_on_is_kept(document, number):
    found = VOTE.combine([document] * number)
    assert repr(found.document) == repr(document)
    assert {each.agreement for each in found.fields} <= {None if number == 1 else 1.0}
    assert not any(each.tie for each in found.fields)


@given(OBJECTS, st.lists(OBJECTS, min_size=1, max_size=3))
def test_fields_that_all_agree_on_are_kept(shared, others):
    documents = [{**other, "shared": shared} for other in others]
    assert repr(VOTE.combine(documents).document["shared"]) == repr(shared)
