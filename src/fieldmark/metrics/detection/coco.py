"""COCO's twelve average precision and recall figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from fieldmark.errors import OptionError
from fieldmark.metrics.detection.matching import MatchedDetections, matched
from fieldmark.metrics.detection.regions import CocoGiven, RegionTable, read_coco
from fieldmark.model.json import JsonObject

if TYPE_CHECKING:
    from fieldmark.metrics.arrays import Flags, Floats, Integers

__all__ = ["AREAS", "MAX_DETECTIONS", "CocoSettings", "coco_ap", "coco_figures"]

_UNDEFINED: Final = -1.0
"""The value for a class without regions, as in the reference implementation."""
_RECALLS: Final = 101


class _ScoredMatches(NamedTuple):
    """The detections that overlap some region, by class and descending score.

    `before` counts, for each range, the detections of such a size up to each of them.
    """

    hit: Flags
    ignored: Flags
    inside: Flags
    before: Integers


def _precisions(matches: MatchedDetections, label: Integers) -> Floats:
    """Precision by threshold, recall, class and range; `label` is the class of each detection."""
    import numpy as np

    classes, spans = matches.wanted.shape
    bounds = np.searchsorted(label[matches.which], np.arange(classes + 1)).tolist()
    scored = _by_score(matches, label)
    precision = np.full((matches.hit.shape[2], _RECALLS, classes, spans), _UNDEFINED)
    for number in range(classes):
        here = slice(*bounds[number : number + 2])
        for span, wanted in enumerate(matches.wanted[number].tolist()):
            if wanted:
                part = _ScoredMatches(
                    scored.hit[here, span],
                    scored.ignored[here, span],
                    scored.inside[span, here],
                    scored.before[span, here],
                )
                precision[:, :, number, span] = _precision(part, wanted)
    return precision


def _recalls(matches: MatchedDetections, label: Integers, most: tuple[int, ...]) -> Floats:
    """Recall by threshold, class, range and number of detections.

    It is the share of regions found by the `most` highest-scoring detections of each image.
    """
    import numpy as np

    label = label[matches.which]
    wanted = matches.wanted[:, :, None]
    right = matches.hit & ~matches.ignored
    rank = matches.found.rank[matches.which]
    shares = []
    for limit in most:
        top = np.flatnonzero(rank < limit)
        present, starts = np.unique(label[top], return_index=True)
        found = np.zeros((len(wanted), *right.shape[1:]), dtype=np.int32)
        if len(present):
            found[present] = np.add.reduceat(right[top], starts, axis=0, dtype=np.int32)
        share = np.full(found.shape, _UNDEFINED)
        np.divide(found, wanted, out=share, where=np.broadcast_to(wanted > 0, found.shape))
        shares.append(share.transpose(2, 0, 1))
    return np.stack(shares, axis=-1)


def _by_score(matches: MatchedDetections, label: Integers) -> _ScoredMatches:
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
    return _ScoredMatches(
        matches.hit[by_place],
        matches.ignored[by_place],
        matches.inside[:, which],
        sizes[:, place[which] + 1] - sizes[:, first],
    )


def _precision(part: _ScoredMatches, wanted: int) -> Floats:
    """The best precision at each recall or above, for every threshold.

    Precision is best where a region has just been found, so only such places are considered. A
    detection of an ignored region does not count, whatever its size.
    """
    import numpy as np

    right = part.hit & ~part.ignored
    inside = part.inside[:, None]
    counted = np.where(part.hit, ~part.ignored, inside).astype(np.intp)
    among = part.before[:, None] + np.cumsum(counted - inside, axis=0)
    found = np.cumsum(right, axis=0, dtype=np.intp)
    # The reference implementation avoids a division by zero in this way.
    precise = found / (among + np.spacing(1))
    recalls = np.linspace(0.0, 1.0, _RECALLS)
    needed = np.searchsorted(np.arange(1, wanted + 1) / wanted, recalls, side="left")
    best = np.zeros((right.shape[1], _RECALLS))
    for number, flags in enumerate(right.T):
        envelope = np.maximum.accumulate(precise[flags, number][::-1])[::-1]
        reached = needed < len(envelope)
        best[number, reached] = envelope[needed[reached]]
    return best


_EVERYTHING: Final = (0.0, 1e10)
AREAS: Final[Mapping[str, tuple[float, float]]] = {
    "small": (0.0, 32.0**2),
    "medium": (32.0**2, 96.0**2),
    "large": (96.0**2, 1e10),
}
"""Ranges of areas in square pixels, both ends included."""
MAX_DETECTIONS: Final = (1, 10, 100)
_NAMED_THRESHOLDS: Final = {"AP50": 0.5, "AP75": 0.75}


@dataclass(frozen=True, slots=True, kw_only=True)
class CocoSettings:
    """What is averaged over; the defaults are those of the COCO leaderboard.

    Without thresholds they run from 0.50 to 0.95 in steps of 0.05.
    """

    iou_thresholds: tuple[float, ...] | None = None
    max_detections: tuple[int, ...] = MAX_DETECTIONS
    areas: Mapping[str, tuple[float, ...]] = field(default_factory=lambda: dict(AREAS))

    def __post_init__(self) -> None:
        thresholds = self.iou_thresholds
        if thresholds is not None and (
            not 0 < min(thresholds, default=0) <= max(thresholds, default=0) <= 1
        ):
            raise OptionError("iou_thresholds", "must be numbers above 0 and up to 1")
        most = self.max_detections
        if not most or sorted(set(most)) != list(most) or most[0] < 1:
            raise OptionError("max_detections", "must be whole numbers from 1 on that rise")
        for name, span in self.areas.items():
            if len(span) != 2 or not 0 <= span[0] <= span[1]:  # noqa: PLR2004 - from and to
                raise OptionError("areas", f"{name} must be a least and a greatest area")

    def thresholds(self) -> Floats:
        """The thresholds in an array."""
        import numpy as np

        if self.iou_thresholds is None:
            return np.linspace(0.5, 0.95, 10)
        return np.array(self.iou_thresholds, dtype=np.float64)

    def ranges(self) -> list[tuple[float, float]]:
        """All areas, then each named range."""
        return [_EVERYTHING, *((span[0], span[1]) for span in self.areas.values())]


def coco_ap(
    ground_truth: CocoGiven,
    detections: Iterable[Mapping[str, object]],
    *,
    settings: CocoSettings | None = None,
) -> JsonObject:
    """COCO's figures for detections, from objects as COCO files hold them.

    `ground_truth` has images, annotations and categories, or is a list of annotations. A figure
    for which there is no region is `None`.

    >>> truth = [{"image_id": 1, "category_id": 7, "bbox": [0, 0, 10, 10], "area": 100}]
    >>> found = [{"image_id": 1, "category_id": 7, "bbox": [0, 0, 10, 8], "score": 0.9}]
    >>> figures = coco_ap(truth, found)
    >>> round(figures["AP50"], 3), figures["AR100"], figures["APlarge"]
    (1.0, 0.7, None)
    """
    return coco_figures(read_coco(ground_truth, detections), settings or CocoSettings())


def coco_figures(table: RegionTable, settings: CocoSettings) -> JsonObject:
    """The figures over all classes, and the average precision of each class under `classes`."""
    thresholds = settings.thresholds()
    most = settings.max_detections
    matches = matched(table, thresholds, settings.ranges(), most[-1])
    classes = table.class_of(matches.found.key)
    precision, recall = _precisions(matches, classes), _recalls(matches, classes, most)
    named = {name: thresholds == threshold for name, threshold in _NAMED_THRESHOLDS.items()}
    figures: JsonObject = {"AP": _mean(precision[:, :, :, 0])}
    for name, chosen in named.items():
        figures[name] = _mean(precision[chosen][:, :, :, 0])
    for number, name in enumerate(settings.areas, start=1):
        figures[f"AP{name}"] = _mean(precision[:, :, :, number])
    for number, limit in enumerate(most):
        figures[f"AR{limit}"] = _mean(recall[:, :, 0, number])
    for number, name in enumerate(settings.areas, start=1):
        figures[f"AR{name}"] = _mean(recall[:, :, number, -1])
    figures["classes"] = {
        label: {
            "AP": _mean(precision[:, :, number, 0]),
            **{name: _mean(precision[chosen][:, :, number, 0]) for name, chosen in named.items()},
            f"AR{most[-1]}": _mean(recall[:, number, 0, -1]),
        }
        for number, label in enumerate(table.labels)
    }
    return figures


def _mean(values: Floats) -> float | None:
    """The mean of the defined values."""
    defined = values[values > _UNDEFINED]
    return float(defined.mean()) if defined.size else None
