"""JSON Schemas of eval files, rules files and result rows.

They are generated from the key tables of the readers and from the registry, so they include all
registered strategies and options.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from fieldmark import registry
from fieldmark.compare.function import FunctionMatch
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.registry import Plugin
from fieldmark.rules.evaluator_settings import ENTRY_KEYS, evaluator_keys
from fieldmark.rules.option_types import (
    KeyTable,
    option_schemas,
    options_schema,
    ref,
    required_options,
    summary_of,
)
from fieldmark.rules.rules_file import FIELD_KEYS, SAFETY, SHARED_KEYS, rules_schema
from fieldmark.rules.scoring import CONVENTION_KEYS, GATE_KEYS
from fieldmark.rules.strategy_builder import (
    FUNCTION_SCHEMA,
    STRATEGIES,
    STRATEGY_KEYS,
    strategy_types,
)
from fieldmark.rules.target_settings import TARGET_WORDS, target_keys
from fieldmark.runs.case_rows import ResultRow
from fieldmark.runs.eval_file import CASE_KEYS, EVAL_KEYS
from fieldmark.values.records import json_schema
from fieldmark.values.value_types import any_of, enum_schema, spellings

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def schema_of(name: str) -> JsonObject:
    """Return the schema of eval files, rules files or result rows.

    >>> schema_of("result")["title"]
    'A row of the results of a fieldmark run'
    """
    return {"$schema": _DIALECT, **SCHEMAS[name]()}


def file_name(name: str) -> str:
    """Return the name of the file that contains a schema.

    >>> file_name("eval")
    'eval.schema.json'
    """
    return f"{name}.schema.json"


def _described(schema: JsonObject, description: str) -> JsonObject:
    return {**schema, "description": description}


# --- strategies -----------------------------------------------------------------------------------


def _strategy_definitions(word: str, kind: Plugin) -> JsonObject:
    """Define a strategy as a name, or as an object with type and options."""
    typed: JsonObject = {
        "type": "object",
        "required": ["type"],
        "properties": {"type": ref(f"types_of_{word}")},
        "allOf": _one_of_types(word, kind),
    }
    return {
        f"types_of_{word}": _name_schema(kind),
        word: any_of([ref(f"types_of_{word}"), typed]),
        **{
            f"{word}_{name}": _strategy_schema(kind, strategy)
            for name, strategy in strategy_types(kind)
        },
    }


def _name_schema(kind: Plugin) -> JsonObject:
    """Describe each name by the summary of its class; a comparator may be a function."""
    names: list[JsonValue] = [
        _described(enum_schema([name]), summary_of(strategy))
        for name, strategy in strategy_types(kind)
    ]
    if kind is Plugin.COMPARATORS:
        names.append(_described(FUNCTION_SCHEMA, summary_of(FunctionMatch)))
    return {"anyOf": names}


def _one_of_types(word: str, kind: Plugin) -> list[JsonValue]:
    """Select the definition of a strategy by its type."""
    return [
        {"if": _is_named("type", name), "then": ref(f"{word}_{name}")}
        for name, _ in strategy_types(kind)
    ]


def _is_named(key: str, name: str) -> JsonObject:
    """Return the condition that the value of a key is a given name."""
    return {"required": [key], "properties": {key: {"enum": spellings(name)}}}


def _strategy_schema(kind: Plugin, strategy: type) -> JsonObject:
    schema = options_schema(strategy)
    properties: JsonObject = {"type": {}, **option_schemas(strategy)}
    if kind is Plugin.PROVIDERS and "scores" in properties:
        # The scores may also be given as a file.
        schema.pop("required", None)
        properties["file"] = {"type": "string", "description": "A JSON file with the scores."}
    return {
        **schema,
        "description": summary_of(strategy),
        "properties": properties,
        "additionalProperties": False,
    }


def _without_default(schema: JsonObject) -> JsonObject:
    return {part: value for part, value in schema.items() if part != "default"}


# --- rules ----------------------------------------------------------------------------------------


def _rule_definitions() -> JsonObject:
    # The value at a path is a word, settings, or a nested object or list.
    words = "|".join("".join(f"[{c.upper()}{c.lower()}]" for c in word) for word in STRATEGIES)
    field_or_word: list[JsonObject] = [
        {"enum": [*STRATEGIES]},
        {"type": "string", "pattern": rf"^\s*({words})\s*$"},
        ref("types_of_match"),
        ref("settings"),
        ref("by_path"),
        {"type": "array", "items": ref("field_or_word"), "minItems": 1, "maxItems": 1},
    ]
    definitions: JsonObject = {}
    others = {"provider": Plugin.PROVIDERS, SAFETY.name: Plugin.SAFETY}
    for word, kind in {**STRATEGY_KEYS, **others}.items():
        definitions.update(_strategy_definitions(word, kind))
    convention: JsonObject = {
        **CONVENTION_KEYS.to_schema("name"),
        # The defaults depend on the convention.
        "properties": {key.name: _without_default(key.to_schema()) for key in CONVENTION_KEYS},
    }
    conventions = any_of([CONVENTION_KEYS.keys[0].to_schema(), convention])
    strategy_keys = KeyTable(*(key for key in FIELD_KEYS if key.name in STRATEGY_KEYS))
    return {
        **definitions,
        "field": {**_settings_schema(FIELD_KEYS), "required": ["path"]},
        "settings": _settings_schema(KeyTable(*FIELD_KEYS.keys[1:])),
        "defaults": _defaults_schema(strategy_keys),
        "by_path": {
            "type": "object",
            "description": "Fields by path or nested like a document, with settings or a strategy.",
            "properties": {
                key.name: any_of([key.to_schema(), ref("field_or_word")]) for key in SHARED_KEYS
            },
            "additionalProperties": ref("field_or_word"),
        },
        "field_or_word": any_of(field_or_word),
        "convention": _described(conventions, "How outcomes become metrics."),
        "fields": any_of([{"type": "array", "items": ref("field")}, ref("by_path")]),
    }


def _settings_schema(keys: KeyTable) -> JsonObject:
    """Describe keys of a field and the options of its strategies.

    All options are properties, so that editors can suggest them; once a strategy is named, only its
    own options are allowed.
    """
    narrowed: list[JsonValue] = []
    for word, kind in STRATEGY_KEYS.items():
        for name, strategy in strategy_types(kind):
            admitted: list[JsonValue] = [*keys.names, *registry.options(strategy)]
            only: JsonObject = {
                **options_schema(strategy),
                "properties": _with_keys(keys, option_schemas(strategy)),
                "propertyNames": {"enum": [*dict.fromkeys(admitted)]},
            }
            narrowed.append({"if": _is_named(word, name), "then": only})
    return {**_defaults_schema(keys), "not": {"required": [*STRATEGY_KEYS]}, "allOf": narrowed}


def _defaults_schema(keys: KeyTable) -> JsonObject:
    """Describe keys and the options of all strategies."""
    by_option: dict[str, list[JsonObject]] = {}
    for kind in STRATEGY_KEYS.values():
        for _, strategy in strategy_types(kind):
            for option, schema in option_schemas(strategy).items():
                by_option.setdefault(option, []).append(_without_default(schema))
    options = {option: any_of(schemas) for option, schemas in by_option.items()}
    return {
        "type": "object",
        "minProperties": 1,
        "properties": {**keys.properties(), **_with_keys(keys, options)},
        "additionalProperties": False,
    }


def _with_keys(keys: KeyTable, options: Mapping[str, JsonObject]) -> JsonObject:
    """Describe options; one with the name of a key may have the values of both."""
    shared = {key.name: key.to_schema() for key in keys if key.name in options}
    return {
        name: any_of([shared[name], schema]) if name in shared else schema
        for name, schema in options.items()
    }


# --- evaluations ----------------------------------------------------------------------------------


def _eval_definitions() -> JsonObject:
    """Return all definitions for eval files, except the definitions for rules."""
    evaluators = [name for name, _ in registry.strategies(Plugin.EVALUATORS)]
    gates = _described(
        GATE_KEYS.to_schema(),
        "Limits on metrics; if the run misses one, the command exits with code 1.",
    )
    return {
        "case": {
            **CASE_KEYS.to_schema("id"),
            "anyOf": [{"required": ["expected"]}, {"required": ["expected_file"]}],
        },
        "target": _any_target(),
        **{f"target_{name}": _one_target(name) for name, _ in registry.strategies(Plugin.TARGETS)},
        "evaluators": {"type": "array", "items": ref("evaluator")},
        "evaluator": {
            "type": "object",
            "required": ["type"],
            "properties": {**ENTRY_KEYS.properties(), "type": _name_schema(Plugin.EVALUATORS)},
            "allOf": _one_of_types("evaluator", Plugin.EVALUATORS),
        },
        **{f"evaluator_{name}": _one_evaluator(name) for name in evaluators},
        "gates": gates,
    }


def _any_target() -> JsonObject:
    narrowed: list[JsonValue] = []
    for name, _ in registry.strategies(Plugin.TARGETS):
        words = [word for word, (kind, _) in TARGET_WORDS.items() if kind == name]
        short: list[JsonValue] = [
            {"required": [word], "not": {"required": ["type"]}} for word in words
        ]
        nested = [word for word in words if not TARGET_WORDS[word][1]]
        condition: JsonObject = {"anyOf": [_is_named("type", name), *([] if nested else short)]}
        narrowed.append({"if": condition, "then": ref(f"target_{name}")})
        for word in nested:
            own: JsonObject = {word: ref(f"target_{name}"), "name": {"type": "string"}}
            closed: JsonObject = {"properties": own, "additionalProperties": False}
            narrowed.append({"if": short[words.index(word)], "then": closed})
    return {
        "type": "object",
        "description": "A program or service that produces the predictions.",
        "properties": {"type": _name_schema(Plugin.TARGETS)},
        "anyOf": [{"required": [key]} for key in ("type", *TARGET_WORDS)],
        "allOf": narrowed,
    }


def _one_target(name: str) -> JsonObject:
    strategy = registry.load(Plugin.TARGETS, name)
    required = required_options(strategy)
    schema: JsonObject = {"properties": target_keys(name).properties(), "required": []}
    for word, (kind, option) in TARGET_WORDS.items():
        if kind == name and option:
            required = [key for key in required if key not in (word, option)]
            schema["anyOf"] = [{"required": [key]} for key in dict.fromkeys((word, option))]
        elif kind == name:
            required = []  # targets may share options
    schema["required"] = required
    return {**schema, "description": summary_of(strategy), "additionalProperties": False}


def _one_evaluator(name: str) -> JsonObject:
    strategy = registry.load(Plugin.EVALUATORS, name)
    return {
        **options_schema(strategy),
        "description": summary_of(strategy),
        "properties": evaluator_keys(strategy).properties(),
        "additionalProperties": hasattr(strategy, "collects_unknown"),
    }


# --- files ----------------------------------------------------------------------------------------

SCHEMAS: Final[Mapping[str, Callable[[], JsonObject]]] = {
    "eval": lambda: {
        "title": "A fieldmark eval file",
        **EVAL_KEYS.to_schema("cases"),
        "$defs": {**_rule_definitions(), **_eval_definitions()},
    },
    "rules": lambda: {
        "title": "A fieldmark rules file",
        **rules_schema(),
        "$defs": _rule_definitions(),
    },
    "result": lambda: {
        "title": "A row of the results of a fieldmark run",
        **json_schema(ResultRow),
    },
}
