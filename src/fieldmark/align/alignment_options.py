"""Options of the aligners: match fields, thresholds and the type of similarity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Final, NamedTuple, Protocol, TypeAlias

from fieldmark.model.alignment import Alignment
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.values.annotations import Distinct, Length
from fieldmark.values.arrays import Floats

THRESHOLD_MATCH_FIELDS: Final = 0.8
THRESHOLD_ALL_LEAVES: Final = 0.5


class SimilarityType(StrEnum):
    """How the similarity of two values is computed."""

    TEXT = "text"
    EQUALITY = "equality"
    IOU = "iou"
    DISTANCE = "distance"


FieldPaths: TypeAlias = Annotated[
    tuple[Annotated[str, Length(ge=1)], ...], Length(ge=1, noun="field"), Distinct(noun="field")
]
"""At least one path of a field, relative to an item."""
SimilarityOption: TypeAlias = SimilarityType | Mapping[str, JsonValue]
"""The name of a similarity, or `{type: name}` with its options."""


class SimilarityMeasure(Protocol):
    """Computes similarities of values that are not compared as strings."""

    @property
    def min_similarity(self) -> float:
        """The default threshold."""
        ...

    def similarities(self, expected: Sequence[JsonValue], candidate: Sequence[JsonValue]) -> Floats:
        """Return the similarity of every expected value with every candidate value."""
        ...


class ItemSimilarity(NamedTuple):
    """How items are compared: their match fields, the threshold and the measure.

    Without a measure, values are compared as strings, or only for equality.
    """

    match_fields: tuple[str, ...] | None
    threshold: float
    measure: SimilarityMeasure | None
    equality: bool = False

    @property
    def one_sided(self) -> float | None:
        """The similarity of a match field that only one of two items has; `None` for any leaf.

        As the threshold, it does not decide whether two items are similar enough, and of two
        pairs that are equally similar otherwise, the complete one comes first.
        """
        return None if self.match_fields is None else self.threshold


MAX_PAIRS: Final = 4_000_000
"""The maximum number of pairs of unequal items in one alignment."""

FALLBACK_PAIRS: Final = 25_000_000
"""The maximum number of pairs for the greedy method as the fallback of the optimal method."""

MAX_TEXT: Final = 10_000
"""The longest string that is compared by edit distance; longer strings are only equal or not."""

MAX_CHARACTER_PAIRS: Final = 200_000_000_000
"""Character comparisons in one alignment; edit distances of about ten seconds."""

MAX_AGREEMENTS: Final = 500_000_000
"""Leaf comparisons to break ties in one alignment."""

MAX_SHARED_LEAVES: Final = 1_500_000_000
"""Equal leaves of nested lists, summed over all pairs of lists; about ten seconds."""

SMALL_PAIRS: Final = 400
"""For at most this number of pairs, a loop is always faster than arrays."""

SMALL_CHARACTER_PAIRS: Final = 1_000_000_000
"""A loop is used for at most this number of character comparisons of the longest items."""


class TooMuchWork(Exception):
    """The items are too large to compare all pairs."""


def within(expected: int, candidate: int) -> bool:
    """Whether this many items can be compared pair by pair."""
    return expected * candidate <= MAX_PAIRS


def refused(expected: Sequence[JsonValue], candidate: Sequence[JsonValue], note: str) -> Alignment:
    """Return an alignment without pairs that reports the exceeded limit."""
    return Alignment(
        (),
        range(len(expected)),
        range(len(candidate)),
        failed=Reason.TOO_MANY_ITEMS,
        note=note,
    )
