"""Proposed rules as a rules file."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fieldmark.analyses.infer import proposed_rules, render_proposal
from fieldmark.analyses.infer.rule_inferrer import InferredRule, RuleInferrer
from fieldmark.model.outcome import Presence
from fieldmark.rules.config_values import Context
from fieldmark.rules.rules_file import load_rules, read_rules, rules_of
from fieldmark.rules.yaml_parser import parse_yaml
from fieldmark.values.paths import join
from fieldmark.values.presence import presence


def _inferrer():
    return RuleInferrer(lambda rules: read_rules(proposed_rules(rules)).rules)


INVOICE = {
    "number": "INV-0001",
    "total": 12.5,
    "date": "2024-01-31",
    "vendor": {"name": "Acme Corp", "e-mail": "a@b.org"},
    "line_items": [
        {"description": "Blue pens", "quantity": 2, "price": 1.25},
        {"description": "Red paper", "quantity": 1, "price": 10.0},
    ],
    "tags": ["office", "paper"],
    "paid": True,
}

FILE = """\
# Proposed from 1 case. The comment above each rule gives the reason.
# Review the rules before you use them.
scope: union
defaults: {match: exact}
fields:
  # identifiers, ignoring case and separators; all digits count (1 value)
  - {path: number, match: identifier}
  # numbers with at most two decimals, equal up to 0.001 (1 value)
  - {path: total, match: numeric_tolerance, tolerance: 0.001}
  # 1 date, compared by day (1 value)
  - {path: date, match: date}
  # names, words in any order and spelling; numbers must be the same (1 value)
  - {path: vendor.name, match: name, threshold: 0.85}
  # e-mail addresses, ignoring case (1 value)
  - {path: "vendor.e-mail", match: email}
  # items aligned by similarity of all their values; order does not matter (1 list)
  - {path: line_items, align: greedy}
  # short text, with small spelling differences; numbers must be the same (2 values)
  - {path: "line_items[*].description", match: fuzzy, threshold: 0.85, numbers: exact}
  # integers, compared exactly (2 values)
  - {path: "line_items[*].quantity", match: numeric_tolerance, tolerance: 0}
  # numbers with at most two decimals, equal up to 0.001 (2 values)
  - {path: "line_items[*].price", match: numeric_tolerance, tolerance: 0.001}
  # scalars, aligned by similarity; order does not matter (1 list)
  - {path: tags, align: greedy}
  # short text, with small spelling differences; numbers must be the same (2 values)
  - {path: "tags[*]", match: fuzzy, threshold: 0.85, numbers: exact}
  # booleans (1 value)
  - {path: paid, match: boolean}
"""


def test_a_proposal_is_a_valid_rules_file(tmp_path):
    inferrer = _inferrer()
    inferrer.add(INVOICE)
    text = render_proposal(inferrer.rules(), source="1 case")
    assert text == FILE
    path = tmp_path / "rules.yaml"
    path.write_text(text)
    loaded = load_rules(path)
    assert loaded.warnings == ()
    assert [rule.path for rule in loaded.rules.fields] == [
        proposal.path for proposal in inferrer.rules()
    ]


def test_without_data_there_are_no_fields():
    text = render_proposal([], source="0 cases")
    assert parse_yaml(text).value == {"scope": "union", "defaults": {"match": "exact"}}


@pytest.mark.parametrize(
    "value",
    ["true", "null", "NO", "a: b", '"', "\\", "tab\tline\nreturn\r", "\x85\u2028\ufeff\x00", "🙂é",
     "\ud800", "# no", "", " ", 0, -3, 0.000001, 0.8, True, None, ["a", 1], {"k": "v"}],
)  # fmt: skip
def test_settings_round_trip(value):
    proposal = InferredRule(path="a", settings={"x": value}, reason="two\nlines")
    text = render_proposal([proposal], source="1 case")
    assert parse_yaml(text).value["fields"] == [{"path": "a", "x": value}]


def _items(value):
    return value if isinstance(value, list) else []


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.text(), st.text() | st.integers() | st.lists(st.fixed_dictionaries({"a": st.text()}))
    )
)
def test_proposals_for_any_keys_are_valid(document):
    inferrer = _inferrer()
    # Items whose text differs, so that the rules for lists are tried on them.
    others = [{"a": f"{item['a']}x"} for value in document.values() for item in _items(value)]
    inferrer.add(document, dict.fromkeys(document, others))
    context = Context()
    text = render_proposal(inferrer.rules(), source="1 case")
    rules = rules_of(parse_yaml(text), context).rules
    context.problems.raise_any()
    assert [rule.path for rule in rules.fields if "[*]" not in rule.path] == [
        join("", key)
        for key, value in document.items()
        if "[*]" not in join("", key) and presence(value) is Presence.VALUE
    ]
