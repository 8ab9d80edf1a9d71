"""The layout of rows: a row is a document, or an envelope with an id and a document.

The first readable row of a file determines the layout of all rows. Applying a layout to a block of
rows returns the ids and documents of one side.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import lt
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, cast

import orjson

from fieldmark.data.inputs import Inputs
from fieldmark.data.json_parser import Role, Row, UnreadableRow
from fieldmark.data.rows import ID_KEYS, RowBlock, RowSource
from fieldmark.errors import DataError, Location, OptionHint, OptionPhrase, OptionText, with_hint
from fieldmark.model.case import CaseContext, CaseInput
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.kernel import COMPILED, kernel
from fieldmark.values.arrays import np
from fieldmark.values.json_text import read_json

if TYPE_CHECKING:
    from fieldmark.model.kernel._kernel import Document


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
_SET_BOTH_KEYS: Final = OptionHint(OptionPhrase.SET_BOTH_KEYS)
_EXCLUDE: Final = "exclude"
_NOT_READ: Final = {
    "evidence": "evidence is not scored",
    "repeat": "each row is a case of its own",
}
"""Keys of envelopes that are not read, and what that means."""
_ENVELOPE_KEYS: Final = frozenset(
    (
        *(*ID_KEYS, *EXPECTED_KEYS, *CANDIDATE_KEYS),
        *("input", "metadata", "tags", "confidence", _EXCLUDE, *_NOT_READ),
    )
)


class Layout(NamedTuple):
    """The keys of the id and the document in a row.

    `value_key` is `None` if the row is the document; the `id_key` is then removed, because an id is
    never a field. `partner_key` is the key of the candidate if rows contain both sides. `id_needed`
    is false if rows are paired by position. With `context`, the input and metadata of an envelope
    are included. `confidence_key` is the key of the confidences of predictions, if they are read.
    """

    id_key: str | None = None
    value_key: str | None = None
    partner_key: str | None = None
    id_needed: bool = True
    context: bool = False
    confidence_key: str | None = None


def is_envelope(keys: Iterable[str]) -> bool:
    """Return whether rows with these keys are envelopes rather than documents."""
    return _ENVELOPE_KEYS.issuperset(keys)


def detect_layout(
    sample: RowBlock, role: Role, options: Inputs, *, name: str
) -> tuple[Layout, list[str]]:
    """Return the layout of a side with these first rows, and notes for the user."""
    named = options.expected_key if role is Role.TRUTH else options.candidate_key
    row = first_object(sample, named)
    if row is None:
        return Layout(), []
    if named is not None and named not in row:
        raise DataError(f"key {named!r} not found in the rows; {_list_keys(row)}", Location(name))
    id_key = _find_id_key(row, options, name)
    own, other = (
        (EXPECTED_KEYS, CANDIDATE_KEYS) if role is Role.TRUTH else (CANDIDATE_KEYS, EXPECTED_KEYS)
    )
    confidence_key = options.confidence_key if role is Role.CANDIDATE else None
    layout = Layout(id_key=id_key, confidence_key=confidence_key)
    prefix = "" if name in ("", role.label) else f"{name}: "
    if named is None and not is_envelope(row.keys() - {options.id_key, confidence_key}):
        key = _first_present(row, own)
        if key is None or not isinstance(row[key], dict):
            return layout, []
        option = "expected" if role is Role.TRUTH else "candidate"
        note = OptionText(
            f"{prefix}rows contain {key!r} but also {_list_other_keys(row)}, so whole rows are "
            "compared; ",
            OptionHint(OptionPhrase.SET_KEY, option),
            f" to compare only {key!r}",
        )
        return layout, [note]
    value_key = named or _first_present(row, own) or _first_present(row, other)
    notes = [] if value_key is None else [f"{prefix}{role.label} in {value_key!r}"]
    return layout._replace(value_key=value_key), notes + _notes_of_keys(row, value_key, prefix)


def detect_paired_layout(
    sample: RowBlock, options: Inputs, *, name: str
) -> tuple[Layout, list[str]]:
    """Return the layout of rows with both sides, and notes for the user."""
    row = first_object(sample, options.expected_key, options.candidate_key) or {}
    both = paired_keys(row, options)
    if both is not None:
        expected, candidate = both
        id_key = _find_id_key(row, options, name)
        layout = Layout(
            id_key=id_key,
            value_key=expected,
            partner_key=candidate,
            confidence_key=options.confidence_key,
        )
        note = f"{name}: ground truth in {expected!r}, predictions in {candidate!r}"
        prefix = f"{name}: " if name else ""
        return layout, ([note] if name else []) + _notes_of_keys(row, expected, prefix)
    truth_key = _first_present(row, EXPECTED_KEYS)
    candidate_key = _first_present(row, CANDIDATE_KEYS)
    if (
        truth_key
        and candidate_key
        and not is_envelope(row.keys() - {options.id_key, options.confidence_key})
    ):
        others = _list_other_keys(row)
        message = f"rows contain {truth_key!r} and {candidate_key!r} but also {others}; "
        raise DataError(OptionText(message, _SET_BOTH_KEYS), Location(name))
    message = (
        "each row of a single input must contain both sides, as in {id, expected, candidate}; "
        "add the predictions as a second input, or "
    )
    raise DataError(OptionText(message, _SET_BOTH_KEYS), Location(name))


def paired_keys(row: JsonObject, options: Inputs) -> tuple[str, str] | None:
    """Return the keys of the truth and the candidate in a row, if it contains both."""
    named = options.expected_key is not None or options.candidate_key is not None
    if not named and not is_envelope(row.keys() - {options.id_key, options.confidence_key}):
        return None
    expected_keys = (options.expected_key,) if options.expected_key else EXPECTED_KEYS
    candidate_keys = (options.candidate_key,) if options.candidate_key else CANDIDATE_KEYS
    expected = _first_present(row, expected_keys)
    candidate = _first_present(row, candidate_keys)
    return None if expected is None or candidate is None else (expected, candidate)


def _notes_of_keys(row: JsonObject, value_key: str | None, prefix: str) -> list[str]:
    """Return notes about keys of an envelope that are not read."""
    if value_key is None:
        return []
    unread = [key for key in _NOT_READ if key in row and key != value_key]
    return [f"{prefix}{key!r} is not read: {_NOT_READ[key]}" for key in unread]


def first_object(block: RowBlock, *keys: str | None) -> JsonObject | None:
    """Return the first row that is an object, preferably one with all keys."""
    objects = [row for row in block.rows if isinstance(row, dict)]
    named = set(filter(None, keys))
    return next((row for row in objects if named <= row.keys()), objects[0] if objects else None)


def _find_id_key(row: JsonObject, options: Inputs, name: str) -> str | None:
    if options.id_key is None:
        return _first_present(row, ID_KEYS)
    if options.id_key not in row:
        message = f"id key {options.id_key!r} not found in the rows; {_list_keys(row)}"
        raise DataError(message, Location(name))
    return options.id_key


def _first_present(row: JsonObject, keys: tuple[str, ...]) -> str | None:
    return next((key for key in keys if key in row), None)


def _list_keys(row: JsonObject) -> str:
    return f"keys: {', '.join(sorted(row)[:8])}"


def _list_other_keys(row: JsonObject) -> str:
    """Return the keys of a row that are not keys of an envelope."""
    return ", ".join(map(repr, sorted(row.keys() - _ENVELOPE_KEYS)[:3]))


class RowFault(NamedTuple):
    """Why a row has no document."""

    reason: str
    input: CaseInput = CaseInput.PARSE_ERROR


class RatedDocument(NamedTuple):
    """The document of a row that also has confidences."""

    document: JsonValue
    confidences: JsonValue


SideValue: TypeAlias = "JsonValue | Missing | RowFault | RatedDocument | Document"
"""The document of a row, or why there is none."""


@dataclass(slots=True, eq=False)
class SideBatch:
    """One side of some cases, as columns.

    An id is `None` if rows have none or if it cannot be read. `partners` are the candidates of rows
    with both sides, `contexts` their inputs and metadata. `plain` is true if there are no faults
    and all ids are present.
    """

    ids: list[str | None]
    values: list[SideValue]
    positions: Sequence[int]
    partners: list[SideValue] | None = None
    tags: list[tuple[str, ...]] | None = None
    contexts: list[CaseContext | None] | None = None
    plain: bool = True

    def __len__(self) -> int:
        return len(self.values)

    def rows_without_id(self) -> list[tuple[int, SideValue]]:
        """Return the positions and values of rows without a readable id."""
        if self.plain:
            return []
        columns = zip(self.ids, self.values, self.positions, strict=True)
        return [(position, value) for name, value, position in columns if name is None]


def id_text(value: JsonValue) -> str | None:
    """Return an id as a string; numbers and booleans are written as in JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, int | float) else None


