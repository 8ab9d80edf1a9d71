"""The definitions of eval files: cases, targets, conventions, evaluators, gates."""

from __future__ import annotations

from dataclasses import fields
from typing import Final

from fieldmark import registry
from fieldmark.config.eval_cases import CASES_KEYS, COCO
from fieldmark.config.eval_file import NAME
from fieldmark.config.eval_spec import Target
from fieldmark.config.eval_target import PATIENCE, TARGET_WORDS
from fieldmark.config.evaluators import DEFAULT_KEYS, SAFETY, compares, hears_safety, known_keys
from fieldmark.config.option_types import any_of, either, options_schema, promise_of, ref, spellings
from fieldmark.config.rules_schema import strategy_definitions
from fieldmark.metrics.conventions import CONVENTIONS, CountingOptions
from fieldmark.metrics.gates import GateKind
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.registry import Plugin

__all__ = ["eval_definitions", "eval_schema"]

_TEXT: Final[JsonObject] = {"type": "string"}
_TEXTS: Final[JsonObject] = {"anyOf": [{"type": "array", "items": _TEXT}, _TEXT]}
_FLAG: Final[JsonObject] = {"type": "boolean", "default": False}
_COUNT: Final[JsonObject] = {"type": "integer", "minimum": 0}


def eval_definitions() -> JsonObject:
    """Every definition that eval files are made of, besides those of rules."""
    return {
        "case": _case(),
        "convention": _convention(),
        "target": _target(),
        **{f"target_{name}": _one_target(name) for name in registry.names(Plugin.TARGETS)},
        "evaluators": {"type": "array", "items": ref("evaluator")},
        "evaluator": _evaluator(),
        **{f"evaluator_{name}": _one(name) for name in registry.names(Plugin.EVALUATORS)},
        "gates": _gates(),
        **strategy_definitions(SAFETY, Plugin.SAFETY),
    }


def eval_schema(rules: JsonObject) -> JsonObject:
    """What an eval file holds."""
    return {
        "type": "object",
        "required": ["cases"],
        "additionalProperties": False,
        "properties": {
            "name": _told(_TEXT, "What the evaluation is called; else as its file is."),
            "description": _told(_TEXT, "What it is about."),
            "cases": _cases(),
            "candidates": _told(_TEXT, "A file or folder with what was extracted."),
            "target": ref("target"),
            "convention": ref("convention"),
            "rules": _told(
                any_of([rules, _TEXT]),
                "How fields compare for the figures by attribute: a file, or the rules themselves.",
            ),
            "provider": ref("provider"),
            "evaluators": _told(ref("evaluators"), "Who scores each case."),
            "gates": ref("gates"),
            "concurrency": {
                "type": "integer",
                "minimum": 1,
                "default": 4,
                "description": "Cases that are judged at the same time.",
            },
            "tags": _told(_TEXTS, "Words for this evaluation."),
            "metadata": _told({"type": "object"}, "Whatever else is to be kept with it."),
        },
    }


def _told(schema: JsonObject, description: str) -> JsonObject:
    return {**schema, "description": description}


def _cases() -> JsonObject:
    inline: JsonObject = {"type": "array", "items": ref("case"), "minItems": 1}
    file = _told(_TEXT, "A file or folder with the cases.")
    keys: JsonObject = {
        key: _told({"type": ["string", "null"]}, f"The key of a row that holds its {key}.")
        for key in CASES_KEYS[1:]
    }
    rows = _closed("path", {"path": file, **keys})
    coco = _closed(COCO, {COCO: _told(_TEXT, "A file of COCO's with images and annotations.")})
    return _told(any_of([file, inline, rows, coco]), "What is to be extracted.")


def _closed(needed: str, properties: JsonObject) -> JsonObject:
    return {
        "type": "object",
        "required": [needed],
        "additionalProperties": False,
        "properties": properties,
    }


def _case() -> JsonObject:
    only_own = _told(_FLAG, "Whether the evaluators of the file are left out.")
    return {
        "type": "object",
        "required": ["id"],
        "anyOf": [{"required": ["expected"]}, {"required": ["expected_file"]}],
        "additionalProperties": False,
        "properties": {
            "id": _told({"type": ["string", "integer"]}, "The name of the case, once in a file."),
            "input": _told({}, "What a target or a judge is given."),
            "expected": _told({}, "The truth."),
            "expected_file": _told(_TEXT, "A JSON file with the truth."),
            "candidate": _told({}, "What was extracted; text is what a model wrote."),
            "candidate_file": _told(_TEXT, "A file with what was extracted."),
            "tags": _told(_TEXTS, "Words to choose cases by."),
            "metadata": _told({"type": ["object", "null"]}, "What judges are told besides."),
            "evaluators": _told(ref("evaluators"), "More evaluators, for this case alone."),
            "only_own": only_own,
            "skip_defaults": only_own,
        },
    }


def _convention() -> JsonObject:
    name = either(CONVENTIONS)
    properties = options_schema(CountingOptions)["properties"]
    inner = properties if isinstance(properties, dict) else {}
    # What is usual depends on the convention, so that no default is told here.
    options: JsonObject = {
        key: {part: text for part, text in schema.items() if part != "default"}
        for key, schema in inner.items()
        if isinstance(schema, dict)
    }
    whole = _closed(NAME, {NAME: name, **options})
    return _told(any_of([name, whole]), "How outcomes are counted.")


