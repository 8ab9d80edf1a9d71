"""Reads the value of one option as the type that its strategy declares."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from typing import Final, Literal, Union, get_args, get_origin

from fieldmark.config.annotations import is_json
from fieldmark.config.context import Context
from fieldmark.config.marked import Marked
from fieldmark.config.problems import did_you_mean
from fieldmark.model.json import JsonValue

__all__ = ["checked", "describe"]


_LONGEST_SHOWN: Final = 40


class _WrongValueError(Exception):
    """A value that an option cannot take; says what it must be."""


def checked(marked: Marked, name: str, annotation: object, context: Context) -> object | None:
    """The value of an option as its type, or nothing and a problem that says what it must be."""
    try:
        return _read(marked, annotation)
    except _WrongValueError as error:
        text = f"{name}: {error}"
        message = text if text.endswith("?") else f"{text}."
        context.problems.add(message, marked.location)
        return None


def _read(marked: Marked, annotation: object) -> object:
    """A JSON value as the annotated type; what it must be otherwise is the error's text."""
    origin = get_origin(annotation)
    if annotation in _SCALARS:
        return _SCALARS[annotation](marked.value)
    if is_json(annotation):
        return marked.value
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return annotation(_choice(marked.value, [str(member.value) for member in annotation]))
    reader = _SHAPES.get(origin)
    return marked.value if reader is None else reader(marked, get_args(annotation))


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


def _union(marked: Marked, arms: tuple[object, ...]) -> object:
    if marked.value is None and type(None) in arms:
        return None
    kinds = [arm for arm in arms if arm is not type(None)]
    complaints: list[_WrongValueError] = []
    for arm in kinds:
        try:
            return _read(marked, arm)
        except _WrongValueError as error:
            complaints.append(error)
    raise complaints[0]


def _literal(marked: Marked, words: tuple[object, ...]) -> object:
    if marked.value in words:
        return marked.value
    return _choice(marked.value, [str(word) for word in words])


def _elements(marked: Marked, inner: tuple[object, ...]) -> list[object]:
    kind = inner[0] if inner else object
    # A list of one is often written without its brackets.
    items = [marked] if isinstance(marked.value, str) else marked.items
    if not isinstance(marked.value, str | list):
        raise _WrongValueError(f"must be a list, not {describe(marked.value)}")
    return [_read(item, kind) for item in items]


def _mapping(marked: Marked, inner: tuple[object, ...]) -> dict[str, object]:
    if not isinstance(marked.value, dict):
        raise _WrongValueError(f"must be an object, not {describe(marked.value)}")
    kind = inner[1] if len(inner) > 1 else object
    return {key: _read(item, kind) for key, item in marked.entries.items()}


_SHAPES: Final[Mapping[object, Callable[[Marked, tuple[object, ...]], object]]] = {
    Union: _union,
    types.UnionType: _union,
    Literal: _literal,
    tuple: lambda marked, inner: tuple(_elements(marked, inner)),
    frozenset: lambda marked, inner: frozenset(_elements(marked, inner)),
    list: _elements,
    Sequence: lambda marked, inner: tuple(_elements(marked, inner)),
    dict: _mapping,
    Mapping: _mapping,
}
