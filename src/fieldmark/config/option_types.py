"""Reads the value of one option as the type that its strategy declares."""

from __future__ import annotations

import dataclasses
import inspect
import re
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Final, Literal, Union, cast, get_args, get_origin

from fieldmark import registry
from fieldmark.config.context import Context
from fieldmark.config.located import Located
from fieldmark.evaluators.base import ConfiguredEvaluator
from fieldmark.model.comparison import Comparator, Provider
from fieldmark.model.json import MISSING, JsonObject, JsonValue
from fieldmark.model.rule import Rule
from fieldmark.values.text import did_you_mean

__all__ = [
    "any_of",
    "checked",
    "describe",
    "either",
    "element_of",
    "is_json",
    "is_json_object",
    "is_object",
    "is_optional",
    "is_union",
    "options_schema",
    "plain",
    "promise_of",
    "ref",
    "refuse_unknown",
    "said_of",
    "spellings",
    "value_schema",
]

_LONGEST_SHOWN: Final = 40


class _WrongValueError(Exception):
    """A value that an option cannot take; says what it must be."""


def checked(located: Located, name: str, annotation: object, context: Context) -> object | None:
    """The value of an option as its type, or nothing and a problem that says what it must be."""
    try:
        return _read(located, annotation)
    except _WrongValueError as error:
        text = f"{name}: {error}"
        message = text if text.endswith("?") else f"{text}."
        context.problems.add(message, located.location)
        return None


def _read(located: Located, annotation: object) -> object:
    """A JSON value as the annotated type; what it must be otherwise is the error's text."""
    origin = get_origin(annotation)
    if annotation in _SCALARS:
        return _SCALARS[annotation](located.value)
    if is_json(annotation):
        return located.value
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return annotation(_choice(located.value, [str(member.value) for member in annotation]))
    reader = _SHAPES.get(origin)
    return located.value if reader is None else reader(located, get_args(annotation))


def describe(value: JsonValue) -> str:
    """How a value is named in a complaint about it."""
    if isinstance(value, str):
        return f'"{value}"' if len(value) <= _LONGEST_SHOWN else "a long text"
    names = {list: "a list", dict: "an object", bool: str(value).lower(), type(None): "nothing"}
    return names.get(type(value), str(value))


def _number(value: JsonValue) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _WrongValueError(f"must be a number, not {describe(value)}")
    return value


def _decimal(value: JsonValue) -> Decimal:
    # Through its text, because 0.1 means one tenth to whoever wrote it.
    return Decimal(str(_number(value)))


def _whole(value: JsonValue) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _WrongValueError(f"must be a whole number, not {describe(value)}")
    return value


def _flag(value: JsonValue) -> bool:
    if not isinstance(value, bool):
        raise _WrongValueError(f"must be true or false, not {describe(value)}")
    return value


def _text(value: JsonValue) -> str:
    if not isinstance(value, str):
        raise _WrongValueError(f"must be text, not {describe(value)}")
    return value


_SCALARS: Final[Mapping[object, Callable[[JsonValue], object]]] = {
    bool: _flag,
    int: _whole,
    float: _number,
    Decimal: _decimal,
    str: _text,
}


def _choice(value: JsonValue, valid: Sequence[str]) -> str:
    spelled = value.replace("-", "_") if isinstance(value, str) else None
    for word in valid:
        if value == word or (spelled is not None and spelled.lower() == word.lower()):
            return word
    hint = did_you_mean(value, valid) if isinstance(value, str) else ""
    listed = f"must be one of {', '.join(valid)}, not {describe(value)}"
    raise _WrongValueError(f"{listed}. {hint}".rstrip("?. ") + ("?" if hint else ""))


def _union(located: Located, arms: tuple[object, ...]) -> object:
    if located.value is None and type(None) in arms:
        return None
    kinds = [arm for arm in arms if arm is not type(None)]
    complaints: list[_WrongValueError] = []
    for arm in kinds:
        try:
            return _read(located, arm)
        except _WrongValueError as error:
            complaints.append(error)
    raise complaints[0]


def _literal(located: Located, words: tuple[object, ...]) -> object:
    if located.value in words:
        return located.value
    return _choice(located.value, [str(word) for word in words])


def _elements(located: Located, inner: tuple[object, ...]) -> list[object]:
    kind = inner[0] if inner else object
    # A list of one is often written without its brackets.
    items = [located] if isinstance(located.value, str) else located.items
    if not isinstance(located.value, str | list):
        raise _WrongValueError(f"must be a list, not {describe(located.value)}")
    return [_read(item, kind) for item in items]


def _mapping(located: Located, inner: tuple[object, ...]) -> dict[str, object]:
    if not isinstance(located.value, dict):
        raise _WrongValueError(f"must be an object, not {describe(located.value)}")
    kind = inner[1] if len(inner) > 1 else object
    return {key: _read(item, kind) for key, item in located.entries.items()}


