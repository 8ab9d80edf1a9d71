"""Evaluators of boxes and points."""

from __future__ import annotations

import pytest

from fieldmark.errors import MissingExtra
from fieldmark.evaluators.base import Status
from fieldmark.evaluators.geometry import CoordinateDistance, IouScore
from fieldmark.model.json import MISSING
from fieldmark.values import geometry as overlap_module

BOX = [10, 10, 30, 30]
TRIANGLE = [[0, 0], [10, 0], [0, 10]]
BOW_TIE = [[0, 0], [10, 10], [10, 0], [0, 10]]


@pytest.mark.parametrize(
    ("options", "expected", "candidate", "score", "verdict"),
    [
        pytest.param({}, BOX, [20, 20, 40, 40], 100 / 700, "fail", id="quarter-in-common"),
        pytest.param({"threshold": 0.1}, BOX, [20, 20, 40, 40], 100 / 700, "pass", id="threshold-only-affects-verdict"),
        pytest.param({"pass_threshold": 0.9}, BOX, [10, 10, 30, 26], 0.8, "fail", id="pass-threshold-decides-instead"),
        pytest.param({"format": "xywh"}, [10, 10, 20, 20], [20, 20, 20, 20], 100 / 700, "fail", id="corner-and-size"),
        pytest.param({"candidate_format": "xywh"}, BOX, [10, 10, 20, 20], 1.0, "pass", id="formats-that-differ"),
        pytest.param({"format": "polygon"}, TRIANGLE, [[0, 0], [10, 0], [10, 10], [0, 10]], 0.5, "pass", id="polygons-exactly"),
        pytest.param({"format": "polygon", "polygon": "bounds"}, TRIANGLE, [[0, 0], [10, 0], [10, 10], [0, 10]], 1.0, "pass", id="polygons-by-their-bounds"),
        pytest.param({}, {"format": "xywh", "coordinates": [10, 10, 20, 20]}, BOX, 1.0, "pass", id="value-with-own-format"),
    ],
)  # fmt: skip
def test_one_box(options, expected, candidate, score, verdict):
    got = IouScore(path="box", **options).evaluate({"box": expected}, {"box": candidate})
    assert got.score == pytest.approx(score)
    assert got.verdict == verdict
    assert got.details["iou"] == got.score


@pytest.mark.parametrize(
    ("matching", "expected", "candidate", "score", "counts"),
    [
        pytest.param("index", [BOX, [50, 50, 60, 60]], [BOX], 0.5, (1, 0, 1), id="missing-box-counts-0"),
        pytest.param("index", [BOX], [BOX, BOX, BOX, BOX], 0.25, (1, 3, 0), id="extra-boxes-count-0"),
        pytest.param("index", [BOX, [50, 50, 60, 60]], [[50, 50, 60, 60], BOX], 0.0, (0, 2, 2), id="by-index-order-matters"),
        pytest.param("greedy", [BOX, [50, 50, 60, 60]], [[50, 50, 60, 60], BOX], 1.0, (2, 0, 0), id="greedy-ignores-order"),
        pytest.param("optimal", [BOX, [50, 50, 60, 60]], [[50, 50, 60, 60], BOX], 1.0, (2, 0, 0), id="optimal-ignores-order"),
        pytest.param("greedy", [BOX], [[20, 20, 40, 40]], 0.0, (0, 1, 1), id="nothing-aligned-below-threshold"),
        pytest.param("greedy", [BOX], [], 0.0, (0, 0, 1), id="one-empty-list"),
        pytest.param("greedy", [], [BOX], 0.0, (0, 1, 0), id="other-empty-list"),
        pytest.param("greedy", [[0, 0, 10, 10], [0, 0, 10, 6]], [[0, 0, 10, 9], [0, 0, 10, 17]], 0.9 / 2, (1, 1, 1), id="best-pair-first"),
        pytest.param("optimal", [[0, 0, 10, 10], [0, 0, 10, 6]], [[0, 0, 10, 9], [0, 0, 10, 17]], (10 / 17 + 6 / 9) / 2, (2, 0, 0), id="best-total"),
    ],
)  # fmt: skip
def test_lists_of_boxes(matching, expected, candidate, score, counts):
    got = IouScore(path="boxes", matching=matching).evaluate(
        {"boxes": expected}, {"boxes": candidate}
    )
    assert (got.details["tp"], got.details["fp"], got.details["fn"]) == counts
    assert got.score == pytest.approx(score)
    assert len(got.hits) == counts[0]
    assert bool(got.misses) == (counts[1] + counts[2] > 0)


FAR = [50, 50, 60, 60]


