"""Strict deep equality of JSON values: the definition of "equal"."""

from __future__ import annotations

from collections.abc import Iterable

from fieldmark.model.json import JsonValue


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
        for one, other in pairs:
            if isinstance(one, (list, dict)):
                pending.append((one, other))
            elif not _equal_scalars(one, other):
                return False
    return True
