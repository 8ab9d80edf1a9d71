"""COCO's twelve figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from fieldmark.errors import OptionError
from fieldmark.metrics.detection.coco_objects import CocoGiven, read_coco
from fieldmark.metrics.detection.matching import matched
from fieldmark.metrics.detection.precision import UNDEFINED, Curves, curves
from fieldmark.metrics.detection.table import RegionTable
from fieldmark.model.json import JsonObject

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

__all__ = ["AREAS", "MAX_DETECTIONS", "CocoSettings", "coco_ap", "coco_figures"]

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
    """What is averaged over; the defaults are those of COCO's leader board.

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
    chosen = settings or CocoSettings()
    return coco_figures(read_coco(ground_truth, detections), chosen)


def coco_figures(table: RegionTable, settings: CocoSettings) -> JsonObject:
    """The figures over all classes, and the average precision of each class under `classes`."""
    thresholds = settings.thresholds()
    most = settings.max_detections
    matches = matched(table, thresholds, settings.ranges(), most[-1])
    found = curves(table, matches, most)
    figures = _figures(found, thresholds, settings)
    figures["classes"] = {
        label: {
            "AP": _mean(found.precision[:, :, number, 0]),
            **{
                name: _mean(found.precision[thresholds == threshold][:, :, number, 0])
                for name, threshold in _NAMED_THRESHOLDS.items()
            },
            f"AR{most[-1]}": _mean(found.recall[:, number, 0, -1]),
        }
        for number, label in enumerate(table.labels)
    }
    return figures


def _figures(found: Curves, thresholds: Floats, settings: CocoSettings) -> JsonObject:
    precision, recall = found
    names: Sequence[str] = list(settings.areas)
    figures: JsonObject = {"AP": _mean(precision[:, :, :, 0])}
    for name, threshold in _NAMED_THRESHOLDS.items():
        figures[name] = _mean(precision[thresholds == threshold][:, :, :, 0])
    for number, name in enumerate(names, start=1):
        figures[f"AP{name}"] = _mean(precision[:, :, :, number])
    for number, limit in enumerate(settings.max_detections):
        figures[f"AR{limit}"] = _mean(recall[:, :, 0, number])
    for number, name in enumerate(names, start=1):
        figures[f"AR{name}"] = _mean(recall[:, :, number, -1])
    return figures


def _mean(values: Floats) -> float | None:
    """The mean of what is defined, summed in the order of the axes."""
    defined = values[values > UNDEFINED]
    return float(defined.mean()) if defined.size else None