@pytest.mark.parametrize(
    ("options", "expected", "candidate", "verdict"),
    [
        pytest.param({}, [BOX, FAR], [BOX, FAR], "pass", id="complete"),
        pytest.param({}, [BOX, FAR], [BOX], "fail", id="one-of-two-is-missing"),
        pytest.param({}, [BOX], [BOX, FAR], "fail", id="one-of-two-is-extra"),
        pytest.param({"threshold": 0.1}, [BOX, FAR], [BOX], "fail", id="low-iou-threshold"),
        pytest.param({"pass_threshold": 0.1}, [BOX, FAR], [BOX], "fail", id="low-pass-threshold"),
        pytest.param({"matching": "greedy"}, [BOX, FAR], [BOX], "fail", id="greedy"),
        pytest.param({"matching": "optimal"}, [BOX], [FAR, BOX], "fail", id="optimal"),
        pytest.param({}, [BOX, BOX], [BOX, [10, 10, 30, 28]], "pass", id="mean-decides-otherwise"),
    ],
)
def test_list_with_a_missing_or_extra_box_never_passes(options, expected, candidate, verdict):
    got = IouScore(path="boxes", **options).evaluate({"boxes": expected}, {"boxes": candidate})
    assert got.verdict == verdict


def test_list_with_a_missing_or_extra_point_never_passes():
    points = CoordinateDistance(path="points", pass_threshold=0.1)
    got = points.evaluate({"points": [[1, 1], [2, 2]]}, {"points": [[1, 1]]})
    assert (got.score, got.verdict) == (0.5, "fail")


def test_precision_recall_and_f1_are_in_the_details():
    details = IouScore(matching="greedy").evaluate([BOX, [0, 0, 1, 1]], [BOX]).details
    assert (details["precision"], details["recall"], details["f1"]) == (1.0, 0.5, 2 / 3)
    assert details["alignment"] == [
        {"expected_idx": 0, "parsed_idx": 0, "iou": 1.0, "expected_area": 400.0,
         "candidate_area": 400.0, "intersection": 400.0, "method": "box"},
        {"expected_idx": 1, "parsed_idx": None},
    ]  # fmt: skip


def test_details_are_bounded_and_have_a_total():
    boxes = [[n, 0, n + 1, 1] for n in range(5)]
    details = IouScore(max_rows=2).evaluate(boxes, boxes).details
    assert (len(details["alignment"]), details["alignment_total"]) == (2, 5)


@pytest.mark.parametrize(
    ("options", "expected", "candidate", "miss"),
    [
        pytest.param({}, BOX, [30, 10, 10, 30], "box (invalid bounding box: the corners are in the wrong order)", id="inverted-box"),
        pytest.param({"format": "xywh"}, BOX, [1, 1, -5, 5], "box (invalid bounding box: negative width or height)", id="negative-width"),
        pytest.param({}, BOX, [1, 1, float("inf"), 5], "box (invalid bounding box: a coordinate is not finite)", id="infinite-coordinate"),
        pytest.param({"format": "polygon"}, TRIANGLE, BOW_TIE, "box (invalid bounding box: self-intersecting outline)", id="self-intersecting-outline"),
        pytest.param({}, BOX, "text", "box (invalid bounding box: expected a list of numbers)", id="not-a-list"),
        pytest.param({}, [30, 10, 10, 30], BOX, "box (expected value: invalid bounding box: the corners are in the wrong order)", id="inverted-truth"),
        pytest.param({}, BOX, None, "box (null value)", id="null"),
        pytest.param({}, BOX, MISSING, "box (required, missing)", id="absent"),
        pytest.param({}, MISSING, BOX, "box (unexpected value)", id="unexpected-box"),
        pytest.param({}, BOX, [20, 20, 40, 40], "box (IoU 0.143, below 0.5)", id="too-little-overlap"),
    ],
)  # fmt: skip
def test_misses_have_a_reason(options, expected, candidate, miss):
    sides = [{} if side is MISSING else {"box": side} for side in (expected, candidate)]
    got = IouScore(path="box", **options).evaluate(*sides)
    assert got.misses == (miss,)
    assert got.verdict == "fail"
    assert got.status is Status.OK


@pytest.mark.parametrize("document", [{}, {"box": None}, {"box": []}])
def test_empty_on_both_sides_is_vacuous(document):
    got = IouScore(path="box").evaluate(document, document)
    assert (got.score, got.verdict, got.vacuous) == (1.0, "pass", True)


def test_boxes_of_list_items_keep_their_paths():
    rows = [{"box": BOX}, {"box": [0, 0, 1, 1]}, {}]
    got = IouScore(path="rows[].box").evaluate({"rows": rows}, {"rows": [{"box": BOX}, {}, {}]})
    assert got.hits == ("rows[0].box",)
    assert got.misses == ("rows[1].box (required, missing)",)
    assert got.score == 0.5


def test_single_box_for_a_list_is_a_list_of_one():
    got = IouScore(path="boxes").evaluate({"boxes": [BOX]}, {"boxes": BOX})
    assert (got.score, got.hits) == (1.0, ("boxes[0]",))


