"""Comparison of boxes and polygons by overlap."""

from __future__ import annotations

import pytest

from fieldmark.compare.distance import Distance
from fieldmark.compare.iou import Iou
from fieldmark.errors import MissingExtra
from fieldmark.model.outcome import Reason
from fieldmark.values import geometry as overlap_module

BOX = [10, 10, 30, 30]
TRIANGLE = [[0, 0], [10, 0], [0, 10]]


@pytest.mark.parametrize(
    ("options", "expected", "candidate", "matched", "similarity"),
    [
        pytest.param({}, BOX, BOX, True, 1.0, id="identical"),
        pytest.param({}, BOX, [10, 10, 30, 20], True, 0.5, id="threshold-is-inside"),
        pytest.param({}, BOX, [20, 20, 40, 40], False, 100 / 700, id="below-threshold"),
        pytest.param({"threshold": 0.1}, BOX, [20, 20, 40, 40], True, 100 / 700, id="lower-threshold"),
        pytest.param({}, [5, 5, 5, 5], [5, 5, 5, 5], False, 0.0, id="point-does-not-match-itself"),
        pytest.param({"format": "xywh"}, [10, 10, 20, 20], [10, 10, 20, 20], True, 1.0, id="different-format"),
        pytest.param({"candidate_format": "xywh"}, BOX, [10, 10, 20, 20], True, 1.0, id="format-for-each-side"),
        pytest.param({"expected_format": "polygon"}, TRIANGLE, [0, 0, 10, 10], True, 0.5, id="polygon-against-box"),
        pytest.param({"format": "polygon", "polygon": "bounds"}, TRIANGLE, [[10, 10], [10, 0], [0, 10]], True, 1.0, id="bounding-rectangles-on-request"),
        pytest.param({"candidate_scale": [100, 50]}, BOX, [0.1, 0.2, 0.3, 0.6], True, 1.0, id="page-fractions-on-one-side"),
        pytest.param({}, {"format": "xywh", "coordinates": [10, 10, 20, 20]}, BOX, True, 1.0, id="values-with-own-format"),
    ],
)  # fmt: skip
def test_overlap_is_graded(options, expected, candidate, matched, similarity):
    said = Iou(**options).compare(expected, candidate)
    assert said.matched is matched
    assert said.similarity == pytest.approx(similarity)
    assert said.score == (said.similarity if matched else 0.0)


@pytest.mark.parametrize(
    ("expected", "candidate", "wrong_kind", "note"),
    [
        pytest.param(BOX, [30, 10, 10, 30], True, "the corners are in the wrong order", id="inverted-candidate"),
        pytest.param(BOX, "text", True, "expected a list of numbers", id="candidate-not-list"),
        pytest.param([30, 10, 10, 30], BOX, False, "expected value: invalid", id="inverted-truth"),
        pytest.param("text", BOX, True, "", id="truth-of-different-type"),
        pytest.param(BOX, {"format": "polygon", "coordinates": [[0, 0], [9, 9], [9, 0], [0, 9]]}, True, "self-intersecting outline", id="self-intersecting-outline"),
    ],
)  # fmt: skip
def test_invalid_shapes_have_a_reason(expected, candidate, wrong_kind, note):
    said = Iou().compare(expected, candidate)
    assert not said.matched
    assert said.score == 0.0
    assert said.wrong_kind is wrong_kind
    assert note in said.note
    assert said.reason is (Reason.INVALID_SHAPE if note else Reason.TYPE_MISMATCH)


@pytest.mark.parametrize("comparator", [Iou, Distance])
def test_scales_are_written_as_floats(comparator):
    whole = comparator(expected_scale=[1, 2], candidate_scale=[3, 4])
    assert (repr(whole.expected_scale), repr(whole.candidate_scale)) == ("(1.0, 2.0)", "(3.0, 4.0)")


def test_polygon_format_without_shapely_is_rejected(monkeypatch):
    monkeypatch.setattr(overlap_module, "has_shapely", lambda: False)
    with pytest.raises(MissingExtra, match="geometry"):
        Iou(candidate_format="polygon")
    assert Iou(format="polygon", polygon="bounds").compare(TRIANGLE, TRIANGLE).matched


def test_polygon_value_without_shapely_is_an_error(monkeypatch):
    monkeypatch.setattr(overlap_module, "has_shapely", lambda: False)
    said = Iou().compare(BOX, {"format": "polygon", "coordinates": TRIANGLE})
    assert said.failed
    assert said.reason is Reason.PROVIDER_FAILED
    assert "fieldmark[geometry]" in said.note
