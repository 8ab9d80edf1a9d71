"""What a row is: a document, or an envelope that names its case and holds a document.

The first readable row of a file decides for all of them, so that one odd row cannot change what
the others mean.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from fieldmark.data.inputs import Inputs, Role
from fieldmark.data.rows import RowBlock
from fieldmark.errors import DataError, Location
from fieldmark.model.json import JsonObject

__all__ = ["CANDIDATE_KEYS", "EXPECTED_KEYS", "ID_KEYS", "Layout", "decide", "first_object"]

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
    the pairing key is never a field. `partner_key` is the candidate of rows that hold both.
    """

    id_key: str | None = None
    value_key: str | None = None
    partner_key: str | None = None


def first_object(blocks: Iterable[RowBlock]) -> JsonObject | None:
    """The first row that is an object."""
    return next((row for block in blocks for row in block.rows if isinstance(row, dict)), None)


def decide(
    row: JsonObject | None, role: Role, options: Inputs, *, name: str, both: bool = False
) -> tuple[Layout, list[str]]:
    """The layout of a side whose first row this is, and what should be said about it."""
    if row is None:
        return Layout(), []
    named = _named(row, role, options)
    if named is None and not row.keys() <= _ENVELOPE:
        if both:
            raise _needs_both(name)
        return Layout(id_key=_id_key(row, options, name)), []
    expected = _present(row, options.expected_key, EXPECTED_KEYS)
    candidate = _present(row, options.candidate_key, CANDIDATE_KEYS)
    if both:
        if expected is None or candidate is None:
            raise _needs_both(name)
        return Layout(
            id_key=_id_key(row, options, name), value_key=expected, partner_key=candidate
        ), [f"{name}: the truth is under {expected!r}, the candidate under {candidate!r}"]
    own, other = (expected, candidate) if role is Role.TRUTH else (candidate, expected)
    value_key = own if own is not None else other
    layout = Layout(id_key=_id_key(row, options, name), value_key=value_key)
    return layout, [] if value_key is None else [f"{name}: the {role} is under {value_key!r}"]


def _named(row: JsonObject, role: Role, options: Inputs) -> str | None:
    key = options.expected_key if role is Role.TRUTH else options.candidate_key
    return key if key is not None and key in row else None


def _present(row: JsonObject, named: str | None, usual: tuple[str, ...]) -> str | None:
    if named is not None:
        return named if named in row else None
    return next((key for key in usual if key in row), None)


def _id_key(row: JsonObject, options: Inputs, name: str) -> str | None:
    if options.id_key is None:
        return next((key for key in ID_KEYS if key in row), None)
    if options.id_key and options.id_key not in row:
        keys = ", ".join(sorted(row)[:8])
        raise DataError(
            f"the rows have no key {options.id_key!r} to pair by; they have {keys}", Location(name)
        )
    return options.id_key or None


def _needs_both(name: str) -> DataError:
    return DataError(
        "a single input must hold both sides in each row, as {id, expected, candidate}; "
        "name a second input, or the keys that hold the two sides",
        Location(name),
    )
