"""Stored JSON objects: the version of their format, and typed access to their fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Final, TypeVar

from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.values.numbers import is_finite

__all__ = ["FORMAT", "JsonFields", "check_format"]

FORMAT: Final = 2
"""The version of the stored format, shared by all files of a run."""

_Choice = TypeVar("_Choice", bound=StrEnum)
_Value = TypeVar("_Value")


def check_format(document: JsonObject) -> None:
    """Raise `ValueError` for a document with another format version."""
    found = document.get("format")
    if found == FORMAT:
        return
    newer = isinstance(found, int) and found > FORMAT
    advice = "update fieldmark" if newer else "score the inputs again"
    raise ValueError(
        f"has format {found}, but this version of fieldmark reads format {FORMAT}; {advice}"
    )


class JsonFields:
    """Typed access to the fields of one JSON object.

    A value of the wrong type raises `ValueError`.

    >>> JsonFields({"cases": {"total": "3"}}).object("cases").integer("total")
    Traceback (most recent call last):
    ValueError: cases.total must be an integer
    """

    __slots__ = ("_path", "value")

    def __init__(self, value: JsonValue, path: str = "") -> None:
        if not isinstance(value, dict):
            raise ValueError(f"{path or 'the document'} must be an object")  # noqa: TRY004 - data
        self.value: JsonObject = value
        self._path = path

    def optional(self, read: Callable[[str], _Value], key: str, default: _Value) -> _Value:
        """Return a field that may be missing: `fields.optional(fields.text, "note", "")`."""
        return read(key) if key in self.value else default

    def integer(self, key: str) -> int:
        """Return an integer."""
        return self._get_as(int, key, "an integer")

    def number(self, key: str) -> float:
        """Return a finite number, as an integer if it is written so."""
        value = self.optional_number(key)
        if value is None:
            raise self._error(key, "a number")
        return value

    def optional_number(self, key: str) -> float | None:
        """Return a finite number or `None`."""
        value = self._get(key)
        if value is not None and not _is_number(value):
            raise self._error(key, "a number or null")
        return value  # type: ignore[return-value]

    def text(self, key: str) -> str:
        """Return a string."""
        return self._get_as(str, key, "a string")

    def choice(self, key: str, choices: type[_Choice]) -> _Choice:
        """Return a member of an enumeration."""
        value = self._get(key)
        if value not in [each.value for each in choices]:
            raise self._error(key, f"one of: {', '.join(each.value for each in choices)}")
        return choices(value)

    def boolean(self, key: str) -> bool:
        """Return a boolean."""
        return self._get_as(bool, key, "true or false")

    def object(self, key: str) -> JsonFields:
        """Return typed access to an object."""
        return JsonFields(self._get(key), self._at(key))

    def json_object(self, key: str) -> JsonObject:
        """Return an object as it is."""
        return self.object(key).value

    def objects(self, key: str) -> Iterator[tuple[str, JsonFields]]:
        """Return typed access to each value of an object of objects."""
        return (
            (name, JsonFields(each, f"{self._at(key)}.{name}"))
            for name, each in self.json_object(key).items()
        )

    def array(self, key: str) -> list[JsonValue]:
        """Return an array."""
        return self._get_as(list, key, "an array")

    def array_of_objects(self, key: str) -> list[JsonFields]:
        """Return typed access to each item of an array of objects."""
        return [
            JsonFields(each, f"{self._at(key)}[{place}]")
            for place, each in enumerate(self.array(key))
        ]

    def texts(self, key: str) -> tuple[str, ...]:
        """Return an array of strings."""
        values = [each for each in self.array(key) if isinstance(each, str)]
        if len(values) < len(self.array(key)):
            raise self._error(key, "an array of strings")
        return tuple(values)

    def interval(self, key: str) -> tuple[float, float]:
        """Return an array of two numbers."""
        values = self.array(key)
        if len(values) != 2 or not all(map(_is_number, values)):  # noqa: PLR2004 - two bounds
            raise self._error(key, "an array of two numbers")
        low, high = values
        return low, high  # type: ignore[return-value]

    def _get(self, key: str) -> JsonValue:
        if key not in self.value:
            raise ValueError(f"{self._at(key)} is missing")
        return self.value[key]

    def _get_as(self, kind: type[_Value], key: str, wanted: str) -> _Value:
        value = self._get(key)
        if type(value) is not kind:  # a boolean is not an integer
            raise self._error(key, wanted)
        return value

    def _at(self, key: str) -> str:
        return f"{self._path}.{key}" if self._path else key

    def _error(self, key: str, wanted: str) -> ValueError:
        return ValueError(f"{self._at(key)} must be {wanted}")


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and is_finite(value)
