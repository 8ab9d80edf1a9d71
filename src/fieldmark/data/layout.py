"""What a row is: a document, or an envelope that names its case and holds a document.

The first readable row of a file decides for all of them, so that one odd row cannot change what
the others mean.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import orjson

from fieldmark.data.inputs import Inputs, Role
from fieldmark.data.json_parser import Row, UnreadableRow
from fieldmark.data.rows import RowBlock
from fieldmark.errors import DataError, Location
from fieldmark.model.case import CaseContext, CaseInput
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing

if TYPE_CHECKING:
    from fieldmark.model._lines import Line

__all__ = [
    "CANDIDATE_KEYS",
    "EXPECTED_KEYS",
    "ID_KEYS",
    "Layout",
    "RowFault",
    "SideBatch",
    "SideValue",
    "apply_layout",
    "detect_layout",
    "detect_paired_layout",
    "id_text",
    "paired_keys",
]

ID_KEYS: Final = ("id", "case_id", "key")
EXPECTED_KEYS: Final = ("expected", "truth", "ground_truth", "gold", "label")
CANDIDATE_KEYS: Final = (
    "candidate",
    "predicted",
    "prediction",
    "output",
    "actual",
    "extracted",
    "predicted_raw",
)
_ENVELOPE: Final = frozenset(
    (*ID_KEYS, *EXPECTED_KEYS, *CANDIDATE_KEYS, "input", "metadata", "tags")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where a row keeps its id and its document.

    `value_key` is `None` where the row is the document; then an `id_key` is taken out of it, for
    the pairing key is never a field. `partner_key` is the candidate of rows that hold both. Where
    rows are paired by position, a row may lack the id: `id_needed` is false. With `context`, what
    an envelope says beside its document is kept.
    """

    id_key: str | None = None
    value_key: str | None = None
    partner_key: str | None = None
    id_needed: bool = True
    context: bool = False


def first_object(block: RowBlock, key: str | None = None) -> JsonObject | None:
    """The first row that is an object, preferably one with a certain key."""
    objects = [row for row in block.rows if isinstance(row, dict)]
    return next((row for row in objects if key in row), objects[0] if objects else None)


def detect_layout(
    sample: RowBlock, role: Role, options: Inputs, *, name: str
) -> tuple[Layout, list[str]]:
    """The layout of a side that begins with these rows, and what should be said about it."""
    named = options.expected_key if role is Role.TRUTH else options.candidate_key
    row = first_object(sample, named)
    if row is None:
        return Layout(), []
    if named is not None and named not in row:
        raise DataError(f"no row has the key {named!r}; {_keys_of(row)}", Location(name))
    id_key = _id_key(row, options, name)
    sides = (
        (EXPECTED_KEYS, CANDIDATE_KEYS) if role is Role.TRUTH else (CANDIDATE_KEYS, EXPECTED_KEYS)
    )
    prefix = "" if name == f"the {role}" else f"{name}: "
    if named is None and not row.keys() <= _ENVELOPE:
        key = _present(row, sides[0])
        doubtful = key is not None and isinstance(row[key], dict)
        said = [f"{prefix}{_compared_whole(row, str(key))}"] if doubtful else []
        return Layout(id_key=id_key), said
    value_key = named or _present(row, sides[0]) or _present(row, sides[1])
    said = [] if value_key is None else [f"{prefix}the {role} is under {value_key!r}"]
    return Layout(id_key=id_key, value_key=value_key), said


def detect_paired_layout(
    sample: RowBlock, options: Inputs, *, name: str
) -> tuple[Layout, list[str]]:
    """The layout of rows that hold both sides."""
    row = first_object(sample, options.expected_key or options.candidate_key) or {}
    both = paired_keys(row, options)
    if both is not None:
        layout = Layout(id_key=_id_key(row, options, name), value_key=both[0], partner_key=both[1])
        said = f"{name}: the truth is under {both[0]!r}, the candidate under {both[1]!r}"
        return layout, [said] if name else []
    found = (_present(row, EXPECTED_KEYS), _present(row, CANDIDATE_KEYS))
    if None not in found and not row.keys() <= _ENVELOPE:
        raise DataError(
            f"rows hold {found[0]!r} and {found[1]!r}, but also {_others(row)}, so it is not sure "
            "that these are the two sides; name the keys that hold the truth and the candidate",
            Location(name),
        )
    raise DataError(
        "a single input must hold both sides in each row, as {id, expected, candidate}; "
        "name a second input, or the keys that hold the two sides",
        Location(name),
    )


