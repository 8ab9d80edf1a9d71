"""Matches detections to regions by overlap, for all thresholds and size ranges at once.

A detection is matched to the free region that it overlaps most. Crowds and regions outside a size
range are *ignored*: they are matched only if no other region is left, and the detections matched to
them do not count. Detections of different images do not compete, so the first detections of all
images and classes are matched together, then the second, and so on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated, Final, NamedTuple, TypeAlias

import numpy as np

from fieldmark.metrics.detection.regions import DetectedRegion, Extent, RegionTable, TruthRegion
from fieldmark.values.annotations import Range
from fieldmark.values.arrays import Flags, Floats, Integers

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
    order = np.lexsort((-table.score, table.found_key))
    rank = _ranks(table.found_key[order])
    chosen = rank < most
    order = order[chosen]
    return SortedDetections(
        table.found_key[order], table.found_extent[order], table.score[order], rank[chosen]
    )


def _ranks(key: Integers) -> Integers:
    """Count from 0 within each run of equal keys."""
    places = np.arange(len(key))
    starts = np.diff(key, prepend=-1) != 0
    return places - np.maximum.accumulate(np.where(starts, places, 0))


def overlapping(
    table: RegionTable, found: SortedDetections, order: Integers, least: float, margin: float = 0.0
) -> OverlappingPairs:
    """Return every pair with at least this overlap.

    `order` sorts the regions by key; pairs name regions by their position in it. With a `margin` of
    1, coordinates are pixel indexes, so a box from 3 to 3 is one pixel wide.
    """
    key = table.truth_key[order]
    extent, crowd = table.truth_extent[order], table.crowd[order]
    first = np.searchsorted(key, found.key, "left")
    count = np.searchsorted(key, found.key, "right") - first
    none = np.empty(0, dtype=np.intp)
    parts = [OverlappingPairs(none, none, np.empty(0))]
    parts += [
        _overlaps(found.extent, extent, crowd, pairs, least, margin)
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
    found: Floats,
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
    x, y, w, h = found.T
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
    """The detections, and the results of those that overlap a region.

    `inside` says for each range whether a detection has such a size. `which` are the detections
    that overlap a region; `hit` and `ignored` say for these, by range and threshold, whether they
    found a region and whether that region is ignored. `expected` counts the regions of each class
    and range that should be found.
    """

    found: SortedDetections
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
    found = ordered(table, most)
    order = np.argsort(table.truth_key, kind="stable")
    limits = np.minimum(thresholds, _WHOLE)
    pairs = overlapping(table, found, order, float(limits.min()))
    crowd = table.crowd[order]
    ignored = crowd | ~_within(table.truth_area[order], ranges)
    which, first = np.unique(pairs.detection, return_index=True)
    turn = _ranks(found.key[which])
    by_turn = np.argsort(turn, kind="stable")
    rounds = np.split(by_turn, np.cumsum(np.bincount(turn))[:-1]) if len(which) else []
    hit, passed_over = _greedy(pairs, first, rounds, crowd, ignored, limits)
    label = table.class_of(table.truth_key[order])
    expected = np.stack(
        [np.bincount(label[~flags], minlength=len(table.labels)) for flags in ignored], axis=1
    )
    size = found.extent[:, 2] * found.extent[:, 3]
    return MatchedDetections(found, _within(size, ranges), which, hit, passed_over, expected)


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
    truths: Sequence[TruthRegion], found: Sequence[DetectedRegion], threshold: float, most: int
) -> ImageMatch:
    """Match the regions of one image at a single threshold, by descending score.

    >>> truth, found = TruthRegion((0, 0, 9, 9), "car"), DetectedRegion((0, 0, 9, 8), "car")
    >>> match_image([truth], [found], 0.5, 100).pairs
    [(0, 0, 0.8888888888888888)]
    """
    threshold = min(threshold, _WHOLE)
    by_class: dict[str, list[int]] = {}
    for place, truth in enumerate(truths):
        by_class.setdefault(truth.label, []).append(place)
    free = [not truth.crowd for truth in truths]
    seen: Counter[str] = Counter()
    match = ImageMatch([], [], [])
    for number in sorted(range(len(found)), key=lambda place: -found[place].score):
        label = found[number].label
        seen[label] += 1
        if seen[label] > most:
            continue
        best, overlap, inside = -1, threshold, False
        for place in by_class.get(label, ()):
            iou = _iou(found[number].extent, truths[place])
            if truths[place].crowd:
                inside = inside or iou >= threshold
            elif free[place] and iou >= overlap:
                best, overlap = place, iou
        if best >= 0:
            free[best] = False
            match.pairs.append((best, number, overlap))
        elif not inside:
            match.extra.append(number)
    match.pairs.sort()
    match.extra.sort()
    match.missing.extend(place for place, is_free in enumerate(free) if is_free)
    return match


def _iou(found: Extent, truth: TruthRegion) -> float:
    x, y, w, h = found
    left, top, width, height = truth.extent
    across = min(x + w, left + width) - max(x, left)
    down = min(y + h, top + height) - max(y, top)
    if across <= 0 or down <= 0:
        return 0.0
    common = across * down
    union = w * h if truth.crowd else w * h + width * height - common
    return common / union if union > 0 else 0.0
