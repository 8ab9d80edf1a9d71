"""Which values are boxes and polygons, and what is said of those that are none."""

from __future__ import annotations

import pytest

from fieldmark.values.boxes import Box, BoxFormat, read_shape

XYXY, XYWH, POLYGON = BoxFormat
NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("value", "form", "box"),
    [
        pytest.param([10, 20, 40, 60], XYXY, (10, 20, 40, 60), id="two-corners"),
        pytest.param([10, 20, 30, 40], XYWH, (10, 20, 40, 60), id="a-corner-and-a-size"),
        pytest.param([[10, 20], [40, 20], [40, 60], [10, 60]], POLYGON, (10, 20, 40, 60), id="a-rectangle-as-points"),
        pytest.param([10, 20, 40, 20, 40, 60, 10, 60], POLYGON, (10, 20, 40, 60), id="a-quadrilateral-as-eight-numbers"),
        pytest.param([[10, 60], [40, 60], [40, 20], [10, 20], [10, 60]], POLYGON, (10, 20, 40, 60), id="closed-and-the-other-way-round"),
        pytest.param([0.1, 0.2, 0.4, 0.6], XYXY, (0.1, 0.2, 0.4, 0.6), id="shares-of-a-page"),
        pytest.param([-40, -60, -10, -20], XYXY, (-40, -60, -10, -20), id="negative-coordinates"),
        pytest.param({"format": "xywh", "coordinates": [10, 20, 30, 40]}, XYXY, (10, 20, 40, 60), id="a-value-that-says-its-format"),
        pytest.param({"coordinates": [10, 20, 40, 60]}, XYXY, (10, 20, 40, 60), id="an-object-without-a-format"),
        pytest.param([5, 5, 5, 5], XYXY, (5, 5, 5, 5), id="without-any-area"),
    ],
)  # fmt: skip
def test_a_box_is_read(value, form, box):
    read = read_shape(value, form)
    assert read.box[:4] == box
    assert read.outline is None
    assert read.box.area == pytest.approx((box[2] - box[0]) * (box[3] - box[1]))


def test_an_outline_that_is_no_rectangle_along_the_axes_is_kept():
    read = read_shape([[0, 0], [10, 0], [10, 10]], POLYGON)
    assert read == (Box(0, 0, 10, 10, 100), ((0, 0), (10, 0), (10, 10)))


def test_a_side_in_shares_of_the_page_is_scaled():
    assert read_shape([0.1, 0.2, 0.5, 0.4], XYWH, (100, 200)).box[:4] == (10, 40, 60, 120)
    assert read_shape([[0, 0], [1, 0], [1, 1]], POLYGON, (4, 2)).outline == ((0, 0), (4, 0), (4, 2))


@pytest.mark.parametrize(
    ("value", "form", "fault"),
    [
        pytest.param([40, 20, 10, 60], XYXY, "the corners are in the wrong order", id="inverted-across"),
        pytest.param([10, 60, 40, 20], XYXY, "the corners are in the wrong order", id="inverted-down"),
        pytest.param([10, 20, -30, 40], XYWH, "the width or height is negative", id="a-negative-width"),
        pytest.param([10, 20, 30, -40], XYWH, "the width or height is negative", id="a-negative-height"),
        pytest.param([10, 20, NAN, 60], XYXY, "a coordinate is not finite", id="not-a-number"),
        pytest.param([10, 20, INFINITY, 60], XYXY, "a coordinate is not finite", id="infinite"),
        pytest.param([10, 20, 10**400, 60], XYXY, "a coordinate is too large", id="an-integer-beyond-floats"),
        pytest.param([10, 20, 1e13, 60], XYXY, "a coordinate is too large", id="beyond-all-pages"),
        pytest.param([10, 20, 40], XYXY, "3 coordinates where 4 are needed", id="three-numbers"),
        pytest.param([], XYWH, "0 coordinates where 4 are needed", id="nothing-in-the-list"),
        pytest.param([10, 20, "40", 60], XYXY, "not all coordinates are numbers", id="numeric-text-is-no-number"),
        pytest.param([10, 20, True, 60], XYXY, "not all coordinates are numbers", id="a-boolean-is-no-number"),
        pytest.param([[10, 20], [40, 60]], XYXY, "2 coordinates where 4 are needed", id="points-where-numbers-are-needed"),
        pytest.param("10,20,40,60", XYXY, "not a list of numbers", id="text"),
        pytest.param(7, XYXY, "not a list of numbers", id="a-number"),
        pytest.param(None, XYXY, "not a list of numbers", id="null"),
        pytest.param({"format": "cxcywh", "coordinates": []}, XYXY, "the format is none of xyxy, xywh, polygon", id="an-unknown-format"),
        pytest.param({"format": ["xyxy"], "coordinates": []}, XYXY, "the format is none of xyxy, xywh, polygon", id="a-format-that-is-no-text"),
        pytest.param({"x": 1}, XYXY, "not a list of numbers", id="an-object-without-coordinates"),
        pytest.param([[0, 0], [1, 1]], POLYGON, "a polygon needs 3 points", id="two-points"),
        pytest.param([[0, 0], [1, 1], [0, 0]], POLYGON, "a polygon needs 3 points", id="two-points-and-back"),
        pytest.param([[0, 0], [1, 1, 1], [2, 0]], POLYGON, "a point of a polygon has not 2 coordinates", id="a-point-in-space"),
        pytest.param([0, 0, 1, 1, 2], POLYGON, "an odd number of coordinates", id="a-coordinate-without-partner"),
        pytest.param([[0, 0], 1, 2], POLYGON, "an odd number of coordinates", id="points-and-numbers"),
    ],
)  # fmt: skip
def test_what_is_no_box_has_a_reason(value, form, fault):
    assert read_shape(value, form) == f"invalid bounding box: {fault}"
