"""Read the values of options by their annotated types, and describe the types as JSON Schema."""

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
from typing import Final, Literal, NamedTuple, Union, cast, get_args, get_origin

from fieldmark import registry
from fieldmark.config.calibration import CALIBRATED
from fieldmark.config.context import Context
from fieldmark.config.located import Located, describe
from fieldmark.errors import with_hint
from fieldmark.evaluators.base import ConfiguredEvaluator
from fieldmark.model.comparison import Comparator, Provider
from fieldmark.model.json import MISSING, JsonObject, JsonValue
from fieldmark.model.rule import Rule
from fieldmark.values.strict_json import is_finite
from fieldmark.values.text import did_you_mean

__all__ = [
    "any_of",
    "element_of",
    "enum_schema",
    "is_argv",
    "is_json",
    "is_json_object",
    "is_union",
    "option_schema",
    "option_schemas",
    "options_schema",
    "plain",
    "read_option",
    "ref",
    "required_options",
    "spellings",
    "summary_of",
    "value_schema",
]

_LISTS: Final = (tuple, frozenset, list, Sequence)
_MAPPINGS: Final = (dict, Mapping)


# --- annotations ----------------------------------------------------------------------------------


def is_union(annotation: object) -> bool:
    """Whether an annotation is a union."""
    return get_origin(annotation) in (Union, types.UnionType)


def _arms(annotation: object) -> tuple[object, ...]:
    return get_args(annotation) if is_union(annotation) else (annotation,)


def plain(annotation: object) -> object:
    """Remove `None` from a union if exactly one other type remains.

    >>> plain(int | None)
    <class 'int'>
    """
    others = [arm for arm in _arms(annotation) if arm is not type(None)]
    return others[0] if len(others) == 1 else annotation


def element_of(annotation: object) -> object | None:
    """Return the type of the elements of `tuple[x, ...]`.

    >>> element_of(tuple[str, ...])
    <class 'str'>
    """
    inner = plain(annotation)
    arms = get_args(inner)
    return arms[0] if get_origin(inner) is tuple and arms[1:] == (...,) else None


def is_json(annotation: object) -> bool:
    """Whether all JSON values are accepted."""
    # The alias is recursive, so its arms are compared.
    accepted = {get_origin(arm) or arm for arm in _arms(annotation)}
    return {type(None), bool, str, list, dict} <= accepted


def is_json_object(annotation: object) -> bool:
    """Whether objects of any JSON values are accepted, but no strings."""
    arms = _arms(annotation)
    others = [
        arm for arm in arms if not (get_origin(arm) in _MAPPINGS and is_json(get_args(arm)[1]))
    ]
    return len(others) < len(arms) and all(arm in (bool, type(None)) for arm in others)


def is_argv(name: str, annotation: object) -> bool:
    """Whether an option is a program with its arguments, which run without a shell."""
    return name in ("script", "command") and element_of(annotation) is str


class _Scalar(NamedTuple):
    json_type: str
    accepted: type | types.UnionType
    noun: str


_SCALARS: Final[Mapping[object, _Scalar]] = {
    bool: _Scalar("boolean", bool, "true or false"),
    int: _Scalar("integer", int, "an integer"),
    float: _Scalar("number", int | float, "a number"),
    Decimal: _Scalar("number", int | float, "a number"),
    str: _Scalar("string", str, "a string"),
}


# --- reading --------------------------------------------------------------------------------------


class _WrongTypeError(Exception):
    """A value has the wrong type; the message says what is expected."""


def read_option(located: Located, name: str, annotation: object, context: Context) -> object | None:
    """Read the value of an option; a value of the wrong type is a problem and gives `None`."""
    try:
        return _read(located, annotation)
    except _WrongTypeError as error:
        context.add(f"{name}: {error}", located.location)
        return None


