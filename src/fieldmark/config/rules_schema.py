"""The definitions of rules: fields, how they compare, how lists are aligned, what is usual."""

from __future__ import annotations

from typing import Final

from fieldmark import registry
from fieldmark.config.field_rules import FIELD_KEYS
from fieldmark.config.option_types import any_of, either, options_schema, promise_of, ref, spellings
from fieldmark.config.strategies import STRATEGIES
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.rule import Depth, Scope
from fieldmark.registry import Plugin

__all__ = ["rule_definitions", "rules_schema", "strategy_definitions"]

_WORDS: Final = {
    "match": Plugin.COMPARATORS,
    "align": Plugin.ALIGNERS,
    "provider": Plugin.PROVIDERS,
}
_STRATEGY_WORDS: Final = {"match": Plugin.COMPARATORS, "align": Plugin.ALIGNERS}
_PATH: Final = "path"


def rule_definitions() -> JsonObject:
    """Every definition that rules are made of, by its name."""
    definitions: JsonObject = {}
    for word, kind in _WORDS.items():
        definitions.update(strategy_definitions(word, kind))
    return {
        **definitions,
        "field": _field(),
        "settings": _settings(FIELD_KEYS[1:]),
        "defaults": _defaults({word: _OWN[word] for word in _STRATEGY_WORDS}),
        "by_path": _by_path(),
        "field_or_word": _field_or_word(),
        "fields": any_of([{"type": "array", "items": ref("field")}, ref("by_path")]),
    }


def rules_schema() -> JsonObject:
    """What a rules file holds, in each of its forms."""
    native: JsonObject = {
        "type": "object",
        "additionalProperties": False,
        "minProperties": 1,
        "properties": {
            "scope": {**either(Scope), "description": promise_of(Scope)},
            "depth": {**either(Depth), "description": promise_of(Depth)},
            "defaults": ref("defaults"),
            "fields": ref("fields"),
            "empty_tokens": {
                **any_of([_TEXTS, {"type": "string"}]),
                "description": "Texts that mean nothing is there.",
            },
            "empty_containers": {
                "type": "boolean",
                "description": "Whether [] and {} mean that nothing is there.",
            },
            "empty_blanks": {
                "type": "boolean",
                "description": "Whether a text of blanks means that nothing is there.",
            },
            "strict": {
                "type": "boolean",
                "description": "Whether a malformed path is refused.",
            },
            "provider": ref("provider"),
            "rules": {"const": "auto", "description": "Compare by what the truth looks like."},
        },
    }
    fields: JsonObject = {"type": "array", "items": ref("field"), "minItems": 1}
    return any_of([native, fields, ref("by_path"), {"const": "auto"}])


_TEXTS: Final[JsonObject] = {"type": "array", "items": {"type": "string"}}


def strategy_definitions(word: str, kind: Plugin) -> JsonObject:
    """A strategy by its name alone, or as an object with its type and options."""
    names = registry.names(kind)
    typed: JsonObject = {
        "type": "object",
        "required": ["type"],
        "properties": {"type": ref(f"{word}_name")},
        "allOf": [{"if": _is_named("type", name), "then": ref(f"{word}_{name}")} for name in names],
    }
    return {
        f"{word}_name": _named(kind),
        word: any_of([ref(f"{word}_name"), typed]),
        **{f"{word}_{name}": _typed(kind, name) for name in names},
    }


def _named(kind: Plugin) -> JsonObject:
    """A name, each with what it promises."""
    told: list[JsonValue] = [
        {**either([name]), "description": promise_of(registry.load(kind, name))}
        for name in registry.names(kind)
    ]
    return {"anyOf": told}


def _typed(kind: Plugin, name: str) -> JsonObject:
    """The object of one strategy."""
    strategy = registry.load(kind, name)
    schema = options_schema(strategy)
    properties = schema["properties"]
    known: JsonObject = dict(properties) if isinstance(properties, dict) else {}
    if kind is Plugin.PROVIDERS and "scores" in known:
        # The scores may lie in a file, whose name then stands in their place.
        schema.pop("required", None)
        known["file"] = {"type": "string", "description": "A JSON file with the scores."}
    return {
        **schema,
        "description": promise_of(strategy),
        "properties": {"type": {}, **known},
        "additionalProperties": False,
    }