def _target() -> JsonObject:
    names = registry.names(Plugin.TARGETS)
    narrowed: list[JsonValue] = [
        {"if": _asks_for(name), "then": ref(f"target_{name}")} for name in names
    ]
    telling: list[JsonValue] = [{"required": [key]} for key in ("type", *TARGET_WORDS)]
    return {
        "type": "object",
        "description": "What produces candidates.",
        "properties": {"type": _names(Plugin.TARGETS)},
        "anyOf": telling,
        "allOf": narrowed,
    }


def _asks_for(name: str) -> JsonObject:
    """Whether a target is of a type, by that word or by a key that stands for it."""
    words = [word for word, (kind, _) in TARGET_WORDS.items() if kind == name]
    short: list[JsonValue] = [{"required": [word], "not": {"required": ["type"]}} for word in words]
    spelled: list[JsonValue] = [*spellings(name)]
    return {"anyOf": [{"required": ["type"], "properties": {"type": {"enum": spelled}}}, *short]}


def _one_target(name: str) -> JsonObject:
    strategy = registry.load(Plugin.TARGETS, name)
    schema = options_schema(strategy)
    own = schema["properties"]
    properties: JsonObject = dict(own) if isinstance(own, dict) else {}
    needed = schema.get("required")
    required: list[JsonValue] = list(needed) if isinstance(needed, list) else []
    for word, (kind, option) in TARGET_WORDS.items():
        if kind == name:
            properties[word] = properties[option]
            required = [key for key in required if key not in (word, option)]
            required_one: JsonValue = [{"required": [key]} for key in dict.fromkeys((word, option))]
            schema = {**schema, "anyOf": required_one}
    _only_lists(properties)
    return {
        **schema,
        "description": promise_of(strategy),
        "required": required,
        "properties": {"type": {}, **properties, **_patience()},
        "additionalProperties": False,
    }


def _patience() -> JsonObject:
    usual = {
        field.name: field.default
        for field in fields(Target)
        if isinstance(field.default, int | float)
    }
    told: dict[str, JsonObject] = {
        "timeout": {
            "type": "number",
            "exclusiveMinimum": 0,
            "description": "Seconds for an answer.",
        },
        "retries": _told(_COUNT, "How often a case is tried again."),
        "concurrency": {
            "type": "integer",
            "minimum": 1,
            "description": "Cases that are asked for at the same time.",
        },
        "cache": _told({"type": ["string", "boolean", "null"]}, "A folder that keeps answers."),
    }
    return {
        key: {**told[key], **({"default": usual[key]} if key in usual else {})} for key in PATIENCE
    }


def _names(kind: Plugin) -> JsonObject:
    told: list[JsonValue] = [
        _told(either([name]), promise_of(registry.load(kind, name)))
        for name in registry.names(kind)
    ]
    return {"anyOf": told}


def _evaluator() -> JsonObject:
    narrowed: list[JsonValue] = []
    for name in registry.names(Plugin.EVALUATORS):
        spelled: list[JsonValue] = [*spellings(name)]
        condition: JsonObject = {"required": ["type"], "properties": {"type": {"enum": spelled}}}
        narrowed.append({"if": condition, "then": ref(f"evaluator_{name}")})
    return {
        "type": "object",
        "required": ["type"],
        "properties": {**_member_properties(), "type": _names(Plugin.EVALUATORS)},
        "allOf": narrowed,
    }


def _member_properties() -> JsonObject:
    return {
        "name": {"type": "string", "minLength": 1, "description": "Once in a list."},
        "type": {},
        "weight": {
            "type": "number",
            "minimum": 0,
            "default": 1,
            "description": "How much its score counts for the score of the case.",
        },
    }


def _one(name: str) -> JsonObject:
    strategy = registry.load(Plugin.EVALUATORS, name)
    schema = options_schema(strategy)
    own = schema["properties"]
    properties: JsonObject = dict(own) if isinstance(own, dict) else {}
    _only_lists(properties)
    extra = dict(_RULE_KEYS) if compares(strategy) else {}
    if hears_safety(strategy):
        extra[SAFETY] = ref(SAFETY)
    known: JsonObject = {**extra, **_member_properties(), **properties}
    kept = {key: known[key] for key in known_keys(strategy) if key in known}
    open_ended = hasattr(strategy, "collects_unknown")
    return {
        **schema,
        "description": promise_of(strategy),
        "properties": kept,
        "additionalProperties": open_ended,
    }


_RULE_KEYS: Final[JsonObject] = {
    **{key: ref("match") for key in DEFAULT_KEYS},
    "defaults": ref("defaults"),
    "strict": _told(_FLAG, "Whether a malformed path is refused."),
    "provider": ref("provider"),
}


def _only_lists(properties: JsonObject) -> None:
    """A program and its arguments are a list: no shell takes a text apart."""
    for key in ("script", "command"):
        schema = properties.get(key)
        if isinstance(schema, dict) and "anyOf" in schema:
            rest = {part: text for part, text in schema.items() if part != "anyOf"}
            properties[key] = {"type": "array", "items": _TEXT, "minItems": 1, **rest}


def _gates() -> JsonObject:
    limits: JsonObject = {"type": "object", "additionalProperties": {"type": "number"}}
    said = {GateKind.MIN: "must reach a limit", GateKind.MAX: "must not be above a limit"}
    return {
        "type": "object",
        "description": "What the run has to reach, or the command fails.",
        "additionalProperties": False,
        "properties": {
            **{kind.value: _told(limits, f"Figures that {said[kind]}.") for kind in GateKind},
            "max_errors": {
                **_told(_COUNT, "Cases that may fail to be evaluated."),
                "default": 0,
            },
        },
    }
