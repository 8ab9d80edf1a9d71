"""All texts of a JSON value."""

from __future__ import annotations

from collections.abc import Iterator

from fieldmark.model.json import JsonValue

__all__ = ["texts_in"]


def texts_in(value: JsonValue) -> Iterator[str]:
    """Every text of a value, its keys too, in their order.

    >>> list(texts_in({"a": ["b", 1]}))
    ['a', 'b']
    """
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from texts_in(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from texts_in(item)
