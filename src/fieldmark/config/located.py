"""JSON values with their locations: file, line and column."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from types import MappingProxyType
from typing import Final, NamedTuple

from fieldmark.config.context import Problems
from fieldmark.errors import Location
from fieldmark.model.json import JsonValue

__all__ = [
    "MAX_DEPTH",
    "MAX_DIGITS",
    "MAX_NODES",
    "Entry",
    "Located",
    "constant",
    "describe",
    "locate",
    "located_list",
    "located_object",
]

MAX_NODES: Final = 100_000
MAX_DEPTH: Final = 50
MAX_DIGITS: Final = 1_000
_LONGEST_SHOWN: Final = 40

_NO_ENTRIES: Final[Mapping[str, Located]] = MappingProxyType({})
_NO_KEYS: Final[Mapping[str, Location]] = MappingProxyType({})


class Located(NamedTuple):
    """A JSON value with its location, and the same for everything inside it."""

    value: JsonValue
    location: Location = Location()
    entries: Mapping[str, Located] = _NO_ENTRIES
    items: Sequence[Located] = ()
    keys: Mapping[str, Location] = _NO_KEYS

    def get(self, key: str) -> Located | None:
        """Return the value of a key of this object, if it has the key."""
        return self.entries.get(key)

    def value_of(self, key: str) -> JsonValue:
        """Return the plain value of a key of this object, `None` if it does not have the key."""
        return self.entries[key].value if key in self.entries else None

    def first_of(self, *keys: str) -> Located | None:
        """Return the value of the first of some keys that this object has."""
        return next((self.entries[key] for key in keys if key in self.entries), None)

    def key_location(self, key: str) -> Location:
        """Return the location of a key; the object's own location if it has no such key."""
        return self.keys.get(key, self.location)

    def with_entries(self, entries: Mapping[str, Located]) -> Located:
        """Return an object with other entries at the same location."""
        return Located(
            value={key: entry.value for key, entry in entries.items()},
            location=self.location,
            entries=entries,
            keys={key: self.keys.get(key, entry.location) for key, entry in entries.items()},
        )

    def copy(self) -> Located:
        """Return a deep copy."""
        if self.entries:
            entries = {key: inner.copy() for key, inner in self.entries.items()}
            value: JsonValue = {key: inner.value for key, inner in entries.items()}
            return self._replace(value=value, entries=entries, keys=dict(self.keys))
        if self.items:
            items = [inner.copy() for inner in self.items]
            return self._replace(value=[inner.value for inner in items], items=items)
        if isinstance(self.value, dict | list):
            return self._replace(value=type(self.value)())
        return self


class Entry(NamedTuple):
    """One key of an object with its value."""

    key: str
    location: Location
    located: Located


def located_object(entries: Iterable[Entry], location: Location, problems: Problems) -> Located:
    """Build an object; a duplicate key is a problem that names both lines.

    Keys that differ only in their Unicode normalization form count as equal.
    """
    first: dict[str, Entry] = {}
    for entry in entries:
        earlier = first.setdefault(unicodedata.normalize("NFC", entry.key), entry)
        if earlier is not entry:
            line = earlier.location.line
            hint = f"It is first given on line {line}." if line else ""
            problems.add(f"Duplicate key: {entry.key}.", entry.location, hint)
    return Located(
        value={entry.key: entry.located.value for entry in first.values()},
        location=location,
        entries={entry.key: entry.located for entry in first.values()},
        keys={entry.key: entry.location for entry in first.values()},
    )


def located_list(items: Iterable[Located], location: Location) -> Located:
    """Build a list of values that may have different locations."""
    kept = tuple(items)
    return Located(value=[item.value for item in kept], location=location, items=kept)


def constant(value: JsonValue, location: Location) -> Located:
    """Return a scalar or a list that is not from a file, with a given location."""
    if isinstance(value, list):
        return located_list((constant(inner, location) for inner in value), location)
    return Located(value=value, location=location)


def locate(value: object, problems: Problems, *, file: str = "", depth: int = 0) -> Located:
    """Convert a Python value: tuples become lists, decimals numbers; the rest must be JSON."""
    location = Location(file)
    if depth > MAX_DEPTH:
        problems.add(f"The value is nested more than {MAX_DEPTH} deep.", location)
        return Located(value=None, location=location)
    if isinstance(value, Mapping):
        entries = (
            Entry(str(key), location, locate(inner, problems, file=file, depth=depth + 1))
            for key, inner in value.items()
        )
        return located_object(entries, location, problems)
    if isinstance(value, list | tuple):
        items = (locate(inner, problems, file=file, depth=depth + 1) for inner in value)
        return located_list(items, location)
    if isinstance(value, Decimal):
        value = int(value) if value.is_finite() and value == value.to_integral() else float(value)
    scalar: JsonValue = None
    if isinstance(value, float) and not math.isfinite(value):
        problems.add(f"Not a number that can be used: {value}.", location)
    elif isinstance(value, str):
        scalar = str(value)
    elif value is None or isinstance(value, bool | int | float):
        scalar = value
    else:
        problems.add(f"Not a JSON value: {type(value).__name__}.", location)
    return Located(value=scalar, location=location)


def describe(value: JsonValue) -> str:
    """Return how a message refers to a value.

    >>> describe([1, 2])
    'a list'
    """
    if isinstance(value, str):
        return f'"{value}"' if len(value) <= _LONGEST_SHOWN else "a long text"
    names = {list: "a list", dict: "an object", bool: str(value).lower(), type(None): "nothing"}
    return names.get(type(value), str(value))
