"""Options of the aligners: match fields, thresholds and the type of similarity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Final, NamedTuple, Protocol, TypeAlias

from fieldmark.model.json import JsonValue
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
