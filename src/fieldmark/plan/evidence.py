"""What a data set shows about one attribute: counters of bounded size, whatever its length."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from fieldmark.model.json import MISSING, JsonValue, Missing
from fieldmark.model.outcome import Presence
from fieldmark.plan.value_kinds import (
    Difference,
    ValueKind,
    date_formats,
    decimals,
    difference_of,
    kind_of_value,
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
    looks: Counter[ValueKind] = field(default_factory=Counter)
    formats: set[str] = field(default_factory=set)
    open_formats: set[tuple[str, ...]] = field(default_factory=set)
    most_decimals: int = 0
    differences: Counter[Difference] = field(default_factory=Counter)
    equal_looks: Counter[ValueKind] = field(default_factory=Counter)
    other_looks: Counter[ValueKind] = field(default_factory=Counter)
    keyed_lists: int = 0
    keyed_items: int = 0
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
        look = kind_of_value(value)
        self.looks[look] += 1
        if len(self._distinct) < _MOST_DISTINCT:
            self._distinct.add(hash(typed_key(value)))
        if isinstance(value, float):
            self.most_decimals = max(self.most_decimals, decimals(value))
        elif look is ValueKind.DATE:
            self._see_date(str(value))

    def _see_date(self, text: str) -> None:
        formats = date_formats(text)
        if len(formats) == 1:
            self.formats.update(formats)
        else:
            self.open_formats.add(tuple(formats))

    def _compare(self, expected: JsonValue, candidate: JsonValue) -> None:
        scalar = not isinstance(expected, list | dict)
        if not scalar and isinstance(candidate, list | dict):
            return
        difference = difference_of(expected, candidate)
        self.differences[difference] += 1
        if difference is Difference.DATE_FORM:
            self._see_date(str(candidate))
        if not scalar or isinstance(candidate, list | dict):
            return
        if difference is Difference.NONE:
            self.equal_looks[kind_of_value(expected)] += 1
        else:
            self.other_looks[kind_of_value(candidate)] += 1

    def gains_by(self, *readable: ValueKind) -> bool:
        """Whether reading values as one of these makes no more equal pairs wrong than others right.

        To a comparator that reads values, one that it cannot read is wrong even if both sides
        have it.
        """
        lost = self.equal_looks.total() - sum(self.equal_looks[look] for look in readable)
        won = self.differences[Difference.NUMBER_FORM] + self.differences[Difference.DATE_FORM]
        return lost <= won

    def is_written_as(self, *readable: ValueKind) -> bool:
        """Whether most candidates that are not equal look like one of these."""
        other = sum(self.other_looks[look] for look in readable)
        return other * 2 >= self.other_looks.total()

    def share(self, *looks: ValueKind) -> float:
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
    def is_always_right(self) -> bool:
        """Whether candidates were seen, and all of them are equal to what is expected."""
        return 0 < self.differences.total() == self.differences[Difference.NONE]

    @property
    def is_list_of_answers(self) -> bool:
        """Whether candidates give one value where the truth lists several."""
        seen = self.differences[Difference.LISTED] + self.differences[Difference.OTHER]
        return self.lists > 0 and seen * 2 > self.lists and self.differences[Difference.LISTED] > 0
