"""Fields that are regions of a page, and their corners for drawing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple, cast

from fieldmark.model.json import JsonObject, JsonValue, Missing
from fieldmark.model.outcome import Outcome
from fieldmark.report.html.value_encoding import NOT_COMPARED
from fieldmark.values.boxes import BoxFormat, Shape, read_shape
from fieldmark.values.overlap import box_iou

__all__ = ["Region", "drawn_regions", "is_region"]

_MAX_REGIONS: Final = 500
_COMPARATORS: Final = frozenset({"iou"})
_NAMED: Final = re.compile(
    r"(?:box|boxes|bounds|rect|rectangle|polygon|quad|segmentation)(?:\[\])?\Z", re.IGNORECASE
)
_FORMATS: Final = (BoxFormat.XYXY, BoxFormat.XYWH)
_TOLERANCE: Final = 1e-6


class Region(NamedTuple):
    """A field that may be a region: its path, both values, and the result of the comparison."""

    path: str
    expected: JsonValue | Missing
    candidate: JsonValue | Missing
    outcome: Outcome | None
    overlap: float | None = None


def is_region(attribute: str, comparator: str) -> bool:
    """Whether an attribute is compared as a region or named like one.

    >>> is_region("lines[].bbox", "exact"), is_region("total", "exact")
    (True, False)
    """
    return comparator in _COMPARATORS or _NAMED.search(attribute) is not None


def drawn_regions(regions: Sequence[Region]) -> JsonObject | None:
    """Return the corners of both sides of every region and the box format, or `None`.

    Four numbers are read in the format that reproduces the measured overlaps. Without measured
    overlaps, they are two corners, or a corner and a size if two corners are impossible.
    """
    form = _form(regions)
    drawn: list[JsonValue] = []
    for region in regions[:_MAX_REGIONS]:
        ours, theirs = (_corners(side, form) for side in (region.expected, region.candidate))
        if ours or theirs:
            mark = NOT_COMPARED if region.outcome is None else int(region.outcome)
            drawn.append([region.path, mark, ours, theirs])
    return (
        {"form": form.value, "regions": drawn, "more": len(regions[_MAX_REGIONS:])}
        if drawn
        else None
    )


def _form(regions: Sequence[Region]) -> BoxFormat:
    reproduced = [sum(_overlaps(region, form) for region in regions) for form in _FORMATS]
    if len(set(reproduced)) > 1:
        return _FORMATS[reproduced.index(max(reproduced))]
    sides = [side for region in regions for side in (region.expected, region.candidate)]
    boxes = [side for side in sides if isinstance(side, list) and _is_box(side)]
    corners = all(isinstance(read_shape(box), Shape) for box in boxes)
    return BoxFormat.XYXY if corners else BoxFormat.XYWH


def _overlaps(region: Region, form: BoxFormat) -> bool:
    """Whether two boxes in this format have the measured overlap."""
    if region.overlap is None or not (_is_box(region.expected) and _is_box(region.candidate)):
        return False
    ours, theirs = (read_shape(cast("JsonValue", side), form) for side in region[1:3])
    if isinstance(ours, str) or isinstance(theirs, str):
        return False
    return abs(box_iou(ours.box, theirs.box)[0] - region.overlap) < _TOLERANCE


def _is_box(side: JsonValue | Missing) -> bool:
    return isinstance(side, list) and len(side) == 4 and not isinstance(side[0], list)  # noqa: PLR2004


def _corners(side: JsonValue | Missing, form: BoxFormat) -> JsonValue:
    if not isinstance(side, list | dict):
        return None
    shape = read_shape(side, form if _is_box(side) else BoxFormat.POLYGON)
    if isinstance(shape, str):
        return None
    left, top, right, bottom, _ = shape.box
    outline = shape.outline or ((left, top), (right, top), (right, bottom), (left, bottom))
    return [[across, down] for across, down in outline]
