"""The JSON Schema of an option, from the type that its strategy declares."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Final, Literal, cast, get_args, get_origin

from fieldmark import registry
from fieldmark.config.annotations import is_json, is_json_object, is_union
from fieldmark.config.schema.prose import promise_of, said_of
from fieldmark.evaluators.base import ConfiguredEvaluator
from fieldmark.model.comparison import Comparator, Provider
from fieldmark.model.json import MISSING, JsonObject, JsonValue
from fieldmark.model.rule import Rule

__all__ = ["any_of", "either", "options_schema", "ref", "spellings", "value_schema"]

_SCALARS: Final[Mapping[object, str]] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    Decimal: "number",
    str: "string",
    Path: "string",
    type(None): "null",
}
_LISTS: Final = (tuple, frozenset, list, Sequence)
_MEANT: Final[Mapping[object, str]] = {Comparator: "match", Provider: "provider"}
_ITEMS: Final[Mapping[object, str]] = {Rule: "fields", ConfiguredEvaluator: "evaluators"}
"""What is read in a way of its own, and the definition that says how."""
_FILE: Final[JsonObject] = {"type": "string", "description": "A file below the folder of this one."}


def ref(name: str) -> JsonObject:
    """The definition of this name."""
    return {"$ref": f"#/$defs/{name}"}


def any_of(schemas: Iterable[JsonObject]) -> JsonObject:
    """What fits one of some schemas at least.

    >>> any_of([{"type": "string"}, {"type": "string"}])
    {'type': 'string'}
    """
    found: list[JsonObject] = []
    for schema in schemas:
        if schema not in found:
            found.append(schema)
    return found[0] if len(found) == 1 else {"anyOf": [*found]}


def either(words: Iterable[str]) -> JsonObject:
    """One of some words, in each spelling that is read."""
    spelled = [spelling for word in words for spelling in spellings(word)]
    return {"enum": [*dict.fromkeys(spelled)]}


def spellings(word: str) -> tuple[str, ...]:
    """A word as it is registered and, if that differs, in kebab-case.

    >>> spellings("all_or_nothing")
    ('all_or_nothing', 'all-or-nothing')
    """
    kebab = word.replace("_", "-")
    return (word,) if kebab == word else (word, kebab)


def value_schema(annotation: object) -> JsonObject:
    """The values that an annotated option can have."""
    if annotation in _MEANT:
        return ref(_MEANT[annotation])
    if annotation in _SCALARS:
        return {"type": _SCALARS[annotation]}
    if is_json(annotation) or annotation is object:
        return {}
    if is_json_object(annotation):
        return any_of([*map(_plain_schema, _arms(annotation)), _FILE])
    return _plain_schema(annotation)


def _arms(annotation: object) -> tuple[object, ...]:
    return get_args(annotation) if is_union(annotation) else (annotation,)


def _plain_schema(annotation: object) -> JsonObject:
    origin, inner = get_origin(annotation), get_args(annotation)
    if is_union(annotation):
        # What only Python can give is not for files.
        return any_of(value_schema(arm) for arm in inner if get_origin(arm) is not Callable)
    if origin is Literal:
        return either(map(str, inner))
    if origin in _LISTS:
        return ref(_ITEMS[inner[0]]) if inner[0] in _ITEMS else _list_schema(inner[0])
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": value_schema(inner[1])}
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return either(str(member.value) for member in annotation)
    if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        return {
            "type": "object",
            "description": promise_of(annotation),
            "additionalProperties": False,
            **options_schema(cast("type", annotation)),
        }
    return {"type": _SCALARS[annotation]} if annotation in _SCALARS else {}


def _list_schema(item: object) -> JsonObject:
    inside = value_schema(item)
    many: JsonObject = {"type": "array", "items": inside}
    # A list of one text may be written without its brackets.
    return any_of([many, inside]) if inside.get("type") == "string" or "enum" in inside else many


def options_schema(strategy: type) -> JsonObject:
    """The options of a strategy as properties, and which of them have to be given."""
    options = registry.options(strategy)
    needed: list[JsonValue] = [name for name, each in options.items() if each.default is MISSING]
    properties: JsonObject = {name: _option(strategy, each) for name, each in options.items()}
    return {"properties": properties, **({"required": needed} if needed else {})}


def _option(strategy: type, option: registry.Option) -> JsonObject:
    schema = value_schema(option.type)
    said = said_of(strategy, option.name, option.type)
    usual = _usual(option.default)
    return {
        **schema,
        **({"description": said} if said else {}),
        **({"default": usual} if usual is not None else {}),
    }


def _usual(default: object) -> JsonValue:
    """A default as a file would write it, where it can be written."""
    if isinstance(default, Enum):
        return str(default.value) if default is not MISSING else None
    if isinstance(default, bool | int | float | str):
        return default
    if isinstance(default, Decimal):
        return float(default)
    if isinstance(default, tuple) and all(isinstance(item, str) for item in default):
        return list(default)
    return None
