"""Values of a file put together anew, each still at the place where it stood."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fieldmark.config.marked import Marked
from fieldmark.errors import Location
from fieldmark.model.json import JsonValue

__all__ = ["constant", "listed", "with_entries"]


def with_entries(marked: Marked, entries: Mapping[str, Marked]) -> Marked:
    """An object with other entries, whose complaints point to where it was written."""
    return Marked(
        value={key: entry.value for key, entry in entries.items()},
        location=marked.location,
        entries=entries,
        keys={key: marked.keys.get(key, entry.location) for key, entry in entries.items()},
    )


def listed(items: Iterable[Marked], location: Location) -> Marked:
    """A list of values that stood in different places."""
    kept = tuple(items)
    return Marked(value=[item.value for item in kept], location=location, items=kept)


def constant(value: JsonValue, location: Location) -> Marked:
    """A scalar or a list that the file leaves unsaid, at the place of whoever left it unsaid."""
    if isinstance(value, list):
        return listed((constant(inner, location) for inner in value), location)
    return Marked(value=value, location=location)
