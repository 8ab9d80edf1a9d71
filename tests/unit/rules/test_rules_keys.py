"""Suggestions for all keys, and tables of keys."""

from __future__ import annotations

import pytest
from reading_evals import evaluator_problems

from fieldmark import registry
from fieldmark.metrics.conventions import CountingOptions
from fieldmark.registry import Plugin
from fieldmark.rules.config_values import Context, Problems, locate
from fieldmark.rules.evaluator_settings import evaluator_keys, read_evaluators
from fieldmark.rules.option_types import ConfigKey, KeyTable
from fieldmark.rules.rules_file import FIELD_KEYS, rules_of
from fieldmark.rules.scoring import GATE_KEYS
from fieldmark.rules.target_settings import target_keys
from fieldmark.runs.eval_file import CASE_KEYS, EVAL_KEYS, ROW_KEYS, read_eval
from fieldmark.runs.schemas import schema_of
from fieldmark.values.annotations import NonNegativeInt

NATIVE = ("scope", "depth", "defaults", "fields", "empty_tokens", "empty_containers",
          "empty_blanks", "strict", "provider", "rules", "convention", "gates", "fuzzy_threshold",
          "semantic_threshold", "safety", "confidence")  # fmt: skip


def misspelled(key: str) -> str:
    """Return a key with one changed letter."""
    middle = len(key) // 2
    return f"{key[:middle]}{'q' if key[middle] != 'q' else 'x'}{key[middle + 1 :]}"


def all_keys(kind: Plugin, keys) -> list:
    """Return a parameter set for each key of each registered class of a kind."""
    return [
        pytest.param(name, key, id=f"{name}-{key}")
        for name in registry.names(kind)
        for key in keys(name)
    ]


def error_text(read, value) -> str:
    """Return the problems and warnings of a value."""
    context = Context()
    read(locate(value, Problems()), context)
    lines = [*map(str, context.problems.warnings)]
    return "\n".join([*lines, *str(context.problems.error()).splitlines()])


def keys_of_evaluator(name: str) -> list[str]:
    keys = evaluator_keys(registry.load(Plugin.EVALUATORS, name)).names
    return [key for key in keys if key != "type"]


def options_of(kind: Plugin):
    return lambda name: list(registry.options(registry.load(kind, name)))


@pytest.mark.parametrize("key", EVAL_KEYS.names)
def test_misspelled_key_of_an_eval_file(key):
    assert f"did you mean '{key}'?" in error_text(
        read_eval, {"cases": "t.jsonl", misspelled(key): 1}
    )


@pytest.mark.parametrize("key", CASE_KEYS.names)
def test_misspelled_key_of_a_case(key):
    value = {"cases": [{"id": "a", "expected": 1, misspelled(key): 1}]}
    assert f"did you mean '{key}'?" in error_text(read_eval, value)


@pytest.mark.parametrize("key", ROW_KEYS.names)
def test_misspelled_key_of_rows(key):
    value = {"cases": {"path": "x", misspelled(key): "x"}}
    assert f"did you mean '{key}'?" in error_text(read_eval, value)


@pytest.mark.parametrize("key", GATE_KEYS.names)
def test_misspelled_key_of_gates(key):
    assert f"did you mean '{key}'?" in error_text(
        read_eval, {"cases": "t", "gates": {misspelled(key): 1}}
    )


@pytest.mark.parametrize("key", ["name", *registry.options(CountingOptions)])
def test_misspelled_option_of_a_convention(key):
    value = {"cases": "t", "convention": {"name": "confusion", misspelled(key): 1}}
    assert f"did you mean '{key}'?" in error_text(read_eval, value)


@pytest.mark.parametrize(
    ("name", "key"), all_keys(Plugin.TARGETS, lambda name: target_keys(name).names)
)
def test_misspelled_key_of_a_target(name, key):
    value = {"cases": "t", "target": {"type": name, misspelled(key): 1}}
    assert f"did you mean '{key}'?" in error_text(read_eval, value)


