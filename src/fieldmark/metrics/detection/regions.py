"""Regions of many images as columns, and the reader of COCO objects."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from numbers import Real
from operator import itemgetter
from typing import Final, NamedTuple, TypeAlias, cast

import numpy as np

from fieldmark.errors import DataError
from fieldmark.values.arrays import Flags, Floats, Integers

Extent: TypeAlias = tuple[float, float, float, float]
"""A corner and a size: left, top, width, height."""


class TruthRegion(NamedTuple):
    """A region of the ground truth; any number of detections may lie inside a crowd."""

    extent: Extent
    label: str
    area: float | None = None
    crowd: bool = False


class DetectedRegion(NamedTuple):
    """A detected region with its confidence score."""

    extent: Extent
    label: str
    score: float = 1.0


class RegionTable(NamedTuple):
    """The regions of a data set in arrays; `key` combines class and image in one number.

    Regions with the same key may match each other. Keys count through the images of the first
    class, then through the images of the next class.
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
        """Return the class that a key belongs to."""
        return key // max(1, self.images)


class Regions:
    """Collects the regions of images.

    Classes are sorted by name at the end, so the order and partition of the images do not matter.
    """

    __slots__ = ("_found", "_labels", "_truth", "images")

    def __init__(self) -> None:
        self.images = 0
        self._labels: dict[str, int] = {}
        self._truth = array("d")  # class, image, left, top, width, height, area, crowd
        self._found = array("d")  # class, image, left, top, width, height, score

    def add(self, truths: Iterable[TruthRegion], found: Iterable[DetectedRegion]) -> None:
        """Add an image."""
        for extent, label, area, crowd in truths:
            size = extent[2] * extent[3] if area is None else area
            self._truth.extend((self._code(label), self.images, *extent, size, crowd))
        for extent, label, score in found:
            self._found.extend((self._code(label), self.images, *extent, score))
        self.images += 1

    def merge(self, other: Regions) -> None:
        """Add the images of another part of the data set."""
        codes = np.array([self._code(label) for label in other._labels], dtype=np.float64)
        for ours, theirs in zip((self._truth, self._found), other._rows(), strict=True):
            theirs[:, 0] = codes[theirs[:, 0].astype(np.intp)]
            theirs[:, 1] += self.images
            ours.frombytes(theirs.tobytes())
        self.images += other.images

    def table(self) -> RegionTable:
        """Return all regions as arrays, with classes sorted by name."""
        labels = sorted(self._labels)
        rank = np.empty(len(labels), dtype=np.intp)
        rank[[self._labels[label] for label in labels]] = np.arange(len(labels))
        truth, found = self._rows()
        truth_key, found_key = (
            rank[rows[:, 0].astype(np.intp)] * self.images + rows[:, 1].astype(np.intp)
            for rows in (truth, found)
        )
        return RegionTable(
            labels=tuple(labels),
            images=self.images,
            truth_key=truth_key,
            truth_extent=truth[:, 2:6],
            truth_area=truth[:, 6],
            crowd=truth[:, 7] != 0,
            found_key=found_key,
            found_extent=found[:, 2:6],
            score=found[:, 6],
        )

    def _rows(self) -> tuple[Floats, Floats]:
        """Return copies of the regions and of the detections, one row each."""
        return np.array(self._truth).reshape(-1, 8), np.array(self._found).reshape(-1, 7)

    def _code(self, label: str) -> int:
        return self._labels.setdefault(label, len(self._labels))


_TRUTH: Final = "an annotation"
_RESULT: Final = "a detection"

Entry: TypeAlias = Mapping[str, object]
CocoGiven: TypeAlias = "Mapping[str, object] | Iterable[Entry]"
"""The object of an instances file, or its annotations alone."""


