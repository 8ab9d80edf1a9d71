"""Optimal alignment: the greatest total similarity."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, Final

from fieldmark.align.assignment import (
    SMALL_MATRIX,
    component_labels,
    connected_components_of,
    max_weight_edges,
    max_weight_positions,
)
from fieldmark.align.greedy import GREEDY
from fieldmark.align.item_similarity import Edge, EdgeArrays, EqualLeafCounter
from fieldmark.align.options import (
    SimilarityMeasure,
    SimilarityOption,
    SimilarityType,
    check_fields,
    check_threshold,
    load_measure,
    similarity_threshold,
)
from fieldmark.align.similarity_alignment import SelectionMethod, align_by_similarity
from fieldmark.errors import OptionError
from fieldmark.model.alignment import Alignment
from fieldmark.model.json import JsonValue

if TYPE_CHECKING:
    from fieldmark.align.item_similarity import Flags, Integers

__all__ = ["OnLimit", "Optimal"]


class OnLimit(StrEnum):
    """What happens to lists that are too long for the optimal method."""

    ERROR = "error"
    GREEDY = "greedy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimal:
    """Pairs items so that their total similarity is greatest, never below the threshold.

    The options are those of the greedy method. Equal totals are decided by the number of equal
    leaves. Beyond the limit nothing is paired or, with `on_limit: greedy`, the greedy method
    steps in and the result says so.

    >>> [pair[:2] for pair in Optimal(threshold=0).align(["ab", "abcd"], ["abc", "xyz"]).pairs]
    [(0, 1), (1, 0)]
    """

    name: ClassVar[str] = "optimal"
    match_fields: tuple[str, ...] | None = None
    threshold: float | None = None
    on_limit: OnLimit = OnLimit.ERROR
    similarity: SimilarityOption = SimilarityType.TEXT
    _measure: SimilarityMeasure | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.match_fields is not None:
            check_fields("match_fields", self.match_fields)
        check_threshold(self.threshold)
        if self.on_limit not in tuple(OnLimit):
            raise OptionError("on_limit", f"must be one of {', '.join(OnLimit)}")
        object.__setattr__(self, "_measure", load_measure(self.similarity))

    @property
    def least(self) -> float:
        """The similarity threshold."""
        return similarity_threshold(self.threshold, self.match_fields, self._measure)

    def align(self, expected: list[JsonValue], candidate: list[JsonValue]) -> Alignment:
        """Pair equal items, then the others for the greatest total similarity."""
        return align_by_similarity(
            expected,
            candidate,
            match_fields=self.match_fields,
            threshold=self.least,
            measure=self._measure,
            method=_OPTIMAL,
            fallback=GREEDY if self.on_limit == OnLimit.GREEDY else None,
        )


def _select_few(edges: list[Edge], agreement: EqualLeafCounter) -> Iterator[Edge]:
    for component in connected_components_of(edges):
        agreements = [agreement.count(place, other) for _, place, other in component]
        yield from max_weight_edges(component, agreements)


def _select_many(edges: EdgeArrays, agreement: EqualLeafCounter) -> Iterator[Edge]:
    import numpy as np

    labels = component_labels(edges)
    sizes = np.bincount(labels)
    alone = sizes[labels] == 1
    yield from _listed(edges, alone)
    joint = np.flatnonzero(~alone)
    joint = joint[np.argsort(labels[joint], kind="stable")]
    agreements = agreement.count_all(edges.expected[joint], edges.candidate[joint])
    end = 0
    for size in sizes[sizes > 1].tolist():
        start, end = end, end + size
        component = edges.at(joint[start:end])
        if size <= SMALL_MATRIX:
            few = list(_listed(component, slice(None)))
            yield from max_weight_edges(few, agreements[start:end].tolist())
        else:
            yield from _listed(component, max_weight_positions(component, agreements[start:end]))


def _listed(edges: EdgeArrays, which: Integers | Flags | slice) -> Iterator[Edge]:
    return zip(*(column[which].tolist() for column in edges), strict=True)


_OPTIMAL: Final = SelectionMethod(few=_select_few, many=_select_many)
