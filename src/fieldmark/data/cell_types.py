"""Types of the cells of CSV files, which are text: a column can have numbers or booleans."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from math import isfinite
from typing import Final, TypeAlias, cast

from fieldmark.data.row_layout import id_text
from fieldmark.model.json import JsonValue
from fieldmark.values.envelopes import Attribute
from fieldmark.values.paths import ANY_ITEM, ROOT, join
from fieldmark.values.presence import is_blank


class CellType(StrEnum):
    """The type of all cells of a column."""

    NUMBER = "number"
    BOOLEAN = "boolean"


_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-][0-9]{1,3})?\Z")
"""A number as programs write it; `007` and `1E5` are codes."""
_MAX_DIGITS: Final = 17
"""A number with more digits is not the same as a float."""
_BOOLEANS: Final = {"true": True, "false": False}
_WORD: Final = re.compile(r"[A-Z]?[^\W\dA-Z_]+|[A-Z]+(?![^\W\dA-Z_])")
_IDENTIFIER: Final = re.compile(
    r"ids?|key|codes?|number|no|nr|num|zip|postcode|plz|phone|telephone|tel|mobile|fax|iban|bic|swift"
    r"|sku|ean|gtin|upc|isbn|issn|vat|serial|version|account|acct|ref|reference"
)
"""The last word of the names of columns with identifiers, even if these have only digits."""

TypeTree: TypeAlias = "CellType | Mapping[str | None, TypeTree]"
"""The types of the values of a document, by key; `None` stands for the items of a list."""


def typed_value(text: str, cell_type: CellType) -> JsonValue:
    """Return the number or boolean that a cell contains, or its text.

    >>> typed_value("10.50", CellType.NUMBER), typed_value("True", CellType.BOOLEAN)
    (10.5, True)
    >>> typed_value("007", CellType.NUMBER)
    '007'
    """
    stripped = text.strip()
    if cell_type is CellType.BOOLEAN:
        return _BOOLEANS.get(stripped.lower(), text)
    if not _NUMBER.match(stripped):
        return text
    mantissa = re.split("[eE]", stripped, maxsplit=1)[0]
    if len(mantissa.strip("-").replace(".", "").strip("0")) > _MAX_DIGITS:
        return text
    number = float(stripped)
    if not isfinite(number):
        return text
    return int(stripped) if stripped.lstrip("-").isdigit() else number


def column_types(
    sides: Iterable[tuple[Iterable[JsonValue], bool]],
    is_text: Callable[[str], bool],
    *,
    only_root: bool = False,
) -> dict[Attribute, CellType]:
    """Return the types of the attributes whose values have the same type on all sides.

    Each side is a sample of its documents, and whether their values are cells of a CSV file. An
    identifier has no type, and neither has an attribute that `is_text`, that a side does not have,
    or that is inside of an attribute with a type. With `only_root`, only documents that are single
    values are considered.

    >>> column_types([([{"a": "1.0"}], True), ([{"a": "1"}], True)], lambda attribute: False)
    {('a',): <CellType.NUMBER: 'number'>}
    """
    kinds: list[dict[Attribute, set[CellType | None]]] = []
    for documents, is_cells in sides:
        own: dict[Attribute, set[CellType | None]] = {}
        for document in documents:
            if only_root and isinstance(document, dict | list):
                continue
            for attribute, value in _leaves(document):
                if value is not None and not (isinstance(value, str) and is_blank(value)):
                    own.setdefault(attribute, set()).add(_type_of(value, is_cells=is_cells))
        kinds.append(own)
    first, *others = kinds
    typed = {
        attribute: cell_type
        for attribute, types in first.items()
        for cell_type in types
        if cell_type is not None
        and len(types) == 1
        and all(other.get(attribute) == types for other in others)
        and not _is_identifier(attribute)
        and not is_text(attribute_text(attribute))
    }
    return {
        attribute: cell_type
        for attribute, cell_type in typed.items()
        if not any(attribute[:length] in typed for length in range(len(attribute)))
    }


def attribute_text(attribute: Attribute) -> str:
    """Return the path of an attribute.

    >>> attribute_text(("lines", None, "amount")), attribute_text(())
    ('lines[].amount', '$')
    """
    text = ""
    for key in attribute:
        text = f"{text}{ANY_ITEM.value}" if key is None else join(text, key)
    return text or ROOT


def _leaves(value: JsonValue, at: Attribute = ()) -> Iterator[tuple[Attribute, JsonValue]]:
    if value and isinstance(value, dict):
        for key, part in value.items():
            yield from _leaves(part, (*at, key))
    elif value and isinstance(value, list):
        for part in value:
            yield from _leaves(part, (*at, None))
    else:
        yield at, value


def _type_of(value: JsonValue, *, is_cells: bool) -> CellType | None:
    if isinstance(value, str):
        if not is_cells:
            return None
        return next((own for own in CellType if typed_value(value, own) is not value), None)
    if isinstance(value, bool):
        return CellType.BOOLEAN
    return CellType.NUMBER if isinstance(value, int | float) else None


def _is_identifier(attribute: Attribute) -> bool:
    names = [key for key in attribute if key is not None]
    words = _WORD.findall(names[-1]) if names else []
    return bool(words) and _IDENTIFIER.fullmatch(words[-1].lower()) is not None


def type_tree(types: Mapping[Attribute, CellType]) -> TypeTree:
    """Return the types by key."""
    if () in types:
        return types[()]
    tree: dict[str | None, TypeTree] = {}
    for attribute, cell_type in types.items():
        node = tree
        for key in attribute[:-1]:
            node = cast("dict[str | None, TypeTree]", node.setdefault(key, {}))
        node[attribute[-1]] = cell_type
    return tree


def read_cells(
    value: JsonValue, tree: TypeTree | None, others: list[str], *, as_text: bool
) -> JsonValue:
    """Return a document with typed cells; `others` receives cells that have another type.

    With `as_text`, numbers and booleans without a type are strings.

    >>> read_cells({"a": "1.0", "b": 2}, {"a": CellType.NUMBER}, [], as_text=True)
    {'a': 1.0, 'b': '2'}
    """
    if isinstance(tree, CellType):
        if not isinstance(value, str):
            return value
        typed = typed_value(value, tree)
        if typed is value and not is_blank(value):
            others.append(value)
        return typed
    if tree is None and not as_text:
        return value
    if isinstance(value, dict):
        return {
            key: read_cells(part, tree.get(key) if tree else None, others, as_text=as_text)
            for key, part in value.items()
        }
    if isinstance(value, list):
        of_items = tree.get(None) if tree else None
        return [read_cells(part, of_items, others, as_text=as_text) for part in value]
    return id_text(value) if as_text and value is not None else value
