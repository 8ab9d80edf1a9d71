"""Fields that are regions of a page, and their corners for drawing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, cast

from fieldmark.model.json import JsonObject, JsonValue, Missing
from fieldmark.model.outcome import Outcome
from fieldmark.report.html.value_encoding import NOT_COMPARED, columnar
from fieldmark.values.geometry import MAX_COORDINATE, BoxFormat, Shape, box_iou, read_shape

_MAX_REGIONS: Final = 500
_COLUMNS: Final = ("path", "mark", "expected", "candidate", "page", "extra")
_COMPARATORS: Final = frozenset({"iou"})
_NAMED: Final = re.compile(
    r"(?:box|boxes|bounds|rect|rectangle|polygon|quad|segmentation)(?:\[\])?\Z", re.IGNORECASE
)
_FORMATS: Final = (BoxFormat.XYXY, BoxFormat.XYWH)
_TOLERANCE: Final = 1e-6
_PAGE_KEYS: Final = {"page": 0, "page_number": 0, "page_no": 0, "page_index": 1, "page_idx": 1}
"""The keys of the page of a region, and what to add to a number that counts from 0."""
_MAX_PAGE: Final = 100_000


class Region(NamedTuple):
    """A field that may be a region: its path, both values, and the result of the comparison.

    `page` is the number that the documents give for its page. It is `extra` if it is part of an
    item that only the candidate has; its path may be the path of another item.
    """

    path: str
    expected: JsonValue | Missing
    candidate: JsonValue | Missing
    outcome: Outcome | None
    overlap: float | None = None
    page: int | None = None
    extra: bool = False


def is_region(attribute: str, comparator: str) -> bool:
    """Whether an attribute is compared as a region or named like one.

    >>> is_region("lines[].bbox", "exact"), is_region("total", "exact")
    (True, False)
    """
    return comparator in _COMPARATORS or _NAMED.search(attribute) is not None


def page_of(document: Mapping[str, JsonValue]) -> int | None:
    """Return the page that an object says it is on, as a number from 1, or from 0 if it says 0.

    >>> page_of({"text": "Total", "page": 2}), page_of({"page_index": 2}), page_of({"text": "a"})
    (2, 3, None)
    """
    for key, first in _PAGE_KEYS.items():
        number = document.get(key)
        if isinstance(number, int) and not isinstance(number, bool) and 0 <= number < _MAX_PAGE:
            return number + first
    return None


def drawn_regions(
    regions: Sequence[Region], metadata: Mapping[str, JsonValue] | None = None
) -> JsonObject | None:
    """Return the box format and a table with the corners of both sides of every region, or `None`.

    Four numbers are read in the format that reproduces the measured overlaps. Without measured
    overlaps, they are two corners, or a corner and a size if two corners are impossible. The size
    of the image frames the regions, if the metadata contains it.
    """
    form = _form(regions)
    first = min((region.page for region in regions if region.page is not None), default=1)
    drawn: list[list[JsonValue]] = []
    for region in regions[:_MAX_REGIONS]:
        ours, theirs = (_corners(side, form) for side in (region.expected, region.candidate))
        if ours or theirs:
            mark = NOT_COMPARED if region.outcome is None else int(region.outcome)
            line: list[JsonValue] = [region.path, mark, ours, theirs]
            if region.extra or region.page is not None:
                line.append(None if region.page is None else region.page + (first == 0))
            drawn.append([*line, True] if region.extra else line)
    if not drawn:
        return None
    view: JsonObject = {
        "form": form.value,
        "regions": columnar(_COLUMNS, drawn),
        "more": len(regions[_MAX_REGIONS:]),
    }
    frame = [(metadata or {}).get(name) for name in ("width", "height")]
    if all(
        type(each) in (int, float) and 0 < cast("float", each) < MAX_COORDINATE for each in frame
    ):
        view["frame"] = frame
    return view


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
