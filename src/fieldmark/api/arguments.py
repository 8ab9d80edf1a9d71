"""Checks of the arguments of public functions: a wrong type is a `TypeError` that names it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import wraps
from typing import Final, NamedTuple, ParamSpec, TypeVar

from fieldmark.errors import DataError, Location

__all__ = ["checked", "strings"]

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


class _Kind(NamedTuple):
    described: str
    types: tuple[type, ...]


_STRING: Final = _Kind("a string", (str,))
_MAPPING: Final = _Kind("a mapping", (Mapping,))
_SEVERAL: Final = _Kind("a list or a mapping", (list, tuple, Mapping))
_KINDS: Final[Mapping[str, _Kind]] = {
    "str": _STRING,
    "bool": _Kind("true or false", (bool,)),
    "int": _Kind("an integer", (int,)),
    "float": _Kind("a number", (int, float)),
    "int | str": _Kind("an integer or a string", (int, str)),
    "str | Path": _Kind("a path", (str, os.PathLike)),
    "Path | str": _Kind("a path", (str, os.PathLike)),
    "str | datetime": _Kind("a string or a datetime", (str, datetime)),
    "SchemaSource": _Kind(
        "a pydantic model or another class, a mapping or a path", (type, Mapping, str, os.PathLike)
    ),
    "RunsLike": _SEVERAL,
    "CandidatesLike": _SEVERAL,
    "Mapping[str, JsonValue]": _MAPPING,
    "Mapping[str, float]": _MAPPING,
    "Iterable[str]": _Kind("strings", (Iterable,)),
}
"""What an argument must be, by its annotation without `| None`."""
_FILES: Final = frozenset(
    {
        "InputLike",
        "RunLike",
        "EvalSource",
        "SchemaSource",
        "ThresholdsLike",
        "str | Path",
        "Path | str",
    }
)
"""The annotations of arguments that may name a file."""


def checked(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Check arguments by their annotations before a public function is called."""
    code, annotations = function.__code__, function.__annotations__
    positional = code.co_varnames[: code.co_argcount]

    @wraps(function)
    def call(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        for name, value in (*zip(positional, args, strict=False), *kwargs.items()):
            if name in annotations:
                _check(name, value, annotations[name])
        return function(*args, **kwargs)

    return call


def strings(given: Iterable[str]) -> tuple[str, ...]:
    """Return an argument that is one string or several."""
    return (given,) if isinstance(given, str) else tuple(given)


def _check(name: str, value: object, annotation: str) -> None:
    optional = annotation.endswith(" | None")
    annotation = annotation.removesuffix(" | None")
    if optional and value is None:
        return
    kind = _KINDS.get(annotation)
    is_flag = isinstance(value, bool) and kind is not None and bool not in kind.types
    if kind is not None and (is_flag or not isinstance(value, kind.types)):
        raise TypeError(f"{name} must be {kind.described}, got {type(value).__name__}")
    if kind in (_MAPPING, _SEVERAL) and isinstance(value, Mapping):
        wrong = next((key for key in value if not isinstance(key, str)), None)
        if wrong is not None:
            raise TypeError(f"the keys of {name} must be strings, got {type(wrong).__name__}")
    if annotation in _FILES and isinstance(value, str | os.PathLike):
        try:
            invalid = b"\0" in os.fsencode(value)
        except UnicodeEncodeError:
            invalid = True
        if invalid or not os.fspath(value):
            raise DataError("not a valid file name", Location(name))
