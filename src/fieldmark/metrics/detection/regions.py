"""Regions of many images as columns, and COCO objects read into them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from numbers import Real
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, cast

from fieldmark.errors import DataError

if TYPE_CHECKING:
    from fieldmark.metrics.arrays import Flags, Floats, Integers

__all__ = [
    "CocoGiven",
    "DetectedRegion",
    "Extent",
    "RegionTable",
    "Regions",
    "TruthRegion",
    "class_names",
    "read_coco",
]

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
    """Collects the regions of images.

    Classes are sorted by name in the end, so the order and the partition of the images do not
    matter.
    """

    __slots__ = ("_found", "_found_places", "_labels", "_truth", "_truth_places", "images")

    def __init__(self) -> None:
        self.images = 0
        self._labels: dict[str, int] = {}
        self._truth = array("d")  # left, top, width, height, area, crowd
        self._truth_places = array("q")  # class, image
        self._found = array("d")  # left, top, width, height, score
        self._found_places = array("q")

    def add(self, truths: Iterable[TruthRegion], found: Iterable[DetectedRegion]) -> None:
        """Add an image."""
        for extent, label, area, crowd in truths:
            size = extent[2] * extent[3] if area is None else area
            self._truth.extend((*extent, size, crowd))
            self._truth_places.extend((self._code(label), self.images))
        for extent, label, score in found:
            self._found.extend((*extent, score))
            self._found_places.extend((self._code(label), self.images))
        self.images += 1

    def merge(self, other: Regions) -> None:
        """Add the images of another part of the data set."""
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
        """All regions as arrays, classes sorted by name."""
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


_TRUTH: Final = "annotation"
_RESULT: Final = "detection"

Entry: TypeAlias = Mapping[str, object]
CocoGiven: TypeAlias = "Mapping[str, object] | Iterable[Entry]"
"""The object of an instances file, or its annotations alone."""


def read_coco(ground_truth: CocoGiven, detections: Iterable[Entry]) -> RegionTable:
    """The regions of COCO objects; classes and images in the order of their ids.

    Detections of classes that the truth does not know are left out; those of unknown images are
    refused.
    """
    found = list(detections)
    truth, images, names = _parts(ground_truth, found)
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
    """The name of each category, or its id where there is none or several share one."""
    given = list(categories)
    names = [entry.get("name") for entry in given]
    listed = zip(_column(given, "id", "category"), names, strict=True)
    unique = len(set(map(str, names))) == len(names) and all(isinstance(n, str) for n in names)
    return {number: str(name) if unique else str(number) for number, name in listed}


def _parts(
    ground_truth: CocoGiven, found: Sequence[Entry]
) -> tuple[list[Entry], set[object], dict[object, str]]:
    """Annotations, the ids of images, and the names of classes by id."""
    if not isinstance(ground_truth, Mapping):
        truth = list(ground_truth)
        images = {*_column(truth, "image_id", _TRUTH), *_column(found, "image_id", _RESULT)}
        return truth, images, _numbered(truth)
    truth, listed = _list_of(ground_truth, "annotations"), _list_of(ground_truth, "images")
    categories = ground_truth.get("categories")
    known = isinstance(categories, Sequence)
    names = class_names(cast("Sequence[Entry]", categories)) if known else _numbered(truth)
    return truth, set(_column(listed, "id", "image")), names


def _list_of(ground_truth: Entry, part: str) -> list[Entry]:
    listed = ground_truth.get(part)
    if not isinstance(listed, Sequence):
        raise DataError(f"the ground truth has no list of {part}")
    return list(cast("Sequence[Entry]", listed))


def _numbered(truth: Sequence[Entry]) -> dict[object, str]:
    return {number: str(number) for number in _column(truth, "category_id", _TRUTH)}


def _sorted(ids: Iterable[object]) -> list[object]:
    """Ids sorted, by their texts if they are not comparable."""
    try:
        return sorted(ids)  # type: ignore[type-var]
    except TypeError:
        return sorted(ids, key=str)


def _column(entries: Sequence[Entry], key: str, what: str) -> list[object]:
    """The value of a key in every entry."""
    try:
        return list(map(itemgetter(key), entries))
    except (KeyError, TypeError):
        pass
    given = cast("Sequence[object]", entries)
    odd = next(entry for entry in given if not isinstance(entry, Mapping) or key not in entry)
    raise DataError(f"{_article(what)} has no {key}: {str(odd)[:80]}")


def _article(what: str) -> str:
    return f"an {what}" if what[0] in "aeiou" else f"a {what}"


def _keys(
    entries: Sequence[Entry],
    class_of: Mapping[object, int],
    image_of: Mapping[object, int],
    what: str,
) -> Integers:
    import numpy as np

    labels, images = _column(entries, "category_id", what), _column(entries, "image_id", what)
    try:
        label = np.array([class_of[name] for name in labels], dtype=np.intp)
        image = np.array([image_of[name] for name in images], dtype=np.intp)
    except (KeyError, TypeError) as error:
        named = f"{_article(what)} names {error}"
        raise DataError(f"{named}, which the ground truth does not have") from None
    keys: Integers = label * len(image_of) + image
    return keys


def _extents(entries: Sequence[Entry], what: str) -> Floats:
    boxes = _column(entries, "bbox", what)
    try:
        sizes = set(map(len, cast("list[list[object]]", boxes)))
    except TypeError:
        sizes = {0}
    if not sizes <= {4}:
        raise DataError(f"{_article(what)} has a bbox that is not 4 numbers")
    numbers = list(chain.from_iterable(cast("list[list[object]]", boxes)))
    return _numbers(numbers, what, "bbox").reshape(-1, 4)


def _numbers(values: Sequence[object], what: str, key: str) -> Floats:
    import numpy as np

    kinds: set[type] = set(map(type, values))
    numbers = np.array([np.nan])
    if bool not in kinds and all(issubclass(kind, Real) for kind in kinds):
        with suppress(OverflowError):
            numbers = np.array(values, dtype=np.float64)
    if np.isfinite(numbers).all():
        return numbers
    raise DataError(f"the {key} of {_article(what)} is not a finite number")
