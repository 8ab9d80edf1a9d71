"""Detections in order, and the regions that each of them overlaps enough."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from fieldmark.metrics.detection.table import RegionTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Integers: TypeAlias = NDArray[np.intp]
    Flags: TypeAlias = NDArray[np.bool_]

__all__ = ["Ordered", "Overlapping", "ordered", "overlapping"]

_BLOCK: Final = 1 << 20  # pairs that are held in memory at once


class Ordered(NamedTuple):
    """Detections by class, image and falling score; `rank` counts those of an image and class."""

    key: Integers
    extent: Floats
    score: Floats
    rank: Integers


class Overlapping(NamedTuple):
    """Pairs of a detection and a region of its class and image, in the order of both."""

    detection: Integers
    truth: Integers
    iou: Floats


def ordered(table: RegionTable, most: int) -> Ordered:
    """The detections of every class and image, the surest first, and no more than so many."""
    import numpy as np

    order = np.lexsort((-table.score, table.found_key))
    key = table.found_key[order]
    places = np.arange(len(key))
    starts = np.concatenate(([True], key[1:] != key[:-1])) if len(key) else places.astype(bool)
    rank = places - np.maximum.accumulate(np.where(starts, places, 0))
    if len(rank) and rank.max() >= most:
        kept = rank < most
        order, key, rank = order[kept], key[kept], rank[kept]
    return Ordered(key, table.found_extent[order], table.score[order], rank)


def overlapping(
    table: RegionTable, found: Ordered, order: Integers, least: float, margin: float = 0.0
) -> Overlapping:
    """Every pair that overlaps at least so much.

    `order` puts the regions in the order of their keys; pairs name regions by their places in it.
    With a `margin` of 1, coordinates name pixels, and a box from 3 to 3 is one pixel wide.
    """
    import numpy as np

    key = table.truth_key[order]
    extent, crowd = table.truth_extent[order], table.crowd[order]
    first = np.searchsorted(key, found.key, "left")
    count = np.searchsorted(key, found.key, "right") - first
    parts = [
        _enough(found.extent, extent, crowd, pairs, least, margin) for pairs in _pairs(first, count)
    ]
    if not parts:
        none = np.empty(0, dtype=np.intp)
        return Overlapping(none, none, np.empty(0))
    return Overlapping(*map(np.concatenate, zip(*parts, strict=True)))


def _pairs(first: Integers, count: Integers) -> Iterator[tuple[Integers, Integers]]:
    """Every detection with every region that it may match, some at a time."""
    import numpy as np

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


def _enough(
    found: Floats,
    truths: Floats,
    crowd: Flags,
    pairs: tuple[Integers, Integers],
    least: float,
    margin: float,
) -> Overlapping:
    """The pairs that overlap enough.

    Areas are width times height as written, and nothing is clamped: the reference
    implementation of the figures reckons so, and ties between overlaps depend on the last digit.
    """
    import numpy as np

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
    # A detection inside a crowd need not cover it.
    union = np.where(crowd[truth], own, union)
    iou = common / np.maximum(union, np.finfo(np.float64).tiny)
    kept = iou >= least
    return Overlapping(detection[kept], truth[kept], iou[kept])