def apply_layout(block: RowBlock, layout: Layout) -> SideBatch:
    """Return the ids and documents of a block of rows."""
    if block.unparsed is not None:
        return _read_unparsed(block, layout)
    batch = _read_columns(block, layout)
    if batch is None:
        batch = _read_row_by_row(block, layout)
    if layout.context and layout.value_key is not None:
        batch.contexts = [_read_context(row) for row in block.rows]
    if layout.confidence_key is not None:
        if batch.partners is not None:
            batch.partners = _with_confidences(block.rows, batch.partners, layout)
        else:
            batch.values = _with_confidences(block.rows, batch.values, layout)
    return batch


def _with_confidences(
    rows: Sequence[Row], values: Sequence[SideValue], layout: Layout
) -> list[SideValue]:
    """Return documents with the confidences that their rows contain."""
    key = layout.confidence_key or ""
    documents: list[SideValue] = []
    for row, value in zip(rows, values, strict=True):
        if not isinstance(row, dict) or key not in row or isinstance(value, RowFault | Missing):
            documents.append(value)
            continue
        document = cast("JsonValue", value)
        if layout.value_key is None and isinstance(document, dict):
            document = {name: field for name, field in document.items() if name != key}
        documents.append(RatedDocument(document, row[key]))
    return documents


