"""Evaluators as files name them: their types, names, weights and options."""

from __future__ import annotations

import importlib.metadata
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from reading_evals import evaluator_problems, member, members

from fieldmark import registry
from fieldmark.align.greedy import Greedy
from fieldmark.compare.auto import Auto
from fieldmark.compare.date import DateMatch
from fieldmark.compare.exact import Exact, ExactText
from fieldmark.compare.fuzzy import Fuzzy
from fieldmark.compare.providers import Recorded
from fieldmark.compare.semantic import Semantic
from fieldmark.config.evaluators import MAX_NESTING
from fieldmark.errors import ConfigError
from fieldmark.evaluators.field_accuracy import FieldAccuracy
from fieldmark.metrics.conventions import Aggregation, RqsForm, RqsWeights
from fieldmark.model.rule import Rule, Scope
from fieldmark.registry import Plugin

PROVIDER = Recorded(scores=())


def paths(rules: tuple[Rule, ...]) -> list[str]:
    return [rule.path for rule in rules]


def test_an_evaluator_has_a_name_a_type_a_weight_and_options():
    made = member("{name: header, type: field_accuracy, weight: 2, fields: [{path: a}]}")
    assert (made.name, made.type, made.weight) == ("header", "field_accuracy", 2.0)
    assert isinstance(made.evaluator, FieldAccuracy)
    assert paths(made.evaluator.fields) == ["a"]


def test_no_evaluators_are_fine():
    assert members("null") == members("[]") == ()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        pytest.param("[{type: line_items}]", ["line_items"], id="named-after-the-type"),
        pytest.param("[{type: line-items}]", ["line_items"], id="the-type-in-kebab-case"),
        pytest.param(
            "[{type: line_items}, {type: line_items}, {type: line_items}]",
            ["line_items", "line_items_2", "line_items_3"],
            id="the-same-type-again-gets-a-number",
        ),
        pytest.param(
            "[{type: line_items}, {type: line_items, name: line_items}]",
            ["line_items_2", "line_items"],
            id="a-given-name-is-never-changed",
        ),
        pytest.param(
            "[{type: line_items}, {type: line_items}, {name: line_items_2, type: line_items}]",
            ["line_items", "line_items_3", "line_items_2"],
            id="a-given-name-is-never-taken",
        ),
    ],
)
def test_every_evaluator_has_a_name_of_its_own(text, names):
    assert [made.name for made in members(text)] == names


@pytest.mark.parametrize(
    ("text", "options"),
    [
        pytest.param(
            "type: field_accuracy, fields: [{path: a}], aggregation: all-or-nothing",
            {"aggregation": Aggregation.ALL_OR_NOTHING},
            id="a-word",
        ),
        pytest.param(
            "type: response_quality, weights: {accuracy: 0.5}, rqs_form: complement",
            {"weights": RqsWeights(accuracy=0.5), "rqs_form": RqsForm.COMPLEMENT},
            id="an-object-of-options",
        ),
        pytest.param(
            "type: extraction_metrics, scope: truth, empty_tokens: [N/A]",
            {"scope": Scope.TRUTH, "empty_tokens": frozenset({"N/A"})},
            id="what-rules-files-say-too",
        ),
        pytest.param(
            "type: line_items, match_fields: sku, threshold: 0.7",
            {"match_fields": ("sku",), "threshold": 0.7},
            id="a-list-of-one-without-brackets",
        ),
        pytest.param("type: json_schema, schema: {type: object}", {"schema": {"type": "object"}}, id="any-object"),
        pytest.param("type: json_schema, schema: true", {"schema": True}, id="a-schema-that-is-a-flag"),
        pytest.param(
            "type: code_judge, script: [python, j.py], env: {A: b}, memory: null",
            {"script": ("python", "j.py"), "env": {"A": "b"}, "memory": None},
            id="a-program-with-its-variables",
        ),
    ],
)  # fmt: skip
def test_options_are_read_as_their_types(text, options):
    made = member(f"{{{text}}}").evaluator
    assert {name: getattr(made, name) for name in options} == options


