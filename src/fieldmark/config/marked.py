"""JSON values that know where in a file they stand."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from types import MappingProxyType
from typing import Final, NamedTuple

from fieldmark.config.problems import Problems
from fieldmark.errors import Location
from fieldmark.model.json import JsonValue

__all__ = ["MAX_DEPTH", "MAX_DIGITS", "MAX_NODES", "Entry", "Marked", "mark", "marked_object"]

MAX_NODES: Final = 100_000
MAX_DEPTH: Final = 50
MAX_DIGITS: Final = 1_000


_NO_ENTRIES: Final[Mapping[str, Marked]] = MappingProxyType({})
_NO_KEYS: Final[Mapping[str, Location]] = MappingProxyType({})


class Marked(NamedTuple):
    """A JSON value, where it stands, and the same of everything inside it."""

    value: JsonValue
    location: Location = Location()
    entries: Mapping[str, Marked] = _NO_ENTRIES
    items: Sequence[Marked] = ()
    keys: Mapping[str, Location] = _NO_KEYS

    def key_location(self, key: str) -> Location:
        """Where a key of this object stands; the object's own place if it has no such key."""
        return self.keys.get(key, self.location)

    def copy(self) -> Marked:
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
    marked: Marked


def marked_object(entries: Iterable[Entry], location: Location, problems: Problems) -> Marked:
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
    return Marked(
        value={key: entry.marked.value for key, entry in kept.items()},
        location=location,
        entries={key: entry.marked for key, entry in kept.items()},
        keys={key: entry.location for key, entry in kept.items()},
    )


def mark(value: object, problems: Problems, *, file: str = "", depth: int = 0) -> Marked:
    """A value given in Python: tuples are lists, decimals are numbers, the rest must be JSON."""
    place = Location(file)
    if depth > MAX_DEPTH:
        problems.add(f"The value is nested more than {MAX_DEPTH} deep.", place)
        return Marked(value=None, location=place)
    if isinstance(value, Mapping):
        entries = (
            Entry(str(key), place, mark(inner, problems, file=file, depth=depth + 1))
            for key, inner in value.items()
        )
        return marked_object(entries, place, problems)
    if isinstance(value, list | tuple):
        items = [mark(inner, problems, file=file, depth=depth + 1) for inner in value]
        return Marked(value=[item.value for item in items], location=place, items=items)
    return Marked(value=_scalar(value, problems, place), location=place)


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
