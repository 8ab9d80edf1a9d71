"""Read values by their annotated types, and describe the types as JSON Schema.

    read_value(Annotated[float, Range(ge=0, le=1)], 0.5)
    value_schema(Annotated[float, Range(ge=0, le=1)])

Options are read in this way wherever they come from: files, Python, the command line and requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from functools import cache
from math import isfinite
from numbers import Integral, Real
from typing import Final, Literal, cast, get_args, get_origin

from fieldmark.errors import with_hint
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.values.annotations import (
    arms_of,
    constraints_of,
    is_union,
    without_metadata,
)
from fieldmark.values.json_text import is_finite
from fieldmark.values.text import did_you_mean

_LISTS: Final = (tuple, frozenset, list, Sequence)
_MAPPINGS: Final = (dict, Mapping)
_NUMBERS: Final = (int, float, Decimal)
_SCALARS: Final = (str, bool, int, float, Decimal)
_MAX_SHOWN_LENGTH: Final = 40
_MAX_SHOWN_BITS: Final = 3 * _MAX_SHOWN_LENGTH


class InvalidValueError(ValueError):
    """A value has the wrong type or violates a constraint; the message says what is expected."""


# --- annotations ----------------------------------------------------------------------------------


def plain(annotation: object) -> object:
    """Remove constraints, and `None` from a union if exactly one other type remains.

    >>> plain(int | None)
    <class 'int'>
    """
    others = [arm for arm in arms_of(annotation) if arm is not type(None)]
    return without_metadata(others[0] if len(others) == 1 else annotation)


def element_of(annotation: object) -> object | None:
    """Return the type of the elements of `tuple[x, ...]`.

    >>> element_of(tuple[str, ...])
    <class 'str'>
    """
    inner = plain(annotation)
    arms = get_args(inner)
    return arms[0] if get_origin(inner) is tuple and arms[1:] == (...,) else None


@cache
def is_json(annotation: object) -> bool:
    """Whether all JSON values are accepted."""
    # The alias is recursive, so its arms are compared.
    accepted = {get_origin(arm) or arm for arm in arms_of(annotation)}
    return {type(None), bool, str, list, dict} <= accepted


def is_json_object(annotation: object) -> bool:
    """Whether objects of any JSON values are accepted, but no strings."""
    arms = arms_of(annotation)
    others = [
        arm for arm in arms if not (get_origin(arm) in _MAPPINGS and is_json(get_args(arm)[1]))
    ]
    return len(others) < len(arms) and all(arm in (bool, type(None)) for arm in others)


def _is_path(annotation: object) -> bool:
    return isinstance(annotation, type) and hasattr(annotation, "__fspath__")


# --- reading --------------------------------------------------------------------------------------

_OUT_OF_RANGE: Final = "number out of range"
_NOUNS: Final[Mapping[object, str]] = {
    bool: "true or false",
    int: "an integer",
    float: "a number",
    Decimal: "a number",
    str: "a string",
}


def read_value(annotation: object, value: object) -> object:
    """Return a value in its annotated type; raise an error if it does not fit.

    Words become members of an enumeration, lists become tuples, and the brackets are optional for a
    list of one string. Values of a type that is not known here are returned as they are.

    >>> read_value(tuple[Literal["a", "b"], ...], ["a"])
    ('a',)
    """
    result = _convert(without_metadata(annotation), value)
    if problem := _problem(annotation, result):
        raise InvalidValueError(problem)
    return result


def _problem(annotation: object, result: object) -> str:
    """Return the first constraint that a converted value violates, or an empty string."""
    if result is None:
        return ""
    for constraint in constraints_of(annotation):
        if problem := constraint.problem(result):
            return problem
    return _OUT_OF_RANGE if isinstance(result, float) and not isfinite(result) else ""


def _convert(annotation: object, value: object) -> object:
    if annotation in _NOUNS:
        return _convert_scalar(annotation, value)
    if is_json(annotation):
        return value
    origin, inner = get_origin(annotation), get_args(annotation)
    if is_union(annotation):
        return _convert_union(inner, value)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        if isinstance(value, annotation):
            return value
        return annotation(_read_word(value, [str(member.value) for member in annotation]))
    if origin is Literal:
        return value if value in inner else _read_word(value, [*map(str, inner)])
    if origin in _LISTS:
        return _convert_list(origin, inner[0] if inner else object, value)
    if origin in _MAPPINGS:
        if not isinstance(value, Mapping):
            raise InvalidValueError(f"expected an object, got {describe(value)}")
        value_type = inner[1] if len(inner) > 1 else object
        if value_type is object or is_json(value_type):
            return value
        return {key: read_value(value_type, item) for key, item in value.items()}
    if origin is Callable and not callable(value):
        raise InvalidValueError(f"must be a function, got {describe(value)}")
    if _is_path(annotation) and not hasattr(value, "__fspath__"):
        if not isinstance(value, str):
            raise InvalidValueError(f"expected a path, got {describe(value)}")
        return cast("type", annotation)(value)
    return value


def _convert_scalar(annotation: object, value: object) -> object:
    if not isinstance(value, _SCALARS):
        # Numbers of numpy, for example.
        if isinstance(value, Integral):
            value = int(value)
        elif isinstance(value, Real):
            value = float(value)
    accepted = _NUMBERS if annotation in (float, Decimal) else cast("type", annotation)
    if isinstance(value, bool) != (annotation is bool) or not isinstance(value, accepted):
        raise InvalidValueError(f"expected {_NOUNS[annotation]}, got {describe(value)}")
    if annotation is float and isinstance(value, int) and not is_finite(value):
        raise InvalidValueError(_OUT_OF_RANGE)
    if annotation is Decimal and not isinstance(value, Decimal):
        # Converted from its text, because 0.1 in a file means exactly one tenth.
        return Decimal(str(value))
    return value


def _convert_union(arms: Sequence[object], value: object) -> object:
    if value is None and type(None) in arms:
        return None
    errors: list[InvalidValueError] = []
    for arm in arms:
        if arm is not type(None):
            try:
                return read_value(arm, value)
            except InvalidValueError as error:
                errors.append(error)
    raise errors[0]


def _convert_list(origin: object, element: object, value: object) -> object:
    if not isinstance(value, Iterable) or isinstance(value, Mapping | bytes):
        raise InvalidValueError(f"expected a list, got {describe(value)}")
    items: list[object] = []
    inner = without_metadata(element)
    for index, item in enumerate([value] if isinstance(value, str) else value):
        items.append(_convert(inner, item))
        if problem := _problem(element, items[-1]):
            raise InvalidValueError(f"[{index}]: {problem}")
    if origin is list or origin is frozenset:
        return cast("type", origin)(items)
    if isinstance(inner, type) and issubclass(inner, Enum):
        # A set of words: each once, in the order of their definition.
        return tuple(member for member in inner if member in items)
    return tuple(items)


def _read_word(value: object, valid: Sequence[str]) -> str:
    spelled = value.replace("-", "_") if isinstance(value, str) else None
    for word in valid:
        if value == word or (spelled is not None and spelled.lower() == word.lower()):
            return word
    hint = did_you_mean(value, valid) if isinstance(value, str) else ""
    message = f"must be one of: {', '.join(valid)}; got {describe(value)}"
    raise InvalidValueError(with_hint(message, hint))


def describe(value: object) -> str:
    """Return a value as messages show it.

    >>> describe([1, 2]), describe("a"), describe(None)
    ('a list', "'a'", 'null')
    """
    if callable(value):
        return f"the function {reference_of(value)}"
    if isinstance(value, str):
        return repr(value) if len(value) <= _MAX_SHOWN_LENGTH else "a long string"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and value.bit_length() > _MAX_SHOWN_BITS:
        return "a long number"
    if value is None:
        return "null"
    if isinstance(value, Mapping):
        return "an object"
    return "a list" if isinstance(value, list | tuple) else str(value)


def reference_of(function: object) -> str:
    """Return the name of a function with its module; other objects have the name of their type.

    >>> reference_of(reference_of), reference_of(lambda: 1)
    ('fieldmark.values.value_types:reference_of', 'fieldmark.values.value_types:<lambda>')
    """
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}:{named.__qualname__}"


# --- JSON Schema ----------------------------------------------------------------------------------

_JSON_TYPES: Final[Mapping[object, str]] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    Decimal: "number",
    str: "string",
    type(None): "null",
}
_LENGTHS_OF_STRINGS: Final = {"minItems": "minLength", "maxItems": "maxLength"}


def value_schema(
    annotation: object, special: Callable[[object], JsonObject | None] = lambda _: None
) -> JsonObject:
    """Describe the values of a type as JSON Schema, with its constraints.

    `special` returns the schema of a type that is described differently, for example by a
    reference, or `None`.

    >>> value_schema(Literal["a", "b"] | None)
    {'anyOf': [{'enum': ['a', 'b']}, {'type': 'null'}]}
    """
    schema = special(annotation)
    if schema is None:
        schema = _type_schema(without_metadata(annotation), special)
    limits: JsonObject = {}
    for constraint in constraints_of(annotation):
        limits.update(constraint.to_schema())
    if plain(annotation) is str:
        limits = {_LENGTHS_OF_STRINGS.get(name, name): limit for name, limit in limits.items()}
    return {**schema, **limits}


def _type_schema(annotation: object, special: Callable[[object], JsonObject | None]) -> JsonObject:
    if annotation in _JSON_TYPES:
        return {"type": _JSON_TYPES[annotation]}
    if _is_path(annotation):
        return {"type": "string"}
    if is_json(annotation):
        return {}
    origin, inner = get_origin(annotation), get_args(annotation)
    if is_union(annotation):
        # Functions can only be passed in Python.
        return any_of(
            value_schema(arm, special) for arm in inner if get_origin(arm) is not Callable
        )
    if origin is Literal:
        return enum_schema(map(str, inner))
    if origin in _LISTS:
        item = value_schema(inner[0], special)
        many: JsonObject = {"type": "array", "items": item}
        # The brackets are optional for a list of one string.
        return any_of([many, item]) if item.get("type") == "string" or "enum" in item else many
    if origin in _MAPPINGS:
        return {"type": "object", "additionalProperties": value_schema(inner[1], special)}
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return enum_schema(str(member.value) for member in annotation)
    return {}


def any_of(schemas: Iterable[JsonObject]) -> JsonObject:
    """Return a schema for values that match at least one of the given schemas.

    >>> any_of([{"type": "string"}, {"type": "string"}])
    {'type': 'string'}
    """
    different: list[JsonObject] = []
    for schema in schemas:
        if schema not in different:
            different.append(schema)
    return different[0] if len(different) == 1 else {"anyOf": [*different]}


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
