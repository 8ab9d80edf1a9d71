"""The overlap of shapes."""

from __future__ import annotations

import pytest

from fieldmark.errors import MissingExtra
from fieldmark.values import geometry as overlap_module
from fieldmark.values.geometry import BoxFormat, PolygonMethod, overlap, overlaps, read_shape

EXACT, BOUNDS = PolygonMethod
XYXY, XYWH, POLYGON = BoxFormat
TRIANGLE = [[0, 0], [10, 0], [0, 10]]
DIAMOND = [[5, 0], [10, 5], [5, 10], [0, 5]]
UNEVEN = [[78.2, 53.7], [48.9, 76.8], [13.7, 22.4], [50.1, 13.9]]
BOW_TIE = [[0, 0], [10, 10], [10, 0], [0, 10]]


def shape(value):
    polygon = isinstance(value, list) and isinstance(value[0], list)
    return read_shape(value, POLYGON if polygon else XYXY)


@pytest.mark.parametrize(
    ("expected", "candidate", "iou"),
    [
        pytest.param([10, 10, 30, 30], [10, 10, 30, 30], 1.0, id="identical"),
        pytest.param([10, 10, 30, 30], [50, 50, 70, 70], 0.0, id="disjoint"),
        pytest.param([10, 10, 30, 30], [20, 20, 40, 40], 100 / 700, id="quarter-in-common"),
        pytest.param([10, 10, 30, 30], [30, 10, 50, 30], 0.0, id="touching-edges"),
        pytest.param([10, 10, 30, 30], [30, 30, 50, 50], 0.0, id="touching-corners"),
        pytest.param([0, 0, 10, 10], [2, 2, 7, 7], 0.25, id="contained"),
        pytest.param([5, 5, 5, 5], [5, 5, 5, 5], 0.0, id="no-area-at-all"),
        pytest.param([5, 5, 5, 5], [0, 0, 10, 10], 0.0, id="point-inside-a-box"),
        pytest.param([0, 0, 10, 0], [0, 0, 10, 0], 0.0, id="line"),
        pytest.param([0.1, 0.1, 0.3, 0.3], [0.1, 0.1, 0.3, 0.3], 1.0, id="identical-shares-of-a-page"),
        pytest.param([0, 0, 1e-200, 1e-200], [0, 0, 1e-200, 1e-200], 0.0, id="area-too-small-for-a-number"),
        pytest.param(TRIANGLE, [0, 0, 10, 10], 0.5, id="triangle-in-its-box"),
        pytest.param(DIAMOND, [[0, 0], [10, 0], [10, 10], [0, 10]], 0.5, id="diamond-in-a-rectangle"),
        pytest.param(DIAMOND, DIAMOND, 1.0, id="identical-polygons"),
        pytest.param(UNEVEN, UNEVEN, 1.0, id="identical-polygons-whose-intersection-is-rounded"),
        pytest.param(TRIANGLE, [[10, 10], [10, 0], [0, 10]], 0.0, id="triangles-that-share-an-edge"),
        pytest.param([[0, 0], [5, 5], [10, 10]], DIAMOND, 0.0, id="polygon-that-is-a-line"),
        pytest.param([[0, 0], [5, 5], [10, 10]], [[0, 0], [5, 5], [10, 10]], 0.0, id="identical-polygons-without-an-area"),
        pytest.param(DIAMOND, [100, 100, 110, 110], 0.0, id="polygon-far-away"),
    ],
)  # fmt: skip
def test_intersection_over_union(expected, candidate, iou):
    found = overlap(shape(expected), shape(candidate), EXACT)
    assert found.iou == iou
    assert overlaps([shape(expected)], [shape(candidate)], EXACT).tolist() == [[pytest.approx(iou)]]


def test_box_with_sizes_overlaps_exactly_with_itself():
    box = read_shape([1e6 + 0.1, 0.1, 0.001, 0.2], XYWH)
    assert overlap(box, box, EXACT).iou == 1.0


def test_overlap_contains_areas_and_method():
    found = overlap(shape(TRIANGLE), shape([0, 0, 10, 5]), EXACT)
    assert found._asdict() == {
        "iou": pytest.approx(37.5 / 62.5),
        "expected_area": 50.0,
        "candidate_area": 50.0,
        "intersection": 37.5,
        "method": "polygon",
    }


def test_line_has_no_area():
    found = overlap(shape([[0, 0], [5, 5], [10, 10]]), shape(TRIANGLE), EXACT)
    assert found == (0.0, 0.0, 50.0, 0.0, "polygon")


@pytest.mark.parametrize(
    ("expected", "candidate", "polygon", "method"),
    [
        pytest.param([0, 0, 1, 1], [0, 0, 1, 1], EXACT, "box", id="boxes"),
        pytest.param(TRIANGLE, [0, 0, 1, 1], EXACT, "polygon", id="polygons"),
        pytest.param(TRIANGLE, [0, 0, 1, 1], BOUNDS, "bounds", id="polygons-by-their-bounds"),
        pytest.param([[0, 0], [1, 0], [1, 1], [0, 1]], [0, 0, 1, 1], EXACT, "box", id="points-that-are-a-box"),
    ],
)  # fmt: skip
def test_method_that_was_used(expected, candidate, polygon, method):
    assert overlap(shape(expected), shape(candidate), polygon).method == method


def test_bounding_rectangles_are_used_only_on_request():
    assert overlap(shape(TRIANGLE), shape(DIAMOND), EXACT).iou < 0.5
    assert overlap(shape(TRIANGLE), shape(DIAMOND), BOUNDS).iou == 1.0
    assert overlaps([shape(TRIANGLE)], [shape(DIAMOND)], BOUNDS)[0, 0] == 1.0


def test_self_intersecting_outline_is_invalid():
    result = "invalid bounding box: self-intersecting outline"
    assert overlap(shape(BOW_TIE), shape([0, 0, 1, 1]), EXACT) == result
    assert overlap(shape([0, 0, 1, 1]), shape(BOW_TIE), EXACT) == result
    assert overlaps([shape(BOW_TIE)], [shape(BOW_TIE)], EXACT).tolist() == [[0.0]]
    assert overlap(shape(BOW_TIE), shape(BOW_TIE), BOUNDS).iou == 1.0


def test_polygons_require_shapely(monkeypatch):
    monkeypatch.setattr(overlap_module, "has_shapely", lambda: False)
    assert overlap(shape([0, 0, 1, 1]), shape([0, 0, 1, 1]), EXACT).iou == 1.0
    assert overlap(shape(TRIANGLE), shape(TRIANGLE), BOUNDS).iou == 1.0
    with pytest.raises(
        MissingExtra, match=r'exact polygon overlap requires .*"fieldmark\[geometry\]"'
    ):
        overlap(shape(TRIANGLE), shape(TRIANGLE), EXACT)
