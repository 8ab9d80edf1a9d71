"""Pair deeply equal items, and build alignments."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import compress, repeat
from operator import is_not
from typing import NamedTuple, TypeAlias, cast

from fieldmark.align import compiled
from fieldmark.align.canonical_text import (
    canonical_order,
    has_exponent,
    normalized_number_texts,
    texts_of,
    texts_of_lists,
)
from fieldmark.align.limits import SMALL_PAIRS
from fieldmark.model.alignment import Alignment, ItemPair
from fieldmark.model.json import JsonValue
from fieldmark.values.canonical import typed_key
from fieldmark.values.equality import equal

__all__ = ["Partners", "UnpairedItems", "build_alignment", "pair_equal", "pair_keys"]

Partners = list[int | None]
"""For each item of one list the index of its partner in the other list, or None."""

_EqualPairs: TypeAlias = tuple[Partners, Sequence[int], Sequence[int], bool]
"""The partners, the unpaired indexes of both lists, and whether items there may be equal."""


class UnpairedItems(NamedTuple):
    """The partners of equal items, and the items without an equal one.

    `places` and `others` are the indexes of the unpaired items `expected` and `candidate`.
    """

    partners: Partners
    places: Sequence[int]
    others: Sequence[int]
    expected: list[JsonValue]
    candidate: list[JsonValue]


def pair_keys(expected: Iterable[Hashable], candidate: Sequence[Hashable]) -> Partners:
    """Return for each key the position of an equal one: the first with the first, and so on.

    >>> pair_keys(["a", "b", "a"], ["a", "a", "c"])
    [0, None, 1]
    """
    first: dict[Hashable, int | None] = {}
    following: Partners = [None] * len(candidate)
    for place in range(len(candidate) - 1, -1, -1):
        key = candidate[place]
        following[place] = first.get(key)
        first[key] = place
    partners: Partners = []
    for key in expected:
        other = first.get(key)
        if other is not None:
            first[key] = following[other]
        partners.append(other)
    return partners


def pair_equal(expected: list[JsonValue], candidate: list[JsonValue]) -> UnpairedItems:
    """Pair deeply equal items: first by equal JSON text, then by equal value (1 and 1.0)."""
    paired = compiled.items.pair(expected, candidate) if compiled.COMPILED else None
    partners, places, others, alike = paired or _pair_equal_texts(expected, candidate)
    left, right = [expected[place] for place in places], [candidate[place] for place in others]
    found = _match_values(left, right) if alike else []
    if found:
        for place, position in zip(places, found, strict=True):
            partners[place] = None if position is None else others[position]
        places = [place for place in places if partners[place] is None]
        others = sorted(set(others).difference(partners))
        left, right = [expected[place] for place in places], [candidate[place] for place in others]
    return UnpairedItems(partners, places, others, left, right)


def _pair_equal_texts(expected: list[JsonValue], candidate: list[JsonValue]) -> _EqualPairs:
    """Pair equal items with the same JSON text, the first with the first."""
    texts, other_texts, doubt = texts_of_lists(expected, candidate)
    if texts is other_texts:
        return list(range(len(expected))), (), (), False
    positions = dict(zip(other_texts, range(len(other_texts)), strict=True))
    if len(positions) == len(other_texts) and len(set(texts)) == len(texts):
        partners = list(map(positions.get, texts))
    else:
        partners = pair_keys(texts, other_texts)
    if doubt is not None:
        for place, other in enumerate(partners):
            if other is not None and doubt in texts[place]:
                partners[place] = other if equal(expected[place], candidate[other]) else None
    places = [place for place, other in enumerate(partners) if other is None]
    others = sorted(set(range(len(candidate))).difference(partners))
    alike = len(places) * len(others) > SMALL_PAIRS or _any_python_equal(
        [expected[place] for place in places], [candidate[place] for place in others]
    )
    return partners, places, others, alike


def _any_python_equal(expected: list[JsonValue], candidate: list[JsonValue]) -> bool:
    """Whether any two items are equal for Python, which takes True and 1 for equal too."""
    try:
        return any(map(candidate.__contains__, expected))
    except RecursionError:
        return True


def _match_values(expected: list[JsonValue], candidate: list[JsonValue]) -> Partners:
    """Return the partners of deeply equal items whose texts differ, such as 1 and 1.0."""
    texts, other_texts = texts_of(expected), texts_of(candidate)
    ours: Iterable[int] = range(len(expected))
    theirs: Iterable[int] = range(len(candidate))
    if not has_exponent(b" ".join([*texts, *other_texts])):
        even, other_even = normalized_number_texts(texts), normalized_number_texts(other_texts)
        shared = set(even).intersection(other_even)
        if not shared:
            return []
        ours = [place for place in ours if even[place] in shared]
        theirs = [place for place in theirs if other_even[place] in shared]
    left, right = canonical_order(expected, ours), canonical_order(candidate, theirs)
    keys = pair_keys(
        [typed_key(expected[place]) for place in left],
        [typed_key(candidate[place]) for place in right],
    )
    partners: Partners = [None] * len(expected)
    for place, position in zip(left, keys, strict=True):
        partners[place] = None if position is None else right[position]
    return partners


def build_alignment(
    rest: UnpairedItems, chosen: Sequence[tuple[int, int, float]] = ()
) -> Alignment:
    """Return the alignment of the equal items and of further pairs with their similarity."""
    partners, left, right = rest.partners, rest.places, rest.others
    similarities: dict[int, float] = {}
    if chosen:
        for place, other, similarity in chosen:
            partners[place] = other
            similarities[place] = similarity
        taken = {other for _, other, _ in chosen}
        left = [place for place in left if place not in similarities]
        right = [place for place in right if place not in taken]
    rows = compiled.items.rows if compiled.COMPILED else _rows
    return Alignment(rows(partners, similarities), left, right)


def _rows(partners: Partners, similarities: dict[int, float]) -> list[ItemPair]:
    """Return the pairs; those without a given similarity are equal."""
    degrees, equals = [1.0] * len(partners), [True] * len(partners)
    for place, similarity in similarities.items():
        degrees[place] = similarity
        equals[place] = False
    rows = zip(range(len(partners)), partners, degrees, equals, strict=True)
    return cast("list[ItemPair]", list(compress(rows, map(is_not, partners, repeat(None)))))
