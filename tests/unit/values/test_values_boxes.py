"""Valid and invalid boxes and polygons."""

from __future__ import annotations

import pytest

from fieldmark.values.geometry import Box, BoxFormat, read_shape

XYXY, XYWH, POLYGON = BoxFormat
NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("value", "form", "box"),
    [
        pytest.param([10, 20, 40, 60], XYXY, (10, 20, 40, 60), id="two-corners"),
        pytest.param([10, 20, 30, 40], XYWH, (10, 20, 40, 60), id="corner-and-a-size"),
        pytest.param([[10, 20], [40, 20], [40, 60], [10, 60]], POLYGON, (10, 20, 40, 60), id="rectangle-as-points"),
        pytest.param([10, 20, 40, 20, 40, 60, 10, 60], POLYGON, (10, 20, 40, 60), id="quadrilateral-as-eight-numbers"),
        pytest.param([[10, 60], [40, 60], [40, 20], [10, 20], [10, 60]], POLYGON, (10, 20, 40, 60), id="closed-and-the-other-way-round"),
        pytest.param([0.1, 0.2, 0.4, 0.6], XYXY, (0.1, 0.2, 0.4, 0.6), id="shares-of-a-page"),
        pytest.param([-40, -60, -10, -20], XYXY, (-40, -60, -10, -20), id="negative-coordinates"),
        pytest.param({"format": "xywh", "coordinates": [10, 20, 30, 40]}, XYXY, (10, 20, 40, 60), id="value-that-says-its-format"),
        pytest.param({"coordinates": [10, 20, 40, 60]}, XYXY, (10, 20, 40, 60), id="object-without-a-format"),
        pytest.param([5, 5, 5, 5], XYXY, (5, 5, 5, 5), id="without-any-area"),
        pytest.param([5, 6, 0, 0], XYWH, (5, 6, 5, 6), id="without-width-and-height"),
    ],
)  # fmt: skip
def test_valid_boxes(value, form, box):
    read = read_shape(value, form)
    assert read.box[:4] == box
    assert read.outline is None
    assert read.box.area == pytest.approx((box[2] - box[0]) * (box[3] - box[1]))


def test_outline_that_is_not_a_rectangle_is_preserved():
    read = read_shape([[0, 0], [10, 0], [10, 10]], POLYGON)
    assert read == (Box(0, 0, 10, 10, 100), ((0, 0), (10, 0), (10, 10)))


def test_fractions_of_a_page_are_scaled():
    assert read_shape([0.1, 0.2, 0.5, 0.4], XYWH, (100, 200)).box[:4] == (10, 40, 60, 120)
    assert read_shape([[0, 0], [1, 0], [1, 1]], POLYGON, (4, 2)).outline == ((0, 0), (4, 0), (4, 2))


@pytest.mark.parametrize(
    ("value", "form", "fault"),
    [
        pytest.param([40, 20, 10, 60], XYXY, "the corners are in the wrong order", id="inverted-horizontally"),
        pytest.param([10, 60, 40, 20], XYXY, "the corners are in the wrong order", id="inverted-vertically"),
        pytest.param([10, 20, -30, 40], XYWH, "negative width or height", id="negative-width"),
        pytest.param([10, 20, 30, -40], XYWH, "negative width or height", id="negative-height"),
        pytest.param([10, 20, NAN, 60], XYXY, "a coordinate is not finite", id="not-a-number"),
        pytest.param([10, 20, INFINITY, 60], XYXY, "a coordinate is not finite", id="infinite"),
        pytest.param([10, 20, 10**400, 60], XYXY, "a coordinate is too large", id="integer-beyond-floats"),
        pytest.param([10, 20, 1e13, 60], XYXY, "a coordinate is too large", id="beyond-the-limit"),
        pytest.param([10, 20, 40], XYXY, "expected 4 coordinates, got 3", id="three-numbers"),
        pytest.param([], XYWH, "expected 4 coordinates, got 0", id="empty-list"),
        pytest.param([10, 20, "40", 60], XYXY, "coordinates must be numbers", id="numeric-string"),
        pytest.param([10, 20, True, 60], XYXY, "coordinates must be numbers", id="boolean"),
        pytest.param([[10, 20], [40, 60]], XYXY, "expected 4 coordinates, got 2", id="points-instead-of-numbers"),
        pytest.param("10,20,40,60", XYXY, "expected a list of numbers", id="text"),
        pytest.param(7, XYXY, "expected a list of numbers", id="number"),
        pytest.param(None, XYXY, "expected a list of numbers", id="null"),
        pytest.param({"format": "cxcywh", "coordinates": []}, XYXY, "format must be one of: xyxy, xywh, polygon", id="unknown-format"),
        pytest.param({"format": ["xyxy"], "coordinates": []}, XYXY, "format must be one of: xyxy, xywh, polygon", id="format-that-is-not-a-text"),
        pytest.param({"x": 1}, XYXY, "expected a list of numbers", id="object-without-coordinates"),
        pytest.param([[0, 0], [1, 1]], POLYGON, "a polygon must have at least 3 points", id="two-points"),
        pytest.param([[0, 0], [1, 1], [0, 0]], POLYGON, "a polygon must have at least 3 points", id="two-points-and-back"),
        pytest.param([[0, 0], [1, 1, 1], [2, 0]], POLYGON, "each point of a polygon must have 2 coordinates", id="three-dimensional-point"),
        pytest.param([0, 0, 1, 1, 2], POLYGON, "an odd number of coordinates", id="odd-number-of-coordinates"),
        pytest.param([[0, 0], 1, 2], POLYGON, "an odd number of coordinates", id="points-and-numbers"),
    ],
)  # fmt: skip
def test_invalid_boxes(value, form, fault):
    assert read_shape(value, form) == f"invalid bounding box: {fault}"
