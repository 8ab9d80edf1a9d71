"""What a data set shows about one attribute: counters of bounded size, whatever its length."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from fieldmark.model.json import MISSING, JsonValue, Missing
from fieldmark.model.outcome import Presence
from fieldmark.plan.looks import (
    Difference,
    Look,
    date_formats,
    decimals,
    difference_of,
    look_of,
)
from fieldmark.values.canonical import typed_key
from fieldmark.values.presence import presence

__all__ = ["Evidence"]

_MOST_DISTINCT: Final = 1_000
_FEW_WORDS: Final = 20
_REPEATED: Final = 5


@dataclass(slots=True)
class Evidence:
    """Everything that was seen of one attribute."""

    path: str
    values: int = 0
    empty: int = 0
    lists: int = 0
    objects: int = 0
    looks: Counter[Look] = field(default_factory=Counter)
    formats: Counter[str] = field(default_factory=Counter)
    ambiguous_dates: int = 0
    most_decimals: int = 0
    differences: Counter[Difference] = field(default_factory=Counter)
    item_lists: int = 0
    telling_lists: int = 0
    _distinct: set[int] = field(default_factory=set)

    def see(self, expected: JsonValue, candidate: JsonValue | Missing) -> None:
        """Count one expected value and what the candidate made of it."""
        if presence(expected) is not Presence.VALUE:
            self.empty += 1
            return
        self.values += 1
        if isinstance(expected, list):
            self.lists += 1
        elif isinstance(expected, dict):
            self.objects += 1
        else:
            self._see_scalar(expected)
        if candidate is not MISSING and presence(candidate) is Presence.VALUE:
            self._compare(expected, candidate)

    def _see_scalar(self, value: JsonValue) -> None:
        look = look_of(value)
        self.looks[look] += 1
        if len(self._distinct) < _MOST_DISTINCT:
            self._distinct.add(hash(typed_key(value)))
        if isinstance(value, float):
            self.most_decimals = max(self.most_decimals, decimals(value))
        elif look is Look.DATE:
            formats = date_formats(str(value))
            self.ambiguous_dates += len(formats) > 1
            self.formats.update(formats if len(formats) == 1 else ())

    def _compare(self, expected: JsonValue, candidate: JsonValue) -> None:
        scalar = not isinstance(expected, list | dict)
        if scalar or not isinstance(candidate, list | dict):
            self.differences[difference_of(expected, candidate)] += 1

    def share(self, *looks: Look) -> float:
        """The share of the scalars that have one of these looks."""
        total = self.looks.total()
        return sum(self.looks[look] for look in looks) / total if total else 0.0

    @property
    def distinct(self) -> int:
        """How many different scalars were seen; beyond a thousand they are not told apart."""
        return len(self._distinct)

    @property
    def is_enumeration(self) -> bool:
        """Whether a few values come again and again."""
        return 0 < self.distinct <= min(_FEW_WORDS, self.looks.total() // _REPEATED)

    @property
    def tells_items_apart(self) -> float:
        """The share of the lists in which no two items have the same value here."""
        return self.telling_lists / self.item_lists if self.item_lists else 0.0

    @property
    def is_list_of_answers(self) -> bool:
        """Whether candidates give one value where the truth lists several."""
        seen = self.differences[Difference.LISTED] + self.differences[Difference.OTHER]
        return self.lists > 0 and seen * 2 > self.lists and self.differences[Difference.LISTED] > 0
