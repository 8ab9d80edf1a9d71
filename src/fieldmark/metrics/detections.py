"""Regions of many images as columns, and the reader of COCO objects."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from numbers import Real
from operator import itemgetter
from typing import Annotated, Final, NamedTuple, TypeAlias, cast

from fieldmark.errors import DataError
from fieldmark.values.annotations import Range
from fieldmark.values.arrays import Flags, Floats, Integers, np

IouThreshold: TypeAlias = Annotated[float, Range(gt=0, le=1)]
_BLOCK: Final = 1 << 20  # the maximum number of pairs in memory at once


class SortedDetections(NamedTuple):
    """Detections by class, image and descending score; `rank` counts within image and class."""

    key: Integers
    extent: Floats
    score: Floats
    rank: Integers


class OverlappingPairs(NamedTuple):
    """Pairs of a detection and a region of the same class and image, in the order of both."""

    detection: Integers
    truth: Integers
    iou: Floats


def ordered(table: RegionTable, most: int) -> SortedDetections:
    """Return the `most` highest-scoring detections of each class and image, in descending order."""
    order = np.lexsort((-table.score, table.detection_key))
    rank = _ranks(table.detection_key[order])
    chosen = rank < most
    order = order[chosen]
    return SortedDetections(
        table.detection_key[order], table.detection_extent[order], table.score[order], rank[chosen]
    )


def _ranks(key: Integers) -> Integers:
    """Count from 0 within each run of equal keys."""
    positions = np.arange(len(key))
    starts = np.diff(key, prepend=-1) != 0
    return positions - np.maximum.accumulate(np.where(starts, positions, 0))


def overlapping(
    table: RegionTable,
    detections: SortedDetections,
    order: Integers,
    least: float,
    margin: float = 0.0,
) -> OverlappingPairs:
    """Return every pair with at least this overlap.

    `order` sorts the regions by key; pairs name regions by their position in it. With a `margin` of
    1, coordinates are pixel indexes, so a box from 3 to 3 is one pixel wide.
    """
    key = table.truth_key[order]
    extent, crowd = table.truth_extent[order], table.crowd[order]
    first = np.searchsorted(key, detections.key, "left")
    count = np.searchsorted(key, detections.key, "right") - first
    none = np.empty(0, dtype=np.intp)
    parts = [OverlappingPairs(none, none, np.empty(0))]
    parts += [
        _overlaps(detections.extent, extent, crowd, pairs, least, margin)
        for pairs in _candidate_pairs(first, count)
    ]
    return OverlappingPairs(*map(np.concatenate, zip(*parts, strict=True)))


def _candidate_pairs(first: Integers, count: Integers) -> Iterator[tuple[Integers, Integers]]:
    """Yield every detection with every region that it may match, in blocks."""
    some = np.flatnonzero(count)
    ends = np.cumsum(count[some])
    start = 0
    while start < len(some):
        done = ends[start - 1] if start else 0
        end = max(start + 1, int(np.searchsorted(ends, done + _BLOCK, "right")))
        part = some[start:end]
        detection = np.repeat(part, count[part])
        offset = np.repeat(ends[start:end] - count[part] - done, count[part])
        truth = np.repeat(first[part], count[part]) + np.arange(len(detection)) - offset
        yield detection, truth
        start = end


def _overlaps(
    detections: Floats,
    truths: Floats,
    crowd: Flags,
    pairs: tuple[Integers, Integers],
    least: float,
    margin: float,
) -> OverlappingPairs:
    """Return the pairs that overlap enough.

    As in the reference implementation, areas are width times height as written, and nothing is
    clamped: ties between overlaps depend on the last digit.
    """
    detection, truth = pairs
    x, y, w, h = detections.T
    left, top, width, height = truths.T
    across = np.minimum((x + w)[detection], (left + width)[truth])
    across -= np.maximum(x[detection], left[truth])
    across += margin
    near = np.flatnonzero(across > 0)
    detection, truth, across = detection[near], truth[near], across[near]
    down = np.minimum((y + h)[detection], (top + height)[truth])
    down -= np.maximum(y[detection], top[truth])
    down += margin
    near = np.flatnonzero(down > 0)
    detection, truth = detection[near], truth[near]
    common = across[near] * down[near]
    own = ((w + margin) * (h + margin))[detection]
    union = own + ((width + margin) * (height + margin))[truth] - common
    # The overlap with a crowd is relative to the detection alone.
    union = np.where(crowd[truth], own, union)
    iou = common / np.maximum(union, np.finfo(np.float64).tiny)
    chosen = iou >= least
    return OverlappingPairs(detection[chosen], truth[chosen], iou[chosen])


_WHOLE: Final = 1 - 1e-10
"""The highest threshold: because of rounding, the overlap of equal regions may not be exactly 1."""


class MatchedDetections(NamedTuple):
    """The detections, and the results of all detections that overlap a region.

    `inside` says for each range whether a detection has such a size. `which` are the detections
    that overlap a region; `hit` and `ignored` say for these, by range and threshold, whether they
    found a region and whether that region is ignored. `expected` counts the regions of each class
    and range that should be found.
    """

    detections: SortedDetections
    inside: Flags
    which: Integers
    hit: Flags
    ignored: Flags
    expected: Integers


def matched(
    table: RegionTable,
    thresholds: Floats,
    ranges: Sequence[tuple[float, float]],
    most: int,
) -> MatchedDetections:
    """Match all detections of a data set."""
    detections = ordered(table, most)
    order = np.argsort(table.truth_key, kind="stable")
    limits = np.minimum(thresholds, _WHOLE)
    pairs = overlapping(table, detections, order, float(limits.min()))
    crowd = table.crowd[order]
    ignored = crowd | ~_within(table.truth_area[order], ranges)
    which, first = np.unique(pairs.detection, return_index=True)
    turn = _ranks(detections.key[which])
    by_turn = np.argsort(turn, kind="stable")
    rounds = np.split(by_turn, np.cumsum(np.bincount(turn))[:-1]) if len(which) else []
    hit, passed_over = _greedy(pairs, first, rounds, crowd, ignored, limits)
    label = table.class_of(table.truth_key[order])
    expected = np.stack(
        [np.bincount(label[~flags], minlength=len(table.labels)) for flags in ignored], axis=1
    )
    size = detections.extent[:, 2] * detections.extent[:, 3]
    return MatchedDetections(detections, _within(size, ranges), which, hit, passed_over, expected)


def _within(areas: Floats, ranges: Sequence[tuple[float, float]]) -> Flags:
    """Return whether each area lies in each range, inclusive."""
    return np.stack([(areas >= least) & (areas <= most) for least, most in ranges])


def _greedy(
    pairs: OverlappingPairs,
    first: Integers,
    rounds: Sequence[Integers],
    crowd: Flags,
    ignored: Flags,
    limits: Floats,
) -> tuple[Flags, Flags]:
    """Return whether each overlapping detection is matched, and whether to an ignored region.

    The pairs of a detection start at its position in `first`.
    """
    shape = (len(first), len(ignored), len(limits))
    hit, passed_over = np.zeros((2, *shape), dtype=np.bool_)
    free = np.ones((len(crowd), *shape[1:]), dtype=np.bool_)
    count = np.diff(first, append=len(pairs.iou))
    preference, few = _preferences(pairs, ignored, count)
    reached = pairs.iou[:, None] >= limits
    for members in rounds:
        own = count[members]
        edges = np.repeat(first[members], own) + _steps(own)
        truth = pairs.truth[edges]
        usable = free[truth] & reached[edges][:, None, :]
        rank = np.where(usable, preference[edges][:, :, None], 0)
        best = np.maximum.reduceat(rank, np.cumsum(own) - own, axis=0)
        hit[members] = best > 0
        passed_over[members] = (best > 0) & (best <= few[members][:, :, None])
        taken = usable & (rank == np.repeat(best, own, axis=0))
        taken[crowd[truth]] = False
        free[truth] &= ~taken
    return hit, passed_over


def _steps(count: Integers) -> Integers:
    """Return 0, 1, 2, … for each count, concatenated."""
    ends = np.cumsum(count)
    return np.arange(count.sum()) - np.repeat(ends - count, count)


def _preferences(
    pairs: OverlappingPairs, ignored: Flags, count: Integers
) -> tuple[Integers, Integers]:
    """Return the ranks of the regions that a detection overlaps, and the number of ignored ones.

    The highest rank is preferred: regions that count before ignored ones, then the larger overlap,
    then the later region. Ranks up to the number of ignored regions belong to ignored regions.
    """
    preference = np.ones((len(pairs.iou), len(ignored)), dtype=np.intp)
    few = np.empty((len(count), len(ignored)), dtype=np.intp)
    owner = np.repeat(np.arange(len(count)), count)
    # Most detections overlap one region, so there is nothing to rank.
    several = np.flatnonzero(count[owner] > 1)
    steps = _steps(count[count > 1]) + 1
    for number, flags in enumerate(ignored):
        out = flags[pairs.truth]
        order = np.lexsort((pairs.iou[several], ~out[several], owner[several]))
        preference[several[order], number] = steps
        few[:, number] = np.bincount(owner[out], minlength=len(count))
    return preference, few


class ImageMatch(NamedTuple):
    """Pairs of regions and detections with their overlap, and the indexes of unmatched ones.

    A crowd is never missing, and a detection inside a crowd is never extra.
    """

    pairs: list[tuple[int, int, float]]
    missing: list[int]
    extra: list[int]


def match_image(
    truths: Sequence[TruthRegion], detections: Sequence[DetectedRegion], threshold: float, most: int
) -> ImageMatch:
    """Match the regions of one image at a single threshold, by descending score.

    >>> truth, detection = TruthRegion((0, 0, 9, 9), "car"), DetectedRegion((0, 0, 9, 8), "car")
    >>> match_image([truth], [detection], 0.5, 100).pairs
    [(0, 0, 0.8888888888888888)]
    """
    threshold = min(threshold, _WHOLE)
    by_class: dict[str, list[int]] = {}
    for index, truth in enumerate(truths):
        by_class.setdefault(truth.label, []).append(index)
    free = [not truth.crowd for truth in truths]
    seen: Counter[str] = Counter()
    match = ImageMatch([], [], [])
    for number in sorted(range(len(detections)), key=lambda index: -detections[index].score):
        label = detections[number].label
        seen[label] += 1
        if seen[label] > most:
            continue
        best, overlap, inside = -1, threshold, False
        for index in by_class.get(label, ()):
            iou = _iou(detections[number].extent, truths[index])
            if truths[index].crowd:
                inside = inside or iou >= threshold
            elif free[index] and iou >= overlap:
                best, overlap = index, iou
        if best >= 0:
            free[best] = False
            match.pairs.append((best, number, overlap))
        elif not inside:
            match.extra.append(number)
    match.pairs.sort()
    match.extra.sort()
    match.missing.extend(index for index, is_free in enumerate(free) if is_free)
    return match


def _iou(extent: Extent, truth: TruthRegion) -> float:
    x, y, w, h = extent
    left, top, width, height = truth.extent
    across = min(x + w, left + width) - max(x, left)
    down = min(y + h, top + height) - max(y, top)
    if across <= 0 or down <= 0:
        return 0.0
    common = across * down
    union = w * h if truth.crowd else w * h + width * height - common
    return common / union if union > 0 else 0.0


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
    detection_key: Integers
    detection_extent: Floats
    score: Floats

    def class_of(self, key: Integers) -> Integers:
        """Return the class that a key belongs to."""
        return key // max(1, self.images)


class Regions:
    """Collects the regions of images.

    Classes are sorted by name at the end, so the order and partition of the images do not matter.
    """

    __slots__ = ("_detections", "_labels", "_truth", "images")

    def __init__(self) -> None:
        self.images = 0
        self._labels: dict[str, int] = {}
        self._truth = array("d")  # class, image, left, top, width, height, area, crowd
        self._detections = array("d")  # class, image, left, top, width, height, score

    def add(self, truths: Iterable[TruthRegion], detections: Iterable[DetectedRegion]) -> None:
        """Add an image."""
        for extent, label, area, crowd in truths:
            size = extent[2] * extent[3] if area is None else area
            self._truth.extend((self._code(label), self.images, *extent, size, crowd))
        for extent, label, score in detections:
            self._detections.extend((self._code(label), self.images, *extent, score))
        self.images += 1

    def merge(self, other: Regions) -> None:
        """Add the images of another part of the data set."""
        codes = np.array([self._code(label) for label in other._labels], dtype=np.float64)
        for rows, other_rows in zip((self._truth, self._detections), other._rows(), strict=True):
            other_rows[:, 0] = codes[other_rows[:, 0].astype(np.intp)]
            other_rows[:, 1] += self.images
            rows.frombytes(other_rows.tobytes())
        self.images += other.images

    def table(self) -> RegionTable:
        """Return all regions as arrays, with classes sorted by name."""
        labels = sorted(self._labels)
        rank = np.empty(len(labels), dtype=np.intp)
        rank[[self._labels[label] for label in labels]] = np.arange(len(labels))
        truth, detections = self._rows()
        truth_key, detection_key = (
            rank[rows[:, 0].astype(np.intp)] * self.images + rows[:, 1].astype(np.intp)
            for rows in (truth, detections)
        )
        return RegionTable(
            labels=tuple(labels),
            images=self.images,
            truth_key=truth_key,
            truth_extent=truth[:, 2:6],
            truth_area=truth[:, 6],
            crowd=truth[:, 7] != 0,
            detection_key=detection_key,
            detection_extent=detections[:, 2:6],
            score=detections[:, 6],
        )

    def _rows(self) -> tuple[Floats, Floats]:
        """Return copies of the regions and of the detections, one row each."""
        return np.array(self._truth).reshape(-1, 8), np.array(self._detections).reshape(-1, 7)

    def _code(self, label: str) -> int:
        return self._labels.setdefault(label, len(self._labels))


_TRUTH: Final = "an annotation"
_RESULT: Final = "a detection"

Entry: TypeAlias = Mapping[str, object]
CocoGroundTruth: TypeAlias = "Mapping[str, object] | Iterable[Entry]"
"""The object of an instances file, or its annotations alone."""


def read_coco(ground_truth: CocoGroundTruth, detections: Iterable[Entry]) -> RegionTable:
    """Read the regions of COCO objects, with classes and images in the order of their ids.

    Detections of classes that are not in the ground truth are ignored; a detection of an unknown
    image is an error.
    """
    results = list(detections)
    categories = None
    if isinstance(ground_truth, Mapping):
        truth, listed = _list_of(ground_truth, "annotations"), _list_of(ground_truth, "images")
        images = set(_column(listed, "id", "an image"))
        categories = ground_truth.get("categories")
    else:
        truth = list(ground_truth)
        images = {*_column(truth, "image_id", _TRUTH), *_column(results, "image_id", _RESULT)}
    if isinstance(categories, Sequence):
        names = class_names(cast("Sequence[Entry]", categories))
    else:
        names = {number: str(number) for number in _column(truth, "category_id", _TRUTH)}
    image_of = {image: number for number, image in enumerate(_sorted(images))}
    class_of = {name: number for number, name in enumerate(_sorted(names))}
    if not set(_column(results, "category_id", _RESULT)) <= names.keys():
        results = [entry for entry in results if entry["category_id"] in names]
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
        detection_key=_keys(results, class_of, image_of, _RESULT),
        detection_extent=_extents(results, _RESULT),
        score=_numbers(_column(results, "score", _RESULT), _RESULT, "score"),
    )


def class_names(categories: Iterable[Entry]) -> dict[object, str]:
    """Return the name of each category, or its id if it has no name or shares it with another."""
    listed_categories = list(categories)
    names = [entry.get("name") for entry in listed_categories]
    listed = zip(_column(listed_categories, "id", "a category"), names, strict=True)
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
    objects = cast("Sequence[object]", entries)
    odd = next(entry for entry in objects if not isinstance(entry, Mapping) or key not in entry)
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
