"""The options of strategies: the fields of a frozen dataclass, with constraints in annotations.

    threshold: Annotated[float, Range(ge=0, le=1)] = 0.85

A strategy calls `check_options(self)` in `__post_init__`. Rules that concern two options, or that
no annotation can express, follow there as code.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from keyword import iskeyword
from typing import TYPE_CHECKING, NamedTuple, cast, get_type_hints

from fieldmark.errors import OptionError
from fieldmark.model.json import MISSING, Missing
from fieldmark.values.value_types import InvalidValueError, read_value

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["Option", "check_options", "create", "options"]


class Option(NamedTuple):
    """An option of a strategy: its annotated type and its default, `MISSING` if required."""

    name: str
    type: object
    default: object | Missing = MISSING


@cache
def options(strategy: type) -> Mapping[str, Option]:
    """Return the options of a strategy, in the order of its dataclass fields."""
    hints = get_type_hints(strategy, include_extras=True)
    return {
        name: Option(name=name, type=hints[field.name], default=_default(field))
        for name, field in _fields(strategy).items()
    }


def create(strategy: type, values: Mapping[str, object]) -> object:
    """Create a strategy from option values, by the names that the options have in files."""
    fields = _fields(strategy)
    return cast("object", strategy(**{fields[name].name: value for name, value in values.items()}))


def check_options(strategy: DataclassInstance) -> None:
    """Convert the options of a new strategy to their types; raise `OptionError` for others.

    Defaults are not checked: annotations are only evaluated if an option differs.
    """
    for name, field in _fields(type(strategy)).items():
        value = getattr(strategy, field.name)
        if value is field.default:
            continue
        try:
            checked = read_value(options(type(strategy))[name].type, value)
        except InvalidValueError as error:
            raise OptionError(name, str(error)) from None
        if checked is not value:
            object.__setattr__(strategy, field.name, checked)


@cache
def _fields(strategy: type) -> dict[str, dataclasses.Field[object]]:
    """Return the fields of a strategy by the names of its options.

    The field of an option that is a keyword, such as `class`, ends with an underscore.
    """
    by_option: dict[str, dataclasses.Field[object]] = {}
    for field in dataclasses.fields(strategy):
        if field.init:
            word = field.name.removesuffix("_")
            by_option[word if iskeyword(word) else field.name] = field
    return by_option


def _default(field: dataclasses.Field[object]) -> object | Missing:
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return MISSING
