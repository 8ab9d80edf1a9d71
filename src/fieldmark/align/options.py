"""Options of the alignment methods: match fields, thresholds and the kind of similarity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from fieldmark.errors import OptionError
from fieldmark.model.json import JsonValue

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

__all__ = [
    "THRESHOLD_ALL_LEAVES",
    "THRESHOLD_MATCH_FIELDS",
    "SimilarityMeasure",
    "SimilarityOption",
    "SimilarityType",
    "check_fields",
    "check_threshold",
    "load_measure",
    "similarity_threshold",
]

THRESHOLD_MATCH_FIELDS: Final = 0.8
THRESHOLD_ALL_LEAVES: Final = 0.5


class SimilarityType(StrEnum):
    """How the similarity of two values is computed."""

    TEXT = "text"
    IOU = "iou"
    DISTANCE = "distance"


SimilarityOption: TypeAlias = SimilarityType | Mapping[str, JsonValue]
"""The name of a similarity, or `{type: name}` with its options."""


class SimilarityMeasure(Protocol):
    """Computes similarities of values that are not compared as text."""

    @property
    def least(self) -> float:
        """The default threshold."""
        ...

    def similarities(self, expected: Sequence[JsonValue], candidate: Sequence[JsonValue]) -> Floats:
        """Return the similarity of every expected value with every candidate value."""
        ...


def check_fields(option: str, fields: tuple[str, ...]) -> None:
    """Refuse a list of field paths that is empty or contains an empty or repeated path."""
    if not fields:
        raise OptionError(option, "must name at least one field")
    if not all(fields):
        raise OptionError(option, "holds an empty path")
    if len(set(fields)) < len(fields):
        raise OptionError(option, "names a field twice")


def check_threshold(threshold: float | None) -> None:
    """Refuse a threshold outside [0, 1]."""
    if threshold is not None and not 0 <= threshold <= 1:
        raise OptionError("threshold", f"must lie between 0 and 1, not {threshold}")


def load_measure(similarity: SimilarityOption) -> SimilarityMeasure | None:
    """Return the measure that an option names, or None for text similarity."""
    if similarity == SimilarityType.TEXT:
        return None
    from fieldmark.align.geometric_similarity import measure_of  # most lists need no geometry

    return measure_of(similarity)


def similarity_threshold(
    threshold: float | None,
    match_fields: tuple[str, ...] | None,
    measure: SimilarityMeasure | None = None,
) -> float:
    """Return the configured threshold or the default one.

    >>> similarity_threshold(None, ("description",)), similarity_threshold(None, None)
    (0.8, 0.5)
    """
    if threshold is not None:
        return threshold
    if measure is not None:
        return measure.least
    return THRESHOLD_ALL_LEAVES if match_fields is None else THRESHOLD_MATCH_FIELDS
