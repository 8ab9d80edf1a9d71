"""Align deeply equal items, and build alignments."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import compress, repeat
from operator import is_not
from typing import Final, NamedTuple, TypeAlias, cast

import orjson

from fieldmark.align.alignment_options import SMALL_PAIRS
from fieldmark.model.alignment import Alignment, ItemPair
from fieldmark.model.json import JsonValue
from fieldmark.values.equality import canonical_text, equal, typed_key

Partners = list[int | None]
"""For each item of one list, the index of its partner in the other list, or None."""

_EqualPairs: TypeAlias = tuple[Partners, Sequence[int], Sequence[int], bool]
"""The partners, the unpaired indexes of both lists, and whether items there may be equal."""


class UnpairedItems(NamedTuple):
    """The partners of equal items, and the items that have no equal.

    The indexes belong to the unpaired items `expected` and `candidate`.
    """

    partners: Partners
    expected_indexes: Sequence[int]
    candidate_indexes: Sequence[int]
    expected: list[JsonValue]
    candidate: list[JsonValue]


def pair_keys(expected: Iterable[Hashable], candidate: Sequence[Hashable]) -> Partners:
    """Return the position of an equal key for each key; repeated keys are paired in order.

    >>> pair_keys(["a", "b", "a"], ["a", "a", "c"])
    [0, None, 1]
    """
    first: dict[Hashable, int | None] = {}
    following: Partners = [None] * len(candidate)
    for index in range(len(candidate) - 1, -1, -1):
        key = candidate[index]
        following[index] = first.get(key)
        first[key] = index
    partners: Partners = []
    for key in expected:
        other = first.get(key)
        if other is not None:
            first[key] = following[other]
        partners.append(other)
    return partners


def pair_equal(expected: list[JsonValue], candidate: list[JsonValue]) -> UnpairedItems:
    """Pair deeply equal items: first by equal JSON text, then by equal value (1 and 1.0)."""
    partners, places, others, may_be_equal = _pair_equal_texts(expected, candidate)
    left, right = [expected[index] for index in places], [candidate[index] for index in others]
    equal_partners = _match_values(left, right) if may_be_equal else []
    if equal_partners:
        for index, position in zip(places, equal_partners, strict=True):
            partners[index] = None if position is None else others[position]
        places = [index for index in places if partners[index] is None]
        others = sorted(set(others).difference(partners))
        left, right = [expected[index] for index in places], [candidate[index] for index in others]
    return UnpairedItems(partners, places, others, left, right)


def _pair_equal_texts(expected: list[JsonValue], candidate: list[JsonValue]) -> _EqualPairs:
    """Pair items with the same JSON text; repeated items are paired in order."""
    texts, other_texts, doubt = _texts_of_lists(expected, candidate)
    if texts is other_texts:
        return list(range(len(expected))), (), (), False
    positions = dict(zip(other_texts, range(len(other_texts)), strict=True))
    if len(positions) == len(other_texts) and len(set(texts)) == len(texts):
        partners = list(map(positions.get, texts))
    else:
        partners = pair_keys(texts, other_texts)
    if doubt is not None:
        for index, other in enumerate(partners):
            if other is not None and doubt in texts[index]:
                partners[index] = other if equal(expected[index], candidate[other]) else None
    places = [index for index, other in enumerate(partners) if other is None]
    others = sorted(set(range(len(candidate))).difference(partners))
    may_be_equal = len(places) * len(others) > SMALL_PAIRS or _any_python_equal(
        [expected[index] for index in places], [candidate[index] for index in others]
    )
    return partners, places, others, may_be_equal


def _any_python_equal(expected: list[JsonValue], candidate: list[JsonValue]) -> bool:
    """Whether any two items are equal in Python, where True also equals 1."""
    try:
        return any(map(candidate.__contains__, expected))
    except RecursionError:
        return True


def _match_values(expected: list[JsonValue], candidate: list[JsonValue]) -> Partners:
    """Return the partners of deeply equal items whose texts differ, such as 1 and 1.0."""
    texts, other_texts = _texts_of(expected), _texts_of(candidate)
    indexes: Iterable[int] = range(len(expected))
    other_indexes: Iterable[int] = range(len(candidate))
    has_exponent = b"0e" in b" ".join([*texts, *other_texts]).translate(_DIGITS)
    if not has_exponent:
        even, other_even = _normalized_number_texts(texts), _normalized_number_texts(other_texts)
        shared = set(even).intersection(other_even)
        if not shared:
            return []
        indexes = [index for index in indexes if even[index] in shared]
        other_indexes = [index for index in other_indexes if other_even[index] in shared]
    left, right = canonical_order(expected, indexes), canonical_order(candidate, other_indexes)
    keys = pair_keys(
        [typed_key(expected[index]) for index in left],
        [typed_key(candidate[index]) for index in right],
    )
    partners: Partners = [None] * len(expected)
    for index, position in zip(left, keys, strict=True):
        partners[index] = None if position is None else right[position]
    return partners


def build_alignment(
    unpaired: UnpairedItems, chosen: Sequence[tuple[int, int, float]] = ()
) -> Alignment:
    """Return an alignment of the equal items and the chosen pairs with their similarity."""
    partners, left, right = unpaired.partners, unpaired.expected_indexes, unpaired.candidate_indexes
    similarities, equals = [1.0] * len(partners), [True] * len(partners)
    if chosen:
        for index, other, similarity in chosen:
            partners[index], similarities[index], equals[index] = other, similarity, False
        taken = {other for _, other, _ in chosen}
        left = [index for index in left if equals[index]]
        right = [index for index in right if index not in taken]
    rows = zip(range(len(partners)), partners, similarities, equals, strict=True)
    pairs = list(compress(rows, map(is_not, partners, repeat(None))))
    return Alignment(cast("list[ItemPair]", pairs), left, right)


# --- JSON texts of items --------------------------------------------------------------------------

_FRAMES: Final[dict[type, tuple[bytes, bytes, bytes]]] = {
    dict: (b"[{", b"},{", b"}]"),
    list: (b"[[", b"],[", b"]]"),
    str: (b'["', b'","', b'"]'),
    int: (b"[", b",", b"]"),
    float: (b"[", b",", b"]"),
}
"""The start, the separator and the end of the JSON text of a list with items of one type."""

_UNFRAMED: Final = (b"", b"", b"")

_ENDS: Final = bytes.maketrans(b"}]", b",,")
_DIGITS: Final = bytes.maketrans(b"123456789", b"000000000")

_ListTexts: TypeAlias = tuple[list[bytes], list[bytes], bytes | None]
"""The texts of the items of two lists, and a marker: items with the same text can still differ if
the text contains the marker (every text contains the empty marker)."""

_NO_TEXTS: Final[list[bytes]] = []
_SAME: Final[_ListTexts] = (_NO_TEXTS, _NO_TEXTS, None)


def _texts_of_lists(expected: list[JsonValue], candidate: list[JsonValue]) -> _ListTexts:
    """Return the texts of all items; the same object twice if the lists are equal."""
    dumps, by_key = orjson.dumps, orjson.OPT_SORT_KEYS
    try:
        whole, other = dumps(expected, None, by_key), dumps(candidate, None, by_key)
    except TypeError:  # a number, string or depth that orjson does not support
        return _texts_of(expected), _texts_of(candidate), b""
    doubt = b"null" if b"null" in whole else None  # NaN is written as null and equals nothing
    if doubt is None and whole == other:
        return _SAME
    kinds = {*map(type, expected), *map(type, candidate)}
    start, cut, end = _FRAMES.get(kinds.pop(), _UNFRAMED) if len(kinds) == 1 else _UNFRAMED
    # A quote inside a string can look like its end.
    if cut and not (cut == b'","' and (b'\\"' in whole or b'\\"' in other)):
        texts = whole[len(start) : -len(end)].split(cut)
        other_texts = other[len(start) : -len(end)].split(cut)
        if len(texts) == len(expected) and len(other_texts) == len(candidate):
            return texts, other_texts, doubt
    return _texts_of(expected), _texts_of(candidate), doubt


def _texts_of(items: list[JsonValue]) -> list[bytes]:
    texts: list[bytes] = []
    for item in items:
        try:
            text = orjson.dumps(item, None, orjson.OPT_SORT_KEYS)
        except TypeError:
            text = canonical_text(item)
        # Concatenation copies the text, which releases the much larger buffer of orjson.
        texts.append(b" " + text)
    return texts


def canonical_order(items: Sequence[JsonValue], indexes: Iterable[int]) -> list[int]:
    """Sort indexes by the canonical texts of their items.

    >>> canonical_order(["b", "c", "a"], [0, 1, 2])
    [2, 0, 1]
    """
    return sorted(sorted(indexes), key=lambda index: canonical_text(items[index]))


def _normalized_number_texts(texts: Sequence[bytes]) -> list[bytes]:
    """Return texts that are the same for equal items without exponents, and for some others.

    >>> _normalized_number_texts([b'{"a":-0.0}', b'{"a":0}'])
    [b'{"a":0,', b'{"a":0,']
    """
    lines = b"".join([b",\n".join(texts), b",\n"])  # a line break within an item is escaped
    return lines.translate(_ENDS, b"-").replace(b".0,", b",").split(b",\n")[:-1]
