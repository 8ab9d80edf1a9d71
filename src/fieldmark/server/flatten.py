"""Converts nested documents to rows of paths and values, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from fieldmark.errors import DataError, OptionError
from fieldmark.model.json import JsonValue
from fieldmark.values.paths import ROOT, Wildcard, leaves, parse_path

__all__ = ["flatten_document", "nest_document"]

_Shape: TypeAlias = "dict[str | int, _Shape] | _Leaf"


class _Leaf(NamedTuple):
    value: JsonValue


def flatten_document(document: JsonValue) -> list[tuple[str, JsonValue]]:
    """Return every value of a document with its path, in the order of the document.

    >>> flatten_document({"vendor": {"name": "Acme"}, "lines": [{"amount": 1}]})
    [('vendor.name', 'Acme'), ('lines[0].amount', 1)]
    """
    return list(leaves(document))


def nest_document(rows: Iterable[tuple[str, JsonValue]]) -> JsonValue:
    """Build a document from rows; contradictory rows raise an error.

    >>> nest_document([("lines[0].amount", 1), ("vendor.name", "Acme")])
    {'lines': [{'amount': 1}], 'vendor': {'name': 'Acme'}}
    """
    tree: dict[str | int, _Shape] = {}
    for path, value in rows:
        if path == ROOT:
            tree.setdefault(ROOT, _Leaf(value))
        else:
            _insert(tree, path, value)
    if not tree:
        return {}
    root = tree.get(ROOT)
    return root.value if len(tree) == 1 and isinstance(root, _Leaf) else _build(tree, "")


def _insert(tree: dict[str | int, _Shape], path: str, value: JsonValue) -> None:
    try:
        segments = parse_path(path).segments
    except OptionError as error:
        raise DataError(error.message) from error
    for number, segment in enumerate(segments, 1):
        if isinstance(segment, Wildcard):
            raise DataError(f"{path} names many fields; a row has one")
        if number == len(segments):
            if segment in tree:
                raise DataError(f"{path} is there twice, or holds something as well")
            tree[segment] = _Leaf(value)
            return
        inner = tree.setdefault(segment, {})
        if isinstance(inner, _Leaf):
            raise DataError(f"{path} is inside a field that has a value of its own")
        tree = inner


def _build(shape: _Shape, path: str) -> JsonValue:
    if isinstance(shape, _Leaf):
        return shape.value
    if all(isinstance(key, str) for key in shape):
        return {str(key): _build(inner, f"{path}.{key}") for key, inner in shape.items()}
    if set(shape) != set(range(len(shape))):
        raise DataError(f"the items of {path.lstrip('.') or 'the document'} are not 0, 1, 2, …")
    return [_build(shape[number], f"{path}[{number}]") for number in range(len(shape))]
