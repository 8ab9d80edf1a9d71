"""Strict deep equality of JSON values: the definition of "equal"."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Iterable, Iterator
from math import isfinite
from typing import Final

import orjson

from fieldmark.model.json import JsonValue
from fieldmark.values.json_text import all_finite


def equal(expected: JsonValue, candidate: JsonValue) -> bool:
    """Return whether two values are the same JSON, at any depth.

    A boolean is never a number, 1 equals 1.0, NaN equals nothing, the order of keys is free and
    the order of items is not.

    >>> equal({"a": 1, "b": [2]}, {"b": [2.0], "a": 1})
    True
    >>> equal([1], [True])
    False
    """
    kind = type(expected)
    if kind is str:
        return expected == candidate
    if kind is not list and kind is not dict:
        return _equal_scalars(expected, candidate)
    try:
        # Python's equality is coarser, so values that differ there also differ here.
        if expected != candidate:
            return False
    except RecursionError:
        pass
    return _equal_throughout(expected, candidate)


def _equal_scalars(expected: JsonValue, candidate: JsonValue) -> bool:
    if expected != candidate:
        return False
    kind, other = type(expected), type(candidate)
    return kind is other or (kind is not bool and other is not bool)


def _equal_throughout(expected: JsonValue, candidate: JsonValue) -> bool:
    """Return deep equality for any depth, with a list of pending pairs instead of recursion."""
    pending = [(expected, candidate)]
    while pending:
        left, right = pending.pop()
        pairs: Iterable[tuple[JsonValue, JsonValue]]
        if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
            pairs = zip(left, right, strict=True)
        elif isinstance(left, dict) and isinstance(right, dict) and left.keys() == right.keys():
            pairs = [(value, right[key]) for key, value in left.items()]
        else:
            return False
        for value, other in pairs:
            if isinstance(value, (list, dict)):
                pending.append((value, other))
            elif not _equal_scalars(value, other):
                return False
    return True


_SORTED: Final = orjson.OPT_SORT_KEYS
_EXPONENT: Final = re.compile(rb"e[+0-9](?<=[0-9]e.)")


def canonical_text(value: JsonValue) -> bytes:
    """Return the compact JSON text of any value, with sorted keys.

    NaN and Infinity are written by name, and lone surrogates as three bytes.

    >>> canonical_text({"b": 1, "a": [True, None]})
    b'{"a":[true,null],"b":1}'
    """
    try:
        text = orjson.dumps(value, option=_SORTED)
    except TypeError:  # lone surrogates, large integers, deep nesting
        return _serialize(value, _scalar_text)
    if b"null" in text and not all_finite(value):
        return _serialize(value, _scalar_text)
    return text


def typed_key(value: JsonValue) -> Hashable:
    """Return a key that two values share exactly if they are equal.

    Keys are bytes, whose hashes are seeded, so that input cannot be crafted to make them collide.
    Every NaN gets its own key, because it equals nothing.

    >>> typed_key([1.0]) == typed_key([1]) != typed_key([True])
    True
    """
    try:
        text = orjson.dumps(value, option=_SORTED)
        # Some float may be integral, infinite or NaN, judging by what orjson writes.
        if b".0" not in text and b"null" not in text and not _EXPONENT.search(text):
            return text
        return orjson.dumps(_integral_floats_as_integers(value), option=_SORTED)
    except (TypeError, ValueError, OverflowError, RecursionError):
        if any(scalar != scalar for scalar in scalars(value)):  # noqa: PLR0124 - only NaN does
            return object()
        return _serialize(value, _typed_scalar_text)


def _integral_floats_as_integers(value: JsonValue) -> JsonValue:
    """Return the value with integers for integral floats; raise an error for non-finite floats."""
    if isinstance(value, float):
        whole = int(value)
        return whole if whole == value else value
    if isinstance(value, dict):
        return {key: _integral_floats_as_integers(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_integral_floats_as_integers(item) for item in value]
    return value


def integer_text(number: int) -> str:
    """Return the digits of an integer; hexadecimal beyond Python's limit for decimal digits."""
    try:
        return str(number)
    except ValueError:
        return hex(number)


def scalars(value: JsonValue) -> Iterator[JsonValue]:
    """Yield every scalar in a value, in any order."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)
        else:
            yield item


def _scalar_text(scalar: JsonValue) -> bytes:
    if type(scalar) is int:
        return integer_text(scalar).encode()
    if type(scalar) is float and not isfinite(scalar):
        return json.dumps(scalar).encode()
    try:
        return orjson.dumps(scalar)
    except TypeError:
        return json.dumps(scalar, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _typed_scalar_text(scalar: JsonValue) -> bytes:
    if type(scalar) is float and scalar.is_integer():
        return integer_text(int(scalar)).encode()
    return _scalar_text(scalar)


def _serialize(value: JsonValue, scalar_text: Callable[[JsonValue], bytes]) -> bytes:
    """Return the text that orjson would write, at any depth and with a function for scalars."""
    parts: list[bytes] = []
    pending: list[JsonValue | bytes] = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, bytes):
            parts.append(item)
        elif isinstance(item, list):
            parts.append(b"[")
            pending.append(b"]")
            for index in range(len(item) - 1, -1, -1):
                pending.append(item[index])
                if index:
                    pending.append(b",")
        elif isinstance(item, dict):
            parts.append(b"{")
            pending.append(b"}")
            keys = sorted(item)
            for index in range(len(keys) - 1, -1, -1):
                pending.append(item[keys[index]])
                pending.append((b"," if index else b"") + _scalar_text(keys[index]) + b":")
        else:
            parts.append(scalar_text(item))
    return b"".join(parts)
