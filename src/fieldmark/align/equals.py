"""Pairs deeply equal items, and puts what is left into canonical order."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import compress, repeat
from operator import is_not
from typing import NamedTuple

from fieldmark.align.limits import SMALL_PAIRS
from fieldmark.align.spelling import evened, has_exponent, is_even, spelled
from fieldmark.model.alignment import Alignment, ItemPair
from fieldmark.model.json import JsonValue
from fieldmark.values.canonical import typed_key
from fieldmark.values.equality import equal

__all__ = ["Partners", "Rest", "assembled", "pair_equal", "pair_keys"]

Partners = list[int | None]
"""For each place of one list the place of its partner in the other list, or none."""


class Rest(NamedTuple):
    """What equal items leave over.

    `partners` are the equal items; `expected` and `candidate` are the places left alone. If both
    have some, `characters` bounds how many pairs of characters two such items have.
    """

    partners: Partners
    expected: Sequence[int]
    candidate: Sequence[int]
    characters: int = 0


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
    spelling = spelled(expected, candidate)
    if spelling is None:
        return Rest(list(range(len(expected))), (), ())
    texts, others, doubt = spelling
    partners = _same_texts(texts, others)
    if doubt is not None:
        for place, other in enumerate(partners):
            if other is not None and doubt in texts[place]:
                partners[place] = other if equal(expected[place], candidate[other]) else None
    left = [place for place, other in enumerate(partners) if other is None]
    right = sorted(set(range(len(candidate))).difference(partners))
    if not left or not right:
        return Rest(partners, left, right)
    texts, others = [texts[place] for place in left], [others[place] for place in right]
    values = _same_values(
        [expected[place] for place in left], [candidate[place] for place in right], texts, others
    )
    if values:
        for place, position in zip(left, values, strict=True):
            partners[place] = None if position is None else right[position]
        left = [place for place in left if partners[place] is None]
        right = sorted(set(right).difference(partners))
    return Rest(partners, left, right, max(map(len, texts)) * max(map(len, others)))


def _same_texts(expected: list[bytes], candidate: list[bytes]) -> Partners:
    places = dict(zip(candidate, range(len(candidate)), strict=True))
    if len(places) == len(candidate) and len(set(expected)) == len(expected):
        return list(map(places.get, expected))
    return pair_keys(expected, candidate)


def _same_values(
    expected: list[JsonValue],
    candidate: list[JsonValue],
    texts: list[bytes],
    others: list[bytes],
) -> Partners:
    """The partners of deeply equal items whose texts differ, as those of 1 and 1.0 do."""
    if len(expected) * len(candidate) <= SMALL_PAIRS and not _any_alike(expected, candidate):
        return []
    lines, other_lines = b"\n".join([*texts, b""]), b"\n".join([*others, b""])
    if is_even(lines) and is_even(other_lines):
        return []
    if has_exponent(lines) or has_exponent(other_lines):
        return pair_keys(map(typed_key, expected), list(map(typed_key, candidate)))
    even, other_even = evened(lines), evened(other_lines)
    shared = set(even).intersection(other_even)
    return (
        pair_keys(
            [
                typed_key(item) if text in shared else 0
                for item, text in zip(expected, even, strict=True)
            ],
            [
                typed_key(item) if text in shared else 1
                for item, text in zip(candidate, other_even, strict=True)
            ],
        )
        if shared
        else []
    )


def _any_alike(expected: list[JsonValue], candidate: list[JsonValue]) -> bool:
    """Whether Python takes any two items for equal, which it does more often than is right."""
    try:
        return any(map(candidate.__contains__, expected))
    except RecursionError:
        return True


def assembled(rest: Rest, chosen: Sequence[tuple[int, int, float]] = ()) -> Alignment:
    """The alignment of equal items and of further pairs, given by places and similarity."""
    partners, left, right = rest.partners, rest.expected, rest.candidate
    similarities, equals = [1.0] * len(partners), [True] * len(partners)
    if chosen:
        remaining = set(right)
        for place, other, similarity in chosen:
            partners[place] = other
            similarities[place] = similarity
            equals[place] = False
            remaining.discard(other)
        left = [place for place in left if partners[place] is None]
        right = list(remaining)
    pairs: Iterable[ItemPair] = zip(range(len(partners)), partners, similarities, equals)  # type: ignore[assignment]
    if left:
        pairs = compress(pairs, map(is_not, partners, repeat(None)))
    return Alignment(list(pairs), sorted(left), sorted(right))
