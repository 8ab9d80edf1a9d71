"""Which detection finds which region: the surest first, at every threshold and size at once.

A detection takes the region that it overlaps most among those that are free. Regions outside a
range of sizes, and crowds, are *ignored*: they are taken only if no other one is left, and what
takes them counts neither way. Detections of different images do not compete, so the first of every
image and class are matched together, then the second, and so on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from fieldmark.metrics.detection.overlaps import Ordered, Overlapping, ordered, overlapping
from fieldmark.metrics.detection.table import RegionTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Integers: TypeAlias = NDArray[np.intp]
    Flags: TypeAlias = NDArray[np.bool_]

__all__ = ["Matched", "matched"]

_WHOLE: Final = 1 - 1e-10
"""What a threshold of 1 means: a perfect overlap, give or take a rounding."""


class Matched(NamedTuple):
    """The detections, and for those that overlap some region what became of them.

    `inside` says for each range whether a detection has such a size. `which` are the detections
    that overlap a region; `hit` and `ignored` say for these, by range and threshold, whether they
    found a region and whether that is an ignored one. `wanted` counts the regions of each class
    and range that should be found.
    """

    found: Ordered
    inside: Flags
    which: Integers
    hit: Flags
    ignored: Flags
    wanted: Integers


def matched(
    table: RegionTable,
    thresholds: Floats,
    ranges: Sequence[tuple[float, float]],
    most: int,
) -> Matched:
    """Match all detections of a data set."""
    import numpy as np

    found = ordered(table, most)
    order = np.argsort(table.truth_key, kind="stable")
    limits = np.minimum(thresholds, _WHOLE)
    pairs = overlapping(table, found, order, float(limits.min()))
    crowd = table.crowd[order]
    ignored = crowd | ~_within(table.truth_area[order], ranges)
    which, first = np.unique(pairs.detection, return_index=True)
    rounds = _rounds(found.key[which])
    hit, passed_over = _greedy(pairs, first, rounds, crowd, ignored, limits)
    label = table.class_of(table.truth_key[order])
    wanted = np.stack(
        [np.bincount(label[~flags], minlength=len(table.labels)) for flags in ignored], axis=1
    )
    size = found.extent[:, 2] * found.extent[:, 3]
    return Matched(found, _within(size, ranges), which, hit, passed_over, wanted)


def _within(areas: Floats, ranges: Sequence[tuple[float, float]]) -> Flags:
    """Whether each area lies in each range, both ends included."""
    import numpy as np

    return np.stack([(areas >= least) & (areas <= most) for least, most in ranges])


def _greedy(
    pairs: Overlapping,
    first: Integers,
    rounds: Sequence[Integers],
    crowd: Flags,
    ignored: Flags,
    limits: Floats,
) -> tuple[Flags, Flags]:
    """Whether each detection that overlaps something is matched, and to an ignored region.

    The pairs of a detection begin at its place in `first`.
    """
    import numpy as np

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


def _rounds(key: Integers) -> list[Integers]:
    """The first of each key, then the second of each, and so on."""
    import numpy as np

    if not len(key):
        return []
    places = np.arange(len(key))
    starts = np.concatenate(([True], key[1:] != key[:-1]))
    turn = places - np.maximum.accumulate(np.where(starts, places, 0))
    by_turn = np.argsort(turn, kind="stable")
    return np.split(by_turn, np.cumsum(np.bincount(turn))[:-1])


def _steps(count: Integers) -> Integers:
    """0, 1, 2, … for each of some counts, in a row."""
    import numpy as np

    ends = np.cumsum(count)
    return np.arange(count.sum()) - np.repeat(ends - count, count)


def _preferences(pairs: Overlapping, ignored: Flags, count: Integers) -> tuple[Integers, Integers]:
    """How much a detection wants each region it overlaps, from 1 on, the most wanted last.

    Regions that count come after ignored ones, then the overlap decides, then the later one.
    Beside it the number of ignored ones: a wish up to there is for an ignored region.
    """
    import numpy as np

    preference = np.ones((len(pairs.iou), len(ignored)), dtype=np.intp)
    few = np.empty((len(count), len(ignored)), dtype=np.intp)
    owner = np.repeat(np.arange(len(count)), count)
    # Most detections overlap one region, and then there is nothing to prefer.
    several = np.flatnonzero(count[owner] > 1)
    steps = _steps(count[count > 1]) + 1
    for number, flags in enumerate(ignored):
        out = flags[pairs.truth]
        order = np.lexsort((pairs.iou[several], ~out[several], owner[several]))
        preference[several[order], number] = steps
        few[:, number] = np.bincount(owner[out], minlength=len(count))
    return preference, few
