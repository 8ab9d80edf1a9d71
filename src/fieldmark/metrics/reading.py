"""Counting options as files write them, each refused with its name if it cannot be used."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, replace
from enum import StrEnum

from fieldmark.errors import OptionError
from fieldmark.metrics.options import CountingHalf, RqsWeights
from fieldmark.model.json import JsonValue
from fieldmark.values.text import did_you_mean

__all__ = ["read_options"]


def read_options(counting: CountingHalf, options: Mapping[str, JsonValue]) -> CountingHalf:
    """The counting half with these options set."""
    known = {item.name: getattr(counting, item.name) for item in fields(counting)}
    _refuse_unknown(options, known, prefix="")
    read = {name: _read(name, value, known[name]) for name, value in options.items()}
    return replace(counting, **read)  # type: ignore[arg-type]


def _read(name: str, value: JsonValue, present: object) -> object:
    """A value of the same type as the one that the option has now."""
    if isinstance(present, StrEnum):
        return _read_word(name, value, type(present))
    if isinstance(present, bool):
        if not isinstance(value, bool):
            raise OptionError(name, "must be true or false")
        return value
    if isinstance(present, RqsWeights):
        return _read_weights(name, value, present)
    return None if value is None else _read_number(name, value)


def _read_word(name: str, value: JsonValue, words: type[StrEnum]) -> StrEnum:
    valid = [word.value for word in words]
    if value not in valid:
        message = f"{value!r} is none of {', '.join(valid)}. {did_you_mean(str(value), valid)}"
        raise OptionError(name, message.rstrip(". "))
    return words(value)


def _read_number(name: str, value: JsonValue) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise OptionError(name, "must be a number")
    return float(value)


def _read_weights(name: str, value: JsonValue, present: RqsWeights) -> RqsWeights:
    if not isinstance(value, dict):
        raise OptionError(name, "must map figures to weights")
    known = {item.name for item in fields(present)}
    _refuse_unknown(value, known, prefix=f"{name}.")
    return replace(
        present, **{key: _read_number(f"{name}.{key}", weight) for key, weight in value.items()}
    )


def _refuse_unknown(
    options: Mapping[str, JsonValue], known: Mapping[str, object] | set[str], prefix: str
) -> None:
    for name in options:
        if name not in known:
            message = f"unknown option. {did_you_mean(name, known)}"
            raise OptionError(f"{prefix}{name}", message.rstrip(". "))
