"""What a row is: a document, or an envelope that names its case and holds a document.

The first readable row of a file decides for all of them, so that one odd row cannot change what
the others mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from fieldmark.data.inputs import Inputs, Role
from fieldmark.data.rows import RowBlock
from fieldmark.errors import DataError, Location
from fieldmark.model.json import JsonObject

__all__ = [
    "CANDIDATE_KEYS",
    "EXPECTED_KEYS",
    "ID_KEYS",
    "Layout",
    "decide",
    "decide_both",
    "holds_both",
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


def decide(sample: RowBlock, role: Role, options: Inputs, *, name: str) -> tuple[Layout, list[str]]:
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


def decide_both(sample: RowBlock, options: Inputs, *, name: str) -> tuple[Layout, list[str]]:
    """The layout of rows that hold both sides."""
    row = first_object(sample, options.expected_key or options.candidate_key) or {}
    both = holds_both(row, options)
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


def holds_both(row: JsonObject, options: Inputs) -> tuple[str, str] | None:
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
