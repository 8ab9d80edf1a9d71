"""Evaluators in files: types, names, weights, options and problems."""

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
from fieldmark.compare.fuzzy import Fuzzy
from fieldmark.compare.providers import Recorded
from fieldmark.compare.semantic import Semantic
from fieldmark.compare.strategy_words import ExactWord
from fieldmark.errors import ConfigError
from fieldmark.evaluators.field_evaluators import FieldAccuracy
from fieldmark.metrics.conventions import Aggregation, RqsForm, RqsWeights
from fieldmark.model.rule import Rule, Scope
from fieldmark.registry import Plugin
from fieldmark.rules.config_values import Context
from fieldmark.rules.evaluator_settings import MAX_NESTING, read_evaluators
from fieldmark.rules.yaml_parser import parse_yaml

PROVIDER = Recorded(scores=())


def paths(rules: tuple[Rule, ...]) -> list[str]:
    return [rule.path for rule in rules]


def test_evaluator_with_name_type_weight_and_options():
    made = member("{name: header, type: field_accuracy, weight: 2, fields: [{path: a}]}")
    assert (made.name, made.type, made.weight) == ("header", "field_accuracy", 2.0)
    assert isinstance(made.evaluator, FieldAccuracy)
    assert paths(made.evaluator.fields) == ["a"]


def test_evaluators_are_optional():
    assert members("null") == members("[]") == ()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        pytest.param("[{type: line_items}]", ["line_items"], id="named-after-type"),
        pytest.param("[{type: line-items}]", ["line_items"], id="kebab-case-type"),
        pytest.param(
            "[{type: line_items}, {type: line_items}, {type: line_items}]",
            ["line_items", "line_items_2", "line_items_3"],
            id="same-type-is-numbered",
        ),
        pytest.param(
            "[{type: line_items}, {type: line_items, name: line_items}]",
            ["line_items_2", "line_items"],
            id="explicit-name-is-unchanged",
        ),
        pytest.param(
            "[{type: line_items}, {type: line_items}, {name: line_items_2, type: line_items}]",
            ["line_items", "line_items_3", "line_items_2"],
            id="explicit-name-is-reserved",
        ),
    ],
)
def test_names_of_evaluators_are_unique(text, names):
    assert [made.name for made in members(text)] == names


@pytest.mark.parametrize(
    ("text", "options"),
    [
        pytest.param(
            "type: field_accuracy, fields: [{path: a}], aggregation: all-or-nothing",
            {"aggregation": Aggregation.ALL_OR_NOTHING},
            id="word",
        ),
        pytest.param(
            "type: response_quality, weights: {accuracy: 0.5}, rqs_form: complement",
            {"weights": RqsWeights(accuracy=0.5), "rqs_form": RqsForm.COMPLEMENT},
            id="object-of-options",
        ),
        pytest.param(
            "type: extraction_metrics, scope: truth, empty_tokens: [N/A]",
            {"scope": Scope.TRUTH, "empty_tokens": frozenset({"N/A"})},
            id="options-of-rules-files",
        ),
        pytest.param("type: json_schema, schema: {type: object}", {"schema": {"type": "object"}}, id="any-object"),
        pytest.param("type: json_schema, schema: true", {"schema": True}, id="boolean-schema"),
        pytest.param(
            "type: code_judge, script: [python, j.py], env: {A: b}, memory: null",
            {"script": ("python", "j.py"), "env": {"A": "b"}, "memory": None},
            id="script-with-environment",
        ),
    ],
)  # fmt: skip
def test_options_are_converted_to_their_types(text, options):
    made = member(f"{{{text}}}").evaluator
    assert {name: getattr(made, name) for name in options} == options


def test_constraints_are_strings_or_objects():
    made = member('{type: constraints, rules: ["a == b", {check: "c == d", weight: 2}]}').evaluator
    assert [(rule.check, rule.weight) for rule in made.rules] == [("a == b", 1.0), ("c == d", 2)]


@pytest.mark.parametrize(
    ("fields", "rules"),
    [
        pytest.param(
            "[{path: d, match: date}, {path: n}]", [("d", DateMatch()), ("n", None)], id="list"
        ),
        pytest.param("{d: {match: date}}", [("d", DateMatch())], id="mapping-by-path"),
        pytest.param("{a: {b: EXACT}}", [("a.b", ExactWord())], id="nested-mapping"),
        pytest.param("[{path: rows, align: greedy}]", [("rows", None)], id="aligned-list"),
    ],
)
def test_fields_accept_all_forms_of_rules(fields, rules):
    made = member(f"{{type: field_accuracy, fields: {fields}}}").evaluator
    assert [(rule.path, rule.comparator) for rule in made.fields] == rules


def test_align_is_read_for_a_list():
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
        pytest.param("default: null", None, id="empty"),
    ],
)  # fmt: skip
def test_default_comparator(setting, default):
    made = member(f"{{type: field_accuracy, fields: [{{path: a}}], {setting}}}").evaluator
    assert made.default == default


