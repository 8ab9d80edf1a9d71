"""JSON Schemas of the files that people write and of the rows that a run writes.

They follow from the key tables of the readers and from the registry: a new strategy or option is
in them as soon as it is registered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from fieldmark import registry
from fieldmark.config.eval_cases import CASE_KEYS
from fieldmark.config.eval_file import CONVENTION_KEYS, EVAL_KEYS, GATE_KEYS
from fieldmark.config.eval_target import TARGET_WORDS, target_keys
from fieldmark.config.evaluators import ENTRY_KEYS, SAFETY, evaluator_keys
from fieldmark.config.field_rules import FIELD_KEYS
from fieldmark.config.keys import KeyTable
from fieldmark.config.option_types import (
    any_of,
    enum_schema,
    options_schema,
    ref,
    spellings,
    summary_of,
)
from fieldmark.config.rules_file import rules_schema
from fieldmark.config.strategies import STRATEGIES, STRATEGY_KEYS
from fieldmark.evaluators.base import Status
from fieldmark.metrics.quality import QualityCounts
from fieldmark.model.case import CaseInput, Verdict
from fieldmark.model.counts import Counts
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.registry import Plugin

__all__ = ["SCHEMAS", "file_name", "schema_of"]

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def schema_of(name: str) -> JsonObject:
    """Return the schema of eval files, of rules files or of result rows.

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


def _eval_file() -> JsonObject:
    return {
        "title": "A fieldmark eval file",
        **EVAL_KEYS.to_schema("cases"),
        "$defs": {**_rule_definitions(), **_eval_definitions()},
    }


def _rules_file() -> JsonObject:
    return {"title": "A fieldmark rules file", **rules_schema(), "$defs": _rule_definitions()}


def _described(schema: JsonObject, description: str) -> JsonObject:
    return {**schema, "description": description}


# --- strategies -----------------------------------------------------------------------------------


def _strategy_definitions(word: str, kind: Plugin) -> JsonObject:
    """Define a strategy by its name alone, or as an object with its type and options."""
    names = registry.names(kind)
    typed: JsonObject = {
        "type": "object",
        "required": ["type"],
        "properties": {"type": ref(f"{word}_name")},
        "allOf": [{"if": _is_named("type", name), "then": ref(f"{word}_{name}")} for name in names],
    }
    return {
        f"{word}_name": _name_schema(kind),
        word: any_of([ref(f"{word}_name"), typed]),
        **{f"{word}_{name}": _strategy_schema(kind, name) for name in names},
    }


def _name_schema(kind: Plugin) -> JsonObject:
    """Describe each name of a kind by the summary of its class."""
    return {
        "anyOf": [
            _described(enum_schema([name]), summary_of(registry.load(kind, name)))
            for name in registry.names(kind)
        ]
    }


def _strategy_schema(kind: Plugin, name: str) -> JsonObject:
    strategy = registry.load(kind, name)
    schema = options_schema(strategy)
    properties = _properties(schema)
    if kind is Plugin.PROVIDERS and "scores" in properties:
        # The scores may be in a file, whose name is then given in their place.
        schema.pop("required", None)
        properties["file"] = {"type": "string", "description": "A JSON file with the scores."}
    return {
        **schema,
        "description": summary_of(strategy),
        "properties": {"type": {}, **properties},
        "additionalProperties": False,
    }


def _properties(schema: JsonObject) -> JsonObject:
    properties = schema["properties"]
    return dict(properties) if isinstance(properties, dict) else {}


def _is_named(key: str, name: str) -> JsonObject:
    """Return the condition that a key has a certain name as its value."""
    return {"required": [key], "properties": {key: {"enum": spellings(name)}}}


def _without_defaults(properties: JsonObject) -> JsonObject:
    return {
        key: {part: value for part, value in schema.items() if part != "default"}
        for key, schema in properties.items()
        if isinstance(schema, dict)
    }


# --- rules ----------------------------------------------------------------------------------------


