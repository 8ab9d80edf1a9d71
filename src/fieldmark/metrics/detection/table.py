"""Regions of many images as columns, image after image: they add, so parts of a data set merge."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Integers: TypeAlias = NDArray[np.intp]
    Flags: TypeAlias = NDArray[np.bool_]

__all__ = ["Extent", "Found", "RegionTable", "Regions", "Truth"]

Extent: TypeAlias = tuple[float, float, float, float]
"""A corner and a size: left, top, width, height."""


class Truth(NamedTuple):
    """A region that is there. Of a crowd any number of detections may lie inside."""

    extent: Extent
    label: str
    area: float | None = None
    crowd: bool = False


class Found(NamedTuple):
    """A region that was detected; the higher its score, the surer the detector was."""

    extent: Extent
    label: str
    score: float = 1.0


class RegionTable(NamedTuple):
    """The regions of a data set in arrays; `key` numbers class and image in one.

    Regions with the same key may match each other: keys run through the images of the first
    class, then through those of the next.
    """

    labels: tuple[str, ...]
    images: int
    truth_key: Integers
    truth_extent: Floats
    truth_area: Floats
    crowd: Flags
    found_key: Integers
    found_extent: Floats
    score: Floats

    def class_of(self, key: Integers) -> Integers:
        """The class that a key belongs to."""
        return key // max(1, self.images)


class Regions:
    """Gathers images one after the other.

    Classes are put in the order of their names in the end, so that it does not matter in which
    order, or in how many parts, the images came.
    """

    __slots__ = ("_found", "_found_places", "_labels", "_truth", "_truth_places", "images")

    def __init__(self) -> None:
        self.images = 0
        self._labels: dict[str, int] = {}
        self._truth = array("d")  # left, top, width, height, area, crowd
        self._truth_places = array("q")  # class, image
        self._found = array("d")  # left, top, width, height, score
        self._found_places = array("q")

    def add(self, truths: Iterable[Truth], found: Iterable[Found]) -> None:
        """One more image."""
        for extent, label, area, crowd in truths:
            size = extent[2] * extent[3] if area is None else area
            self._truth.extend((*extent, size, crowd))
            self._truth_places.extend((self._code(label), self.images))
        for extent, label, score in found:
            self._found.extend((*extent, score))
            self._found_places.extend((self._code(label), self.images))
        self.images += 1

    def merge(self, other: Regions) -> None:
        """All images of another part of the data set, after these."""
        codes = [self._code(label) for label in other._labels]
        for ours, theirs in (
            (self._truth_places, other._truth_places),
            (self._found_places, other._found_places),
        ):
            for place in range(0, len(theirs), 2):
                ours.extend((codes[theirs[place]], theirs[place + 1] + self.images))
        self._truth.extend(other._truth)
        self._found.extend(other._found)
        self.images += other.images

    def table(self) -> RegionTable:
        """Everything in arrays, the classes in the order of their names."""
        import numpy as np

        labels = sorted(self._labels)
        rank = np.empty(len(labels), dtype=np.intp)
        rank[[self._labels[label] for label in labels]] = np.arange(len(labels))
        truth = np.array(self._truth, dtype=np.float64).reshape(-1, 6)
        found = np.array(self._found, dtype=np.float64).reshape(-1, 5)
        return RegionTable(
            labels=tuple(labels),
            images=self.images,
            truth_key=self._keys(self._truth_places, rank),
            truth_extent=truth[:, :4],
            truth_area=truth[:, 4],
            crowd=truth[:, 5] != 0,
            found_key=self._keys(self._found_places, rank),
            found_extent=found[:, :4],
            score=found[:, 4],
        )

    def _keys(self, places: array[int], rank: Integers) -> Integers:
        import numpy as np

        pairs = np.array(places, dtype=np.intp).reshape(-1, 2)
        keys: Integers = rank[pairs[:, 0]] * self.images + pairs[:, 1]
        return keys

    def _code(self, label: str) -> int:
        return self._labels.setdefault(label, len(self._labels))