def test_a_field_can_override_an_option_of_the_default_comparator():
    made = member("{type: field_accuracy, match: fuzzy, fields: [{path: a, threshold: 0.5}]}")
    assert made.evaluator.fields[0].comparator == Fuzzy(threshold=0.5)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(
            "type: response_quality, strategies: {bio: SEMANTIC}",
            lambda made: made.strategies[0].comparator.provider,
            id="strategy-word",
        ),
        pytest.param(
            "type: field_accuracy, fields: [{path: bio, match: semantic}]",
            lambda made: made.fields[0].comparator.provider,
            id="comparator-by-meaning",
        ),
        pytest.param(
            "type: field_accuracy, fields: [{path: bio}], match: semantic",
            lambda made: made.default.provider,
            id="default-comparator",
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
def test_the_provider_applies_to_all_comparators(text, found):
    assert found(member(f"{{{text}}}", provider=PROVIDER).evaluator) == PROVIDER


def test_an_evaluator_can_have_its_own_provider():
    made = member(
        "{type: response_quality, provider: {type: recorded, scores: []}, match: semantic}"
    )
    assert made.evaluator.default == Semantic(provider=Recorded(scores=()))


def test_the_default_comparator_without_a_provider():
    assert member("{type: response_quality}").evaluator.default is None
    assert member("{type: response_quality, default: auto}").evaluator.default == Auto()
    assert member("{type: line_items}", provider=PROVIDER).evaluator.default is None


class TestCustomKeys:
    def test_custom_keys_are_passed_unchanged(self):
        made = member(
            "{type: code_judge, script: [j], Max-Gap: 3, nested: {a: [1, null, {NO: on}]}}"
        )
        assert made.evaluator.config == {"Max-Gap": 3, "nested": {"a": [1, None, {"NO": "on"}]}}

    def test_custom_keys_are_merged_into_config(self):
        made = member("{type: code_judge, script: [j], config: {a: 1}, b: 2}")
        assert made.evaluator.config == {"a": 1, "b": 2}

    def test_a_custom_key_similar_to_an_option_is_a_warning(self):
        context = Context()
        (made,) = read_evaluators(
            parse_yaml("[{type: code_judge, script: [j], tiemout: 5, gap: 1}]"), context
        )
        assert made.evaluator.config == {"tiemout": 5, "gap": 1}
        (warning,) = context.problems.warnings
        assert str(warning) == (
            "1:34: unknown key 'tiemout' is passed on in config; did you mean 'timeout'?"
        )


class TestPaths:
    def test_the_working_directory_is_the_directory_of_the_file(self, tmp_path):
        assert (
            member("{type: code_judge, script: [j]}", directory=tmp_path).evaluator.cwd == tmp_path
        )
        assert member("{type: code_judge, script: [j]}").evaluator.cwd is None

    def test_a_path_is_relative_to_the_directory_of_the_file(self):
        made = member("{type: code_judge, script: [j], cwd: judges}", directory=Path("evals"))
        assert made.evaluator.cwd == Path("evals/judges")

    def test_a_schema_can_be_in_a_file(self, tmp_path):
        (tmp_path / "s.json").write_text('{"type": "object"}')
        made = member("{type: json_schema, schema: s.json}", directory=tmp_path)
        assert made.evaluator.schema == {"type": "object"}

    def test_a_file_outside_the_directory_is_read_only_if_not_contained(self, tmp_path):
        (tmp_path / "s.json").write_text("true")
        inner = tmp_path / "evals"
        inner.mkdir()
        text = "{type: json_schema, schema: ../s.json}"
        assert member(text, directory=inner, contained=False).evaluator.schema is True
        with pytest.raises(
            ConfigError, match=r"'\.\./s\.json' is outside the directory of the configuration file"
        ):
            member(text, directory=inner)


class TestNestedEvaluators:
    def test_a_composite_has_evaluators(self):
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

    def test_the_deepest_nesting_is_accepted(self):
        assert member(self.nested(MAX_NESTING - 1)).type == "composite"

    def test_deeper_nesting_is_rejected(self):
        with pytest.raises(ConfigError, match=f"nesting exceeds the limit of {MAX_NESTING} levels"):
            member(self.nested(MAX_NESTING))


TYPES = ", ".join(registry.names(Plugin.EVALUATORS))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("{a: 1}", ["1:1: evaluators: expected a list, got an object; for example [{name: header, type: field_accuracy, fields: […]}]"], id="not-list"),
        pytest.param("[line_items]", ["1:2: evaluator: expected an object, got 'line_items'; for example {name: header, type: …}"], id="string-as-evaluator"),
        pytest.param("[{name: a}]", [f"1:2: evaluator: 'type' is required; valid types: {TYPES}"], id="no-type"),
        pytest.param("[{type: line_item}]", [f"1:9: unknown evaluator type 'line_item'; valid types: {TYPES}; did you mean 'line_items'?"], id="misspelled-type"),
        pytest.param("[{type: 5}]", [f"1:9: expected an evaluator type, got 5; valid types: {TYPES}"], id="number-as-type"),
        pytest.param("[{type: line_items, absent_truth: x}]", ["1:21: unknown key 'absent_truth'; it is an option of: field_accuracy"], id="option-of-another-type"),
        pytest.param("[{type: json_schema, schema: true, qqq: 1}]", ["1:36: unknown key 'qqq'; supported options of json_schema: schema, draft, formats, max_errors, pass_threshold, timeout"], id="unknown-key-without-suggestion"),
        pytest.param("[{type: json_schema, schema: true, match: exact}]", ["1:36: unknown key 'match'; supported options of json_schema: "], id="rules-key-for-evaluator-without-fields"),
        pytest.param("[{type: field_accuracy}]", ["1:9: option 'fields' is required for field_accuracy"], id="missing-required-option"),
        pytest.param("[{type: field_accuracy, fields: total}]", ["1:33: fields: expected a list, got 'total'; for example [{path: total, match: exact}]"], id="string-as-fields"),
        pytest.param("[{type: line_items, name: 5}]", ["1:27: name: expected a string, got 5"], id="number-as-name"),
        pytest.param("[{name: a, type: line_items}, {name: a, type: line_items}]", ["1:38: duplicate evaluator name 'a'; first defined at line 1"], id="duplicate-name"),
        pytest.param("[&x {name: a, type: line_items}, *x]", ["1:12: duplicate evaluator name 'a'; first defined at line 1"], id="aliased-evaluator"),
        pytest.param("[{type: line_items, match: exact, default: exact}]", ["1:21: default and match cannot be combined; remove one of them"], id="match-and-default"),
        pytest.param("[{type: line_items, defaults: {align: key, key: a}}]", ["1:32: align is not supported in the defaults of an evaluator; set align next to the path of a list"], id="default-alignment"),
        pytest.param("[{type: response_quality, weights: {acuracy: 1}}]", ["1:37: unknown key 'acuracy'; did you mean 'accuracy'?"], id="misspelled-nested-option"),
        pytest.param("[{type: response_quality, weights: {safety: x}}]", ["1:45: weights.safety: expected a number, got 'x'"], id="nested-option-of-wrong-type"),
        pytest.param("[{type: response_quality, weights: 3}]", ["1:36: weights: expected an object, got 3"], id="number-as-options"),
        pytest.param("[{type: code_judge, script: python judge.py}]", ["1:29: script: expected a list, got a string; commands run without a shell; write script: [python, judge.py]"], id="script-as-string"),
        pytest.param("[{type: code_judge, script: [j], config: 3}]", ["1:42: config: expected an object, got 3"], id="number-as-config"),
        pytest.param("[{type: code_judge, script: [j], config: c.json, a: 2}]", ["1:42: config: must be an object if unknown keys are passed next to it", "1:42: c.json: file not found"], id="config-file-with-other-keys"),
        pytest.param("[{type: code_judge, script: [j], config: {a: 1}, a: 2}]", ["1:50: duplicate key 'a', next to config and in it"], id="duplicate-key-in-config"),
        pytest.param("[{type: json_schema, schema: missing.json}]", ["1:30: missing.json: file not found"], id="missing-file"),
        pytest.param("[{type: json_schema, schema: [1]}]", ["1:30: schema: expected an object, got a list"], id="list-as-schema"),
        pytest.param("[{type: constraints, rules: {check: a}}]", ["1:29: rules: expected a list, got an object"], id="object-as-rules"),
        pytest.param("[{type: constraints, rules: [{chek: a == b}]}]", ["1:30: 'rules.check' is required", "1:31: unknown key 'chek'; did you mean 'check'?"], id="missing-check"),
        pytest.param("[{type: constraints, rules: ['a ==', 'b == (']}]", ["1:30: rules.check: ", "1:38: rules.check: "], id="two-invalid-checks"),
    ],
)  # fmt: skip
def test_a_problem_is_reported_with_its_location(text, expected):
    found = evaluator_problems(text)
    assert len(found) == len(expected), found
    for line, beginning in zip(found, expected, strict=True):
        assert line.startswith(f"e.yaml:{beginning}"), line


def test_all_problems_are_reported_at_once():
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


def test_a_plug_in_that_cannot_be_loaded_is_a_problem_at_its_name(monkeypatch):
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
    assert found[0].startswith("e.yaml:1:9: cannot load plug-in 'broken' (no_such_module:Thing)")
    assert found[1].startswith("e.yaml:1:37: unknown key 'qqq'; supported options of line_items: ")
    assert len(found) == 2