def _read(located: Located, annotation: object) -> object:
    value = located.value
    if annotation in _SCALARS:
        scalar = _SCALARS[annotation]
        if isinstance(value, bool) != (annotation is bool) or not isinstance(
            value, scalar.accepted
        ):
            raise _WrongTypeError(f"expected {scalar.noun}, got {describe(value)}")
        if annotation is float and not is_finite(cast("float", value)):
            raise _WrongTypeError("number out of range")
        # Converted from its text, because 0.1 in a file means exactly one tenth.
        return Decimal(str(value)) if annotation is Decimal else value
    if is_json(annotation):
        return value
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return annotation(_read_word(value, [str(member.value) for member in annotation]))
    origin, inner = get_origin(annotation), get_args(annotation)
    if is_union(annotation):
        if value is None and type(None) in inner:
            return None
        errors: list[_WrongTypeError] = []
        for arm in inner:
            if arm is not type(None):
                try:
                    return _read(located, arm)
                except _WrongTypeError as error:
                    errors.append(error)
        raise errors[0]
    if origin is Literal:
        return value if value in inner else _read_word(value, [*map(str, inner)])
    if origin in _LISTS:
        if not isinstance(value, str | list):
            raise _WrongTypeError(f"expected a list, got {describe(value)}")
        # The brackets are optional for a list of one string.
        items = [located] if isinstance(value, str) else located.items
        make: type = origin if origin in (list, frozenset) else tuple
        return cast("object", make(_read(item, inner[0] if inner else object) for item in items))
    if origin in _MAPPINGS:
        if not isinstance(value, dict):
            raise _WrongTypeError(f"expected an object, got {describe(value)}")
        value_type = inner[1] if len(inner) > 1 else object
        return {key: _read(item, value_type) for key, item in located.entries.items()}
    return value


def _read_word(value: JsonValue, valid: Sequence[str]) -> str:
    spelled = value.replace("-", "_") if isinstance(value, str) else None
    for word in valid:
        if value == word or (spelled is not None and spelled.lower() == word.lower()):
            return word
    hint = did_you_mean(value, valid) if isinstance(value, str) else ""
    message = f"must be one of: {', '.join(valid)}; got {describe(value)}"
    raise _WrongTypeError(with_hint(message, hint))


# --- JSON Schema ----------------------------------------------------------------------------------

_JSON_TYPES: Final[Mapping[object, str]] = {
    **{annotation: scalar.json_type for annotation, scalar in _SCALARS.items()},
    Path: "string",
    type(None): "null",
}
_DEFINITIONS: Final[Mapping[object, str]] = {Comparator: "match", Provider: "provider"}
_LIST_DEFINITIONS: Final[Mapping[object, str]] = {Rule: "fields", ConfiguredEvaluator: "evaluators"}
"""Types with their own definitions in the schemas."""
_FILE: Final[JsonObject] = {
    "type": "string",
    "description": "A file below the directory of this file.",
}


def ref(name: str) -> JsonObject:
    """Return a reference to a definition."""
    return {"$ref": f"#/$defs/{name}"}


def any_of(schemas: Iterable[JsonObject]) -> JsonObject:
    """Return a schema for values that match at least one of the given schemas.

    >>> any_of([{"type": "string"}, {"type": "string"}])
    {'type': 'string'}
    """
    found: list[JsonObject] = []
    for schema in schemas:
        if schema not in found:
            found.append(schema)
    return found[0] if len(found) == 1 else {"anyOf": [*found]}


def enum_schema(words: Iterable[str]) -> JsonObject:
    """Return a schema for one of the given words, in each accepted spelling."""
    spelled = [spelling for word in words for spelling in spellings(word)]
    return {"enum": [*dict.fromkeys(spelled)]}


def spellings(word: str) -> list[JsonValue]:
    """Return a word as registered and, if different, in kebab-case.

    >>> spellings("all_or_nothing")
    ['all_or_nothing', 'all-or-nothing']
    """
    return [*dict.fromkeys((word, word.replace("_", "-")))]


