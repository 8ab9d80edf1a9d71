"""Check option values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from math import isfinite
from typing import TYPE_CHECKING, TypeGuard, TypeVar

from fieldmark.errors import OptionError, with_hint
from fieldmark.values.strict_json import is_finite
from fieldmark.values.text import did_you_mean

if TYPE_CHECKING:
    from fractions import Fraction

    from fieldmark.values.numbers import Number

__all__ = [
    "check_flag",
    "check_scale",
    "check_share",
    "checked_amount",
    "checked_choice",
    "checked_choices",
]

Choice = TypeVar("Choice", bound=StrEnum)


def check_share(option: str, value: object) -> None:
    """Raise an error unless the value is a number from 0 to 1."""
    if not _is_number(value) or not 0 <= value <= 1:
        raise OptionError(option, f"must be a number from 0 to 1, got {value!r}")


def check_flag(option: str, value: object) -> None:
    """Raise an error unless the value is true or false."""
    if not isinstance(value, bool):
        raise OptionError(option, f"expected true or false, got {value!r}")


def checked_amount(option: str, value: object) -> Fraction:
    """Return the exact amount; raise an error unless it is finite and not negative."""
    if not _is_number(value) or value < 0:
        raise OptionError(option, f"must be a non-negative number, got {value!r}")
    from fieldmark.values.numbers import exact_fraction

    return exact_fraction(value)


def checked_choice(option: str, value: object, choices: type[Choice]) -> Choice:
    """Return the choice with this name; an error for an unknown name suggests a similar one."""
    names = [choice.value for choice in choices]
    if isinstance(value, str) and value in names:
        return choices(value)
    message = f"must be one of: {', '.join(names)}; got {value!r}"
    hint = did_you_mean(value, names) if isinstance(value, str) else ""
    raise OptionError(option, with_hint(message, hint))


def checked_choices(option: str, values: object, choices: type[Choice]) -> tuple[Choice, ...]:
    """Return the choices with these names, each once and in the order of their definition."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        names = ", ".join(choice.value for choice in choices)
        raise OptionError(option, f"expected a list of: {names}; got {values!r}")
    chosen = {checked_choice(option, value, choices) for value in values}
    return tuple(choice for choice in choices if choice in chosen)


def _is_number(value: object) -> TypeGuard[Number]:
    if isinstance(value, int):
        return not isinstance(value, bool)
    if isinstance(value, float):
        return isfinite(value)
    from decimal import Decimal  # rarely needed

    return isinstance(value, Decimal) and isfinite(value)


def check_scale(
    option: str, value: object, dimensions: int | None = None
) -> tuple[float, ...] | None:
    """Return the factor for each dimension, or `None`; raise an error for any other value."""
    if value is None:
        return None
    from fieldmark.values.boxes import MAX_COORDINATE

    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        raise OptionError(option, f"expected a list of numbers, got {value!r}")
    if dimensions is not None and len(value) != dimensions:
        raise OptionError(option, f"must have {dimensions} numbers, for x and y")
    for number in value:
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise OptionError(option, f"expected a list of numbers, got {value!r}")
        if not (is_finite(number) and 0 < number <= MAX_COORDINATE):
            raise OptionError(option, f"must contain numbers greater than 0, got {number!r}")
    return tuple(float(number) for number in value)
