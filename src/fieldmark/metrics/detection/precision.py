"""Average precision and recall of every class, threshold and range, from what was matched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from fieldmark.metrics.detection.matching import Matched
from fieldmark.metrics.detection.table import RegionTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Integers: TypeAlias = NDArray[np.intp]
    Flags: TypeAlias = NDArray[np.bool_]

__all__ = ["UNDEFINED", "Curves", "curves"]

UNDEFINED: Final = -1.0
"""What stands for a class without regions, as in the reference implementation."""
_RECALLS: Final = 101


class Curves(NamedTuple):
    """Precision at 101 recalls, and recall at each number of detections.

    The axes are threshold, recall, class and range; and threshold, class, range and number.
    """

    precision: Floats
    recall: Floats


class _Sparse(NamedTuple):
    """The detections that overlap some region, by class and falling score.

    `before` counts, for each range, the detections of such a size up to each of them.
    """

    hit: Flags
    ignored: Flags
    inside: Flags
    before: Integers

    def part(self, start: int, end: int, span: int) -> _Sparse:
        """Those of one class in one range."""
        here = slice(start, end)
        return _Sparse(
            self.hit[here, span],
            self.ignored[here, span],
            self.inside[span, here],
            self.before[span, here],
        )


def curves(table: RegionTable, matches: Matched, most: tuple[int, ...]) -> Curves:
    """The curves of a data set; `most` are the numbers of detections that recall is asked for."""
    import numpy as np

    classes, spans = matches.wanted.shape
    label = table.class_of(matches.found.key)
    of_which = label[matches.which]
    bounds = np.searchsorted(of_which, np.arange(classes + 1)).tolist()
    sparse = _by_score(matches, label)
    precision = np.full((matches.hit.shape[2], _RECALLS, classes, spans), UNDEFINED)
    for number in range(classes):
        start, end = bounds[number : number + 2]
        for span, wanted in enumerate(matches.wanted[number].tolist()):
            if wanted:
                part = sparse.part(start, end, span)
                precision[:, :, number, span] = _precision(part, wanted)
    return Curves(precision, _recall(matches, of_which, most))


def _recall(matches: Matched, label: Integers, most: tuple[int, ...]) -> Floats:
    """The share of regions that are found by the surest detections of each image."""
    import numpy as np

    wanted = matches.wanted[:, :, None]
    right = matches.hit & ~matches.ignored
    rank = matches.found.rank[matches.which]
    shares = []
    for limit in most:
        sure = np.flatnonzero(rank < limit)
        present, starts = np.unique(label[sure], return_index=True)
        found = np.zeros((len(wanted), *right.shape[1:]), dtype=np.int32)
        if len(present):
            found[present] = np.add.reduceat(right[sure], starts, axis=0, dtype=np.int32)
        share = np.full(found.shape, UNDEFINED)
        np.divide(found, wanted, out=share, where=np.broadcast_to(wanted > 0, found.shape))
        shares.append(share.transpose(2, 0, 1))
    return np.stack(shares, axis=-1)


def _by_score(matches: Matched, label: Integers) -> _Sparse:
    import numpy as np

    found = matches.found
    order = np.lexsort((-found.score, label))
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    sizes = np.zeros((len(matches.inside), len(order) + 1), dtype=np.intp)
    np.cumsum(matches.inside[:, order], axis=1, out=sizes[:, 1:])
    by_place = np.argsort(place[matches.which], kind="stable")
    which = matches.which[by_place]
    first = np.searchsorted(label[order], label[which])
    return _Sparse(
        matches.hit[by_place],
        matches.ignored[by_place],
        matches.inside[:, which],
        sizes[:, place[which] + 1] - sizes[:, first],
    )


def _precision(part: _Sparse, wanted: int) -> Floats:
    """The best precision at each recall or above, for every threshold.

    Precision is best where a region has just been found, so only such places are looked at. What
    found an ignored region does not count, whatever its size.
    """
    import numpy as np

    right = part.hit & ~part.ignored
    inside = part.inside[:, None]
    counted = np.where(part.hit, ~part.ignored, inside).astype(np.intp)
    among = part.before[:, None] + np.cumsum(counted - inside, axis=0)
    found = np.cumsum(right, axis=0, dtype=np.intp)
    # The reference implementation keeps clear of a division by zero in this way.
    precise = found / (among + np.spacing(1))
    recalls = np.linspace(0.0, 1.0, _RECALLS)
    needed = np.searchsorted(np.arange(1, wanted + 1) / wanted, recalls, side="left")
    best = np.zeros((right.shape[1], _RECALLS))
    for number, flags in enumerate(right.T):
        envelope = np.maximum.accumulate(precise[flags, number][::-1])[::-1]
        reached = needed < len(envelope)
        best[number, reached] = envelope[needed[reached]]
    return best