def paired_keys(row: JsonObject, options: Inputs) -> tuple[str, str] | None:
    """The keys under which a row holds its truth and its candidate, if it holds both."""
    told = options.expected_key is not None or options.candidate_key is not None
    if not told and not row.keys() <= _ENVELOPE:
        return None
    expected = _present(row, (options.expected_key,) if options.expected_key else EXPECTED_KEYS)
    partner = _present(row, (options.candidate_key,) if options.candidate_key else CANDIDATE_KEYS)
    return None if expected is None or partner is None else (expected, partner)


def _present(row: JsonObject, keys: tuple[str, ...]) -> str | None:
    return next((key for key in keys if key in row), None)


def _compared_whole(row: JsonObject, key: str) -> str:
    return (
        f"rows hold {key!r}, but also {_others(row)}, so each row is compared as a whole; "
        f"name the key if only {key!r} is meant"
    )


def _others(row: JsonObject) -> str:
    """The keys of a row that no envelope has."""
    return ", ".join(map(repr, sorted(row.keys() - _ENVELOPE)[:3]))


def _keys_of(row: JsonObject) -> str:
    return f"they have {', '.join(sorted(row)[:8])}"


def _id_key(row: JsonObject, options: Inputs, name: str) -> str | None:
    if options.id_key is None:
        return _present(row, ID_KEYS)
    if options.id_key and options.id_key not in row:
        message = f"the rows have no key {options.id_key!r} to pair by; {_keys_of(row)}"
        raise DataError(message, Location(name))
    return options.id_key or None


_NO_TAGS: Final[tuple[str, ...]] = ()


class RowFault(NamedTuple):
    """Why an entry holds no document."""

    reason: str
    input: CaseInput = CaseInput.PARSE_ERROR


SideValue: TypeAlias = "JsonValue | Missing | RowFault | Line"


@dataclass(slots=True)
class SideBatch:
    """One side of some cases, column by column.

    An id is `None` where rows have none or where it cannot be read. `partners` are the candidates
    of rows that hold both sides, `contexts` what came along. `plain` says that there is no fault
    and that every id is there.
    """

    ids: list[str | None]
    values: list[SideValue]
    places: Sequence[int]
    partners: list[SideValue] | None = None
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


def apply_layout(block: RowBlock, layout: Layout) -> SideBatch:
    """The entries of a block of rows."""
    if block.lines is not None:
        return SideBatch(list(block.lines.ids), list(block.lines.lines), block.places)
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


def _plain_entries(block: RowBlock, layout: Layout) -> SideBatch | None:
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
    return SideBatch(ids, values, block.places, partners, tags)  # type: ignore[arg-type]


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


def _careful_entries(block: RowBlock, layout: Layout) -> SideBatch:
    made = SideBatch([], [], block.places, [] if layout.partner_key else None, [], plain=False)
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


def _entry(row: Row, layout: Layout, given: str | None) -> tuple[str | None, SideValue, SideValue]:
    """The id, the document and the partner of one row."""
    if isinstance(row, UnreadableRow):
        return given or _salvaged(row.head, layout.id_key), RowFault(row.reason), MISSING
    if not isinstance(row, dict):
        whole = layout.value_key is None and not (layout.id_key and layout.id_needed)
        fault = RowFault("the row is not an object like the first one")
        return given, row if whole else fault, MISSING
    name = given
    if name is None and layout.id_key is not None:
        name = id_text(row.get(layout.id_key))
        if name is None and layout.id_needed:
            return None, RowFault(f"the row has no {layout.id_key!r} that can be an id"), MISSING
    if layout.value_key is None:
        return name, {key: row[key] for key in row if key != layout.id_key}, MISSING
    absent = RowFault(f"the row has no {layout.value_key!r}", CaseInput.MISSING)
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
