"""JSON values that know where in a file they stand."""

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
    "listed",
    "locate",
    "located_object",
    "with_entries",
]

MAX_NODES: Final = 100_000
MAX_DEPTH: Final = 50
MAX_DIGITS: Final = 1_000


_NO_ENTRIES: Final[Mapping[str, Located]] = MappingProxyType({})
_NO_KEYS: Final[Mapping[str, Location]] = MappingProxyType({})


class Located(NamedTuple):
    """A JSON value, where it stands, and the same of everything inside it."""

    value: JsonValue
    location: Location = Location()
    entries: Mapping[str, Located] = _NO_ENTRIES
    items: Sequence[Located] = ()
    keys: Mapping[str, Location] = _NO_KEYS

    def key_location(self, key: str) -> Location:
        """Where a key of this object stands; the object's own place if it has no such key."""
        return self.keys.get(key, self.location)

    def copy(self) -> Located:
        """The same, in which nothing that can be changed is shared."""
        if self.entries:
            entries = {key: inner.copy() for key, inner in self.entries.items()}
            value: JsonValue = {key: inner.value for key, inner in entries.items()}
            return self._replace(value=value, entries=entries, keys=dict(self.keys))
        if self.items:
            items = [inner.copy() for inner in self.items]
            return self._replace(value=[inner.value for inner in items], items=items)
        return (
            self
            if not isinstance(self.value, dict | list)
            else self._replace(value=type(self.value)())
        )


class Entry(NamedTuple):
    """One key of an object with its value."""

    key: str
    location: Location
    located: Located


def located_object(entries: Iterable[Entry], location: Location, problems: Problems) -> Located:
    """The object of some entries; a key that comes twice is a problem that names both lines.

    Keys that differ only in their Unicode form look alike to everyone, so they count as equal.
    """
    first: dict[str, Location] = {}
    kept: dict[str, Entry] = {}
    for entry in entries:
        look = unicodedata.normalize("NFC", entry.key)
        if look in first:
            where = first[look].line
            hint = f"It is first given on line {where}." if where else ""
            problems.add(f"Duplicate key: {entry.key}.", entry.location, hint)
        else:
            first[look] = entry.location
            kept[entry.key] = entry
    return Located(
        value={key: entry.located.value for key, entry in kept.items()},
        location=location,
        entries={key: entry.located for key, entry in kept.items()},
        keys={key: entry.location for key, entry in kept.items()},
    )


def locate(value: object, problems: Problems, *, file: str = "", depth: int = 0) -> Located:
    """A value given in Python: tuples are lists, decimals are numbers, the rest must be JSON."""
    place = Location(file)
    if depth > MAX_DEPTH:
        problems.add(f"The value is nested more than {MAX_DEPTH} deep.", place)
        return Located(value=None, location=place)
    if isinstance(value, Mapping):
        entries = (
            Entry(str(key), place, locate(inner, problems, file=file, depth=depth + 1))
            for key, inner in value.items()
        )
        return located_object(entries, place, problems)
    if isinstance(value, list | tuple):
        items = [locate(inner, problems, file=file, depth=depth + 1) for inner in value]
        return Located(value=[item.value for item in items], location=place, items=items)
    return Located(value=_scalar(value, problems, place), location=place)


def _scalar(value: object, problems: Problems, place: Location) -> JsonValue:
    if isinstance(value, Decimal):
        value = int(value) if value.is_finite() and value == value.to_integral() else float(value)
    if isinstance(value, float) and not math.isfinite(value):
        problems.add(f"Not a number that can be used: {value}.", place)
        return None
    if isinstance(value, str):
        return str(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    problems.add(f"Not a JSON value: {type(value).__name__}.", place)
    return None


def with_entries(located: Located, entries: Mapping[str, Located]) -> Located:
    """An object with other entries, whose complaints point to where it was written."""
    return Located(
        value={key: entry.value for key, entry in entries.items()},
        location=located.location,
        entries=entries,
        keys={key: located.keys.get(key, entry.location) for key, entry in entries.items()},
    )


def listed(items: Iterable[Located], location: Location) -> Located:
    """A list of values that stood in different places."""
    kept = tuple(items)
    return Located(value=[item.value for item in kept], location=location, items=kept)


def constant(value: JsonValue, location: Location) -> Located:
    """A scalar or a list that the file leaves unsaid, at the place of whoever left it unsaid."""
    if isinstance(value, list):
        return listed((constant(inner, location) for inner in value), location)
    return Located(value=value, location=location)
