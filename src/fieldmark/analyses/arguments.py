"""Checks of the arguments of public functions: a wrong type is a `TypeError` that names it."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache, wraps
from pathlib import Path
from textwrap import fill
from types import SimpleNamespace
from typing import Final, NamedTuple, ParamSpec, TypeVar, get_args, get_origin, get_type_hints

from fieldmark.errors import DataError, Location, with_hint
from fieldmark.values.annotations import arms_of
from fieldmark.values.declared_options import DeclaredOption, declared_options
from fieldmark.values.text import did_you_mean

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
_WIDTH: Final = 100
"""The width of a table in a docstring."""


class _Kind(NamedTuple):
    """A kind of value in words, and the classes of such values."""

    described: str
    types: tuple[type, ...]


_KINDS: Final[Mapping[object, _Kind]] = {
    type: _Kind("a pydantic model or another class", (type,)),
    bool: _Kind("true or false", (bool,)),
    int: _Kind("an integer", (int,)),
    float: _Kind("a number", (int, float)),
    str: _Kind("a string", (str,)),
    datetime: _Kind("a datetime", (datetime,)),
    Sequence: _Kind("a list", (list, tuple)),
    Mapping: _Kind("a mapping", (Mapping,)),
    Path: _Kind("a path", (str, os.PathLike)),
    Iterable[str]: _Kind("strings", (Iterable,)),
}
"""The kinds of values of a type, in the order of messages.

Arguments of other types are checked where they are used.
"""


def checked(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Check arguments by their annotations before a public function is called.

    The options in a `TypedDict` become part of the signature and of the documentation.
    """
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    positional = [
        parameter.name
        for parameter in parameters
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ]
    options = options_of(function)

    @wraps(function)
    def call(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        __tracebackhide__ = True  # pytest shows the line of the caller
        known = _annotations(function)
        for name, value in (*zip(positional, args, strict=False), *kwargs.items()):
            if name in known:
                _check(name, value, known[name])
            elif options:
                message = f"{function.__name__}() got an unexpected keyword argument {name!r}"
                raise TypeError(with_hint(message, did_you_mean(name, known)))
        return function(*args, **kwargs)

    if options:
        call.__doc__ = _documented(function.__doc__ or "", options)
        keywords = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=option.default)
            for name, option in options.items()
        ]
        call.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*parameters[:-1], *keywords]
        )
    return call


def options_of(function: Callable[..., object]) -> Mapping[str, DeclaredOption]:
    """Return the options that are keyword arguments of a function."""
    function = inspect.unwrap(function)
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            holder = SimpleNamespace(__annotations__={parameter.name: parameter.annotation})
            (kind,) = get_args(get_type_hints(holder, _globals(function))[parameter.name])
            return declared_options(kind)
    return {}


@cache
def _annotations(function: Callable[..., object]) -> Mapping[str, object]:
    """Return the types of the arguments of a function, evaluated when it is called first."""
    names = {
        parameter.name: parameter.annotation
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind is not parameter.VAR_KEYWORD
    }
    holder = SimpleNamespace(__annotations__=names)
    options = options_of(function)
    return {
        **get_type_hints(holder, _globals(function), include_extras=True),
        **{name: option.annotation for name, option in options.items()},
    }


def _globals(function: Callable[..., object]) -> dict[str, object]:
    return vars(sys.modules[function.__module__])


def _documented(text: str, options: Mapping[str, DeclaredOption]) -> str:
    """Return a docstring with a table of the options before its examples."""
    width = max(map(len, options)) + 2
    lines = []
    for name, option in options.items():
        note = f"  [default: {option.shown_default}]" if option.shown_default else ""
        indent = " " * (width + 2)
        lines.append(
            fill(
                option.meaning + note,
                _WIDTH,
                initial_indent=f"  {name:{width}}",
                subsequent_indent=indent,
            )
        )
    prose, examples, results = inspect.cleandoc(text).partition("\n>>>")
    return "\n".join(
        [prose.rstrip(), "", "Options:", *lines, *([examples + results] if results else [])]
    )


def _check(name: str, value: object, annotation: object) -> None:
    arms = arms_of(annotation)
    if value is None and type(None) in arms:
        return
    arms = tuple(arm for arm in arms if arm is not type(None))
    names_file = str in arms and Path in arms
    origins = {arm if arm in _KINDS else get_origin(arm) for arm in arms}
    if origins <= _KINDS.keys():
        kinds = [
            _KINDS[kind] for kind in _KINDS if kind in origins - ({str} if names_file else set())
        ]
        types = tuple(accepted for kind in kinds for accepted in kind.types)
        is_flag = isinstance(value, bool) and bool not in types
        if is_flag or not isinstance(value, types):
            *others, last = (kind.described for kind in kinds)
            described = f"{', '.join(others)} or {last}" if others else last
            raise TypeError(f"{name} must be {described}, got {type(value).__name__}")
        if Mapping in origins and not names_file and isinstance(value, Mapping):
            wrong = next((key for key in value if not isinstance(key, str)), None)
            if wrong is not None:
                raise TypeError(f"the keys of {name} must be strings, got {type(wrong).__name__}")
    if names_file and isinstance(value, str | os.PathLike):
        try:
            invalid = b"\0" in os.fsencode(value)
        except UnicodeEncodeError:
            invalid = True
        if invalid or not os.fspath(value):
            raise DataError("not a valid file name", Location(name))