def value_schema(annotation: object) -> JsonObject:
    """Describe the values of a type as JSON Schema."""
    if annotation in _DEFINITIONS:
        return ref(_DEFINITIONS[annotation])
    if annotation in _JSON_TYPES:
        return {"type": _JSON_TYPES[annotation]}
    if is_json(annotation):
        return {}
    if is_json_object(annotation):
        arms = (arm if arm in _JSON_TYPES else dict[str, object] for arm in _arms(annotation))
        return any_of([*map(value_schema, arms), _FILE])
    origin, inner = get_origin(annotation), get_args(annotation)
    if is_union(annotation):
        # Functions can only be passed in Python.
        return any_of(value_schema(arm) for arm in inner if get_origin(arm) is not Callable)
    if origin is Literal:
        return enum_schema(map(str, inner))
    if origin in _LISTS:
        if inner[0] in _LIST_DEFINITIONS:
            return ref(_LIST_DEFINITIONS[inner[0]])
        item = value_schema(inner[0])
        many: JsonObject = {"type": "array", "items": item}
        # The brackets are optional for a list of one string.
        return any_of([many, item]) if item.get("type") == "string" or "enum" in item else many
    if origin in _MAPPINGS:
        return {"type": "object", "additionalProperties": value_schema(inner[1])}
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return enum_schema(str(member.value) for member in annotation)
    if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        return {
            "type": "object",
            "description": summary_of(annotation),
            "additionalProperties": False,
            **options_schema(cast("type", annotation)),
        }
    return {}


def options_schema(strategy: type) -> JsonObject:
    """Return the `properties` of a strategy, and which of them are `required`."""
    needed = required_options(strategy)
    properties: JsonObject = {**option_schemas(strategy)}
    return {"properties": properties, **({"required": needed} if needed else {})}


def required_options(strategy: type) -> list[JsonValue]:
    """Return the names of the required options of a strategy."""
    return [name for name, each in registry.options(strategy).items() if each.default is MISSING]


def option_schemas(strategy: type) -> dict[str, JsonObject]:
    """Describe each option of a strategy as JSON Schema."""
    options = registry.options(strategy)
    return {name: option_schema(strategy, option) for name, option in options.items()}


def option_schema(strategy: type, option: registry.Option) -> JsonObject:
    """Describe an option as JSON Schema, with its description and default."""
    schema = value_schema(option.type)
    if is_argv(option.name, option.type):
        schema = {"type": "array", "items": {"type": "string"}, "minItems": 1}
    of_comparator = hasattr(strategy, "compare") or hasattr(strategy, "comparator")
    if option.name == "pass_threshold" or (option.name == "threshold" and of_comparator):
        schema = any_of([schema, {"const": CALIBRATED}])
    description = _description_of(strategy, option.name, option.type)
    default = _default_as_json(option.default)
    return {
        **schema,
        **({"description": description} if description else {}),
        **({"default": default} if default is not None else {}),
    }


def _default_as_json(default: object) -> JsonValue:
    """Return a default as JSON, or `None` if it has no JSON form."""
    if isinstance(default, Enum):
        return str(default.value) if default is not MISSING else None
    if isinstance(default, bool | int | float | str):
        return default
    if isinstance(default, Decimal):
        return float(default)
    if isinstance(default, tuple) and all(isinstance(item, str) for item in default):
        return list(default)
    return None


# --- descriptions from docstrings -----------------------------------------------------------------

_SENTENCE_END: Final = re.compile(r"(?<=[.?!])\s+(?=[A-Z`])")


@cache
def summary_of(kind: type) -> str:
    """Return the first paragraph of a docstring."""
    return _paragraphs(kind)[0] if _paragraphs(kind) else ""


@cache
def _description_of(kind: type, option: str, annotation: object) -> str:
    """Return the sentences about an option in the docstrings of its class and base classes.

    An enumeration that they do not mention is described by the docstring of its type.

    >>> from fieldmark.compare.regex import Regex
    >>> _description_of(Regex, "search", bool)
    'The whole string must match, or with `search` any part of it.'
    """
    word = re.compile(rf"`{re.escape(option)}(?:`|: )")
    for owner in kind.__mro__:
        sentences = [one for text in _paragraphs(owner) for one in _SENTENCE_END.split(text)]
        about = [one for one in sentences if word.search(one)]
        if about:
            return " ".join(about)
    inner = plain(annotation)
    return summary_of(inner) if isinstance(inner, type) and issubclass(inner, Enum) else ""


@cache
def _paragraphs(kind: type) -> tuple[str, ...]:
    """Return the prose paragraphs of a docstring, each on one line."""
    parts = re.split(r"\n\s*\n", inspect.cleandoc(kind.__doc__ or ""))
    return tuple(" ".join(part.split()) for part in parts if part and not part.startswith(">>>"))
