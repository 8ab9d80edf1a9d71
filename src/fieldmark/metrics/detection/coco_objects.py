"""Images, annotations and results as COCO files hold them, read into columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from numbers import Real
from operator import itemgetter
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from fieldmark.errors import DataError
from fieldmark.metrics.detection.table import RegionTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Integers: TypeAlias = NDArray[np.intp]

__all__ = ["CocoGiven", "class_names", "read_coco"]

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
    """Ids in their own order where they have one, else in that of their texts."""
    try:
        return sorted(ids)  # type: ignore[type-var]
    except TypeError:
        return sorted(ids, key=str)


def _column(entries: Sequence[Entry], key: str, what: str) -> list[object]:
    """What every entry has under a key."""
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
