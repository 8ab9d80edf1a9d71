"""Rows as entries of one side: an id and a document each, or what is wrong with them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import orjson

from fieldmark.data.layout import Layout
from fieldmark.data.parsing import Row, Unreadable
from fieldmark.data.rows import RowBlock
from fieldmark.model.case import CaseContext, CaseInput
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing

if TYPE_CHECKING:
    from fieldmark.model._lines import Line

__all__ = ["Entries", "Fault", "Value", "entries_of", "id_text"]

_NO_TAGS: Final[tuple[str, ...]] = ()


class Fault(NamedTuple):
    """Why an entry holds no document."""

    reason: str
    input: CaseInput = CaseInput.PARSE_ERROR


Value: TypeAlias = "JsonValue | Missing | Fault | Line"


@dataclass(slots=True)
class Entries:
    """One side of some cases, column by column.

    An id is `None` where rows have none or where it cannot be read. `partners` are the candidates
    of rows that hold both sides, `contexts` what came along. `plain` says that there is no fault
    and that every id is there.
    """

    ids: list[str | None]
    values: list[Value]
    places: Sequence[int]
    partners: list[Value] | None = None
    tags: list[tuple[str, ...]] | None = None
    contexts: list[CaseContext | None] | None = None
    plain: bool = True

    def __len__(self) -> int:
        return len(self.values)


def id_text(value: JsonValue) -> str | None:
    """An id as text: a text as it is, a number or a boolean as JSON writes it."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, int | float) else None


def entries_of(block: RowBlock, layout: Layout) -> Entries:
    """The entries of a block of rows."""
    if block.lines is not None:
        return Entries(list(block.lines.ids), list(block.lines.lines), block.places)
    fast = _plain_entries(block, layout)
    entries = fast if fast is not None else _careful_entries(block, layout)
    if layout.context and layout.value_key is not None:
        entries.contexts = [_context(row) for row in block.rows]
    return entries


def _context(row: Row) -> CaseContext | None:
    """What an envelope says of a case beside its documents."""
    if not isinstance(row, dict):
        return None
    metadata = row.get("metadata")
    return CaseContext(row.get("input", MISSING), metadata if isinstance(metadata, dict) else None)


def _plain_entries(block: RowBlock, layout: Layout) -> Entries | None:
    """The entries of rows that are all alike, column by column; `None` if they are not."""
    rows = block.rows
    if set(map(type, rows)) != {dict}:
        return None
    objects: list[JsonObject] = rows  # type: ignore[assignment]
    id_key, value_key, partner_key = layout.id_key, layout.value_key, layout.partner_key
    try:
        raw_ids = None if id_key is None else [row[id_key] for row in objects]
        values = objects if value_key is None else [row[value_key] for row in objects]
        partners = None if partner_key is None else [row[partner_key] for row in objects]
    except KeyError:
        return None
    ids = _ids(raw_ids, block)
    if ids is None:
        return None
    if value_key is None and id_key is not None:
        for row in objects:
            del row[id_key]
    tags = None if value_key is None else _tags(objects, layout)
    return Entries(ids, values, block.places, partners, tags)  # type: ignore[arg-type]


def _ids(raw: list[JsonValue] | None, block: RowBlock) -> list[str | None] | None:
    """Ids as texts; `None` if one of them cannot be an id."""
    if block.ids is not None:
        return list(block.ids)
    if raw is None:
        return [None] * len(block.rows)
    if set(map(type, raw)) == {str}:
        return raw  # type: ignore[return-value]
    texts = list(map(id_text, raw))
    return None if None in texts else texts


def _tags(rows: list[JsonObject], layout: Layout) -> list[tuple[str, ...]] | None:
    known = sum(key is not None for key in (layout.id_key, layout.value_key, layout.partner_key))
    if set(map(len, rows)) == {known}:
        return None
    return [_tag_texts(row.get("tags")) for row in rows]


def _tag_texts(tags: JsonValue) -> tuple[str, ...]:
    return tuple(filter(None, map(id_text, tags))) if isinstance(tags, list) else _NO_TAGS


def _careful_entries(block: RowBlock, layout: Layout) -> Entries:
    made = Entries([], [], block.places, [] if layout.partner_key else None, [], plain=False)
    for place, row in enumerate(block.rows):
        given = None if block.ids is None else block.ids[place]
        name, value, partner = _entry(row, layout, given)
        made.ids.append(name)
        made.values.append(value)
        if made.partners is not None:
            made.partners.append(partner)
        if made.tags is not None:
            made.tags.append(_tag_texts(row.get("tags")) if _tagged(row, layout) else _NO_TAGS)  # type: ignore[union-attr]
    return made


def _tagged(row: Row, layout: Layout) -> bool:
    return layout.value_key is not None and isinstance(row, dict)


def _entry(row: Row, layout: Layout, given: str | None) -> tuple[str | None, Value, Value]:
    """The id, the document and the partner of one row."""
    if isinstance(row, Unreadable):
        return given or _salvaged(row.head, layout.id_key), Fault(row.reason), MISSING
    if not isinstance(row, dict):
        whole = layout.value_key is None and not (layout.id_key and layout.id_needed)
        fault = Fault("the row is not an object like the first one")
        return given, row if whole else fault, MISSING
    name = given
    if name is None and layout.id_key is not None:
        name = id_text(row.get(layout.id_key))
        if name is None and layout.id_needed:
            return None, Fault(f"the row has no {layout.id_key!r} that can be an id"), MISSING
    if layout.value_key is None:
        return name, {key: row[key] for key in row if key != layout.id_key}, MISSING
    absent = Fault(f"the row has no {layout.value_key!r}", CaseInput.MISSING)
    partner = row.get(layout.partner_key, MISSING) if layout.partner_key else MISSING
    return name, row.get(layout.value_key, absent), partner


def _salvaged(head: bytes, id_key: str | None) -> str | None:
    """The id of a row that cannot be read, if it stands at the very beginning."""
    if id_key is None:
        return None
    start = rb"\s*\{\s*" + re.escape(orjson.dumps(id_key)) + rb'\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+\b)'
    match = re.match(start, head)
    try:
        return None if match is None else id_text(orjson.loads(match.group(1)))
    except orjson.JSONDecodeError:
        return None
