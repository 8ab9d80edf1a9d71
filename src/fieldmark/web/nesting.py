"""Build nested documents from rows of paths and values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from fieldmark.errors import DataError, OptionError
from fieldmark.model.json import JsonValue
from fieldmark.values.paths import ROOT, Wildcard, parse_path

_Shape: TypeAlias = "dict[str | int, _Shape] | _Leaf"


class _Leaf(NamedTuple):
    value: JsonValue


def nest_document(rows: Iterable[tuple[str, JsonValue]]) -> JsonValue:
    """Build a document from paths and values, as `leaves` lists them.

    Rows that contradict each other raise `DataError`.

    >>> nest_document([("lines[0].amount", 1), ("vendor.name", "Acme")])
    {'lines': [{'amount': 1}], 'vendor': {'name': 'Acme'}}
    """
    tree: dict[str | int, _Shape] = {}
    for path, value in rows:
        if path == ROOT:
            tree.setdefault(ROOT, _Leaf(value))
            continue
        try:
            *parents, last = parse_path(path).segments
        except OptionError as error:
            raise DataError(error.message) from error
        parent = tree
        for segment in parents:
            if isinstance(segment, Wildcard):
                raise DataError(f"{path} contains a wildcard; a row must name a single field")
            inner = parent.setdefault(segment, {})
            if isinstance(inner, _Leaf):
                raise DataError(f"{path} is inside a field that already has a value")
            parent = inner
        if isinstance(last, Wildcard):
            raise DataError(f"{path} contains a wildcard; a row must name a single field")
        if last in parent:
            raise DataError(f"duplicate path {path}, or a path inside it also has a value")
        parent[last] = _Leaf(value)
    root = tree.get(ROOT)
    if len(tree) == 1 and isinstance(root, _Leaf):
        return root.value
    return _build(tree, "") if tree else {}


def _build(shape: _Shape, path: str) -> JsonValue:
    if isinstance(shape, _Leaf):
        return shape.value
    if all(isinstance(key, str) for key in shape):
        return {str(key): _build(inner, f"{path}.{key}") for key, inner in shape.items()}
    if set(shape) != set(range(len(shape))):
        name = path.lstrip(".") or "the document"
        raise DataError(f"the indexes of {name} must be consecutive integers starting at 0")
    return [_build(shape[index], f"{path}[{index}]") for index in range(len(shape))]
