"""Typed access to the fields of a JSON object; a wrong shape raises `ValueError`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from enum import StrEnum
from typing import TypeVar

from fieldmark.model.json import JsonObject, JsonValue

__all__ = ["JsonFields"]

_Choice = TypeVar("_Choice", bound=StrEnum)


class JsonFields:
    """The fields of one JSON object, each read as the type that its record has.

    >>> JsonFields({"cases": {"total": "3"}}).object("cases").integer("total")
    Traceback (most recent call last):
    ValueError: cases.total must be a whole number
    """

    __slots__ = ("_path", "value")

    def __init__(self, value: JsonValue, path: str = "") -> None:
        if not isinstance(value, dict):
            raise ValueError(f"{path or 'the document'} must be an object")  # noqa: TRY004 - data
        self.value: JsonObject = value
        self._path = path

    def __contains__(self, key: str) -> bool:
        return key in self.value

    def integer(self, key: str) -> int:
        """A whole number."""
        value = self._get(key)
        if type(value) is not int:
            raise self._error(key, "a whole number")
        return value

    def number(self, key: str) -> float:
        """A finite number, kept as it is written."""
        value = self.optional_number(key)
        if value is None:
            raise self._error(key, "a number")
        return value

    def optional_number(self, key: str) -> float | None:
        """A finite number, or null."""
        value = self._get(key)
        if value is not None and not _is_number(value):
            raise self._error(key, "a number or null")
        return value  # type: ignore[return-value]

    def text(self, key: str) -> str:
        """A string."""
        value = self._get(key)
        if not isinstance(value, str):
            raise self._error(key, "a string")
        return value

    def choice(self, key: str, choices: type[_Choice]) -> _Choice:
        """One of the values of an enumeration."""
        value = self._get(key)
        if value not in [each.value for each in choices]:
            raise self._error(key, f"one of: {', '.join(each.value for each in choices)}")
        return choices(value)

    def boolean(self, key: str) -> bool:
        """True or false."""
        value = self._get(key)
        if not isinstance(value, bool):
            raise self._error(key, "true or false")
        return value

    def object(self, key: str) -> JsonFields:
        """An object."""
        return JsonFields(self._get(key), self._at(key))

    def objects(self, key: str) -> Iterator[tuple[str, JsonFields]]:
        """An object whose values are objects, each with its name."""
        return (
            (name, JsonFields(each, f"{self._at(key)}.{name}"))
            for name, each in self.object(key).value.items()
        )

    def array(self, key: str) -> list[JsonValue]:
        """An array."""
        value = self._get(key)
        if not isinstance(value, list):
            raise self._error(key, "an array")
        return value

    def array_of_objects(self, key: str) -> Iterator[JsonFields]:
        """An array whose items are objects."""
        return (
            JsonFields(each, f"{self._at(key)}[{place}]")
            for place, each in enumerate(self.array(key))
        )

    def texts(self, key: str) -> tuple[str, ...]:
        """An array of strings."""
        values = [each for each in self.array(key) if isinstance(each, str)]
        if len(values) < len(self.array(key)):
            raise self._error(key, "an array of strings")
        return tuple(values)

    def interval(self, key: str) -> tuple[float, float]:
        """An array of two numbers."""
        values = self.array(key)
        if len(values) != 2 or not all(map(_is_number, values)):  # noqa: PLR2004 - both ends
            raise self._error(key, "an array of two numbers")
        low, high = values
        return low, high  # type: ignore[return-value]

    def _get(self, key: str) -> JsonValue:
        if key not in self.value:
            raise ValueError(f"{self._at(key)} is missing")
        return self.value[key]

    def _at(self, key: str) -> str:
        return f"{self._path}.{key}" if self._path else key

    def _error(self, key: str, wanted: str) -> ValueError:
        return ValueError(f"{self._at(key)} must be {wanted}")


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
