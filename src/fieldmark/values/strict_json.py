"""Strict JSON parsing: unique keys, finite numbers, limited depth and integer length."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Final, NoReturn, TypeAlias

from fieldmark.model.json import JsonObject, JsonValue

_STRINGS: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
"""A string; without an end, it extends to the end of the text, so that each is read once."""
_BRACKETS: Final = re.compile(r"[\[\]{}]")
_DIGITS: Final = bytes.maketrans(b"123456789", b"000000000")
_MANY_DIGITS: Final = b"0" * 19
"""Integers with fewer digits fit in 64 bits."""
_WHITESPACE: Final = str.maketrans("", "", " \t\r\n")


class Violation(StrEnum):
    """Deviations that JSON parsers usually accept and this one reports."""

    DEPTH = "nested too deeply"
    DUPLICATE_KEY = "duplicate key"
    INTEGER_LENGTH = "integer with too many digits"
    NON_FINITE = "{} is not a finite number"


class StrictJsonError(ValueError):
    """JSON that most parsers accept, but that is rejected here."""

    def __init__(self, violation: Violation, detail: str = "") -> None:
        super().__init__(violation.format(detail))
        self.violation = violation
        self.detail = detail


Report: TypeAlias = Callable[[Violation, str], None]
"""Called with each violation and its key or number; may raise an error to reject it."""


def _reject(violation: Violation, detail: str) -> NoReturn:
    raise StrictJsonError(violation, detail)


def parse_strict(
    text: str,
    *,
    max_depth: int | None = None,
    max_digits: int | None = None,
    report: Report = _reject,
) -> JsonValue:
    """Parse JSON text; a syntax error is a `json.JSONDecodeError`.

    If `report` returns, the last value of a duplicate key wins and numbers are unchanged.

    >>> parse_strict('{"total": 1, "total": 2}')
    Traceback (most recent call last):
    fieldmark.values.strict_json.StrictJsonError: duplicate key
    """

    def read_object(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
        made = dict(pairs)
        if len(made) != len(pairs):
            report(Violation.DUPLICATE_KEY, str(first_repeated([key for key, _ in pairs])))
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


def first_repeated(keys: Iterable[str]) -> str | None:
    """Return the first key that occurs a second time, or `None`.

    >>> first_repeated(["a", "b", "c", "b", "a"])
    'b'
    """
    seen: set[str] = set()
    for key in keys:
        if key in seen:
            return key
        seen.add(key)
    return None


def nesting_exceeds(text: str, limit: int) -> bool:
    """Return whether text is nested more than `limit` levels deep, without parsing it.

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
    """Return whether JSON text has more than `limit` values, without parsing it.

    >>> values_exceed('[1, [], "a, b"]', 3)
    True
    """
    if text.count("[") + text.count("{") + text.count(",") < limit:
        return False
    dense = _STRINGS.sub("0", text).translate(_WHITESPACE)
    filled = dense.count("[") + dense.count("{") - dense.count("[]") - dense.count("{}")
    return 1 + filled + dense.count(",") > limit


def may_exceed_64_bits(text: bytes) -> bool:
    """Return whether JSON text has as many digits in a row as every integer beyond 64 bits.

    >>> may_exceed_64_bits(b"[9223372036854775808]"), may_exceed_64_bits(b"[1, 2.5]")
    (True, False)
    """
    return _MANY_DIGITS in text.translate(_DIGITS)


def is_finite(number: float) -> bool:
    """Whether a number is finite as a float; an integer can be too large.

    >>> is_finite(10**308), is_finite(10**309)
    (True, False)
    """
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


def all_finite(value: JsonValue) -> bool:
    """Return whether all numbers in a value are finite, at any depth.

    >>> all_finite({"a": [1.5, None]}), all_finite([float("nan")])
    (True, False)
    """
    pending: list[dict[str, JsonValue] | list[JsonValue]] = [[value]]
    while pending:
        item = pending.pop()
        for inner in item.values() if isinstance(item, dict) else item:
            if isinstance(inner, dict | list):
                pending.append(inner)
            elif type(inner) is float and not math.isfinite(inner):
                return False
    return True
