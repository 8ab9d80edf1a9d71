"""Pairs deeply equal items, and puts what is left into canonical order."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import compress, repeat
from operator import is_not
from typing import NamedTuple, TypeAlias, cast

from fieldmark.align import compiled
from fieldmark.align.canonical_text import canonical_order, evened, has_exponent, spelled, texts_of
from fieldmark.align.limits import SMALL_PAIRS
from fieldmark.model.alignment import Alignment, ItemPair
from fieldmark.model.json import JsonValue
from fieldmark.values.canonical import typed_key
from fieldmark.values.equality import equal

__all__ = ["Partners", "Rest", "assembled", "pair_equal", "pair_keys"]

Partners = list[int | None]
"""For each place of one list the place of its partner in the other list, or none."""

_Paired: TypeAlias = tuple[Partners, Sequence[int], Sequence[int], bool]
"""The partners, the places left alone in both lists, and whether items there may be equal."""


class Rest(NamedTuple):
    """What equal items leave over.

    `partners` are the equal items; `places` and `others` are the places left alone, `expected`
    and `candidate` the items there.
    """

    partners: Partners
    places: Sequence[int]
    others: Sequence[int]
    expected: list[JsonValue]
    candidate: list[JsonValue]


def pair_keys(expected: Iterable[Hashable], candidate: Sequence[Hashable]) -> Partners:
    """For each key the position of an equal one: the first with the first, and so on.

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


def pair_equal(expected: list[JsonValue], candidate: list[JsonValue]) -> Rest:
    """Pair deeply equal items: those of the same text first, then those of the same value."""
    paired = compiled.items.pair(expected, candidate) if compiled.COMPILED else None
    partners, places, others, alike = paired or _pair_texts(expected, candidate)
    left, right = [expected[place] for place in places], [candidate[place] for place in others]
    found = _same_values(left, right) if alike else []
    if found:
        for place, position in zip(places, found, strict=True):
            partners[place] = None if position is None else others[position]
        places = [place for place in places if partners[place] is None]
        others = sorted(set(others).difference(partners))
        left, right = [expected[place] for place in places], [candidate[place] for place in others]
    return Rest(partners, places, others, left, right)


def _pair_texts(expected: list[JsonValue], candidate: list[JsonValue]) -> _Paired:
    """Pair items of the same text that are equal, the first with the first."""
    texts, other_texts, doubt = spelled(expected, candidate)
    if texts is other_texts:
        return list(range(len(expected))), (), (), False
    partners = _same_texts(texts, other_texts)
    if doubt is not None:
        for place, other in enumerate(partners):
            if other is not None and doubt in texts[place]:
                partners[place] = other if equal(expected[place], candidate[other]) else None
    places = [place for place, other in enumerate(partners) if other is None]
    others = sorted(set(range(len(candidate))).difference(partners))
    alike = len(places) * len(others) > SMALL_PAIRS or _any_alike(
        [expected[place] for place in places], [candidate[place] for place in others]
    )
    return partners, places, others, alike


def _any_alike(expected: list[JsonValue], candidate: list[JsonValue]) -> bool:
    """Whether Python takes any two items for equal, which it does more often than is right."""
    try:
        return any(map(candidate.__contains__, expected))
    except RecursionError:
        return True


def _same_texts(expected: list[bytes], candidate: list[bytes]) -> Partners:
    places = dict(zip(candidate, range(len(candidate)), strict=True))
    if len(places) == len(candidate) and len(set(expected)) == len(expected):
        return list(map(places.get, expected))
    return pair_keys(expected, candidate)


def _same_values(expected: list[JsonValue], candidate: list[JsonValue]) -> Partners:
    """The partners of deeply equal items whose texts differ, as those of 1 and 1.0 do."""
    texts, other_texts = texts_of(expected), texts_of(candidate)
    ours: Iterable[int] = range(len(expected))
    theirs: Iterable[int] = range(len(candidate))
    if not has_exponent(b" ".join([*texts, *other_texts])):
        even, other_even = evened(texts), evened(other_texts)
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


def assembled(rest: Rest, chosen: Sequence[tuple[int, int, float]] = ()) -> Alignment:
    """The alignment of equal items and of further pairs, given by places and similarity."""
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
    """A row for each place with a partner; those whose similarity is not given are equal."""
    degrees, equals = [1.0] * len(partners), [True] * len(partners)
    for place, similarity in similarities.items():
        degrees[place] = similarity
        equals[place] = False
    rows = zip(range(len(partners)), partners, degrees, equals, strict=True)
    return cast("list[ItemPair]", list(compress(rows, map(is_not, partners, repeat(None)))))
