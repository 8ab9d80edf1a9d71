"""Pairs deeply equal items, and puts what is left into canonical order."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import Final, NamedTuple

import orjson

from fieldmark.align.limits import SMALL_PAIRS
from fieldmark.model.alignment import Alignment, ItemPair
from fieldmark.model.json import JsonValue
from fieldmark.values.canonical import canonical_text, typed_key
from fieldmark.values.equality import equal

__all__ = ["ALONE", "Rest", "assembled", "lines_of", "pair_equal", "pair_keys"]

ALONE: Final = -1
"""The partner of an item that has none."""

_MANY: Final = 32

_CUTS: Final[dict[type, tuple[bytes, bytes, bytes]]] = {
    dict: (b"{", b"},{", b"}"),
    list: (b"[", b"],[", b"]"),
    str: (b'"', b'","', b'"'),
    int: (b"", b",", b""),
    float: (b"", b",", b""),
}
"""How items of one kind begin, where they meet in the text of a list, and how they end."""

# A whole number of 17 digits or more, as the fast writer spells a float.
_EXPONENT: Final = re.compile(rb"e(?<=[0-9]e)\+?[0-9]")

_SPELLINGS: Final = (
    (b"-0", b"0"),
    *((b".0" + end, end) for end in (b",", b"}", b"]", b"\n")),
)
"""What to replace so that equal numbers, such as 3 and 3.0, are written in the same way."""


class Rest(NamedTuple):
    """What equal items leave over.

    `partners` holds the place of the equal item, or `ALONE`, for each place of the expected list.
    `expected` and `candidate` are the places left alone, in canonical order if both have some;
    `characters` bounds how many characters meet when each of them is compared with each.
    """

    partners: list[int]
    expected: list[int]
    candidate: list[int]
    characters: int = 0


def lines_of(items: Sequence[JsonValue]) -> list[bytes]:
    """The canonical text of each item, with a line break at its end."""
    dumps = orjson.dumps
    try:
        if len(items) < _MANY:
            return [dumps(item, None, orjson.OPT_SORT_KEYS) + b"\n" for item in items]
        return _cut(items) or [dumps(item, None, orjson.OPT_SORT_KEYS) + b"\n" for item in items]
    except TypeError:  # a number, a text or a depth beyond what the fast writer knows
        return [_line_of(item) for item in items]


def _cut(items: Sequence[JsonValue]) -> list[bytes]:
    """One text cut into lines, much faster for many items; none if the cuts are in doubt."""
    kinds = set(map(type, items))
    start, cut, end = _CUTS.get(kinds.pop(), (b"", b"", b""))
    if kinds or not cut:
        return []
    text = orjson.dumps(items, None, orjson.OPT_SORT_KEYS)
    pieces = text[1 + len(start) : len(text) - len(end) - 1].split(cut)
    end += b"\n"
    return [start + piece + end for piece in pieces] if len(pieces) == len(items) else []


def _line_of(item: JsonValue) -> bytes:
    try:
        return orjson.dumps(item, None, orjson.OPT_SORT_KEYS) + b"\n"
    except TypeError:
        return canonical_text(item) + b"\n"


def pair_keys(expected: Sequence[Hashable], candidate: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Positions with equal keys, the first with the first, the second with the second.

    >>> pair_keys(["a", "b", "a"], ["a", "a", "c"])
    [(0, 0), (2, 1)]
    """
    first: dict[Hashable, int] = {}
    following = [ALONE] * len(candidate)
    for place in range(len(candidate) - 1, -1, -1):
        key = candidate[place]
        if key in first:
            following[place] = first[key]
        first[key] = place
    pairs = []
    for place, key in enumerate(expected):
        other = first.get(key, ALONE)
        if other != ALONE:
            first[key] = following[other]
            pairs.append((place, other))
    return pairs