def _read_unparsed(block: RowBlock, layout: Layout) -> SideBatch:
    """Return a batch of unparsed documents, with the rows among them that had to be parsed."""
    assert block.unparsed is not None  # noqa: S101 - else there is nothing to read
    ids, documents = block.unparsed
    values = cast("list[SideValue]", documents)
    if not block.rows:
        return SideBatch(ids, values, block.positions)
    indexes = [index for index, value in enumerate(documents) if isinstance(value, bytes)]
    parsed = apply_layout(
        RowBlock(block.rows, [block.positions[index] for index in indexes]), layout
    )
    tags: list[tuple[str, ...]] | None = None if parsed.tags is None else [()] * len(ids)
    for number, index in enumerate(indexes):
        ids[index], values[index] = parsed.ids[number], parsed.values[number]
        if tags is not None and parsed.tags is not None:
            tags[index] = parsed.tags[number]
    return SideBatch(ids, values, block.positions, tags=tags, plain=parsed.plain)


class SideCursor:
    """Reads the ids and values of a stream, any number at a time."""

    __slots__ = ("_blocks", "_current", "_duplicates", "_layout", "_offset", "rows", "without_id")

    def __init__(
        self, blocks: Iterator[RowBlock], layout: Layout, duplicates: DuplicateIds | None = None
    ) -> None:
        self._blocks = blocks
        self._layout = layout
        self._duplicates = duplicates
        self._current = SideBatch([], [], ())
        self._offset = 0
        self.rows = 0
        self.without_id: list[tuple[int, SideValue]] = []

    def take(self, count: int) -> tuple[list[str | None], list[SideValue]]:
        """Return the next ids and values; fewer than `count` only at the end."""
        ids: list[str | None] = []
        values: list[SideValue] = []
        while len(values) < count and self._load():
            end = self._offset + count - len(values)
            ids += self._current.ids[self._offset : end]
            values += self._current.values[self._offset : end]
            self._offset = min(end, len(self._current))
        return ids, values

    def _load(self) -> bool:
        """Read the next block if the current one is used up; false at the end."""
        while self._offset == len(self._current):
            block = next(self._blocks, None)
            if block is None:
                return False
            self._current = apply_layout(block, self._layout)
            self._offset = 0
            self.rows += len(self._current)
            if self._duplicates is not None:
                self._duplicates.add(self._current.ids)
                self.without_id += self._current.rows_without_id()
        return True