def read_coco(ground_truth: CocoGiven, detections: Iterable[Entry]) -> RegionTable:
    """Read the regions of COCO objects, with classes and images in the order of their ids.

    Detections of classes that are not in the ground truth are ignored; a detection of an unknown
    image is an error.
    """
    found = list(detections)
    categories = None
    if isinstance(ground_truth, Mapping):
        truth, listed = _list_of(ground_truth, "annotations"), _list_of(ground_truth, "images")
        images = set(_column(listed, "id", "an image"))
        categories = ground_truth.get("categories")
    else:
        truth = list(ground_truth)
        images = {*_column(truth, "image_id", _TRUTH), *_column(found, "image_id", _RESULT)}
    if isinstance(categories, Sequence):
        names = class_names(cast("Sequence[Entry]", categories))
    else:
        names = {number: str(number) for number in _column(truth, "category_id", _TRUTH)}
    image_of = {image: number for number, image in enumerate(_sorted(images))}
    class_of = {name: number for number, name in enumerate(_sorted(names))}
    if not set(_column(found, "category_id", _RESULT)) <= names.keys():
        found = [entry for entry in found if entry["category_id"] in names]
    extent = _extents(truth, _TRUTH)
    areas = [entry.get("area") for entry in truth]
    if None in areas:
        sizes = (extent[:, 2] * extent[:, 3]).tolist()
        areas = [size if area is None else area for area, size in zip(areas, sizes, strict=True)]
    crowd = [entry.get("iscrowd") or 0 for entry in truth]
    return RegionTable(
        labels=tuple(names[name] for name in class_of),
        images=len(image_of),
        truth_key=_keys(truth, class_of, image_of, _TRUTH),
        truth_extent=extent,
        truth_area=_numbers(areas, _TRUTH, "area"),
        crowd=_numbers([int(flag) if flag is True else flag for flag in crowd], _TRUTH, "iscrowd")
        != 0,
        found_key=_keys(found, class_of, image_of, _RESULT),
        found_extent=_extents(found, _RESULT),
        score=_numbers(_column(found, "score", _RESULT), _RESULT, "score"),
    )


def class_names(categories: Iterable[Entry]) -> dict[object, str]:
    """Return the name of each category, or its id if it has no name or shares it with another."""
    given = list(categories)
    names = [entry.get("name") for entry in given]
    listed = zip(_column(given, "id", "a category"), names, strict=True)
    unique = len(set(map(str, names))) == len(names) and all(isinstance(n, str) for n in names)
    return {number: str(name) if unique else str(number) for number, name in listed}


def _list_of(ground_truth: Entry, part: str) -> list[Entry]:
    listed = ground_truth.get(part)
    if not isinstance(listed, Sequence):
        raise DataError(f"the ground truth has no list of {part}")
    return list(cast("Sequence[Entry]", listed))


def _sorted(ids: Iterable[object]) -> list[object]:
    """Sort ids, by their text if they are not comparable."""
    try:
        return sorted(ids)  # type: ignore[type-var]
    except TypeError:
        return sorted(ids, key=str)


def _column(entries: Sequence[Entry], key: str, what: str) -> list[object]:
    """Return the value of a key in every entry."""
    try:
        return list(map(itemgetter(key), entries))
    except (KeyError, TypeError):
        pass
    given = cast("Sequence[object]", entries)
    odd = next(entry for entry in given if not isinstance(entry, Mapping) or key not in entry)
    raise DataError(f"{what} has no {key}: {str(odd)[:80]}")


def _keys(
    entries: Sequence[Entry],
    class_of: Mapping[object, int],
    image_of: Mapping[object, int],
    what: str,
) -> Integers:

    labels, images = _column(entries, "category_id", what), _column(entries, "image_id", what)
    try:
        label = np.array([class_of[name] for name in labels], dtype=np.intp)
        image = np.array([image_of[name] for name in images], dtype=np.intp)
    except (KeyError, TypeError) as error:
        message = f"{what} refers to id {error}, which is not in the ground truth"
        raise DataError(message) from None
    keys: Integers = label * len(image_of) + image
    return keys


def _extents(entries: Sequence[Entry], what: str) -> Floats:
    boxes = _column(entries, "bbox", what)
    try:
        sizes = set(map(len, cast("list[list[object]]", boxes)))
    except TypeError:
        sizes = {0}
    if not sizes <= {4}:
        raise DataError(f"the bbox of {what} must be 4 numbers")
    numbers = list(chain.from_iterable(cast("list[list[object]]", boxes)))
    return _numbers(numbers, what, "bbox").reshape(-1, 4)


def _numbers(values: Sequence[object], what: str, key: str) -> Floats:

    kinds: set[type] = set(map(type, values))
    numbers = np.array([np.nan])
    if bool not in kinds and all(issubclass(kind, Real) for kind in kinds):
        with suppress(OverflowError):
            numbers = np.array(values, dtype=np.float64)
    if np.isfinite(numbers).all():
        return numbers
    raise DataError(f"the {key} of {what} must be a finite number")
