"""Intersection over union of boxes and polygons."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from enum import StrEnum
from functools import cache, lru_cache
from typing import Final, NamedTuple

import numpy as np

from fieldmark.errors import MissingExtra
from fieldmark.values.arrays import Flags, Floats, Objects
from fieldmark.values.boxes import NOT_A_BOX, Box, Outline, Shape

_SNAP: Final = 1 - 1e-12
"""Overlaps above this are 1: intersections of equal outlines have rounding errors."""
_BLOCK: Final = 1 << 14  # pairs of boxes computed together, so that they fit in the cache
_TINY: Final = 2.0**-1022
_TWISTED: Final = f"{NOT_A_BOX}: self-intersecting outline"


class PolygonMethod(StrEnum):
    """Whether polygons are intersected exactly or by their bounding rectangles."""

    EXACT = "exact"
    BOUNDS = "bounds"


class OverlapMethod(StrEnum):
    """How an overlap was computed."""

    BOX = "box"
    POLYGON = "polygon"
    BOUNDS = "bounds"


class Overlap(NamedTuple):
    """Intersection over union, its areas, and the method."""

    iou: float
    expected_area: float
    candidate_area: float
    intersection: float
    method: OverlapMethod


@cache
def has_shapely() -> bool:
    """Return whether polygons can be intersected exactly."""
    return importlib.util.find_spec("shapely") is not None


def require_shapely() -> None:
    """Raise `MissingExtra` if polygons cannot be intersected exactly."""
    if not has_shapely():
        raise MissingExtra("exact polygon overlap", "geometry")


def box_iou(expected: Box, candidate: Box) -> tuple[float, float]:
    """Return the intersection over union of two rectangles, and their intersection.

    >>> box_iou(Box(10, 10, 30, 30, 400), Box(20, 20, 40, 40, 400)) == (100 / 700, 100)
    True
    """
    width = min(expected.right, candidate.right) - max(expected.left, candidate.left)
    if width <= 0:
        return 0.0, 0.0
    height = min(expected.bottom, candidate.bottom) - max(expected.top, candidate.top)
    if height <= 0:
        return 0.0, 0.0
    common = width * height
    union = expected.area + candidate.area - common
    # The product of very short sides may underflow to 0.
    return (common / union, common) if union > 0 else (0.0, common)


def overlap(expected: Shape, candidate: Shape, polygon: PolygonMethod) -> Overlap | str:
    """Return the overlap of two shapes, or the problem with one of them."""
    outlines = expected.outline is not None or candidate.outline is not None
    if outlines and polygon is PolygonMethod.EXACT:
        return _polygon_overlap(expected, candidate)
    iou, common = box_iou(expected.box, candidate.box)
    method = OverlapMethod.BOUNDS if outlines else OverlapMethod.BOX
    return Overlap(iou, expected.box.area, candidate.box.area, common, method)


def box_table(boxes: Sequence[Box]) -> Floats:
    """Return rectangles as rows of left, top, right, bottom and area."""
    return np.array(boxes, dtype=np.float64).reshape(-1, 5)


def box_ious(expected: Floats, candidate: Floats) -> Floats:
    """Return the intersection over union of all pairs of rectangles, given as arrays."""
    ious = np.empty((len(expected), len(candidate)))
    rows = max(1, _BLOCK // max(1, len(candidate)))
    buffers = np.empty((2, rows, len(candidate)))
    lefts, tops, rights, bottoms, areas = np.ascontiguousarray(candidate.T)
    for start in range(0, len(expected), rows):
        block, out = expected[start : start + rows], ious[start : start + rows]
        spare, union = buffers[:, : len(block)]
        left, top, right, bottom, area = (column[:, None] for column in block.T)
        np.minimum(right, rights, out=out)
        np.maximum(left, lefts, out=spare)
        out -= spare
        # Rectangles that are apart have no intersection, like rectangles that touch.
        np.maximum(out, 0.0, out=out)
        np.minimum(bottom, bottoms, out=spare)
        np.maximum(top, tops, out=union)
        spare -= union
        np.maximum(spare, 0.0, out=spare)
        out *= spare
        np.add(area, areas, out=union)
        union -= out
        # Avoid a division by 0 for rectangles without area.
        np.maximum(union, _TINY, out=union)
        out /= union
    return ious


def overlaps(
    expected: Sequence[Shape | str], candidate: Sequence[Shape | str], polygon: PolygonMethod
) -> Floats:
    """Return the intersection over union of all pairs of shapes; 0 for invalid shapes."""
    ours, theirs = _table_of(expected), _table_of(candidate)
    ious = box_ious(ours, theirs)
    if polygon is PolygonMethod.BOUNDS:
        return ious
    curved = _outlined(expected)[:, None] | _outlined(candidate)
    # Shapes can intersect only if their bounding rectangles do.
    places, others = (curved & (ious > 0)).nonzero()
    ious[curved] = 0.0
    if len(places):
        ours_drawn, theirs_drawn = _drawn(expected), _drawn(candidate)
        ious[places, others] = _polygon_ious(ours_drawn[places], theirs_drawn[others])
    return ious


_NOWHERE: Final = Box(0.0, 0.0, 0.0, 0.0, 0.0)


def _table_of(shapes: Sequence[Shape | str]) -> Floats:
    return box_table([_NOWHERE if isinstance(shape, str) else shape.box for shape in shapes])


def _outlined(shapes: Sequence[Shape | str]) -> Flags:

    flags = [not isinstance(shape, str) and shape.outline is not None for shape in shapes]
    return np.array(flags, dtype=np.bool_)


def _drawn(shapes: Sequence[Shape | str]) -> Objects:
    """Return shapely polygons, `None` for shapes without area or with self-intersections."""
    require_shapely()
    import shapely  # type: ignore[import-untyped]

    drawn = np.full(len(shapes), None, dtype=object)
    places = [
        p for p, shape in enumerate(shapes) if not isinstance(shape, str) and _has_area(shape)
    ]
    if places:
        outlines = [_outline_of(shapes[place]) for place in places]  # type: ignore[arg-type]
        sizes = [len(outline) + 1 for outline in outlines]
        closed = np.array([point for outline in outlines for point in (*outline, outline[0])])
        rings = shapely.linearrings(closed, indices=np.repeat(np.arange(len(sizes)), sizes))
        polygons = shapely.polygons(rings)
        drawn[places] = np.where(shapely.is_valid(polygons), polygons, None)
    return drawn


def _has_area(shape: Shape) -> bool:
    """Return whether the bounding rectangle has an area and the corners are not on one line."""
    outline = shape.outline
    if outline is None or shape.box.area <= 0:
        return shape.box.area > 0
    x, y = outline[0]
    end = max(outline, key=lambda corner: abs(corner[0] - x) + abs(corner[1] - y))
    across, down = end[0] - x, end[1] - y
    return any((corner[0] - x) * down != (corner[1] - y) * across for corner in outline)


def _outline_of(shape: Shape) -> Outline:
    if shape.outline is not None:
        return shape.outline
    left, top, right, bottom, _ = shape.box
    return (left, top), (right, top), (right, bottom), (left, bottom)


def _polygon_ious(expected: Objects, candidate: Objects) -> Floats:
    """Return the intersection over union of each pair of polygons."""
    import shapely

    # The area of a missing polygon is NaN, which counts as 0.
    areas, other_areas = (
        np.nan_to_num(shapely.area(expected)),
        np.nan_to_num(shapely.area(candidate)),
    )
    common = np.nan_to_num(shapely.area(shapely.intersection(expected, candidate)))
    common = np.minimum(common, np.minimum(areas, other_areas))
    union = areas + other_areas - common
    ious = np.divide(common, union, out=np.zeros_like(union), where=union > 0)
    return np.where(ious > _SNAP, 1.0, ious)


def _polygon_overlap(expected: Shape, candidate: Shape) -> Overlap | str:
    """Return the overlap of one pair of polygons, without arrays."""
    require_shapely()
    from shapely import area, intersection

    drawn = []
    areas = []
    for shape in (expected, candidate):
        polygon = _polygon(_outline_of(shape)) if _has_area(shape) else None
        if polygon is None and _has_area(shape):
            return _TWISTED
        drawn.append(polygon)
        areas.append(0.0 if polygon is None else float(area(polygon)))
    common = min(float(area(intersection(*drawn))), *areas) if all(areas) else 0.0
    union = areas[0] + areas[1] - common
    iou = common / union if union > 0 else 0.0
    snapped = 1.0 if iou > _SNAP else iou
    return Overlap(snapped, areas[0], areas[1], common, OverlapMethod.POLYGON)


@lru_cache(maxsize=1024)
def _polygon(outline: Outline) -> object | None:
    """Return the shapely polygon of an outline, or `None` if it intersects itself."""
    from shapely import is_valid, linearrings, polygons

    polygon: object = polygons(linearrings([*outline, outline[0]]))
    return polygon if is_valid(polygon) else None