def _rule_definitions() -> JsonObject:
    """Return every definition that rules are made of, by name."""
    # What can be at a path: a word, settings, or the shape of an object or a list.
    words = "|".join("".join(f"[{c.upper()}{c.lower()}]" for c in word) for word in STRATEGIES)
    field_or_word: list[JsonObject] = [
        {"enum": [*STRATEGIES]},
        {"type": "string", "pattern": rf"^\s*({words})\s*$"},
        ref("match_name"),
        ref("settings"),
        ref("by_path"),
        {"type": "array", "items": ref("field_or_word"), "minItems": 1, "maxItems": 1},
    ]
    definitions: JsonObject = {}
    for word, kind in {**STRATEGY_KEYS, "provider": Plugin.PROVIDERS}.items():
        definitions.update(_strategy_definitions(word, kind))
    strategy_keys = KeyTable(*(key for key in FIELD_KEYS if key.name in STRATEGY_KEYS))
    return {
        **definitions,
        "field": {**_settings_schema(FIELD_KEYS), "required": ["path"]},
        "settings": _settings_schema(KeyTable(*FIELD_KEYS.keys[1:])),
        "defaults": _defaults_schema(strategy_keys),
        "by_path": {
            "type": "object",
            "description": "Paths, or the shape of a document, with what holds there.",
            "additionalProperties": ref("field_or_word"),
        },
        "field_or_word": any_of(field_or_word),
        "fields": any_of([{"type": "array", "items": ref("field")}, ref("by_path")]),
    }


def _settings_schema(keys: KeyTable) -> JsonObject:
    """Describe some keys of a field and the options of the strategies that it names.

    Every option is a property, so that editors can offer it; a strategy that is named admits only
    its own.
    """
    narrowed: list[JsonValue] = []
    for word, kind in STRATEGY_KEYS.items():
        for name in registry.names(kind):
            strategy = registry.load(kind, name)
            admitted: list[JsonValue] = [*keys.names, *registry.options(strategy)]
            only: JsonObject = {**options_schema(strategy), "propertyNames": {"enum": admitted}}
            narrowed.append({"if": _is_named(word, name), "then": only})
    return {**_defaults_schema(keys), "not": {"required": [*STRATEGY_KEYS]}, "allOf": narrowed}


def _defaults_schema(keys: KeyTable) -> JsonObject:
    """Describe some keys and the options of every strategy, with each of their types."""
    found: dict[str, list[JsonObject]] = {}
    for kind in STRATEGY_KEYS.values():
        for name in registry.names(kind):
            options = _without_defaults(_properties(options_schema(registry.load(kind, name))))
            for option, schema in options.items():
                if isinstance(schema, dict):
                    found.setdefault(option, []).append(schema)
    options = {option: any_of(schemas) for option, schemas in found.items()}
    return {
        "type": "object",
        "minProperties": 1,
        "properties": {**keys.properties(), **options},
        "additionalProperties": False,
    }


# --- evaluations ----------------------------------------------------------------------------------


def _eval_definitions() -> JsonObject:
    """Return every definition that eval files are made of, besides those of rules."""
    evaluators = registry.names(Plugin.EVALUATORS)
    convention: JsonObject = {
        **CONVENTION_KEYS.to_schema("name"),
        # The defaults depend on the convention.
        "properties": _without_defaults(CONVENTION_KEYS.properties()),
    }
    conventions = any_of([CONVENTION_KEYS.keys[0].to_schema(), convention])
    gates = _described(GATE_KEYS.to_schema(), "What the run has to reach, or the command fails.")
    return {
        "case": {
            **CASE_KEYS.to_schema("id"),
            "anyOf": [{"required": ["expected"]}, {"required": ["expected_file"]}],
        },
        "convention": _described(conventions, "How outcomes are counted."),
        "target": _any_target(),
        **{f"target_{name}": _one_target(name) for name in registry.names(Plugin.TARGETS)},
        "evaluators": {"type": "array", "items": ref("evaluator")},
        "evaluator": {
            "type": "object",
            "required": ["type"],
            "properties": {**ENTRY_KEYS.properties(), "type": _name_schema(Plugin.EVALUATORS)},
            "allOf": [
                {"if": _is_named("type", name), "then": ref(f"evaluator_{name}")}
                for name in evaluators
            ],
        },
        **{f"evaluator_{name}": _one_evaluator(name) for name in evaluators},
        "gates": gates,
        **_strategy_definitions(SAFETY, Plugin.SAFETY),
    }


def _any_target() -> JsonObject:
    narrowed: list[JsonValue] = []
    for name in registry.names(Plugin.TARGETS):
        words = [word for word, (kind, _) in TARGET_WORDS.items() if kind == name]
        short: list[JsonValue] = [
            {"required": [word], "not": {"required": ["type"]}} for word in words
        ]
        condition: JsonObject = {"anyOf": [_is_named("type", name), *short]}
        narrowed.append({"if": condition, "then": ref(f"target_{name}")})
    return {
        "type": "object",
        "description": "What produces candidates.",
        "properties": {"type": _name_schema(Plugin.TARGETS)},
        "anyOf": [{"required": [key]} for key in ("type", *TARGET_WORDS)],
        "allOf": narrowed,
    }


