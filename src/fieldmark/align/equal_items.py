"""Align deeply equal items, and build alignments."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from fieldmark.model.alignment import Alignment
from fieldmark.model.json import JsonValue
from fieldmark.values.equality import canonical_text, equal, typed_key

Partners = list[int | None]
"""For each item of one list, the index of its partner in the other list, or None."""


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
    """Pair deeply equal items: first by equal JSON text, then by equal value (1 and 1.0).

    Repeated texts are paired in the order of the lists, repeated values in canonical order.
    """
    texts, other_texts = _texts_of(expected), _texts_of(candidate)
    partners = pair_keys(texts, other_texts)
    for index, other in enumerate(partners):
        # NaN has the same text, but equals nothing.
        if (
            other is not None
            and b"NaN" in texts[index]
            and not equal(expected[index], candidate[other])
        ):
            partners[index] = None
    indexes, other_indexes = _unpaired(partners, len(candidate))
    indexes.sort(key=texts.__getitem__)
    other_indexes.sort(key=other_texts.__getitem__)
    by_value = pair_keys(
        [typed_key(expected[index]) for index in indexes],
        [typed_key(candidate[index]) for index in other_indexes],
    )
    for index, position in zip(indexes, by_value, strict=True):
        partners[index] = None if position is None else other_indexes[position]
    indexes, other_indexes = _unpaired(partners, len(candidate))
    return UnpairedItems(
        partners,
        indexes,
        other_indexes,
        [expected[index] for index in indexes],
        [candidate[index] for index in other_indexes],
    )


def _texts_of(items: list[JsonValue]) -> list[bytes]:
    # Concatenation copies the text, which releases the much larger buffer of orjson.
    return [b" " + canonical_text(item) for item in items]


def _unpaired(partners: Partners, candidates: int) -> tuple[list[int], list[int]]:
    """Return the indexes of both lists that have no partner."""
    paired = set(partners)
    return (
        [index for index, other in enumerate(partners) if other is None],
        [other for other in range(candidates) if other not in paired],
    )


def build_alignment(
    unpaired: UnpairedItems, chosen: Sequence[tuple[int, int, float]] = ()
) -> Alignment:
    """Return an alignment of the equal items and the chosen pairs with their similarity."""
    pairs = {
        index: (other, 1.0) for index, other in enumerate(unpaired.partners) if other is not None
    }
    pairs.update((index, (other, similarity)) for index, other, similarity in chosen)
    taken = {other for _, other, _ in chosen}
    return Alignment(
        [(index, *pairs[index]) for index in sorted(pairs)],
        [index for index in unpaired.expected_indexes if index not in pairs],
        [other for other in unpaired.candidate_indexes if other not in taken],
    )


def canonical_order(items: Sequence[JsonValue], indexes: Iterable[int]) -> list[int]:
    """Sort indexes by the canonical texts of their items.

    >>> canonical_order(["b", "c", "a"], [0, 1, 2])
    [2, 0, 1]
    """
    return sorted(sorted(indexes), key=lambda index: canonical_text(items[index]))