def _is_named(key: str, name: str) -> JsonObject:
    words: list[JsonValue] = [*spellings(name)]
    return {"required": [key], "properties": {key: {"enum": words}}}


def _field() -> JsonObject:
    path: JsonObject = {
        "type": "string",
        "description": 'Where the field is: dots, [n], ["quoted.key"]; [*] and ** in patterns.',
    }
    settings = _settings(FIELD_KEYS)
    properties = settings["properties"]
    inner = properties if isinstance(properties, dict) else {}
    return {**settings, "required": [_PATH], "properties": {_PATH: path, **inner}}


def _settings(keys: tuple[str, ...]) -> JsonObject:
    """An object with some of a field's keys and the options of the strategies that it names.

    Every option is a property, so that editors can offer it; a strategy that is named admits only
    its own.
    """
    narrowed: list[JsonValue] = [
        {"if": _is_named(word, name), "then": _only(registry.load(kind, name), keys)}
        for word, kind in _STRATEGY_WORDS.items()
        for name in registry.names(kind)
    ]
    own = {key: schema for key, schema in _OWN.items() if key in keys}
    return {
        **_defaults(own),
        "not": {"required": [*_STRATEGY_WORDS]},
        "allOf": narrowed,
    }


def _defaults(own: JsonObject) -> JsonObject:
    """An object with some keys and with the options of every strategy."""
    return {
        "type": "object",
        "minProperties": 1,
        "properties": {**own, **_all_options()},
        "additionalProperties": False,
    }


_OWN: Final[JsonObject] = {
    "match": {**ref("match"), "description": "How the values compare."},
    "align": {**ref("align"), "description": "How the items of a list are paired."},
    "weight": {"type": "number", "minimum": 0, "default": 1, "description": "How much it counts."},
    "required": {
        "type": "boolean",
        "default": True,
        "description": "Whether leaving it out is a miss.",
    },
    "any_of": {
        "type": "boolean",
        "default": False,
        "description": "Whether the expected value is a list of acceptable answers.",
    },
}


def _only(strategy: type, keys: tuple[str, ...]) -> JsonObject:
    """The options of one strategy, and no others."""
    schema = options_schema(strategy)
    admitted: list[JsonValue] = [*keys, *registry.options(strategy)]
    return {**schema, "propertyNames": {"enum": admitted}}


def _all_options() -> JsonObject:
    """Every option of comparators and aligners, with each of its types."""
    found: dict[str, list[JsonObject]] = {}
    for kind in _STRATEGY_WORDS.values():
        for name in registry.names(kind):
            properties = options_schema(registry.load(kind, name))["properties"]
            for option, schema in properties.items() if isinstance(properties, dict) else ():
                if isinstance(schema, dict):
                    kept = {key: part for key, part in schema.items() if key != "default"}
                    found.setdefault(option, []).append(kept)
    return {option: any_of(schemas) for option, schemas in found.items()}


def _by_path() -> JsonObject:
    return {
        "type": "object",
        "description": "Paths, or the shape of a document, with what holds there.",
        "additionalProperties": ref("field_or_word"),
    }


def _field_or_word() -> JsonObject:
    """What can stand at a path: a word, settings, or the shape of an object or of a list."""
    words = "|".join("".join(f"[{c.upper()}{c.lower()}]" for c in word) for word in STRATEGIES)
    inside: JsonObject = {
        "type": "array",
        "items": ref("field_or_word"),
        "minItems": 1,
        "maxItems": 1,
    }
    return any_of(
        [
            {"enum": [*STRATEGIES]},
            {"type": "string", "pattern": rf"^\s*({words})\s*$"},
            ref("match_name"),
            ref("settings"),
            ref("by_path"),
            inside,
        ]
    )