_SHAPES: Final[Mapping[object, Callable[[Located, tuple[object, ...]], object]]] = {
    Union: _union,
    types.UnionType: _union,
    Literal: _literal,
    tuple: lambda located, inner: tuple(_elements(located, inner)),
    frozenset: lambda located, inner: frozenset(_elements(located, inner)),
    list: _elements,
    Sequence: lambda located, inner: tuple(_elements(located, inner)),
    dict: _mapping,
    Mapping: _mapping,
}


def is_union(annotation: object) -> bool:
    """Whether several types are annotated."""
    return get_origin(annotation) in (Union, types.UnionType)


def is_optional(annotation: object) -> bool:
    """Whether nothing is a value."""
    return is_union(annotation) and type(None) in get_args(annotation)


def plain(annotation: object) -> object:
    """The type without the possibility of nothing, where exactly one type is left.

    >>> plain(int | None)
    <class 'int'>
    """
    if not is_union(annotation):
        return annotation
    kinds = [arm for arm in get_args(annotation) if arm is not type(None)]
    return kinds[0] if len(kinds) == 1 else annotation


def element_of(annotation: object) -> object | None:
    """The type of the elements, for `tuple[x, ...]`.

    >>> element_of(tuple[str, ...])
    <class 'str'>
    """
    inner = plain(annotation)
    arms = get_args(inner)
    return arms[0] if get_origin(inner) is tuple and arms[1:] == (...,) else None


def is_json(annotation: object) -> bool:
    """Whether every JSON value is meant; the alias refers to itself, so it is known by its look."""
    if not is_union(annotation):
        return False
    kinds = {get_origin(arm) or arm for arm in get_args(annotation)}
    return {type(None), bool, str, list, dict} <= kinds


def is_json_object(annotation: object) -> bool:
    """Whether an object of any JSON values is meant, and no text could be."""
    arms = get_args(annotation) if is_union(annotation) else (annotation,)
    others = [arm for arm in arms if not _is_object(arm)]
    return len(others) < len(arms) and all(arm in (bool, type(None)) for arm in others)


def _is_object(annotation: object) -> bool:
    return get_origin(annotation) in (dict, Mapping) and is_json(get_args(annotation)[1])


def is_object(located: Located, what: str, context: Context, hint: str = "") -> bool:
    """Whether a value is an object; if not, the problem says what it should have been."""
    if isinstance(located.value, dict):
        return True
    context.problems.add(f"Not {what}: {describe(located.value)}.", located.location, hint)
    return False


def refuse_unknown(
    located: Located,
    known: Iterable[str],
    context: Context,
    otherwise: Callable[[str], str] = lambda _: "",
) -> None:
    """A problem for each key that is not known, with the nearest that is, or another hint."""
    words = list(known)
    for key in located.entries:
        if key not in words:
            hint = did_you_mean(key, words) or otherwise(key)
            context.problems.add(f"Unknown key: {key}.", located.key_location(key), hint)


_JSON_TYPES: Final[Mapping[object, str]] = {
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
    if annotation in _JSON_TYPES:
        return {"type": _JSON_TYPES[annotation]}
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
    return {"type": _JSON_TYPES[annotation]} if annotation in _JSON_TYPES else {}


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


_SENTENCE_END: Final = re.compile(r"(?<=[.?!])\s+(?=[A-Z`])")


@cache
def promise_of(kind: type) -> str:
    """The first line of a class's docstring: what it promises."""
    return _paragraphs(kind)[0] if _paragraphs(kind) else ""


@cache
def said_of(kind: type, option: str, annotation: object) -> str:
    """The sentences about an option, of the class or of what it builds on; else of its type.

    >>> from fieldmark.compare.regex import Regex
    >>> said_of(Regex, "search", bool)
    'The whole text has to follow it, or with `search` any part of it.'
    """
    for owner in kind.__mro__:
        said = [one for text in _paragraphs(owner) for one in _sentences(text, option)]
        if said:
            return " ".join(said)
    inner = plain(annotation)
    if isinstance(inner, type) and issubclass(inner, Enum):
        return promise_of(inner)
    return ""


def _sentences(text: str, option: str) -> list[str]:
    word = re.compile(rf"`{re.escape(option)}(?:`|: )")
    return [one for one in _SENTENCE_END.split(text) if word.search(one)]


@cache
def _paragraphs(kind: type) -> tuple[str, ...]:
    """The paragraphs of a docstring that are prose, each on one line."""
    text = kind.__doc__ or ""
    parts = re.split(r"\n\s*\n", inspect.cleandoc(text))
    return tuple(" ".join(part.split()) for part in parts if part and not part.startswith(">>>"))