def test_conditions_are_texts_or_objects():
    made = member('{type: constraints, rules: ["a == b", {check: "c == d", weight: 2}]}').evaluator
    assert [(rule.check, rule.weight) for rule in made.rules] == [("a == b", 1.0), ("c == d", 2)]


@pytest.mark.parametrize(
    ("fields", "rules"),
    [
        pytest.param(
            "[{path: d, match: date}, {path: n}]", [("d", DateMatch()), ("n", None)], id="a-list"
        ),
        pytest.param("{d: {match: date}}", [("d", DateMatch())], id="a-mapping-by-path"),
        pytest.param("{a: {b: EXACT}}", [("a.b", ExactText())], id="the-shape-of-a-document"),
        pytest.param("[{path: rows, align: greedy}]", [("rows", None)], id="how-a-list-is-aligned"),
    ],
)
def test_fields_are_the_rules_of_rules_files(fields, rules):
    made = member(f"{{type: field_accuracy, fields: {fields}}}").evaluator
    assert [(rule.path, rule.comparator) for rule in made.fields] == rules


def test_a_list_keeps_its_alignment():
    made = member("{type: field_accuracy, fields: [{path: rows, align: greedy}]}").evaluator
    assert made.fields[0].aligner == Greedy()


@pytest.mark.parametrize(
    ("setting", "default"),
    [
        pytest.param("default: fuzzy", Fuzzy(), id="default"),
        pytest.param("match: fuzzy", Fuzzy(), id="match"),
        pytest.param("match: {type: fuzzy, threshold: 0.5}", Fuzzy(threshold=0.5), id="with-options"),
        pytest.param(
            "defaults: {match: fuzzy, threshold: 0.5}", Fuzzy(threshold=0.5), id="as-in-rules-files"
        ),
        pytest.param("default: null", None, id="nothing"),
    ],
)  # fmt: skip
def test_what_compares_fields_that_say_nothing(setting, default):
    made = member(f"{{type: field_accuracy, fields: [{{path: a}}], {setting}}}").evaluator
    assert made.default == default


def test_a_field_may_change_an_option_of_the_usual_comparator():
    made = member("{type: field_accuracy, match: fuzzy, fields: [{path: a, threshold: 0.5}]}")
    assert made.evaluator.fields[0].comparator == Fuzzy(threshold=0.5)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(
            "type: response_quality, strategies: {bio: SEMANTIC}",
            lambda made: made.strategies[0].comparator.provider,
            id="a-strategy-word",
        ),
        pytest.param(
            "type: field_accuracy, fields: [{path: bio, match: semantic}]",
            lambda made: made.fields[0].comparator.provider,
            id="a-comparator-by-meaning",
        ),
        pytest.param(
            "type: field_accuracy, fields: [{path: bio}], match: semantic",
            lambda made: made.default.provider,
            id="the-usual-comparator",
        ),
        pytest.param(
            "type: response_quality", lambda made: made.default.provider, id="by-detected-type"
        ),
        pytest.param(
            "type: composite, evaluators: [{type: response_quality, match: auto}]",
            lambda made: made.evaluators[0].evaluator.default.provider,
            id="inside-another-evaluator",
        ),
    ],
)
def test_who_judges_meaning_is_known_everywhere(text, found):
    assert found(member(f"{{{text}}}", provider=PROVIDER).evaluator) == PROVIDER


def test_an_evaluator_may_name_its_own_judge_of_meaning():
    made = member(
        "{type: response_quality, provider: {type: recorded, scores: []}, match: semantic}"
    )
    assert made.evaluator.default == Semantic(provider=Recorded(scores=()))


def test_without_a_provider_the_convention_decides():
    assert member("{type: response_quality}").evaluator.default is None
    assert member("{type: response_quality, default: auto}").evaluator.default == Auto()
    assert member("{type: line_items}", provider=PROVIDER).evaluator.default is None