def _read_columns(block: RowBlock, layout: Layout) -> SideBatch | None:
    """Return a batch of uniform rows, or `None` if the rows differ."""
    if set(map(type, block.rows)) != {dict}:
        return None
    rows = cast("list[JsonObject]", block.rows)
    id_key, value_key, partner_key = layout.id_key, layout.value_key, layout.partner_key
    try:
        raw_ids = None if id_key is None else [row[id_key] for row in rows]
        values = rows if value_key is None else [row[value_key] for row in rows]
        partners = None if partner_key is None else [row[partner_key] for row in rows]
    except KeyError:
        return None
    ids: list[str | None]
    if block.ids is not None:
        ids = list(block.ids)
    elif raw_ids is None:
        ids = [None] * len(rows)
    elif set(map(type, raw_ids)) == {str}:
        ids = cast("list[str | None]", raw_ids)
    else:
        ids = list(map(id_text, raw_ids))
        if None in ids:
            return None
    tags = None
    if value_key is not None:
        keys = sum(key is not None for key in (id_key, value_key, partner_key))
        if set(map(len, rows)) != {keys}:
            tags = [_read_tags(row) for row in rows]
    elif id_key is not None:
        for row in rows:
            del row[id_key]
    return SideBatch(ids, cast("list[SideValue]", values), block.positions, partners, tags)  # type: ignore[arg-type]


def _read_row_by_row(block: RowBlock, layout: Layout) -> SideBatch:
    ids: list[str | None] = []
    values: list[SideValue] = []
    partners: list[SideValue] = []
    tags: list[tuple[str, ...]] = []
    for index, row in enumerate(block.rows):
        known_id = None if block.ids is None else block.ids[index]
        name, value, partner = _read_row(row, layout, known_id)
        ids.append(name)
        values.append(value)
        partners.append(partner)
        tagged = layout.value_key is not None and isinstance(row, dict)
        tags.append(_read_tags(cast("JsonObject", row)) if tagged else ())
    both = partners if layout.partner_key else None
    return SideBatch(ids, values, block.positions, both, tags, plain=False)


def _read_row(
    row: Row, layout: Layout, known_id: str | None
) -> tuple[str | None, SideValue, SideValue]:
    """Return the id, the document and the partner of a row."""
    if isinstance(row, UnreadableRow):
        return known_id or _salvage_id(row.head, layout.id_key), RowFault(row.reason), MISSING
    if not isinstance(row, dict):
        whole = layout.value_key is None and not (layout.id_key and layout.id_needed)
        fault = RowFault("expected an object, as in the first row")
        return known_id, row if whole else fault, MISSING
    name = known_id
    if name is None and layout.id_key is not None:
        name = id_text(row.get(layout.id_key))
        if name is None and layout.id_needed:
            return None, RowFault(f"no valid id in {layout.id_key!r}"), MISSING
    if layout.value_key is None:
        return name, {key: row[key] for key in row if key != layout.id_key}, MISSING
    absent = RowFault(f"key {layout.value_key!r} not found", CaseInput.MISSING)
    partner = row.get(layout.partner_key, MISSING) if layout.partner_key else MISSING
    return name, row.get(layout.value_key, absent), partner


def _read_tags(row: JsonObject) -> tuple[str, ...]:
    if row.get(_EXCLUDE):
        message = f"rows with {_EXCLUDE!r} cannot be scored: fields cannot be left out of a case"
        raise DataError(with_hint(message, f"remove {_EXCLUDE!r}, or ignore the fields in rules"))
    tags = row.get("tags")
    return tuple(filter(None, map(id_text, tags))) if isinstance(tags, list) else ()


def _read_context(row: Row) -> CaseContext | None:
    """Return the input and the metadata of an envelope."""
    if not isinstance(row, dict):
        return None
    metadata = row.get("metadata")
    return CaseContext(row.get("input", MISSING), metadata if isinstance(metadata, dict) else None)


def _salvage_id(head: bytes, id_key: str | None) -> str | None:
    """Return the id of an unreadable row, if the row starts with it."""
    if id_key is None:
        return None
    start = rb"\s*\{\s*" + re.escape(orjson.dumps(id_key)) + rb'\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+\b)'
    match = re.match(start, head)
    try:
        return None if match is None else id_text(read_json(match.group(1)))
    except ValueError:
        return None


# --- duplicate ids --------------------------------------------------------------------------------

_FIRST_CHECK: Final = 1024
_BY_SORTING: Final = 1 << 16
"""The number of rows from which sorting an array takes less memory than a set."""
_MAX_ASCENDING: Final = 1 << 17
"""The maximum number of hashes stored for ascending ids if there is no source."""


