"""A nested document as flat rows of paths and values, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from fieldmark.errors import DataError, OptionError
from fieldmark.model.json import JsonValue
from fieldmark.values.paths import ROOT, Wildcard, leaves, parse_path

__all__ = ["flatten_document", "nest_document"]

_Shape: TypeAlias = "dict[str | int, _Shape] | _Leaf"


class _Leaf:
    """The end of a path."""

    __slots__ = ("value",)

    def __init__(self, value: JsonValue) -> None:
        self.value = value


def flatten_document(document: JsonValue) -> list[tuple[str, JsonValue]]:
    """Every value of a document with its path, in the order of the document.

    >>> flattened({"vendor": {"name": "Acme"}, "lines": [{"amount": 1}]})
    [('vendor.name', 'Acme'), ('lines[0].amount', 1)]
    """
    return list(leaves(document))


def nest_document(rows: Iterable[tuple[str, JsonValue]]) -> JsonValue:
    """The document of some rows; rows that contradict each other are refused.

    >>> nested_document([("lines[0].amount", 1), ("vendor.name", "Acme")])
    {'lines': [{'amount': 1}], 'vendor': {'name': 'Acme'}}
    """
    top: dict[str | int, _Shape] = {}
    for path, value in rows:
        if path == ROOT:
            top.setdefault(ROOT, _Leaf(value))
            continue
        _put(top, path, value)
    if ROOT in top and len(top) == 1:
        only = top[ROOT]
        return only.value if isinstance(only, _Leaf) else _whole(top, "")
    return _whole(top, "") if top else {}


def _put(top: dict[str | int, _Shape], path: str, value: JsonValue) -> None:
    try:
        segments = parse_path(path).segments
    except OptionError as error:
        raise DataError(error.message) from error
    shape = top
    for place, segment in enumerate(segments):
        if isinstance(segment, Wildcard):
            raise DataError(f"{path} names many fields; a row has one")
        if place == len(segments) - 1:
            if segment in shape:
                raise DataError(f"{path} is there twice, or holds something as well")
            shape[segment] = _Leaf(value)
            return
        inner = shape.setdefault(segment, {})
        if isinstance(inner, _Leaf):
            raise DataError(f"{path} is inside a field that has a value of its own")
        shape = inner


def _whole(shape: _Shape, path: str) -> JsonValue:
    if isinstance(shape, _Leaf):
        return shape.value
    if all(isinstance(key, str) for key in shape):
        return {str(key): _whole(inner, f"{path}.{key}") for key, inner in shape.items()}
    if set(shape) != set(range(len(shape))):
        raise DataError(f"the items of {path.lstrip('.') or 'the document'} are not 0, 1, 2, …")
    return [_whole(shape[place], f"{path}[{place}]") for place in range(len(shape))]
