"""What makes two values alike: their text or, on request, a measure that has to be loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, TypeAlias

from fieldmark.align.options import effective_threshold
from fieldmark.model.json import JsonValue

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

__all__ = ["Likeness", "Measure", "SimilarityOption", "least_similarity", "measure_named"]


class Likeness(StrEnum):
    """What makes two values alike."""

    TEXT = "text"
    IOU = "iou"
    DISTANCE = "distance"


SimilarityOption: TypeAlias = Likeness | Mapping[str, JsonValue]
"""The name of a likeness, or `{type: name}` with its options."""


class Measure(Protocol):
    """Says how alike values are."""

    @property
    def least(self) -> float:
        """The similarity from which on two values match."""
        ...

    def similarities(self, expected: Sequence[JsonValue], candidate: Sequence[JsonValue]) -> Floats:
        """The similarity of each value with each."""
        ...


def measure_named(similarity: SimilarityOption) -> Measure | None:
    """The measure that an option asks for; none where values are compared as text."""
    if similarity == Likeness.TEXT:
        return None
    from fieldmark.align.measure import measure_of  # most lists need no geometry

    return measure_of(similarity)


def least_similarity(
    threshold: float | None, match_fields: tuple[str, ...] | None, measure: Measure | None
) -> float:
    """The similarity from which on items may be paired: as told, or as the measure has it."""
    if measure is None or threshold is not None:
        return effective_threshold(threshold, match_fields)
    return measure.least
