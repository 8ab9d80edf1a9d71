"""The values and documents of a data set on which proposed rules are tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from fieldmark.analyses.value_kinds import Difference, Reader, ValueKind, kind_of_value, readers_of
from fieldmark.metrics.conventions import DEFAULT_CONVENTION
from fieldmark.metrics.counts import cost_table, total
from fieldmark.metrics.rates import macro_mean, sortable
from fieldmark.model.comparison import Comparator
from fieldmark.model.counts import Counts
from fieldmark.model.json import JsonValue, Missing
from fieldmark.model.outcome import CELL_BITS, FACT_MASK
from fieldmark.model.rule import Rules
from fieldmark.plan.plan import compile_plan
from fieldmark.values.equality import typed_key
from fieldmark.values.paths import ROOT
from fieldmark.values.text import exact_text

RECOGNIZED: Final = frozenset(
    {
        Difference.CASE,
        Difference.WHITESPACE,
        Difference.DASH,
        Difference.FORM,
        Difference.SPACING,
        Difference.NUMBER_FORMAT,
        Difference.DATE_FORMAT,
        Difference.TIME_FORMAT,
        Difference.CURRENCY_NAME,
    }
)
"""The differences of two values that mean the same."""
_KEPT: Final = RECOGNIZED | {Difference.NONE}
_MAX_OF_A_CLASS: Final = 20
_MAX_PAIRS: Final = 1_000


class Trial(NamedTuple):
    """What a comparator does with the pairs of a sample.

    `broken` are equal values that it does not match, `accepted` counts pairs with a recognized
    difference that it matches, and `rejected` the others by their difference.
    """

    broken: Sequence[str]
    accepted: int
    rejected: Mapping[Difference, int]


@dataclass(slots=True)
class _Pair:
    expected: JsonValue
    candidate: JsonValue
    count: int = 0


_Class: TypeAlias = tuple[Difference, ValueKind, frozenset[Reader], frozenset[Reader]]


@dataclass(slots=True)
class SamplePairs:
    """Pairs of scalars that are equal or mean the same, the first of each class.

    A class are the pairs that can be read in the same ways, so that rare values of a large data set
    are in the sample too.
    """

    _classes: dict[_Class, dict[object, _Pair]] = field(default_factory=dict)
    _size: int = 0

    def add(self, expected: JsonValue, candidate: JsonValue, difference: Difference) -> None:
        """Add a pair of scalars."""
        if difference not in _KEPT:
            return
        name = difference, kind_of_value(expected), readers_of(expected), readers_of(candidate)
        pairs = self._classes.setdefault(name, {})
        key = typed_key(expected), typed_key(candidate)
        pair = pairs.get(key)
        if pair is None:
            if len(pairs) >= _MAX_OF_A_CLASS or self._size >= _MAX_PAIRS:
                return
            self._size += 1
            pair = pairs[key] = _Pair(expected, candidate)
        pair.count += 1

    def try_rule(self, comparator: Comparator) -> Trial:
        """Compare all pairs."""
        broken: list[str] = []
        accepted = 0
        rejected: Counter[Difference] = Counter()
        for (difference, *_), pairs in self._classes.items():
            if difference is Difference.NONE and comparator.reflexive:
                continue
            for pair in pairs.values():
                if comparator.compare(pair.expected, pair.candidate).matched:
                    accepted += pair.count if difference is not Difference.NONE else 0
                elif difference is Difference.NONE:
                    broken.append(exact_text(pair.expected))
                else:
                    rejected[difference] += pair.count
        return Trial(broken, accepted, rejected)


# --- documents ------------------------------------------------------------------------------------


class Cost(NamedTuple):
    """The counts of each attribute of some documents under rules."""

    by_attribute: Mapping[str, Counts]

    @property
    def mistakes(self) -> int:
        """The number of false positives and false negatives."""
        return sum(counts.fp + counts.fn for counts in self.by_attribute.values())

    @property
    def score(self) -> float:
        """Macro F1 by attribute, the primary metric of the default convention."""
        return macro_mean(self.by_attribute.values(), DEFAULT_CONVENTION.counting).f1 or 0.0

    def below(self, path: str) -> Counts:
        """Return the counts at and below the path of a rule."""
        own = (
            counts
            for attribute, counts in self.by_attribute.items()
            if is_at_or_below(attribute, path)
        )
        return sum(own, Counts())

    def is_worse_than(self, other: Cost) -> bool:
        """Whether there are more mistakes, or the score is lower."""
        return self.mistakes > other.mistakes or sortable(self.score) < sortable(other.score)


_MAX_VALUES: Final = 100_000
_MAX_DOCUMENTS: Final = 1_000


@dataclass(slots=True)
class SampleDocuments:
    """The first pairs of documents, up to a number of values."""

    _pairs: list[tuple[JsonValue, JsonValue | Missing]] = field(default_factory=list)
    _values: int = 0

    def add(self, expected: JsonValue, candidate: JsonValue | Missing, values: int) -> None:
        """Add a pair of documents with this number of expected values."""
        if len(self._pairs) < _MAX_DOCUMENTS and self._values + values <= _MAX_VALUES:
            self._pairs.append((expected, candidate))
            self._values += values

    def __iter__(self) -> Iterator[tuple[JsonValue, JsonValue | Missing]]:
        return iter(self._pairs)

    def cost(self, rules: Rules) -> Cost:
        """Return the counts under rules."""
        plan = compile_plan(rules)
        facts: dict[int, Counter[int]] = {}
        for outcomes in plan.compare_all(self._pairs):
            for cell in outcomes.cells:
                facts.setdefault(cell >> CELL_BITS, Counter())[cell & FACT_MASK] += 1
        table = cost_table(DEFAULT_CONVENTION.counting)
        return Cost({plan.table.path(number): total(own, table) for number, own in facts.items()})


def is_at_or_below(path: str, outer: str) -> bool:
    """Whether the path of an attribute or a rule is another one, or inside of it.

    >>> is_at_or_below("lines[].price", "lines[*]"), is_at_or_below("lines2", "lines")
    (True, False)
    """
    path, outer = (text.replace("[*]", "[]").removeprefix(ROOT) for text in (path, outer))
    return path == outer or not outer or path.startswith((f"{outer}.", f"{outer}["))
