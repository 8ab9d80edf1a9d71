"""Points of any dimension in JSON values, and their distances."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import cache, lru_cache
from operator import sub
from typing import Annotated, Final, NamedTuple, TypeAlias

from fieldmark.errors import MissingExtra
from fieldmark.model.json import JsonValue
from fieldmark.values.annotations import Length, Range
from fieldmark.values.arrays import Flags, Floats, Objects, np

MAX_COORDINATE: Final = 1e12
"""The largest valid coordinate; areas of larger ones would overflow or lose precision."""

Scale: TypeAlias = Annotated[
    tuple[Annotated[float, Range(gt=0, le=MAX_COORDINATE)], ...], Length(ge=1, noun="number")
]
"""Factors for the coordinates of a point: (width, height) for fractions of a page."""
Outline: TypeAlias = tuple[tuple[float, float], ...]
"""The corners of a polygon in order."""

NOT_A_BOX: Final = "invalid bounding box"
_CORNERS: Final = 4
_FEWEST: Final = 3
_NUMBERS: Final = frozenset((int, float))


def as_floats(scale: Scale | None) -> Scale | None:
    """Return a scale without integers, which would be written differently."""
    return None if scale is None else tuple(map(float, scale))


class BoxFormat(StrEnum):
    """The meaning of the coordinates: of four numbers, or of a list of points."""

    XYXY = "xyxy"
    XYWH = "xywh"
    POLYGON = "polygon"


class Box(NamedTuple):
    """An axis-aligned rectangle and its area."""

    left: float
    top: float
    right: float
    bottom: float
    area: float


class Shape(NamedTuple):
    """A region: its bounding rectangle, and its outline unless it is that rectangle."""

    box: Box
    outline: Outline | None = None


def read_shape(
    value: JsonValue, form: BoxFormat = BoxFormat.XYXY, scale: Scale | None = None
) -> Shape | str:
    """Return the shape of a value, or a description of the problem.

    A value is a list of numbers, a list of points, or `{format, coordinates}` with its own format.

    >>> read_shape([10, 10, 20, 5], BoxFormat.XYWH)
    Shape(box=Box(left=10.0, top=10.0, right=30.0, bottom=15.0, area=100.0), outline=None)
    >>> read_shape([30, 10, 10, 30])
    'invalid bounding box: the corners are in the wrong order'
    """
    if isinstance(value, dict):
        named = value.get("format", form)
        if not isinstance(named, str) or named not in list(BoxFormat):
            return f"{NOT_A_BOX}: format must be one of: {', '.join(BoxFormat)}"
        form = BoxFormat(named)
        value = value.get("coordinates")
    if not isinstance(value, list):
        return f"{NOT_A_BOX}: expected a list of numbers"
    if form is BoxFormat.POLYGON:
        shape = _from_points(value, scale)
    else:
        shape = _from_numbers(value, form, scale)
    return f"{NOT_A_BOX}: {shape}" if isinstance(shape, str) else shape


def box_formats(value: JsonValue) -> list[BoxFormat]:
    """Return the formats in which four numbers are a box with an area.

    >>> box_formats([10, 10, 30, 30]), box_formats([10, 10, 20, 5]), box_formats([1, 2, 3])
    ([<BoxFormat.XYXY: 'xyxy'>, <BoxFormat.XYWH: 'xywh'>], [<BoxFormat.XYWH: 'xywh'>], [])
    """
    if not isinstance(value, list) or len(value) != _CORNERS:
        return []
    shapes = {form: _from_numbers(value, form, None) for form in (BoxFormat.XYXY, BoxFormat.XYWH)}
    return [
        form for form, shape in shapes.items() if isinstance(shape, Shape) and shape.box.area > 0
    ]


def read_numbers(values: Sequence[JsonValue]) -> list[float] | str:
    """Return coordinates as floats, or a description of the problem."""
    if not _NUMBERS.issuperset(map(type, values)):
        return "coordinates must be numbers"
    try:
        numbers = [float(number) for number in values]  # type: ignore[arg-type]
    except OverflowError:
        return "a coordinate is too large"
    if not all(-MAX_COORDINATE <= number <= MAX_COORDINATE for number in numbers):
        finite = all(number - number == 0 for number in numbers)
        return "a coordinate is too large" if finite else "a coordinate is not finite"
    return numbers


def _from_numbers(values: list[JsonValue], form: BoxFormat, scale: Scale | None) -> Shape | str:
    if len(values) != _CORNERS:
        return f"expected 4 coordinates, got {len(values)}"
    numbers = read_numbers(values)
    if isinstance(numbers, str):
        return numbers
    if scale is not None:
        numbers = [number * scale[index % 2] for index, number in enumerate(numbers)]
    left, top, right, bottom = numbers
    if form is BoxFormat.XYWH:
        if right < 0 or bottom < 0:
            return "negative width or height"
        right, bottom = left + right, top + bottom
    elif right < left or bottom < top:
        return "the corners are in the wrong order"
    return Shape(_box(left, top, right, bottom))


def _box(left: float, top: float, right: float, bottom: float) -> Box:
    # Computed from the corners even if the size is given, so that the intersection of a box with
    # itself is exactly its area.
    return Box(left, top, right, bottom, (right - left) * (bottom - top))


def _from_points(values: list[JsonValue], scale: Scale | None) -> Shape | str:
    points = _points(values)
    if isinstance(points, str):
        return points
    if scale is not None:
        points = [(x * scale[0], y * scale[1]) for x, y in points]
    if len(points) > 1 and points[0] == points[-1]:
        points.pop()
    if len(points) < _FEWEST:
        return f"a polygon must have at least {_FEWEST} points"
    across, down = zip(*points, strict=True)
    box = _box(min(across), min(down), max(across), max(down))
    outline = tuple(points)
    return Shape(box, None if _is_rectangle(outline, box) else outline)


def _points(values: list[JsonValue]) -> list[tuple[float, float]] | str:
    """Return points as pairs of numbers; a flat list is split into pairs."""
    flat: list[JsonValue] = []
    for point in values:
        if not isinstance(point, list):
            flat = values
            break
        if len(point) != 2:  # noqa: PLR2004 - across and down
            return "each point of a polygon must have 2 coordinates"
        flat += point
    if len(flat) % 2:
        return "an odd number of coordinates"
    numbers = read_numbers(flat)
    if isinstance(numbers, str):
        return numbers
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def _is_rectangle(outline: Outline, box: Box) -> bool:
    """Return whether four points are a rectangle parallel to the axes, in either direction."""
    left, top, right, bottom, _ = box
    around = ((left, top), (right, top), (right, bottom), (left, bottom))
    if len(outline) != _CORNERS or outline[0] not in around:
        return False
    start = around.index(outline[0])
    ahead = around[start:] + around[:start]
    return outline in (ahead, ahead[:1] + ahead[:0:-1])


Point: TypeAlias = tuple[float, ...]

NOT_A_POINT: Final = "invalid point"


class Metric(StrEnum):
    """A distance metric."""

    EUCLIDEAN = "euclidean"
    MANHATTAN = "manhattan"
    COSINE = "cosine"


def read_point(value: JsonValue, scale: Scale | None = None) -> Point | str:
    """Return the point of a value, or a description of the problem.

    A value is a list of numbers or `{coordinates}`.

    >>> read_point([3, 4]), read_point([3, "4"])
    ((3.0, 4.0), 'invalid point: coordinates must be numbers')
    """
    if isinstance(value, dict):
        value = value.get("coordinates")
    if not isinstance(value, list) or not value:
        return f"{NOT_A_POINT}: expected a list of numbers"
    numbers = read_numbers(value)
    if isinstance(numbers, str):
        return f"{NOT_A_POINT}: {numbers}"
    if scale is None:
        return tuple(numbers)
    if len(scale) != len(numbers):
        return f"{NOT_A_POINT}: {len(numbers)} coordinates, but a scale for {len(scale)}"
    return tuple(number * unit for number, unit in zip(numbers, scale, strict=True))


def distance(expected: Point, candidate: Point, metric: Metric) -> float | str:
    """Return the distance of two points, or why they cannot be compared.

    >>> distance((10, 20), (13, 24), Metric.EUCLIDEAN), distance((10,), (13, 24), Metric.COSINE)
    (5.0, 'dimension mismatch: 1 and 2')
    """
    if len(expected) != len(candidate):
        return f"dimension mismatch: {len(expected)} and {len(candidate)}"
    return _DISTANCES[metric](expected, candidate)


def distance_similarity(apart: float) -> float:
    """Convert a distance to a similarity, which is 1 for distance 0 and decreases towards 0.

    >>> distance_similarity(0.0), distance_similarity(4.0)
    (1.0, 0.2)
    """
    return 1.0 / (1.0 + apart)


def distances(
    expected: Sequence[Point | str], candidate: Sequence[Point | str], metric: Metric
) -> Floats:
    """Return the distances of all pairs of points; infinite if their dimensions differ."""
    from scipy.spatial.distance import cdist

    apart = np.full((len(expected), len(candidate)), np.inf)
    expected_places, candidate_places = _by_dimension(expected), _by_dimension(candidate)
    for dimension in expected_places.keys() & candidate_places.keys():
        places, others = expected_places[dimension], candidate_places[dimension]
        left = np.array([expected[index] for index in places], dtype=np.float64)
        right = np.array([candidate[index] for index in others], dtype=np.float64)
        if metric is Metric.COSINE:
            # A zero vector has no direction; its row of zeros gives the distance 1.
            dimension_distances = np.clip(1.0 - _unit_rows(left) @ _unit_rows(right).T, 0.0, 2.0)
        else:
            dimension_distances = cdist(
                left, right, "euclidean" if metric is Metric.EUCLIDEAN else "cityblock"
            )
        apart[np.ix_(places, others)] = dimension_distances
    return apart


def _unit_rows(rows: Floats) -> Floats:

    greatest = np.abs(rows).max(axis=1, keepdims=True)
    rows = np.divide(rows, greatest, out=np.zeros_like(rows), where=greatest > 0)
    lengths = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    units: Floats = np.divide(rows, lengths, out=rows, where=lengths > 0)
    return units


def _by_dimension(points: Sequence[Point | str]) -> dict[int, list[int]]:
    places: dict[int, list[int]] = {}
    for index, point in enumerate(points):
        if not isinstance(point, str):
            places.setdefault(len(point), []).append(index)
    return places


def _cosine(expected: Point, candidate: Point) -> float:
    """Return one minus the cosine of the angle, or 1 for a zero vector, which has no direction."""
    lengths = math.hypot(*expected) * math.hypot(*candidate)
    if not lengths:
        expected_unit, candidate_unit = _unit(expected), _unit(candidate)
        return (
            1.0
            if expected_unit is None or candidate_unit is None
            else _cosine(expected_unit, candidate_unit)
        )
    dot = math.fsum(
        coordinate * other_coordinate
        for coordinate, other_coordinate in zip(expected, candidate, strict=True)
    )
    return min(max(1.0 - dot / lengths, 0.0), 2.0)


def _unit(point: Point) -> Point | None:
    """Return the point scaled to a greatest coordinate of 1, so that products do not underflow."""
    greatest = max(map(abs, point))
    return tuple(number / greatest for number in point) if greatest else None


_DISTANCES: Final[Mapping[Metric, Callable[[Point, Point], float]]] = {
    Metric.EUCLIDEAN: math.dist,
    Metric.MANHATTAN: lambda point, other: math.fsum(map(abs, map(sub, point, other))),
    Metric.COSINE: _cosine,
}


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
    expected_table, candidate_table = _table_of(expected), _table_of(candidate)
    ious = box_ious(expected_table, candidate_table)
    if polygon is PolygonMethod.BOUNDS:
        return ious
    curved = _outlined(expected)[:, None] | _outlined(candidate)
    # Shapes can intersect only if their bounding rectangles do.
    places, others = (curved & (ious > 0)).nonzero()
    ious[curved] = 0.0
    if len(places):
        expected_drawn, candidate_drawn = _drawn(expected), _drawn(candidate)
        ious[places, others] = _polygon_ious(expected_drawn[places], candidate_drawn[others])
    return ious


_NOWHERE: Final = Box(0.0, 0.0, 0.0, 0.0, 0.0)


def _table_of(shapes: Sequence[Shape | str]) -> Floats:
    """Return the bounding rectangles as rows of left, top, right, bottom and area."""
    boxes = [_NOWHERE if isinstance(shape, str) else shape.box for shape in shapes]
    return np.array(boxes, dtype=np.float64).reshape(-1, 5)


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
        outlines = [_outline_of(shapes[index]) for index in places]  # type: ignore[arg-type]
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
