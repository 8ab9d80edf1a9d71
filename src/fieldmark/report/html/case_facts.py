"""What the filters of a report need to know of each listed case: its mistakes and its slices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from fieldmark.metrics.clusters import MistakeClusters
from fieldmark.metrics.conventions import Convention
from fieldmark.metrics.counts import cost_table
from fieldmark.metrics.mistakes import CaseMistakes
from fieldmark.metrics.patterns import BY_NAME
from fieldmark.metrics.slices import SliceKey
from fieldmark.metrics.taxonomy import ERROR_TABLE, ErrorCounts
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.outcome import CELL_BITS, Outcome, fact_of
from fieldmark.runs.case_result import CaseResult

_TYPE_NAMES: Final = (*ErrorCounts._fields, Outcome.ERROR.label)
_TYPES: Final = {Outcome[name.upper()]: number for number, name in enumerate(_TYPE_NAMES)}
"""The number of each type of mistake."""
_PATTERNS: Final = ("", *BY_NAME)


def types_by_count(convention: Convention) -> JsonObject:
    """Return the types of mistakes that count as false positives and as false negatives."""
    costs = cost_table(convention.counting)
    found: dict[str, set[str]] = {"fp": set(), "fn": set()}
    for code, cost in enumerate(costs):
        if any(ERROR_TABLE[code]):
            for name, types in found.items():
                if getattr(cost, name):
                    types.add(fact_of(code).outcome.label)
    return {name: list[JsonValue](sorted(types)) for name, types in found.items()}


class CaseFacts:
    """Collects the mistakes and slices of listed cases, and groups all mistakes by pattern."""

    def __init__(self, attributes: Sequence[str], by: Sequence[SliceKey]) -> None:
        self._numbers = {path: number for number, path in enumerate(attributes)}
        self._by = by
        self._slices: dict[str, int] = {}
        self._mistakes: dict[int, list[int]] = {}
        self._in_slices: dict[int, list[int]] = {}
        self.clusters = MistakeClusters()

    def add(
        self, case: CaseResult, mistakes: CaseMistakes, times: Counter[int], rank: int | None
    ) -> None:
        """Add one case with this rank in the list, or `None` if it is not listed."""
        found = self.clusters.add(mistakes)
        if rank is None:
            return
        codes = {self._code(path, _TYPES[outcome], pattern) for path, outcome, pattern in found}
        for cell in times:
            if fact_of(cell).outcome is Outcome.ERROR:
                attribute = case.attributes.path(cell >> CELL_BITS)
                codes.add(self._code(attribute, _TYPES[Outcome.ERROR], ""))
        if codes:
            self._mistakes[rank] = sorted(codes)
        names = [name for key in self._by for name in key.names(case.case)]
        if names:
            self._in_slices[rank] = [
                self._slices.setdefault(name, len(self._slices)) for name in names
            ]

    def _code(self, attribute: str, kind: int, pattern: str) -> int:
        number = self._numbers[attribute] * len(_TYPE_NAMES) + kind
        return number * len(_PATTERNS) + _PATTERNS.index(pattern)

    def view(self, listed: int) -> JsonObject:
        """Return the facts of all listed cases by rank.

        A mistake is one number: (attribute * number of types + type) * number of patterns +
        pattern.
        """
        ranks = range(listed)
        mistakes: list[JsonValue] = [
            list[JsonValue](self._mistakes.get(rank, ())) for rank in ranks
        ]
        slices: list[JsonValue] = [list[JsonValue](self._in_slices.get(rank, ())) for rank in ranks]
        return {
            "types": list(_TYPE_NAMES),
            "patterns": list(_PATTERNS),
            "mistakes": mistakes,
            "slices": list(self._slices),
            "in_slices": slices if self._slices else [],
        }