@pytest.mark.parametrize(("name", "key"), all_keys(Plugin.EVALUATORS, keys_of_evaluator))
def test_misspelled_key_of_an_evaluator(name, key):
    assert f"did you mean '{key}'?" in error_text(
        read_evaluators, [{"type": name, misspelled(key): 1}]
    )


@pytest.mark.parametrize("key", ["tqpe", "typ", "tpye"])
def test_misspelled_type_key_of_an_evaluator(key):
    (problem,) = evaluator_problems(f"[{{{key}: line_items}}]")
    assert f"did you mean 'type' instead of '{key}'?" in problem


@pytest.mark.parametrize("name", registry.names(Plugin.EVALUATORS))
def test_misspelled_type_of_an_evaluator(name):
    assert f"did you mean '{name}'?" in error_text(read_evaluators, [{"type": misspelled(name)}])


@pytest.mark.parametrize("key", NATIVE)
def test_misspelled_key_of_a_rules_file(key):
    value = {"strict" if key != "strict" else "empty_blanks": False, misspelled(key): 1}
    assert f"did you mean '{key}'?" in error_text(rules_of, value)


@pytest.mark.parametrize("key", FIELD_KEYS.names)
def test_misspelled_key_of_a_field(key):
    field = {"path": "a", "match": "exact", misspelled(key): 1}
    assert f"did you mean '{key}'?" in error_text(rules_of, [field])


@pytest.mark.parametrize(
    ("name", "key"), all_keys(Plugin.COMPARATORS, options_of(Plugin.COMPARATORS))
)
def test_misspelled_option_of_a_match_type(name, key):
    assert f"did you mean '{key}'?" in error_text(
        rules_of, [{"path": "a", "match": name, misspelled(key): 1}]
    )


@pytest.mark.parametrize(("name", "key"), all_keys(Plugin.ALIGNERS, options_of(Plugin.ALIGNERS)))
def test_misspelled_option_of_an_aligner(name, key):
    assert f"did you mean '{key}'?" in error_text(
        rules_of, [{"path": "a", "align": name, misspelled(key): 1}]
    )


def test_the_key_tables_cover_the_schemas():
    evaluation = schema_of("eval")
    assert set(evaluation["properties"]) == set(EVAL_KEYS.names)
    definitions = evaluation["$defs"]
    assert set(definitions["case"]["properties"]) == set(CASE_KEYS.names)
    assert set(definitions["gates"]["properties"]) == set(GATE_KEYS.names)
    for name in registry.names(Plugin.EVALUATORS):
        known = set(evaluator_keys(registry.load(Plugin.EVALUATORS, name)).names)
        assert set(definitions[f"evaluator_{name}"]["properties"]) == known
    for name in registry.names(Plugin.TARGETS):
        assert set(definitions[f"target_{name}"]["properties"]) == set(target_keys(name).names)
    native = schema_of("rules")["anyOf"][0]
    assert set(native["properties"]) == set(NATIVE)


def test_a_key_has_a_type_with_limits_and_a_default():
    key = ConfigKey("retries", NonNegativeInt, "How often.", default=2)
    context = Context()

    def read(value):
        return key.read(locate(value, context.problems), context)

    assert (read({}), read({"retries": 5})) == (2, 5)
    assert len(context.problems) == 0
    assert (read({"retries": "no"}), read({"retries": -1})) == (2, 2)
    assert [problem.message for problem in context.problems.error().problems] == [
        "retries: expected an integer, got 'no'",
        "retries: must be a number of at least 0, got -1",
    ]


def test_a_key_table_describes_its_keys_and_rejects_others():
    table = KeyTable(ConfigKey("name", str, "Its name."), ConfigKey("input"))
    assert table.to_schema("name") == {
        "type": "object",
        "required": ["name"],
        "additionalProperties": False,
        "properties": {"name": {"type": "string", "description": "Its name."}, "input": {}},
    }
    context = Context()
    table.refuse_unknown(locate({"nmae": 1}, context.problems), context)
    (problem,) = context.problems.error().problems
    assert (problem.message, problem.hint) == ("unknown key 'nmae'", "did you mean 'name'?")
