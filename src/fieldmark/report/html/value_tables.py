"""Expected and found values of attributes with few different values, as a table of counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from fieldmark.metrics.counts import MISTAKES
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.outcome import CELL_BITS, FACTS, Fact, Outcome, Presence, fact_of
from fieldmark.runs.case_result import CaseResult
from fieldmark.values.json_text import strict_json
from fieldmark.values.paths import resolve

ABSENT: Final = ""
"""The key of a value that is absent, null or blank; no JSON text is empty."""
_MAX_VALUES: Final = 12
"""The number of different values of one side, in all cases."""
_MAX_LENGTH: Final = 60
_MAX_TABLES: Final = 12
_MIN_VALUES: Final = 2
"""There must be at least this number of expected values, and each must occur more often on
average."""
_COMPARED: Final = frozenset({Outcome.MATCH, *MISTAKES})
_CODES: Final = frozenset(code for code, each in enumerate(FACTS) if each.outcome in _COMPARED)
_NO_KEY: Final = "?" * (_MAX_LENGTH + 1)


def value_key(value: JsonValue | Missing, presence: str) -> str | None:
    """Return the JSON text of a short scalar, `ABSENT` for an empty value, or `None` for others."""
    if presence != "value" or value is MISSING:
        return ABSENT
    if isinstance(value, dict | list):
        return None
    text = strict_json(value).decode()
    return text if len(text) <= _MAX_LENGTH else None


class _Pairs:
    """The pairs of values of one attribute: how often they occur and are mistakes, and where."""

    __slots__ = ("counts", "ranks", "wrong")

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.wrong: Counter[tuple[str, str]] = Counter()
        self.ranks: dict[tuple[str, str], set[int]] = {}

    def has_room(self, pair: tuple[str, str]) -> bool:
        """Whether neither side has too many different values with another pair."""
        return all(len(set(side)) <= _MAX_VALUES for side in zip(pair, *self.counts, strict=True))


def _key(document: JsonValue | Missing, path: str, presence: Presence) -> str:
    """Return the key of a value; a value without one is longer than any key."""
    if presence is not Presence.VALUE or document is MISSING:
        return ABSENT
    found = value_key(resolve(document, path), "value")
    return _NO_KEY if found is None else found


class ValueTables:
    """Counts pairs of an expected and a found value, for attributes with few different values."""

    def __init__(self, attributes: Iterable[str]) -> None:
        self._pairs = {path: _Pairs() for path in attributes}

    def add(self, case: CaseResult, rank: int | None) -> None:
        """Count the values of one case with this rank in the list, or `None` if not listed."""
        if not case.has_values or not self._pairs:
            return
        path_of = case.attributes.path
        nested = False
        for cell in case.outcomes.cells:
            path = path_of(cell >> CELL_BITS)
            if path not in self._pairs:
                continue
            if "[]" in path:
                nested = True
            else:
                self._count(case, path, path, path, fact_of(cell), rank)
        for record in case.outcomes.records(case.attributes, _CODES) if nested else ():
            attribute = path_of(record.attribute)
            if "[]" in attribute and attribute in self._pairs:
                self._count(
                    case, attribute, record.path, record.candidate_path, Fact(*record[3:6]), rank
                )

    def _count(
        self, case: CaseResult, attribute: str, path: str, other: str, found: Fact, rank: int | None
    ) -> None:
        own = self._pairs.get(attribute)
        if own is None or found.outcome not in _COMPARED:
            return
        pair = (
            _key(case.expected, path, found.expected),
            _key(case.candidate, other, found.candidate),
        )
        known = own.counts.get(pair)
        if known is None and (_NO_KEY in pair or not own.has_room(pair)):
            del self._pairs[attribute]
            return
        own.counts[pair] += 1
        if found.outcome is not Outcome.MATCH:
            own.wrong[pair] += 1
            if rank is not None:
                own.ranks.setdefault(pair, set()).add(rank)

    def view(self) -> list[JsonObject]:
        """Return the tables with the most mistakes, each with its attribute and its cells.

        A cell has its number of fields and mistakes, and the ranks of the listed cases with these.
        """
        tables: list[tuple[int, str, list[JsonValue]]] = []
        for path, own in self._pairs.items():
            values = {expected for expected, _ in own.counts}
            if len(values) >= _MIN_VALUES and own.counts.total() > _MIN_VALUES * len(values):
                cells: list[JsonValue] = [
                    {
                        "expected": pair[0],
                        "found": pair[1],
                        "fields": number,
                        "mistakes": own.wrong[pair],
                        "ranks": list[JsonValue](sorted(own.ranks.get(pair, ()))),
                    }
                    for pair, number in sorted(own.counts.items())
                ]
                tables.append((own.wrong.total(), path, cells))
        tables.sort(key=lambda each: (-each[0], each[1]))
        return [
            {"attribute": path, "cells": cells}
            for wrong, path, cells in tables[:_MAX_TABLES]
            if wrong
        ]
