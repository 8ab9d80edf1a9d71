"""Mistakes in evaluators: all at once, each with its place and the nearest valid word."""

from __future__ import annotations

import importlib.metadata
from importlib.metadata import EntryPoint

import pytest
from reading_evals import said_of_members

from fieldmark import registry
from fieldmark.registry import Plugin

TYPES = ", ".join(registry.names(Plugin.EVALUATORS))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("{a: 1}", ["1:1: evaluators must be a list, not an object. Write a list: - {name: header, type: field_accuracy, fields: [...]}."], id="not-a-list"),
        pytest.param("[line_items]", ['1:2: Not an evaluator: "line_items". Write {name: header, type: …}.'], id="a-word-alone"),
        pytest.param("[{name: a}]", [f"1:2: An evaluator without a type. Valid types: {TYPES}."], id="no-type"),
        pytest.param("[{typ: line_items}]", [f"1:2: An evaluator without a type. typ: did you mean type? Valid types: {TYPES}."], id="a-misspelt-type-key"),
        pytest.param("[{type: line_item}]", [f"1:9: Invalid evaluator type: line_item. Valid types: {TYPES}. Did you mean line_items?"], id="a-misspelt-type"),
        pytest.param("[{type: 5}]", [f"1:9: Not an evaluator type: 5. Valid types: {TYPES}."], id="a-number-as-type"),
        pytest.param("[{type: line_items, treshold: 1}]", ["1:21: Unknown key: treshold. Did you mean threshold?"], id="a-misspelt-option"),
        pytest.param("[{type: line_items, nme: a}]", ["1:21: Unknown key: nme. Did you mean name?"], id="a-misspelt-key-of-all"),
        pytest.param("[{type: line_items, aggregation: x}]", ["1:21: Unknown key: aggregation. It belongs to field_accuracy."], id="an-option-of-another-type"),
        pytest.param("[{type: json_schema, schema: true, qqq: 1}]", ["1:36: Unknown key: qqq. json_schema takes schema, draft, formats, max_errors, pass_threshold."], id="a-key-like-no-other"),
        pytest.param("[{type: json_schema, schema: true, match: exact}]", ["1:36: Unknown key: match. json_schema takes"], id="a-key-of-rules-where-nothing-is-compared"),
        pytest.param("[{type: field_accuracy}]", ["1:9: field_accuracy needs the option fields."], id="a-needed-option"),
        pytest.param("[{type: field_accuracy, fields: []}]", ["1:33: fields: must name at least one field."], id="no-fields"),
        pytest.param("[{type: field_accuracy, fields: total}]", ['1:33: fields: must be a list, not "total". Write [{path: total, match: exact}].'], id="a-path-as-fields"),
        pytest.param("[{type: field_accuracy, fields: [{path: a, mtach: x}]}]", ["1:44: Unknown key: mtach. Did you mean match?"], id="a-mistake-in-a-field"),
        pytest.param("[{type: field_accuracy, fields: [{path: a..b}], strict: true}]", ["1:41: Malformed path"], id="a-malformed-path-under-strict"),
        pytest.param("[{type: line_items, name: ''}]", ['1:27: name: must be text, not "".'], id="an-empty-name"),
        pytest.param("[{type: line_items, name: 5}]", ["1:27: name: must be text, not 5."], id="a-number-as-name"),
        pytest.param("[{type: line_items, weight: -1}]", ["1:29: weight: must not be negative, but is -1."], id="a-negative-weight"),
        pytest.param("[{type: line_items, weight: heavy}]", ['1:29: weight: must be a number, not "heavy".'], id="a-word-as-weight"),
        pytest.param("[{name: a, type: line_items}, {name: a, type: line_items}]", ["1:38: Two evaluators called a. Line 1 has it already."], id="a-name-twice"),
        pytest.param("[{type: line_items, match: exact, default: exact}]", ["1:21: default and match say the same thing. Keep one of them."], id="the-same-thing-twice"),
        pytest.param("[{type: line_items, match: fuzy}]", ["1:28: Invalid match type: fuzy."], id="a-misspelt-match"),
        pytest.param("[{type: line_items, defaults: {align: key, key: a}}]", ["1:32: An evaluator has no default for align. Write align beside the path of a list."], id="a-default-alignment"),
        pytest.param("[{type: response_quality, weights: {acuracy: 1}}]", ["1:37: Unknown key: acuracy. Did you mean accuracy?"], id="a-misspelt-part"),
        pytest.param("[{type: response_quality, weights: {safety: -1}}]", ["1:45: weights.safety: must be a number of at least 0."], id="a-part-that-is-refused"),
        pytest.param("[{type: response_quality, weights: {safety: x}}]", ['1:45: weights.safety: must be a number, not "x".'], id="a-part-of-another-type"),
        pytest.param("[{type: response_quality, weights: 3}]", ["1:36: Not the settings of weights: 3."], id="no-parts"),
        pytest.param("[{type: code_judge, script: python judge.py}]", ["1:29: script: must be a list, not text. No shell takes it apart. Write script: [python, judge.py]."], id="a-program-as-text"),
        pytest.param("[{type: code_judge, script: [j], config: 3}]", ["1:42: config: must be an object, not 3."], id="config-that-is-no-object"),
        pytest.param("[{type: code_judge, script: [j], config: c.json, a: 2}]", ["1:42: config: must be an object beside keys that belong into it.", "1:42: c.json: Cannot be read: "], id="config-in-a-file-beside-other-keys"),
        pytest.param("[{type: code_judge, script: [j], config: {a: 1}, a: 2}]", ["1:50: a stands both beside config and inside it."], id="the-same-key-beside-config"),
        pytest.param("[{type: code_judge, script: [j], cwd: 3}]", ["1:39: cwd: must be the name of a file, not 3."], id="a-number-as-a-place"),
        pytest.param("[{type: json_schema, schema: missing.json}]", ["1:30: missing.json: Cannot be read: "], id="a-file-that-is-not-there"),
        pytest.param("[{type: json_schema, schema: [1]}]", ["1:30: schema: must be an object, not a list."], id="a-schema-that-is-a-list"),
        pytest.param("[{type: constraints, rules: {check: a}}]", ["1:29: rules: must be a list, not an object."], id="conditions-that-are-no-list"),
        pytest.param("[{type: constraints, rules: [{chek: a == b}]}]", ["1:30: rules needs check.", "1:31: Unknown key: chek. Did you mean check?"], id="a-condition-that-is-missing"),
        pytest.param("[{type: constraints, rules: ['a ==', 'b == (']}]", ["1:30: rules.check: ", "1:38: rules.check: "], id="two-conditions-that-cannot-be-read"),
        pytest.param("[{type: composite, evaluators: [{type: line_item}]}]", ["1:40: Invalid evaluator type: line_item."], id="a-mistake-deep-inside"),
        pytest.param("[{type: composite, evaluators: []}]", ["1:32: evaluators: "], id="nothing-inside"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_place(text, said):
    found = said_of_members(text)
    assert len(found) == len(said), found
    for line, beginning in zip(found, said, strict=True):
        assert line.startswith(f"e.yaml:{beginning}"), line


def test_every_mistake_is_told_at_once():
    found = said_of_members(
        "- {type: line_items, treshold: 1, weight: -1, align: grey}\n"
        "- {type: field_acuracy}\n"
        "- {type: response_quality, weights: {safety: -1}, rqs_form: x}\n"
    )
    assert [line.split(": ")[0] for line in found] == [
        "e.yaml:1:22",
        "e.yaml:1:43",
        "e.yaml:1:54",
        "e.yaml:2:10",
        "e.yaml:3:46",
        "e.yaml:3:61",
    ]


def test_a_plug_in_that_cannot_be_loaded_is_told_where_it_is_named(monkeypatch):
    broken = EntryPoint("broken", "no_such_module:Thing", "fieldmark.evaluators")
    monkeypatch.setattr(
        importlib.metadata,
        "entry_points",
        lambda group: [broken] if group == broken.group else [],
    )
    registry._table.cache_clear()
    try:
        found = said_of_members("[{type: broken}, {type: line_items, qqq: 1}]")
    finally:
        registry._table.cache_clear()
    assert found[0].startswith("e.yaml:1:9: The plug-in broken (no_such_module:Thing) cannot be")
    assert found[1].startswith("e.yaml:1:37: Unknown key: qqq. line_items takes ")
    assert len(found) == 2
