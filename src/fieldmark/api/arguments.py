"""Checks of the arguments of public functions: a wrong type is a `TypeError` that names it."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache, wraps
from pathlib import Path
from textwrap import fill
from types import SimpleNamespace
from typing import Final, NamedTuple, ParamSpec, TypeVar, get_args, get_origin, get_type_hints

from fieldmark.errors import DataError, Location, with_hint
from fieldmark.run.run_options import strings
from fieldmark.values.annotations import arms_of
from fieldmark.values.declared_options import DeclaredOption, declared_options
from fieldmark.values.text import did_you_mean

__all__ = ["checked", "strings"]

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
_WIDTH: Final = 100
"""The width of a table in a docstring."""


class _Kind(NamedTuple):
    """What a value must be, in words, and the classes of such values."""

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
"""What values of a type are, in the order in which messages name them.

Arguments of other types are checked where they are used.
"""


def checked(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Check arguments by their annotations before a public function is called.

    The options in a `TypedDict` become part of the signature and of the documentation.
    """
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    positional = [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
    has_options = any(each.kind is each.VAR_KEYWORD for each in parameters)

    @cache
    def resolved() -> tuple[Mapping[str, object], Mapping[str, DeclaredOption]]:
        """Return the annotations of the parameters, and the options."""
        own = SimpleNamespace(__annotations__={each.name: each.annotation for each in parameters})
        hints = get_type_hints(own, function.__globals__, include_extras=True)
        if not has_options:
            return hints, {}
        (kind,) = get_args(hints.pop(parameters[-1].name))
        options = declared_options(kind)
        return {**hints, **{name: each.annotation for name, each in options.items()}}, options

    @wraps(function)
    def call(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        __tracebackhide__ = True  # pytest shows the line of the caller
        known, _ = resolved()
        for name, value in (*zip(positional, args, strict=False), *kwargs.items()):
            if name in known:
                _check(name, value, known[name])
            elif has_options:
                message = f"{function.__name__}() got an unexpected keyword argument {name!r}"
                raise TypeError(with_hint(message, did_you_mean(name, known)))
        return function(*args, **kwargs)

    if has_options:
        _, options = resolved()
        call.__doc__ = _documented(function.__doc__ or "", options)
        call.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[
                *parameters[:-1],
                *(
                    inspect.Parameter(
                        name,
                        inspect.Parameter.KEYWORD_ONLY,
                        default=option.default,
                    )
                    for name, option in options.items()
                ),
            ]
        )
    return call


def _documented(text: str, options: Mapping[str, DeclaredOption]) -> str:
    """Return a docstring with a table of the options before its examples."""
    width = max(map(len, options)) + 2
    lines = [
        fill(
            f"{option.meaning}  {option.shown_default and f'[default: {option.shown_default}]'}",
            _WIDTH,
            initial_indent=f"  {name:{width}}",
            subsequent_indent=" " * (width + 2),
        )
        for name, option in options.items()
    ]
    prose, examples, rest = inspect.cleandoc(text).partition("\n>>>")
    return "\n".join([prose.rstrip(), "", "Options:", *lines, *([examples + rest] if rest else [])])


def _check(name: str, value: object, annotation: object) -> None:
    arms = arms_of(annotation)
    if value is None and type(None) in arms:
        return
    arms = tuple(arm for arm in arms if arm is not type(None))
    names_file = str in arms and Path in arms
    origins = {arm if arm in _KINDS else get_origin(arm) for arm in arms}
    if origins <= _KINDS.keys():
        kinds = [
            _KINDS[each] for each in _KINDS if each in origins - ({str} if names_file else set())
        ]
        types = tuple(each for kind in kinds for each in kind.types)
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