class DuplicateIds:
    """Collects the hashes of ids and detects duplicates.

    Ascending ids cannot contain duplicates; otherwise the hashes are searched. With a `source`,
    this happens each time the number of rows has doubled and at the end, and a duplicate is an
    error that names both positions. Without a source, duplicates are reported only by `may_repeat`,
    and hashes of ascending ids are not stored beyond a limit.

    >>> ids = DuplicateIds()
    >>> ids.add(["b", "a"])
    >>> ids.may_repeat()
    False
    >>> ids.add(["b"])
    >>> ids.may_repeat()
    True
    """

    __slots__ = ("_ascending", "_dropped", "_greatest", "_layout", "_next", "_source", "hashes")

    def __init__(self, source: RowSource | None = None, layout: Layout | None = None) -> None:
        self._source = source
        self._layout = layout or Layout()
        self.restart()

    def restart(self) -> None:
        """Discard all ids, to read the source again from the start."""
        self.hashes = array("q")
        self._next = _FIRST_CHECK
        self._greatest = ""
        self._ascending = True
        self._dropped = False

    def add(self, ids: list[str | None]) -> None:
        """Add the ids of the next rows; rows without an id are never duplicates."""
        hashed = (
            kernel.hash_ids(ids, self._greatest) if COMPILED else _hash_ids(ids, self._greatest)
        )
        if self._ascending and ids:
            self._ascending = hashed is not None and hashed[1]
            self._greatest = ids[-1] or ""
        if self._source is None and self._ascending and len(self.hashes) >= _MAX_ASCENDING:
            self._dropped = True
        elif hashed is None:
            start = len(self.hashes)
            self.hashes.extend(
                hash((start, index)) if name is None else hash(name)
                for index, name in enumerate(ids)
            )
        else:
            self.hashes.frombytes(hashed[0])
        if self._source is not None and len(self.hashes) >= self._next:
            self._next = 2 * len(self.hashes)
            self.check()

    def may_repeat(self) -> bool:
        """Return whether an id occurs twice, or may occur twice because hashes were not stored."""
        if self._ascending:
            return False
        return self._dropped or first_duplicate(self.hashes) is not None

    def check(self) -> None:
        """Raise a `DataError` with both positions of the first duplicate, if any."""
        duplicate = None if self._ascending else first_duplicate(self.hashes)
        if duplicate is not None and self._source is not None:
            raise _duplicate_error(self._source, self._layout, *duplicate)


def _hash_ids(ids: list[str | None], greatest: str) -> tuple[bytes, bool] | None:
    """Return the hashes of ids, and whether they are ascending; `None` if an id is `None`.

    >>> _hash_ids(["b", "c"], "a")[1], _hash_ids(["b", "c"], "b")[1], _hash_ids(["b", None], "a")
    (True, False, None)
    """
    if None in ids:
        return None
    names = cast("list[str]", ids)
    return array("q", map(hash, names)).tobytes(), all(map(lt, [greatest, *names], names))


def first_duplicate(hashes: array[int]) -> tuple[int, int] | None:
    """Return the row numbers, from 0, of the first occurrence and the earliest duplicate."""
    if len(hashes) < _BY_SORTING:
        if len(set(hashes)) == len(hashes):
            return None
        numbers: dict[int, int] = {}
        for number, value in enumerate(hashes):
            if numbers.setdefault(value, number) != number:
                return numbers[value], number
        return None
    values = np.frombuffer(hashes, dtype=np.int64)
    if not (np.diff(np.sort(values)) == 0).any():
        return None
    order = np.argsort(values, kind="stable")
    again = np.flatnonzero(np.diff(values[order]) == 0)
    earliest = again[np.argmin(order[again + 1])]
    return int(order[earliest]), int(order[earliest + 1])


def _duplicate_error(source: RowSource, layout: Layout, first: int, second: int) -> DataError:
    """Read the source again up to the duplicate, and return an error with both positions."""
    duplicates: dict[int, tuple[str | None, int]] = {}
    number = 0
    for block in source.blocks():
        batch = apply_layout(block, layout)
        for name, position in zip(batch.ids, batch.positions, strict=True):
            if number in (first, second):
                duplicates[number] = (name, position)
            number += 1
        if len(duplicates) > 1:
            break
    if len(duplicates) < 2:  # noqa: PLR2004 - the source can be read only once
        return DataError(f"rows {first + 1} and {second + 1} have the same id")
    name, position = duplicates[second]
    where = source.location(position)
    here = "" if where.line else f" at {source.describe(position)}"
    return DataError(
        f"duplicate id {name!r}{here}; first used at {source.describe(duplicates[first][1])}",
        where if source.name else Location(),
    )
