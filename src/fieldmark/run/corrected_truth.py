"""The ground truth of a case with other values for some of its fields."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, TypeAlias, cast

from fieldmark.compare.tokens import Tokens
from fieldmark.model.json import MISSING, JsonValue, Missing
from fieldmark.model.outcome import CELL_BITS, Outcome
from fieldmark.model.outcomes import ItemPlace
from fieldmark.values.paths import ANY_DEPTH, ANY_ITEM, ROOT, Path, PathError, parse_path, resolve
from fieldmark.wire.case_result import CaseResult, FieldResult

__all__ = ["Change", "NewItem", "TruthField", "corrected_document", "truth_fields"]

_NOT_COMPARED: Final = frozenset({Outcome.BOTH_EMPTY.label, Outcome.IGNORED.label})


class NewItem(NamedTuple):
    """An item that only the candidate has, by its index there, or by its key in a map."""

    place: ItemPlace


_Step: TypeAlias = "str | int | NewItem"


@dataclass(frozen=True, slots=True, kw_only=True)
class TruthField:
    """A compared field, and where its value is or would be in the ground truth."""

    field: FieldResult
    attribute: Path
    steps: tuple[_Step, ...]


class Change(NamedTuple):
    """Another value for a field of the ground truth; `MISSING` removes it."""

    place: TruthField
    value: JsonValue | Missing


def truth_fields(case: CaseResult) -> Iterator[TruthField]:
    """Yield the fields of a case that have a value on a side, each once.

    A text whose words are counted is one field.
    """
    seen: set[tuple[str, str]] = set()
    marks = iter(case.outcomes.items)
    upcoming = next(marks, None)
    places: dict[str, tuple[ItemPlace | None, ItemPlace | None]] = {}
    records = case.outcomes.records(case.attributes)
    for position, (cell, record, field) in enumerate(
        zip(case.outcomes.cells, records, case.iter_fields(), strict=True)
    ):
        while upcoming is not None and upcoming[0] <= position:
            _, attribute, expected, candidate, _ = upcoming
            places[attribute] = expected, candidate
            upcoming = next(marks, None)
        key = field.attribute, record.label
        if field.outcome in _NOT_COMPARED or key in seen:
            continue
        seen.add(key)
        try:
            path = parse_path(case.attributes.path(cell >> CELL_BITS))
        except PathError:
            continue
        steps = () if path.text == ROOT else _steps(path, places)
        if field.comparator == Tokens.name:
            field = _whole_text(case, field)  # noqa: PLW2901
        if steps is not None:
            yield TruthField(field=field.finite(), attribute=path, steps=steps)


def _whole_text(case: CaseResult, word: FieldResult) -> FieldResult:
    """Return the field of a text, given that of its first word."""
    words = {
        each.outcome
        for each in case.iter_fields()
        if (each.path, each.candidate_path) == (word.path, word.candidate_path)
    }
    matched = words == {Outcome.MATCH.label}
    return replace(
        word,
        expected=MISSING if case.expected is MISSING else resolve(case.expected, word.path),
        candidate=MISSING
        if case.candidate is MISSING
        else resolve(case.candidate, word.candidate_path),
        outcome=word.outcome if matched else Outcome.WRONG_VALUE.label,
        note="",
    )


def _steps(
    attribute: Path, places: Mapping[str, tuple[ItemPlace | None, ItemPlace | None]]
) -> tuple[_Step, ...] | None:
    """Return the steps from the whole document to a field; `None` if they are not known."""
    steps: list[_Step] = []
    for segment, start in zip(attribute.segments, attribute.starts, strict=True):
        if segment is ANY_ITEM:
            pair = places.get(attribute.text[: start + 2])
            if pair is None:
                return None
            expected, candidate = pair
            steps.append(NewItem(candidate or 0) if expected is None else _item(expected))
        elif segment is ANY_DEPTH:
            return None
        else:
            steps.append(segment)
    return tuple(steps)


def _item(place: ItemPlace) -> str | int:
    """Return the index of an item, or its key, which is written as in a path."""
    if isinstance(place, int):
        return place
    return str(parse_path(place).segments[-1])


def corrected_document(document: JsonValue, changes: Iterable[Change]) -> JsonValue:
    """Return a document with changes; a container that becomes empty is removed.

    Items that only the candidate has are appended to their list. A change that does not fit into
    the document raises `ValueError`.
    """
    root: dict[str, JsonValue | Missing] = {"": copy.deepcopy(document)}
    added: dict[tuple[_Step, ...], int] = {}
    for place, value in changes:
        _change(root, place, value, added)
    found = _without_missing(root[""])
    if found is not MISSING:
        return found
    return [] if isinstance(document, list) else {}


def _change(
    root: dict[str, JsonValue | Missing],
    place: TruthField,
    value: JsonValue | Missing,
    added: dict[tuple[_Step, ...], int],
) -> None:
    parent: dict[str, JsonValue | Missing] | list[JsonValue | Missing] = root
    key: str | int = ""
    for number, step in enumerate(place.steps):
        inner = parent[key]  # type: ignore[index] # a key of an object or the index of a list
        needs_list = not isinstance(step, str) and not _is_key(step)
        if inner is MISSING or inner is None:
            inner = [] if needs_list else {}
            parent[key] = inner  # type: ignore[index]
        if isinstance(inner, dict):
            tail = place.attribute.tail(number)
            parent = cast("dict[str, JsonValue | Missing]", inner)
            if tail in inner:
                key = tail
                break
            key = str(parse_path(str(step.place)).segments[-1]) if _is_key(step) else str(step)  # type: ignore[union-attr]
            if _is_key(step) and key in inner and place.steps[: number + 1] not in added:
                raise ValueError(f"the ground truth already has another entry {key!r}")
            if _is_key(step):
                added[place.steps[: number + 1]] = 0
            inner.setdefault(key, cast("JsonValue", MISSING))
        elif isinstance(inner, list):
            parent = cast("list[JsonValue | Missing]", inner)
            key = _index(step, place.steps[: number + 1], parent, added)
        else:
            raise ValueError("the ground truth has no such field")  # noqa: TRY004 - data
    parent[key] = copy.deepcopy(value)  # type: ignore[index]


def _is_key(step: _Step) -> bool:
    return isinstance(step, NewItem) and isinstance(step.place, str)


def _index(
    step: _Step,
    steps: tuple[_Step, ...],
    items: list[JsonValue | Missing],
    added: dict[tuple[_Step, ...], int],
) -> int:
    """Return the index of an item; a new one is appended."""
    if isinstance(step, NewItem):
        if steps not in added:
            added[steps] = len(items)
            items.append(MISSING)
        return added[steps]
    if isinstance(step, str) or step >= len(items):
        raise ValueError("the ground truth has no such item")
    return step


def _without_missing(value: JsonValue | Missing) -> JsonValue | Missing:
    """Return a value without removed parts, and without containers that have no others."""
    if isinstance(value, dict):
        kept = {key: _without_missing(each) for key, each in value.items()}
        left = {key: each for key, each in kept.items() if each is not MISSING}
        return MISSING if value and not left else cast("JsonValue", left)
    if isinstance(value, list):
        items = [each for each in map(_without_missing, value) if each is not MISSING]
        return MISSING if value and not items else cast("JsonValue", items)
    return value
