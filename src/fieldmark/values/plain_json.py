"""The gate for Python objects: documents of callers, copied into plain JSON types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite, isnan
from typing import Final, cast

from fieldmark.errors import DataError, LimitError
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.values.json_limits import LIMITS, Limits, check_paths
from fieldmark.values.paths import join
from fieldmark.values.text import shorten

__all__ = ["NotJsonError", "copy_json", "plain_json"]

_SHOWN: Final = 200
_STEP: Final = 12
"""More than the characters of a step of a path without its key."""


class NotJsonError(DataError):
    """A Python object without a JSON equivalent."""


def plain_json(value: object, limits: Limits = LIMITS) -> JsonValue:
    """Copy a Python object as JSON; see `copy_json`.

    >>> plain_json({"total": (1, 2)})
    {'total': [1, 2]}
    """
    return copy_json(value, limits)[0]


def copy_json(
    value: object, limits: Limits = LIMITS, *, finite: bool = False
) -> tuple[JsonValue, int]:
    """Copy a Python object as JSON within the limits of files; return also the number of NaNs.

    Tuples become lists, and instances of subclasses of JSON types become instances of the JSON
    types, so that no code of a caller runs when the copy is compared. Other types raise
    `NotJsonError`. An object that occurs several times counts each time, and a cycle exceeds the
    depth limit. With `finite`, NaN and infinite numbers are errors.
    """
    copier = _Copier(limits, finite=finite)
    copied = copier.copy(value)
    # No path is longer than all keys together.
    longest = copier.text + _STEP * limits.depth
    if copier.text > limits.key_characters or copier.values * longest > limits.path_characters:
        check_paths(copied, limits)
    return copied, copier.non_finite


class _Copier:
    __slots__ = ("_finite", "_limits", "_path", "non_finite", "text", "values")

    def __init__(self, limits: Limits, *, finite: bool) -> None:
        self._limits = limits
        self._finite = finite
        self._path: list[str | int] = []
        self.values = 0
        self.text = 0
        self.non_finite = 0

    def copy(self, value: object) -> JsonValue:
        self.values += 1
        if self.values > self._limits.nodes:
            raise LimitError("nodes", f"too many values (limit {self._limits.nodes:,})")
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self._string(value)
        if isinstance(value, int):
            return self._integer(value)
        if isinstance(value, float):
            return self._float(value)
        # The methods of the JSON types, because a subclass may have others.
        if isinstance(value, dict):
            return self._object(list(dict.items(value)))
        if isinstance(value, list):
            return self._list(list.copy(value))
        if isinstance(value, tuple):
            return self._list(list(tuple.__iter__(value)))
        if isinstance(value, Mapping):
            return self._object(value.items())
        raise NotJsonError(f"{self._place()}{type(value).__name__} is not a JSON value")

    def _object(self, items: Iterable[tuple[object, object]]) -> JsonObject:
        self._check_depth()
        made: JsonObject = {}
        for given, inner in items:
            if not isinstance(given, str):
                shown = shorten(repr(given), _SHOWN)
                raise NotJsonError(f"{self._place()}key {shown} is not a string")
            key = self._string(given)
            if key in made:
                raise DataError(f"{self._place()}duplicate key {shorten(key, _SHOWN)!r}")
            self._path.append(key)
            made[key] = self.copy(inner)
            self._path.pop()
        return made

    def _list(self, items: list[object]) -> list[JsonValue]:
        self._check_depth()
        made: list[JsonValue] = []
        for place, inner in enumerate(items):
            self._path.append(place)
            made.append(self.copy(inner))
            self._path.pop()
        return made

    def _string(self, text: str) -> str:
        self.text += str.__len__(text)
        if self.text > self._limits.document_bytes:
            limit = self._limits.document_bytes
            raise LimitError("document_bytes", f"document exceeds the limit of {limit:,} bytes")
        return str.__str__(text)

    def _integer(self, value: int) -> int:
        number = int.__int__(value)
        digits = self._limits.integer_digits
        # A digit has more than three bits.
        if number.bit_length() > 3 * digits and abs(number) >= cast("int", 10**digits):
            message = f"{self._place()}integer has too many digits (limit {digits:,})"
            raise LimitError("integer_digits", message)
        return number

    def _float(self, value: float) -> float:
        number = float.__float__(value)
        if not isfinite(number):
            if self._finite:
                named = "NaN" if isnan(number) else number
                raise DataError(f"{self._place()}{named} is not a finite number")
            self.non_finite += 1
        return number

    def _check_depth(self) -> None:
        if len(self._path) >= self._limits.depth:
            limit = self._limits.depth
            raise LimitError("depth", f"nesting exceeds the limit of {limit} levels")

    def _place(self) -> str:
        """Return the current path with a colon, or an empty string for the whole document."""
        text = ""
        for step in self._path:
            text = join(text, step) if isinstance(step, str) else f"{text}[{step}]"
        return f"{shorten(text, _SHOWN)}: " if text else ""
