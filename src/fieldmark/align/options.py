"""Options of the aligners: match fields, thresholds and the type of similarity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias

from fieldmark.errors import OptionError
from fieldmark.model.json import JsonValue

if TYPE_CHECKING:
    from fieldmark.values.arrays import Floats

__all__ = [
    "THRESHOLD_ALL_LEAVES",
    "THRESHOLD_MATCH_FIELDS",
    "ItemSimilarity",
    "SimilarityMeasure",
    "SimilarityOption",
    "SimilarityType",
    "check_fields",
    "check_threshold",
    "read_item_similarity",
]

THRESHOLD_MATCH_FIELDS: Final = 0.8
THRESHOLD_ALL_LEAVES: Final = 0.5


class SimilarityType(StrEnum):
    """How the similarity of two values is computed."""

    TEXT = "text"
    EQUALITY = "equality"
    IOU = "iou"
    DISTANCE = "distance"


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


def check_fields(option: str, fields: tuple[str, ...]) -> None:
    """Reject a list of field paths that is empty or contains an empty or duplicate path."""
    if not fields:
        raise OptionError(option, "must contain at least one field")
    if not all(fields):
        raise OptionError(option, "must not contain an empty path")
    if len(set(fields)) < len(fields):
        raise OptionError(option, "must not contain duplicate fields")


def check_threshold(threshold: float | None) -> None:
    """Reject a threshold outside [0, 1]."""
    if threshold is not None and not 0 <= threshold <= 1:
        raise OptionError("threshold", f"must be a number from 0 to 1, got {threshold}")


class ItemSimilarity(NamedTuple):
    """How items are compared: their match fields, the threshold and the measure.

    Without a measure, values are compared as strings, or only for equality.
    """

    match_fields: tuple[str, ...] | None
    threshold: float
    measure: SimilarityMeasure | None
    equality: bool = False


def read_item_similarity(
    match_fields: tuple[str, ...] | None, threshold: float | None, similarity: SimilarityOption
) -> ItemSimilarity:
    """Check the options of an aligner by similarity, and fill in the default threshold.

    >>> read_item_similarity(("description",), None, "text").threshold
    0.8
    """
    if match_fields is not None:
        check_fields("match_fields", match_fields)
    check_threshold(threshold)
    measure: SimilarityMeasure | None = None
    default = THRESHOLD_ALL_LEAVES if match_fields is None else THRESHOLD_MATCH_FIELDS
    if similarity != SimilarityType.TEXT:
        from fieldmark.align.geometric_similarity import measure_of  # rarely needed

        measure = measure_of(similarity)
        default = default if measure is None else measure.min_similarity
    return ItemSimilarity(
        match_fields,
        default if threshold is None else threshold,
        measure,
        _type_of(similarity) == SimilarityType.EQUALITY,
    )


def _type_of(similarity: SimilarityOption) -> JsonValue:
    return similarity.get("type") if isinstance(similarity, Mapping) else similarity