def _one_target(name: str) -> JsonObject:
    strategy = registry.load(Plugin.TARGETS, name)
    schema = options_schema(strategy)
    needed = schema.get("required")
    required: list[JsonValue] = list(needed) if isinstance(needed, list) else []
    for word, (kind, option) in TARGET_WORDS.items():
        if kind == name:
            required = [key for key in required if key not in (word, option)]
            schema["anyOf"] = [{"required": [key]} for key in dict.fromkeys((word, option))]
    return {
        **schema,
        "description": summary_of(strategy),
        "required": required,
        "properties": target_keys(name).properties(),
        "additionalProperties": False,
    }


def _one_evaluator(name: str) -> JsonObject:
    strategy = registry.load(Plugin.EVALUATORS, name)
    return {
        **options_schema(strategy),
        "description": summary_of(strategy),
        "properties": evaluator_keys(strategy).properties(),
        "additionalProperties": hasattr(strategy, "collects_unknown"),
    }


# --- results --------------------------------------------------------------------------------------

_TEXTS: Final[JsonObject] = {"type": "array", "items": {"type": "string"}}
_LISTS: Final[JsonObject] = {"type": "array", "items": {"type": "array"}}
_RATE: Final[JsonObject] = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
_ERROR_TYPES: Final = ("omission", "hallucination", "format_error", "wrong_value")


def _result_row() -> JsonObject:
    """Describe a row of `results.jsonl`; later versions may add keys."""
    evaluator_result: JsonObject = {
        "type": "object",
        "required": ["name", "type", "score", "weight", "verdict", "status"],
        "properties": {
            "name": {"type": "string"},
            "type": {"type": "string"},
            "weight": {"type": "number", "minimum": 0},
            **_score_properties(),
            "vacuous": _described({"type": "boolean"}, "Whether there was nothing to score."),
            "hits": _TEXTS,
            "misses": _TEXTS,
            "skipped": _described(_TEXTS, "What counts neither way."),
            "reasoning": {"type": "string"},
            "details": _described({"type": "object"}, "Whatever the evaluator adds, untouched."),
        },
    }
    return {
        "title": "A row of the results of a fieldmark run",
        "type": "object",
        "required": ["case_id", "score", "verdict", "status"],
        "properties": {
            "case_id": _described({"type": "string"}, "Which case it is."),
            **_score_properties(),
            "hits": _described(_TEXTS, "What is right."),
            "misses": _described(_TEXTS, "What is wrong, and why."),
            "reasoning": {"type": "string"},
            "evaluator_results": {"type": "array", "items": evaluator_result},
            "counts": _described(_integers(Counts._fields), "Fields, counted by the convention."),
            "errors_by_type": _integers(_ERROR_TYPES),
            "quality": _described(_integers(QualityCounts._fields), "The sizes of the buckets."),
            "cells": _described(
                {"type": "array", "items": {"type": "integer"}},
                "One integer per field: the number of its attribute << 7 | outcome and presences.",
            ),
            "comparisons": _described(
                _LISTS, "[position, similarity, score, reason, flags, note] where there is more."
            ),
            "items": _described(
                _LISTS,
                "[position, list, expected index, candidate index, similarity] of aligned items.",
            ),
            "totals": _described(
                {"type": "array", "items": {"type": "integer"}},
                "[hits, misses, skipped, errors]: how many fields, or entries of evaluators.",
            ),
            "vacuous": _described({"const": True}, "There was nothing to score."),
            "safety": _described(_RATE, "The score of a safety judge."),
            "segment": _described(
                {"type": "array", "items": {"type": "integer"}},
                "[number, rows]: how many rows from here on were written together.",
            ),
            "input": _described(_enum(CaseInput), "What could be read of the case, if not all."),
            "note": {"type": "string"},
            "parsed_from": _described(
                {"enum": ["fence", "text"]}, "Where in a text the JSON stood."
            ),
            "tags": _TEXTS,
            "fallback": _described(
                {"const": True}, "A list was too long for the method asked for."
            ),
            "expected": _described({}, "The truth."),
            "candidate": _described({}, "What was extracted."),
        },
    }


def _score_properties() -> JsonObject:
    verdicts: list[JsonValue] = [*(verdict.value for verdict in Verdict), None]
    return {
        "score": _described(_RATE, "Null if it could not be given."),
        "verdict": {"enum": verdicts},
        "status": _enum(Status),
    }


def _enum(members: type[Status | CaseInput]) -> JsonObject:
    return {"enum": [member.value for member in members]}


def _integers(names: tuple[str, ...]) -> JsonObject:
    return {"type": "object", "properties": {name: {"type": "integer"} for name in names}}


SCHEMAS: Final[Mapping[str, Callable[[], JsonObject]]] = {
    "eval": _eval_file,
    "rules": _rules_file,
    "result": _result_row,
}
