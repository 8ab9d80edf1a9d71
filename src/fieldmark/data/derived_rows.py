"""Rows that are derived from the rows of another source: nested and composite keys, and groups."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import orjson

from fieldmark.data.json_parser import Row, UnreadableRow
from fieldmark.data.row_layout import id_text
from fieldmark.data.rows import DerivedSource, RowBlock
from fieldmark.data.spreadsheets import Columns, read_header
from fieldmark.errors import DataError, Location
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.values.json_text import LIMITS
from fieldmark.values.paths import is_path, parse_path, resolve, without

_ITEMS: Final = "items"
_ITEM_COLUMN: Final = re.compile(r"(?P<list>[^\[\].]+)\[\]\.(?P<field>.+)\Z", re.DOTALL)
"""A column of the items of a list, as `lines[].amount`."""
_BLOCK_ROWS: Final = 256


@dataclass(slots=True)
class KeyedSource(DerivedSource):
    """Rows with additional keys for the values at nested keys, and for composite ids."""

    id_key: str | None = None
    value_keys: tuple[str, ...] = ()

    def blocks(self) -> Iterator[RowBlock]:
        """Read the rows, and look up the keys in each row."""
        for block in self._source_blocks():
            yield RowBlock(list(map(self._row, block.rows)), block.positions, block.ids)

    def _row(self, row: Row) -> Row:
        if not isinstance(row, dict):
            return row
        document = row
        if self.id_key is not None and self.id_key not in row:
            name = _composite_id(row, self.id_key)
            if name is not None:
                document = {**_without_keys(row, self.id_key), self.id_key: name}
        resolved = {key: resolve(row, key) for key in self.value_keys if key not in row}
        values = {key: value for key, value in resolved.items() if not isinstance(value, Missing)}
        return {**document, **values} if values else document


@dataclass(slots=True)
class GroupedSource(DerivedSource):
    """Adjacent rows with the same key as one document with a list.

    Columns such as `lines[].amount` are the keys of the items; the other columns must be equal in
    all rows of a document. Without such columns, all columns are keys of the items of `items`.
    """

    key: str = ""
    id_key: str = "id"

    def blocks(self) -> Iterator[RowBlock]:
        """Read the rows in groups; raise an error if the rows of a group are not adjacent."""
        rows: list[Row] = []
        positions: list[int] = []
        seen: set[str] = set()
        for name, group in self._groups():
            if name in seen:
                raise DataError(
                    f"the rows of {name!r} are not adjacent; sort them by {self.key}",
                    self.location(group[0][0]),
                )
            seen.add(name)
            rows.append(self._document(name, group))
            positions.append(group[0][0])
            if len(rows) == _BLOCK_ROWS:
                yield RowBlock(rows, positions)
                rows, positions = [], []
        if rows:
            yield RowBlock(rows, positions)

    def _groups(self) -> Iterator[tuple[str, list[tuple[int, JsonObject]]]]:
        current: str | None = None
        group: list[tuple[int, JsonObject]] = []
        for block in self._source_blocks():
            for position, row in zip(block.positions, block.rows, strict=True):
                if not isinstance(row, dict):
                    # The document that it belongs to is unknown, so none can be trusted.
                    reason = row.reason if isinstance(row, UnreadableRow) else "not an object"
                    raise DataError(f"cannot group the row: {reason}", self.location(position))
                name = self._name(row, position)
                if current is not None and name != current:
                    yield current, group
                    group = []
                current = name
                group.append((position, row))
        if current is not None:
            yield current, group

    def _name(self, row: JsonObject, position: int) -> str:
        name = _composite_id(row, self.key)
        if name:
            return name
        for key in _parts(row, self.key):
            if resolve(row, key) is MISSING:
                message = f"column {key!r} not found; columns: {', '.join(list(row)[:8])}"
                raise DataError(message, self.location(position))
        raise DataError(f"no value in {self.key!r} to group the row by", self.location(position))

    def _document(self, name: str, group: Sequence[tuple[int, JsonObject]]) -> Row:
        document: JsonObject = {}
        lists: dict[str, list[JsonValue]] = {}
        for position, row in group:
            fields = _without_keys(row, self.key)
            columns = [_ITEM_COLUMN.match(column) for column in fields]
            if not any(columns):
                lists.setdefault(_ITEMS, []).append(fields)
                continue
            items: dict[str, JsonObject] = {}
            for column, (key, value) in zip(columns, fields.items(), strict=True):
                if column is not None:
                    items.setdefault(column["list"], {})[column["field"]] = value
                elif document.setdefault(key, value) != value:
                    reason = f"column {key!r} differs from the other rows of {name!r}"
                    head = orjson.dumps({self.id_key: name})
                    return UnreadableRow(f"{self.describe(position)}: {reason}", head)
            for key, item in items.items():
                items_of_key = lists.setdefault(key, [])
                if any(value not in ("", None) for value in item.values()):
                    items_of_key.append(_item_columns(tuple(item)).document([*item.values()]))
        clash = next((key for key in (*lists, self.id_key) if key in document), None)
        if clash is not None:
            message = f"column {clash!r} has the name of a list or of the id"
            raise DataError(message, Location(self.name))
        return {self.id_key: name, **document, **lists}


@lru_cache(maxsize=16)
def _item_columns(names: tuple[str, ...]) -> Columns:
    return read_header(names, LIMITS)


def _parts(row: JsonObject, key: str) -> list[str]:
    """Return the keys that a key consists of; a key of the row is never divided."""
    if key in row or resolve(row, key) is not MISSING:
        return [key]
    return [part.strip() for part in key.split(",")]


def _composite_id(row: JsonObject, key: str) -> str | None:
    """Return the id of a row, or `None` if a part is missing.

    A part that contains a comma or a quote is quoted, so that different parts never give one id.
    """
    values = [resolve(row, part) for part in _parts(row, key)]
    texts = [None if isinstance(value, Missing) else id_text(value) for value in values]
    if len(texts) == 1:
        return texts[0]
    parts = [text for text in texts if text]
    if len(parts) < len(texts):
        return None
    return ",".join(
        orjson.dumps(part).decode() if "," in part or '"' in part else part for part in parts
    )


def _without_keys(row: JsonObject, key: str) -> JsonObject:
    """Return a row without the parts of its id, which are never fields."""
    fields = dict(row)
    for part in _parts(row, key):
        if part in fields:
            del fields[part]
        elif is_path(part) and not parse_path(part).has_index:
            remaining = without(fields, parse_path(part))
            fields = remaining if isinstance(remaining, dict) else {}
    return fields
