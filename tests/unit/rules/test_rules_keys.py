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


def error_text(read, value) -> str:
    """Return the problems and warnings of a value."""
    context = Context()
    read(locate(value, Problems()), context)
    lines = [*map(str, context.problems.warnings)]
    return "\n".join([*lines, *str(context.problems.error()).splitlines()])


def keys_of_evaluator(name: str) -> list[str]:
    keys = evaluator_keys(registry.load(Plugin.EVALUATORS, name)).names
    return [key for key in keys if key != "type"]


def options_of(kind: Plugin, name: str) -> list[str]:
    return list(registry.options(registry.load(kind, name)))


COMPARATORS, ALIGNERS, EVALUATORS, TARGETS = (
    registry.names(kind)
    for kind in (Plugin.COMPARATORS, Plugin.ALIGNERS, Plugin.EVALUATORS, Plugin.TARGETS)
)


@pytest.mark.parametrize(
    ("read", "keys", "wrap"),
    [
        pytest.param(read_eval, EVAL_KEYS.names, lambda wrong: {"cases": "t.jsonl", **wrong}, id="eval-file"),
        pytest.param(read_eval, CASE_KEYS.names, lambda wrong: {"cases": [{"id": "a", "expected": 1, **wrong}]}, id="case"),
        pytest.param(read_eval, ROW_KEYS.names, lambda wrong: {"cases": {"path": "x", **wrong}}, id="rows"),
        pytest.param(read_eval, GATE_KEYS.names, lambda wrong: {"cases": "t", "gates": wrong}, id="gates"),
        pytest.param(read_eval, ["name", *registry.options(CountingOptions)], lambda wrong: {"cases": "t", "convention": {"name": "confusion", **wrong}}, id="convention"),
        pytest.param(rules_of, NATIVE, lambda wrong: {"empty_blanks" if "strict" not in wrong else "strict": False, **wrong}, id="rules-file"),
        pytest.param(rules_of, FIELD_KEYS.names, lambda wrong: [{"path": "a", "match": "exact", **wrong}], id="field"),
        *(
            pytest.param(read_eval, target_keys(name).names, lambda wrong, name=name: {"cases": "t", "target": {"type": name, **wrong}}, id=f"target-{name}")
            for name in TARGETS
        ),
        *(
            pytest.param(read_evaluators, keys_of_evaluator(name), lambda wrong, name=name: [{"type": name, **wrong}], id=f"evaluator-{name}")
            for name in EVALUATORS
        ),
        *(
            pytest.param(rules_of, options_of(Plugin.COMPARATORS, name), lambda wrong, name=name: [{"path": "a", "match": name, **wrong}], id=f"comparator-{name}")
            for name in COMPARATORS
        ),
        *(
            pytest.param(rules_of, options_of(Plugin.ALIGNERS, name), lambda wrong, name=name: [{"path": "a", "align": name, **wrong}], id=f"aligner-{name}")
            for name in ALIGNERS
        ),
    ],
)  # fmt: skip
def test_misspelled_key_gets_a_suggestion(read, keys, wrap):
    for key in keys:
        assert f"did you mean '{key}'?" in error_text(read, wrap({misspelled(key): 1}))


@pytest.mark.parametrize("key", ["tqpe", "typ", "tpye"])
def test_misspelled_type_key_of_an_evaluator(key):
    (problem,) = evaluator_problems(f"[{{{key}: line_items}}]")
    assert f"did you mean 'type' instead of '{key}'?" in problem


@pytest.mark.parametrize("name", registry.names(Plugin.EVALUATORS))
def test_misspelled_type_of_an_evaluator(name):
    assert f"did you mean '{name}'?" in error_text(read_evaluators, [{"type": misspelled(name)}])


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
