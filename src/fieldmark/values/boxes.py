"""Boxes and polygons in JSON values."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Final, NamedTuple, TypeAlias

from fieldmark.model.json import JsonValue
from fieldmark.values.annotations import Length, Range

MAX_COORDINATE: Final = 1e12
"""The largest valid coordinate, for which areas neither overflow nor lose precision."""

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
        found = _from_points(value, scale)
    else:
        found = _from_numbers(value, form, scale)
    return f"{NOT_A_BOX}: {found}" if isinstance(found, str) else found


def coordinates_of(value: JsonValue) -> JsonValue:
    """Return the list of coordinates of a value, which is `{coordinates}` or the list."""
    return value.get("coordinates") if isinstance(value, dict) else value


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
        numbers = [number * scale[place % 2] for place, number in enumerate(numbers)]
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
    """Return whether four corners are those of their bounding rectangle, in either direction."""
    left, top, right, bottom, _ = box
    around = ((left, top), (right, top), (right, bottom), (left, bottom))
    if len(outline) != _CORNERS or outline[0] not in around:
        return False
    start = around.index(outline[0])
    ahead = around[start:] + around[:start]
    return outline in (ahead, ahead[:1] + ahead[:0:-1])
