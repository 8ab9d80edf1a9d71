"""Parse JSON strictly: unique keys, finite numbers, limited depth and integer length."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from enum import StrEnum
from typing import Final, NoReturn, TypeAlias

from fieldmark.model.json import JsonObject, JsonValue

__all__ = [
    "StrictJsonError",
    "Violation",
    "all_finite",
    "nesting_exceeds",
    "parse_strict",
    "values_exceed",
]

_STRINGS: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_BRACKETS: Final = re.compile(r"[\[\]{}]")
_WHITESPACE: Final = str.maketrans("", "", " \t\r\n")


class Violation(StrEnum):
    """What JSON parsers usually accept and this one reports."""

    DEPTH = "it is nested too deep"
    DUPLICATE_KEY = "a key is repeated"
    INTEGER_LENGTH = "an integer is too long"
    NON_FINITE = "{} is no number"


class StrictJsonError(ValueError):
    """JSON that is well-formed, or nearly, and yet refused."""

    def __init__(self, violation: Violation, detail: str = "") -> None:
        super().__init__(violation.format(detail))
        self.violation = violation
        self.detail = detail


Report: TypeAlias = Callable[[Violation, str], None]
"""Called with each violation and the key or number concerned; raises to refuse it."""


def _refuse(violation: Violation, detail: str) -> NoReturn:
    raise StrictJsonError(violation, detail)


def parse_strict(
    text: str,
    *,
    max_depth: int | None = None,
    max_digits: int | None = None,
    report: Report = _refuse,
) -> JsonValue:
    """Parse one JSON text; a syntax error is a `json.JSONDecodeError`.

    If `report` returns, the last of several equal keys wins and the number is kept as it is.

    >>> parse_strict('{"total": 1, "total": 2}')
    Traceback (most recent call last):
    fieldmark.values.strict_json.StrictJsonError: a key is repeated
    """

    def read_object(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
        made = dict(pairs)
        if len(made) != len(pairs):
            keys = [key for key, _ in pairs]
            report(Violation.DUPLICATE_KEY, next(k for i, k in enumerate(keys) if k in keys[:i]))
        return made

    def read_integer(digits: str) -> int:
        if max_digits is not None and len(digits) - digits.startswith("-") > max_digits:
            report(Violation.INTEGER_LENGTH, digits)
        return int(digits)

    def read_float(written: str) -> float:
        number = float(written)
        if not math.isfinite(number):
            report(Violation.NON_FINITE, written)
        return number

    if max_depth is not None and nesting_exceeds(text, max_depth):
        report(Violation.DEPTH, "")
    decoder = json.JSONDecoder(
        object_pairs_hook=read_object,
        parse_int=read_integer,
        parse_float=read_float,
        parse_constant=read_float,
    )
    try:
        value: JsonValue = decoder.decode(text)
    except RecursionError:
        raise StrictJsonError(Violation.DEPTH) from None
    return value


def nesting_exceeds(text: str, limit: int) -> bool:
    """Whether brackets outside of strings are open more than `limit` deep, without parsing.

    >>> nesting_exceeds('[["[[["]]', 2)
    False
    """
    if text.count("[") + text.count("{") <= limit:
        return False
    depth = 0
    for bracket in _BRACKETS.findall(_STRINGS.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > limit:
            return True
    return False


def values_exceed(text: str, limit: int) -> bool:
    """Whether a JSON text holds more than `limit` values, without parsing.

    >>> values_exceed('[1, [], "a, b"]', 3)
    True
    """
    if text.count("[") + text.count("{") + text.count(",") < limit:
        return False
    dense = _STRINGS.sub("0", text).translate(_WHITESPACE)
    filled = dense.count("[") + dense.count("{") - dense.count("[]") - dense.count("{}")
    return 1 + filled + dense.count(",") > limit


def all_finite(value: JsonValue) -> bool:
    """Whether no number in a value, at any depth, is NaN or infinite.

    >>> all_finite({"a": [1.5, None]}), all_finite([float("nan")])
    (True, False)
    """
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)
        elif type(item) is float and not math.isfinite(item):
            return False
    return True
