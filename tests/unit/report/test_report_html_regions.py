"""Regions of a page: which fields are regions, and which format their boxes have."""

from __future__ import annotations

import json

import pytest

from fieldmark.report.html.cases import case_documents
from fieldmark.report.html.tree import Region, drawn_regions, page_of
from unit.report.exported import rows_of, stored_case


@pytest.mark.parametrize(
    ("expected", "candidate", "form", "corners"),
    [
        pytest.param([1, 2, 3, 4], None, "xyxy", [[1, 2], [3, 2], [3, 4], [1, 4]], id="two-corners"),
        pytest.param([9, 9, 3, 4], None, "xywh", [[9, 9], [12, 9], [12, 13], [9, 13]], id="corner-and-size"),
        pytest.param([[0, 0], [4, 0], [0, 4]], None, "xyxy", [[0, 0], [4, 0], [0, 4]], id="polygon"),
        pytest.param({"format": "xywh", "coordinates": [0, 0, 2, 2]}, None, "xyxy", [[0, 0], [2, 0], [2, 2], [0, 2]], id="explicit-format"),
    ],
)  # fmt: skip
def test_regions_are_drawn(expected, candidate, form, corners):
    drawn = drawn_regions([Region("box", expected, candidate, None)])
    assert (drawn["form"], drawn["more"]) == (form, 0)
    assert rows_of(drawn["regions"]) == [
        {"path": "box", "mark": 8, "expected": corners, "candidate": None}
    ]


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
    case = stored_case(tmp_path, *pair, rules=rules)
    assert json.loads(case_documents(case))["regions"]["form"] == "xywh"


@pytest.mark.parametrize("value", ["none", 5, [1, 2], ["a", "b", "c", "d"], {"x": 1}])
def test_other_values_are_not_drawn(value):
    assert drawn_regions([Region("box", value, value, None)]) is None


@pytest.mark.parametrize(
    ("pages", "drawn"),
    [
        pytest.param((1, 2, None), [1, 2, None], id="from-1"),
        pytest.param((0, 1, None), [1, 2, None], id="from-0"),
        pytest.param((2, 2, 3), [2, 2, 3], id="without-the-first"),
    ],
)
def test_pages_of_regions_count_from_1(pages, drawn):
    regions = [Region("box", [1, 2, 3, 4], None, None, None, page) for page in pages]
    rows = rows_of(drawn_regions(regions)["regions"])
    assert [row.get("page") for row in rows] == drawn


@pytest.mark.parametrize(
    ("document", "page"),
    [
        pytest.param({"page": 3}, 3, id="page"),
        pytest.param({"page_number": 3, "page_index": 7}, 3, id="number-before-index"),
        pytest.param({"page_index": 2}, 3, id="index"),
        pytest.param({"page": "3"}, None, id="text"),
        pytest.param({"page": True}, None, id="boolean"),
        pytest.param({"page": -1}, None, id="negative"),
        pytest.param({"page": 10**9}, None, id="huge"),
        pytest.param({}, None, id="none"),
    ],
)
def test_page_of_an_object(document, page):
    assert page_of(document) == page


@pytest.mark.parametrize(
    ("metadata", "frame"),
    [
        pytest.param({"width": 640, "height": 480}, [640, 480], id="size"),
        pytest.param({"width": 640}, None, id="one-side"),
        pytest.param({"width": 0, "height": 480}, None, id="zero"),
        pytest.param({"width": "640", "height": 480}, None, id="text"),
        pytest.param({"width": True, "height": 480}, None, id="boolean"),
        pytest.param(None, None, id="none"),
    ],
)
def test_size_of_the_image_frames_the_regions(metadata, frame):
    drawn = drawn_regions([Region("box", [1, 2, 3, 4], None, None)], metadata)
    assert drawn.get("frame") == frame


def test_regions_have_the_page_of_the_object_or_list_that_contains_them(tmp_path):
    box = [1, 2, 3, 4]
    document = {
        "lines": [{"bbox": box, "page": 2}, {"value": {"bbox": box}, "page": 1}],
        "pages": [{"bbox": box}, {"words": [{"bbox": box}]}],
        "bbox": box,
    }
    candidate = {**document, "lines": [*document["lines"], {"bbox": box, "page": 3}]}
    case = stored_case(tmp_path, document, candidate)
    rows = rows_of(json.loads(case_documents(case))["regions"]["regions"])
    pages = {(row["path"], row.get("extra")): row.get("page") for row in rows}
    assert pages == {
        ("lines[0].bbox", None): 2,
        ("lines[1].value.bbox", None): 1,
        ("lines[2].bbox", 1): 3,
        ("pages[0].bbox", None): 1,
        ("pages[1].words[0].bbox", None): 2,
        ("bbox", None): None,
    }
