"""Expected and found values of attributes with few different values, as a table of counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from fieldmark.metrics.taxonomy import MISTAKES
from fieldmark.model.json import MISSING, JsonValue, Missing
from fieldmark.model.outcome import CELL_BITS, Outcome
from fieldmark.values.json_text import strict_json
from fieldmark.wire.case_result import CaseResult

__all__ = ["ABSENT", "ValueTables", "value_key"]

ABSENT: Final = ""
"""The key of a value that is absent, null or blank; no JSON text is empty."""
_MAX_VALUES: Final = 12
"""The number of different values of one side, in all cases."""
_MAX_LENGTH: Final = 60
_MAX_TABLES: Final = 12
_MIN_VALUES: Final = 2
"""The least number of expected values, each of which occurs more often than this on average."""
_MATCH: Final = Outcome.MATCH.label
_COMPARED: Final = frozenset({_MATCH, *(outcome.label for outcome in MISTAKES)})


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


class ValueTables:
    """Counts pairs of an expected and a found value, for attributes with few different values."""

    def __init__(self, attributes: Iterable[str]) -> None:
        self._pairs = {path: _Pairs() for path in attributes}

    def add(self, case: CaseResult, rank: int | None) -> None:
        """Count the values of one case with this rank in the list, or `None` if not listed."""
        pairs, path_of = self._pairs, case.attributes.path
        if not case.has_values or not any(
            path_of(cell >> CELL_BITS) in pairs for cell in case.outcomes.cells
        ):
            return
        for field in case.iter_fields():
            own = pairs.get(field.attribute)
            if own is None or field.outcome not in _COMPARED:
                continue
            expected = value_key(field.expected, field.expected_presence)
            found = value_key(field.candidate, field.candidate_presence)
            if expected is None or found is None:
                del pairs[field.attribute]
                continue
            pair = expected, found
            own.counts[pair] += 1
            if field.outcome != _MATCH:
                own.wrong[pair] += 1
                if rank is not None:
                    own.ranks.setdefault(pair, set()).add(rank)
            if any(len(set(side)) > _MAX_VALUES for side in zip(*own.counts, strict=True)):
                del pairs[field.attribute]

    def view(self) -> list[JsonValue]:
        """Return the tables with the most mistakes, each with its attribute and its cells.

        A cell is expected, found, count, mistakes, and the ranks of the listed cases with these.
        """
        tables: list[tuple[int, str, list[JsonValue]]] = []
        for path, own in self._pairs.items():
            values = {expected for expected, _ in own.counts}
            if len(values) >= _MIN_VALUES and own.counts.total() > _MIN_VALUES * len(values):
                cells: list[JsonValue] = [
                    [
                        *pair,
                        number,
                        own.wrong[pair],
                        list[JsonValue](sorted(own.ranks.get(pair, ()))),
                    ]
                    for pair, number in sorted(own.counts.items())
                ]
                tables.append((own.wrong.total(), path, cells))
        tables.sort(key=lambda each: (-each[0], each[1]))
        return [[path, cells] for wrong, path, cells in tables[:_MAX_TABLES] if wrong]