def test_page_size_is_read_from_the_truth():
    page = {"box": [100, 100, 200, 200], "size": {"width": 1000, "height": 500}}
    evaluator = IouScore(path="box", candidate_scale="size")
    assert evaluator.evaluate(page, {"box": [0.1, 0.2, 0.2, 0.4]}).score == pytest.approx(1.0)
    listed = {**page, "size": [1000, 500]}
    assert evaluator.evaluate(listed, {"box": [0.1, 0.2, 0.2, 0.4]}).score == pytest.approx(1.0)
    without_size = evaluator.evaluate({"box": BOX}, {"box": BOX})
    assert without_size.misses == ("size (no page size)",)


def test_polygons_without_shapely_are_rejected(monkeypatch):
    monkeypatch.setattr(overlap_module, "has_shapely", lambda: False)
    with pytest.raises(MissingExtra, match="geometry"):
        IouScore(format="polygon")
    got = IouScore().evaluate(BOX, {"format": "polygon", "coordinates": TRIANGLE})
    assert (got.score, got.status) == (None, Status.ERROR)
    assert "fieldmark[geometry]" in got.reasoning


# --- points ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "expected", "candidate", "score", "apart", "verdict"),
    [
        pytest.param({}, [10, 20], [13, 24], 1 / 6, 5.0, "fail", id="euclidean"),
        pytest.param({"metric": "manhattan"}, [10, 20], [13, 24], 1 / 8, 7.0, "fail", id="manhattan"),
        pytest.param({"metric": "cosine"}, [3, 4], [6, 8], 1.0, 0.0, "pass", id="cosine"),
        pytest.param({"metric": "cosine"}, [0, 0], [6, 8], 0.5, 1.0, "fail", id="zero-vector"),
        pytest.param({}, [1, 2, 3], [1, 2, 3], 1.0, 0.0, "pass", id="same-place-in-space"),
        pytest.param({"threshold": 5}, [10, 20], [13, 24], 1.0, 5.0, "pass", id="within-threshold"),
        pytest.param({"threshold": 4}, [10, 20], [13, 24], 0.0, 5.0, "fail", id="above-threshold"),
        pytest.param({"pass_threshold": 0.1}, [10, 20], [13, 24], 1 / 6, 5.0, "pass", id="pass-threshold-decides"),
    ],
)  # fmt: skip
def test_one_point(options, expected, candidate, score, apart, verdict):
    got = CoordinateDistance(path="at", **options).evaluate({"at": expected}, {"at": candidate})
    assert (got.score, got.verdict) == (pytest.approx(score), verdict)
    assert got.details["distance"] == pytest.approx(apart)
    assert got.details["metric"] == options.get("metric", "euclidean")


@pytest.mark.parametrize(
    ("options", "expected", "candidate", "score", "hits"),
    [
        pytest.param({"threshold": 1}, [[0, 0], [9, 9]], [[0, 1], [9, 9]], 1.0, 2, id="by-index"),
        pytest.param({"threshold": 1}, [[0, 0], [9, 9]], [[0, 1]], 0.5, 1, id="missing-point-counts-0"),
        pytest.param({"threshold": 1, "matching": "greedy"}, [[0, 0], [9, 9]], [[9, 9], [0, 1]], 1.0, 2, id="greedily"),
        pytest.param({"threshold": 1, "matching": "optimal"}, [[0, 0], [9, 9]], [[9, 8], [5, 5]], 0.5, 1, id="optimally-within-threshold"),
        pytest.param({"matching": "greedy"}, [[0, 0], [9, 9]], [[9, 12], [0, 0]], (1 + 0.25) / 2, 1, id="without-threshold-nearest"),
    ],
)  # fmt: skip
def test_lists_of_points(options, expected, candidate, score, hits):
    got = CoordinateDistance(path="at", **options).evaluate({"at": expected}, {"at": candidate})
    assert got.score == pytest.approx(score)
    assert len(got.hits) == hits


@pytest.mark.parametrize(
    ("expected", "candidate", "miss"),
    [
        pytest.param([1, 2], [1, 2, 3], "at (dimension mismatch: 2 and 3)", id="different-dimension"),
        pytest.param([1, 2], [1, None], "at (invalid point: coordinates must be numbers)", id="null-coordinate"),
        pytest.param(["x", 2], [1, 2], "at (expected value: invalid point: coordinates must be numbers)", id="truth-not-point"),
        pytest.param([1, 2], MISSING, "at (required, missing)", id="absent"),
        pytest.param([1, 2], [1, 9], "at (distance 7, above 1)", id="too-far"),
    ],
)  # fmt: skip
def test_misses_score_0_with_a_reason(expected, candidate, miss):
    other = {} if candidate is MISSING else {"at": candidate}
    got = CoordinateDistance(path="at", threshold=1).evaluate({"at": expected}, other)
    assert (got.score, got.misses) == (0.0, (miss,))