class TestKeysOfTheUser:
    def test_unknown_keys_reach_a_judge_untouched(self):
        made = member(
            "{type: code_judge, script: [j], Max-Gap: 3, nested: {a: [1, null, {NO: on}]}}"
        )
        assert made.evaluator.config == {"Max-Gap": 3, "nested": {"a": [1, None, {"NO": "on"}]}}

    def test_an_object_called_config_is_the_same_thing(self):
        made = member("{type: code_judge, script: [j], config: {a: 1}, b: 2}")
        assert made.evaluator.config == {"a": 1, "b": 2}

    def test_a_key_that_looks_like_an_option_is_told(self):
        from fieldmark.config.context import Context
        from fieldmark.config.evaluators import read_evaluators
        from fieldmark.config.yaml_parser import parse_yaml

        context = Context()
        (made,) = read_evaluators(
            parse_yaml("[{type: code_judge, script: [j], tiemout: 5, gap: 1}]"), context
        )
        assert made.evaluator.config == {"tiemout": 5, "gap": 1}
        (warning,) = context.problems.warnings
        assert str(warning) == (
            "1:34: tiemout is handed on as the user's own key. Did you mean timeout?"
        )


class TestPlaces:
    def test_programs_start_in_the_folder_of_the_file(self, tmp_path):
        assert member("{type: code_judge, script: [j]}", folder=tmp_path).evaluator.cwd == tmp_path
        assert member("{type: code_judge, script: [j]}").evaluator.cwd is None

    def test_a_path_is_seen_from_the_folder_of_the_file(self):
        made = member("{type: code_judge, script: [j], cwd: judges}", folder=Path("evals"))
        assert made.evaluator.cwd == Path("evals/judges")

    def test_a_schema_may_lie_in_a_file(self, tmp_path):
        (tmp_path / "s.json").write_text('{"type": "object"}')
        made = member("{type: json_schema, schema: s.json}", folder=tmp_path)
        assert made.evaluator.schema == {"type": "object"}

    def test_a_file_elsewhere_is_read_only_for_someone_who_is_trusted(self, tmp_path):
        (tmp_path / "s.json").write_text("true")
        inner = tmp_path / "evals"
        inner.mkdir()
        text = "{type: json_schema, schema: ../s.json}"
        assert member(text, folder=inner, contained=False).evaluator.schema is True
        with pytest.raises(ConfigError, match=r"A file elsewhere: \.\./s\.json"):
            member(text, folder=inner)


class TestEvaluatorsInsideEvaluators:
    def test_a_composite_has_members(self):
        made = member(
            "{type: composite, evaluators: [{type: line_items, weight: 2}, {type: line_items}]}"
        )
        inner = made.evaluator.evaluators
        assert [(each.name, each.weight) for each in inner] == [
            ("line_items", 2.0),
            ("line_items_2", 1.0),
        ]

    def nested(self, depth: int) -> str:
        start, end = "{type: composite, evaluators: [" * depth, "]}" * depth
        return f"{start}{{type: line_items}}{end}"

    def test_as_deep_as_anyone_needs(self):
        assert member(self.nested(MAX_NESTING - 1)).type == "composite"

    def test_and_no_deeper(self):
        with pytest.raises(ConfigError, match=f"more than {MAX_NESTING} deep"):
            member(self.nested(MAX_NESTING))


def test_exact_is_exact_unless_it_is_a_strategy_word():
    made = member("{type: field_accuracy, fields: [{path: a, match: exact}]}").evaluator
    assert made.fields[0].comparator == Exact()


TYPES = ", ".join(registry.names(Plugin.EVALUATORS))


@pytest.mark.parametrize(
    ("text", "expected"),
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
def test_a_mistake_is_reported_with_its_location(text, expected):
    found = evaluator_problems(text)
    assert len(found) == len(expected), found
    for line, beginning in zip(found, expected, strict=True):
        assert line.startswith(f"e.yaml:{beginning}"), line


def test_every_mistake_is_told_at_once():
    found = evaluator_problems(
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
        found = evaluator_problems("[{type: broken}, {type: line_items, qqq: 1}]")
    finally:
        registry._table.cache_clear()
    assert found[0].startswith("e.yaml:1:9: The plug-in broken (no_such_module:Thing) cannot be")
    assert found[1].startswith("e.yaml:1:37: Unknown key: qqq. line_items takes ")
    assert len(found) == 2
