"""Which values of two lists of boxes or points belong together, and what each pair earns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from enum import StrEnum
from typing import Final, NamedTuple, Protocol

from fieldmark.align.greedy import Greedy
from fieldmark.align.index import Index
from fieldmark.align.optimal import Optimal
from fieldmark.compare.distance import Distance
from fieldmark.compare.iou import Iou
from fieldmark.evaluators.places import Place
from fieldmark.model.alignment import Aligner
from fieldmark.model.json import MISSING, JsonObject, JsonValue
from fieldmark.model.outcome import Presence
from fieldmark.values.presence import presence

__all__ = [
    "EMPTY",
    "UNEXPECTED",
    "Matching",
    "Measured",
    "Ruler",
    "ShapePair",
    "aligner_for",
    "missed",
    "paired",
    "row_of",
]

EMPTY: Final[Mapping[Presence, str]] = {
    Presence.ABSENT: "required, missing",
    Presence.NULL: "null value",
    Presence.BLANK: "blank value",
}
UNEXPECTED: Final = "unexpected value"


class Matching(StrEnum):
    """How the values of two lists find each other."""

    INDEX = "index"
    GREEDY = "greedy"
    OPTIMAL = "optimal"


class Measured(NamedTuple):
    """What two values earn, whether that is enough, and the figures it comes from."""

    score: float
    enough: bool
    figures: JsonObject
    said: str


class Ruler(Protocol):
    """Measures the values of one page, and says who pairs lists of them."""

    def measure(self, expected: JsonValue, candidate: JsonValue) -> Measured:
        """Two values side by side."""
        ...

    def aligner(self) -> Aligner:
        """Who pairs lists of values."""
        ...


class ShapePair(NamedTuple):
    """Two values that belong together; a side that is `None` has none."""

    expected: int | None
    candidate: int | None
    measured: Measured | None

    @property
    def enough(self) -> bool:
        """Whether there are two values, and they are alike enough."""
        return self.measured is not None and self.measured.enough


def aligner_for(
    matching: Matching, comparator: Iou | Distance, threshold: float | None = None
) -> Aligner:
    """Who pairs the values of two lists, by the similarity that a comparator sees."""
    if matching is Matching.INDEX:
        return Index()
    options: JsonObject = {
        option.name: getattr(comparator, option.name) for option in fields(comparator)
    }
    method = Greedy if matching is Matching.GREEDY else Optimal
    return method(similarity={"type": comparator.name, **options}, threshold=threshold)


def paired(
    ruler: Ruler, expected: Sequence[Place], candidate: Sequence[Place]
) -> list[ShapePair] | str:
    """Every value with its partner or without one, or why they could not be paired.

    A place without a value keeps the others in step, and is then none.
    """
    ours = [None if place.value is MISSING else place.value for place in expected]
    theirs = [None if place.value is MISSING else place.value for place in candidate]
    found = ruler.aligner().align(ours, theirs)
    if found.failed is not None:
        return found.note
    sides: list[tuple[int | None, int | None]] = [pair[:2] for pair in found.pairs]
    sides += [(place, None) for place in found.unmatched_expected]
    sides += [(None, other) for other in found.unmatched_candidate]
    pairs: list[ShapePair] = []
    for place, other in sides:
        here = place if place is not None and _is_value(ours[place]) else None
        there = other if other is not None and _is_value(theirs[other]) else None
        if here is not None and there is not None:
            pairs.append(ShapePair(here, there, ruler.measure(ours[here], theirs[there])))
        elif here is not None or there is not None:
            pairs.append(ShapePair(here, there, None))
    return pairs


def _is_value(value: JsonValue) -> bool:
    return presence(value) is Presence.VALUE


def row_of(pair: ShapePair) -> JsonObject:
    """A pair as a row of the details."""
    places: JsonObject = {"expected_idx": pair.expected, "parsed_idx": pair.candidate}
    return places if pair.measured is None else {**places, **pair.measured.figures}


def missed(pair: ShapePair, expected: Sequence[Place], candidate: Sequence[Place]) -> str:
    """Where a pair that is not alike enough stands, and why it is not."""
    if pair.expected is None:
        return f"{candidate[pair.candidate or 0].path} ({UNEXPECTED})"
    said = EMPTY[Presence.ABSENT] if pair.measured is None else pair.measured.said
    return f"{expected[pair.expected].path} ({said})"