def pair_equal(expected: Sequence[JsonValue], candidate: Sequence[JsonValue]) -> Rest:
    """Pair deeply equal items: those of the same text first, then those of the same value."""
    expected_lines, candidate_lines = lines_of(expected), lines_of(candidate)
    partners = _same_texts(expected_lines, candidate_lines)
    if b"null" in b"".join(expected_lines):
        # The fast writer spells NaN as null, and NaN equals nothing.
        for place, other in enumerate(partners):
            if other >= 0 and not _alike(expected[place], candidate[other], expected_lines[place]):
                partners[place] = ALONE
    left = [place for place, other in enumerate(partners) if other < 0]
    taken = set(partners)
    right = [place for place in range(len(candidate)) if place not in taken]
    if not left or not right:
        return Rest(partners, left, right)
    left.sort(key=expected_lines.__getitem__)
    right.sort(key=candidate_lines.__getitem__)
    lines = [expected_lines[place] for place in left]
    other_lines = [candidate_lines[place] for place in right]
    pairs = _same_values(
        [expected[place] for place in left],
        [candidate[place] for place in right],
        lines,
        other_lines,
    )
    if pairs:
        for place, other in pairs:
            partners[left[place]] = right[other]
        left = [place for place in left if partners[place] < 0]
        taken = set(partners)
        right = [place for place in right if place not in taken]
    return Rest(partners, left, right, sum(map(len, lines)) * sum(map(len, other_lines)))


def _same_texts(expected: list[bytes], candidate: list[bytes]) -> list[int]:
    """For each place of the expected list the place of the same text, or `ALONE`."""
    places = dict(zip(candidate, range(len(candidate)), strict=True))
    if len(places) == len(candidate):
        return [places.pop(text, ALONE) for text in expected]
    partners = [ALONE] * len(expected)
    for place, other in pair_keys(expected, candidate):
        partners[place] = other
    return partners


def _alike(expected: JsonValue, candidate: JsonValue, text: bytes) -> bool:
    """Whether two items of the same text are equal: not if there is NaN in one of them."""
    if b"null" not in text:
        return True
    if expected != candidate:
        return False
    pending = [expected]
    while pending:
        value = pending.pop()
        if type(value) is dict:
            pending += value.values()
        elif type(value) is list:
            pending += value
        elif value != value:  # noqa: PLR0124 - only NaN does
            return False
    return True


def _same_values(
    expected: list[JsonValue],
    candidate: list[JsonValue],
    expected_lines: list[bytes],
    candidate_lines: list[bytes],
) -> list[tuple[int, int]]:
    """Positions of deeply equal items whose texts differ, as those of 1 and 1.0 do."""
    if len(expected) * len(candidate) > SMALL_PAIRS:
        left, right = _even(expected_lines), _even(candidate_lines)
        if left is None or right is None:
            return pair_keys(list(map(typed_key, expected)), list(map(typed_key, candidate)))
        shared = set(left).intersection(right)
        ours = [place for place, text in enumerate(left) if text in shared]
        theirs = [place for place, text in enumerate(right) if text in shared]
        return [
            (ours[place], theirs[other])
            for place, other in pair_keys(
                [typed_key(expected[place]) for place in ours],
                [typed_key(candidate[place]) for place in theirs],
            )
        ]
    pairs: list[tuple[int, int]] = []
    for place, item in enumerate(expected):
        if item in candidate:  # Python's equality is coarser, and fast
            taken = {other for _, other in pairs}
            for other, value in enumerate(candidate):
                if other not in taken and equal(item, value):
                    pairs.append((place, other))
                    break
    return pairs


def _even(lines: list[bytes]) -> list[bytes] | None:
    """Lines that are the same if the items are equal, or none if an exponent forbids that."""
    joined = b"".join(lines)  # a line break within an item is always escaped
    if _EXPONENT.search(joined):
        return None
    for spelling, other in _SPELLINGS:
        joined = joined.replace(spelling, other)
    return joined.splitlines()


def assembled(rest: Rest, chosen: Sequence[tuple[int, int, float]] = ()) -> Alignment:
    """The alignment of equal items and of further pairs, given by places and similarity."""
    make = tuple.__new__  # thousands of pairs, and twice as fast as calling the class
    pairs: list[ItemPair] = [
        make(ItemPair, (place, other, 1.0, True))
        for place, other in enumerate(rest.partners)
        if other >= 0
    ]
    left, right = set(rest.expected), set(rest.candidate)
    for place, other, similarity in chosen:
        pairs.append(make(ItemPair, (place, other, similarity, False)))
        left.discard(place)
        right.discard(other)
    pairs.sort()
    return Alignment(pairs, sorted(left), sorted(right))
