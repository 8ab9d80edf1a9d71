"""Regions of a page: which fields are regions, and which format their boxes have."""

from __future__ import annotations

import json

import pytest

import fieldmark as fm
from fieldmark.report.html.cases import case_documents
from fieldmark.report.html.regions import Region, drawn_regions
from fieldmark.store.reader import open_run


@pytest.mark.parametrize(
    ("expected", "candidate", "form", "corners"),
    [
        pytest.param([1, 2, 3, 4], None, "xyxy", [[1, 2], [3, 2], [3, 4], [1, 4]], id="two-corners"),
        pytest.param([9, 9, 3, 4], None, "xywh", [[9, 9], [12, 9], [12, 13], [9, 13]], id="corner-and-size"),
        pytest.param([[0, 0], [4, 0], [0, 4]], None, "xyxy", [[0, 0], [4, 0], [0, 4]], id="polygon"),
        pytest.param(
            {"format": "xywh", "coordinates": [0, 0, 2, 2]}, None, "xyxy", [[0, 0], [2, 0], [2, 2], [0, 2]],
            id="explicit-format",
        ),
    ],
)  # fmt: skip
def test_regions_are_drawn(expected, candidate, form, corners):
    drawn = drawn_regions([Region("box", expected, candidate, None)])
    assert drawn == {"form": form, "regions": [["box", 8, corners, None]], "more": 0}


@pytest.mark.parametrize(
    ("overlap", "form"),
    [
        pytest.param(0.9, "xywh", id="corner-and-size"),
        pytest.param(26 / 30, "xyxy", id="two-corners"),
        pytest.param(None, "xyxy", id="two-corners-without-measured-overlap"),
    ],
)
def test_boxes_are_read_in_the_format_of_the_measured_overlap(overlap, form):
    boxes = ([10, 10, 50, 40], [10, 10, 50, 36])
    assert drawn_regions([Region("box", *boxes, None, overlap)])["form"] == form


def test_boxes_of_a_run_are_drawn_in_the_format_of_the_rules(tmp_path):
    rules = {"box": {"match": "iou", "format": "xywh"}}
    pair = {"box": [10, 10, 50, 40]}, {"box": [10, 10, 50, 36]}
    fm.score([pair], rules=rules, out=tmp_path / "run")
    (case,) = open_run(tmp_path / "run").cases()
    assert json.loads(case_documents(case))["regions"]["form"] == "xywh"


@pytest.mark.parametrize("value", ["none", 5, [1, 2], ["a", "b", "c", "d"], {"x": 1}])
def test_other_values_are_not_drawn(value):
    assert drawn_regions([Region("box", value, value, None)]) is None
