"""Alignment that keeps the order of both lists, and the default choice between it and similarity.

Numbers, dates and nested lists mean something by their order: the coordinates of a box, the start
and the end of a period, the points of an outline, the rows of a grid. Other items are records,
whose order rarely matters.
"""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass
from typing import ClassVar, Final

from fieldmark.align.alignment_options import MAX_PAIRS, refused
from fieldmark.align.greedy import Greedy
from fieldmark.align.leaves import LeafRules, RuledLeaf, is_iso_date
from fieldmark.model.alignment import Alignment, ItemPair
from fieldmark.model.json import JsonValue
from fieldmark.values.equality import canonical_text, equal

_TOO_MANY: Final = f"too many pairs of items: {{:,}} x {{:,}} (limit {MAX_PAIRS:,})"
_UNIT: Final = 1 << 40
"""The cost of an item without a partner, and of two partners that have nothing in common."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sequence:
    """Align items without changing their order, so that as little as possible differs.

    An item without a partner costs 1, and a pair costs 1 minus its similarity. The similarity is 1
    for equal items, what their rule says, and for nested lists the mean over their indexes. Among
    alignments with the same cost, the one with the most equal pairs is chosen.

    >>> [pair[:2] for pair in Sequence().align([10, 20, 30], [10, 30]).pairs]
    [(0, 0), (2, 1)]
    >>> [pair[:2] for pair in Sequence().align([10, 20], [20, 10]).pairs]
    [(1, 0)]
    """

    name: ClassVar[str] = "sequence"
    uses_rules: ClassVar[bool] = True

    def align(
        self,
        expected: list[JsonValue],
        candidate: list[JsonValue],
        rules: LeafRules | None = None,
    ) -> Alignment:
        """Align the items; their rules decide which are equal."""
        start = 0
        while start < min(len(expected), len(candidate)) and equal(
            expected[start], candidate[start]
        ):
            start += 1
        end, other_end = len(expected), len(candidate)
        while min(end, other_end) > start and equal(expected[end - 1], candidate[other_end - 1]):
            end, other_end = end - 1, other_end - 1
        if (end - start) * (other_end - start) > MAX_PAIRS:
            note = _TOO_MANY.format(end - start, other_end - start)
            return refused(expected, candidate, note)
        inner = _cheapest_pairs(expected[start:end], candidate[start:other_end], rules)
        pairs: list[ItemPair] = [
            *((index, index, 1.0) for index in range(start)),
            *((start + index, start + other, similarity) for index, other, similarity in inner),
            *((end + offset, other_end + offset, 1.0) for offset in range(len(expected) - end)),
        ]
        paired = {pair[0] for pair in pairs}
        other_paired = {pair[1] for pair in pairs}
        return Alignment(
            pairs,
            [index for index in range(len(expected)) if index not in paired],
            [index for index in range(len(candidate)) if index not in other_paired],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Auto:
    """Keep the order of lists of numbers, ISO dates or lists; align other items by similarity.

    The ground truth decides, for each list by itself.
    """

    name: ClassVar[str] = "auto"
    uses_rules: ClassVar[bool] = True

    def align(
        self,
        expected: list[JsonValue],
        candidate: list[JsonValue],
        rules: LeafRules | None = None,
    ) -> Alignment:
        """Align the items by the method that their types suggest."""
        return method_for(expected).align(expected, candidate, rules)


SEQUENCE: Final = Sequence()
SIMILARITY: Final = Greedy()


def method_for(expected: SequenceOf[JsonValue]) -> Sequence | Greedy:
    """Return how the items of a list are aligned by default.

    >>> method_for([10, None, 20.5]).name, method_for(["a", "b"]).name
    ('sequence', 'greedy')
    """
    return SEQUENCE if is_series(expected) else SIMILARITY


def is_series(items: SequenceOf[JsonValue]) -> bool:
    """Whether the items that are not null are all numbers, all ISO dates or all lists.

    >>> is_series(["2024-01-01", "2024-12-31"]), is_series([True, False]), is_series([None])
    (True, False, False)
    """
    present = [item for item in items if item is not None]
    return bool(present) and (
        all(type(item) in (int, float) for item in present)
        or all(isinstance(item, list) for item in present)
        or all(isinstance(item, str) and is_iso_date(item.casefold()) for item in present)
    )


def _cheapest_pairs(
    expected: list[JsonValue], candidate: list[JsonValue], rules: LeafRules | None
) -> list[ItemPair]:
    """Return the pairs of an alignment with the least cost, by dynamic programming.

    If leaving out either item costs the same, one of the longer remaining list is left out, then
    the first in canonical order, so that exchanging the lists changes nothing.
    """
    width = len(candidate) + 1
    # The least cost of aligning the first items of both lists, and the similarity of each pair.
    costs = [[index * _UNIT for index in range(width)]]
    similarities: list[list[float]] = []
    for index, item in enumerate(expected):
        above, row = costs[-1], [(index + 1) * _UNIT]
        similarities.append([_similarity(item, other, rules) for other in candidate])
        for other, similarity in enumerate(similarities[-1]):
            paired = above[other] + round((1 - similarity) * _UNIT) - (similarity == 1)
            row.append(min(paired, above[other + 1] + _UNIT, row[other] + _UNIT))
        costs.append(row)
    pairs: list[ItemPair] = []
    index, other = len(expected), len(candidate)
    while index and other:
        similarity = similarities[index - 1][other - 1]
        cost = costs[index][other]
        paired = costs[index - 1][other - 1] + round((1 - similarity) * _UNIT) - (similarity == 1)
        skips = costs[index - 1][other] + _UNIT == cost, costs[index][other - 1] + _UNIT == cost
        if paired == cost:
            index, other = index - 1, other - 1
            pairs.append((index, other, similarity))
        elif all(skips):
            texts = canonical_text(expected[index - 1]), canonical_text(candidate[other - 1])
            skip_expected = index > other or (index == other and texts[0] < texts[1])
            index, other = (index - 1, other) if skip_expected else (index, other - 1)
        else:
            index, other = (index - 1, other) if skips[0] else (index, other - 1)
    return pairs[::-1]


def _similarity(expected: JsonValue, candidate: JsonValue, rules: LeafRules | None) -> float:
    """Return 1 for equal items, what their rule says, or the mean similarity of nested items."""
    if equal(expected, candidate):
        return 1.0
    both_lists = isinstance(expected, list) and isinstance(candidate, list)
    if rules is not None:
        comparator = rules.whole_comparator if both_lists else rules.leaf_comparator
        if comparator is not None:
            return RuledLeaf(expected, comparator).similarity(RuledLeaf(candidate, comparator))
    if isinstance(expected, list) and isinstance(candidate, list):
        inner = (
            _similarity(item, other, None if rules is None else rules.item(index))
            for index, (item, other) in enumerate(zip(expected, candidate, strict=False))
        )
        return sum(inner) / max(len(expected), len(candidate))
    return 0.0
