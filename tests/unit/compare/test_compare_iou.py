"""Boxes and polygons that cover the same place."""

from __future__ import annotations

import pytest

from fieldmark.compare import iou as iou_module
from fieldmark.compare.iou import Iou
from fieldmark.errors import MissingExtra, OptionError
from fieldmark.model.outcome import Reason
from fieldmark.values import overlap as overlap_module

BOX = [10, 10, 30, 30]
TRIANGLE = [[0, 0], [10, 0], [0, 10]]


@pytest.mark.parametrize(
    ("options", "expected", "candidate", "matched", "similarity"),
    [
        pytest.param({}, BOX, BOX, True, 1.0, id="identical"),
        pytest.param({}, BOX, [10, 10, 30, 20], True, 0.5, id="the-threshold-is-inside"),
        pytest.param({}, BOX, [20, 20, 40, 40], False, 100 / 700, id="below-the-threshold"),
        pytest.param({"threshold": 0.1}, BOX, [20, 20, 40, 40], True, 100 / 700, id="a-lower-threshold"),
        pytest.param({}, [5, 5, 5, 5], [5, 5, 5, 5], False, 0.0, id="a-point-does-not-match-itself"),
        pytest.param({"format": "xywh"}, [10, 10, 20, 20], [10, 10, 20, 20], True, 1.0, id="another-format"),
        pytest.param({"candidate_format": "xywh"}, BOX, [10, 10, 20, 20], True, 1.0, id="a-format-for-each-side"),
        pytest.param({"expected_format": "polygon"}, TRIANGLE, [0, 0, 10, 10], True, 0.5, id="a-polygon-against-a-box"),
        pytest.param({"format": "polygon", "polygon": "bounds"}, TRIANGLE, [[10, 10], [10, 0], [0, 10]], True, 1.0, id="bounding-rectangles-on-request"),
        pytest.param({"candidate_scale": [100, 50]}, BOX, [0.1, 0.2, 0.3, 0.6], True, 1.0, id="shares-of-the-page-on-one-side"),
        pytest.param({}, {"format": "xywh", "coordinates": [10, 10, 20, 20]}, BOX, True, 1.0, id="values-that-say-their-format"),
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
        pytest.param(BOX, [30, 10, 10, 30], True, "the corners are in the wrong order", id="an-inverted-candidate"),
        pytest.param(BOX, "text", True, "not a list of numbers", id="a-candidate-that-is-no-list"),
        pytest.param([30, 10, 10, 30], BOX, False, "the expected value: invalid", id="an-inverted-truth"),
        pytest.param("text", BOX, True, "", id="a-truth-of-another-kind"),
        pytest.param(BOX, {"format": "polygon", "coordinates": [[0, 0], [9, 9], [9, 0], [0, 9]]}, True, "crosses itself", id="an-outline-that-crosses-itself"),
    ],
)  # fmt: skip
def test_what_is_no_shape_has_a_reason(expected, candidate, wrong_kind, note):
    said = Iou().compare(expected, candidate)
    assert not said.matched
    assert said.score == 0.0
    assert said.wrong_kind is wrong_kind
    assert note in said.note
    assert said.reason is (Reason.INVALID_SHAPE if note else Reason.TYPE_MISMATCH)


@pytest.mark.parametrize(
    ("options", "option"),
    [
        pytest.param({"format": "cxcywh"}, "format", id="an-unknown-format"),
        pytest.param({"candidate_format": "yolo"}, "candidate_format", id="an-unknown-format-of-a-side"),
        pytest.param({"threshold": 1.5}, "threshold", id="a-threshold-above-1"),
        pytest.param({"polygon": "rough"}, "polygon", id="an-unknown-method"),
        pytest.param({"expected_scale": [1]}, "expected_scale", id="a-scale-of-one-number"),
        pytest.param({"expected_scale": [1, 0]}, "expected_scale", id="a-scale-of-nothing"),
        pytest.param({"candidate_scale": "100"}, "candidate_scale", id="a-scale-that-is-text"),
        pytest.param({"candidate_scale": [True, 1]}, "candidate_scale", id="a-scale-that-is-a-flag"),
    ],
)  # fmt: skip
def test_options_that_make_no_sense_are_refused(options, option):
    with pytest.raises(OptionError) as caught:
        Iou(**options)
    assert caught.value.option == option


def test_without_shapely_polygons_are_refused_before_anything_runs(monkeypatch):
    monkeypatch.setattr(overlap_module, "has_shapely", lambda: False)
    with pytest.raises(MissingExtra, match="geometry"):
        Iou(candidate_format="polygon")
    assert Iou(format="polygon", polygon="bounds").compare(TRIANGLE, TRIANGLE).matched


def test_without_shapely_a_value_that_says_it_is_a_polygon_is_an_error_and_no_score(monkeypatch):
    monkeypatch.setattr(overlap_module, "has_shapely", lambda: False)
    said = Iou().compare(BOX, {"format": "polygon", "coordinates": TRIANGLE})
    assert said.failed
    assert said.reason is Reason.PROVIDER_FAILED
    assert "fieldmark[geometry]" in said.note


def test_equal_values_are_always_asked_about():
    assert iou_module.Iou.reflexive is False
