"""Object detection metrics of data sets and single images."""

from __future__ import annotations

import pytest

from fieldmark.evaluators.detection_ap import DetectionAp
from fieldmark.metrics.average_precision import coco_ap
from fieldmark.model.json import MISSING

CAR, DOG = [0, 0, 10, 10], [50, 50, 80, 90]


def page(*regions):
    return {
        "regions": [
            dict(zip(("bbox", "class", "score"), region, strict=False)) for region in regions
        ]
    }


TRUTH = page((CAR, "car"), (DOG, "dog"))


@pytest.mark.parametrize(
    ("candidate", "score", "hits", "misses"),
    [
        pytest.param(page((CAR, "car", 0.9), (DOG, "dog", 0.8)), 1.0, 2, (), id="all-found"),
        pytest.param(page((CAR, "car", 0.9)), 2 / 3, 1, ("regions[1].bbox (not detected)",), id="one-missing"),
        pytest.param(page((CAR, "dog", 0.9), (DOG, "dog", 0.8)), 0.5, 1, ("regions[0].bbox (not detected)", "regions[→0].bbox (unexpected)"), id="different-class"),
        pytest.param(page((CAR, "car", 0.9), (DOG, "dog", 0.8), (CAR, "car", 0.1)), 0.8, 2, ("regions[→2].bbox (unexpected)",), id="detected-twice"),
        pytest.param(page(([9, 0, 1, 1], "car", 0.9), (DOG, "dog", 0.8)), 0.5, 1, ("regions[0].bbox (not detected)", "regions[→0].bbox (invalid bounding box: the corners are in the wrong order)"), id="invalid-box"),
        pytest.param({}, 0.0, 0, ("regions[0].bbox (not detected)", "regions[1].bbox (not detected)"), id="nothing-detected"),
    ],
)  # fmt: skip
def test_image_scores_its_f1(candidate, score, hits, misses):
    got = DetectionAp().evaluate(TRUTH, candidate)
    assert got.score == pytest.approx(score)
    assert (len(got.hits), got.misses) == (hits, misses)
    assert got.verdict == ("pass" if score >= 0.8 else "fail")


def test_unreadable_candidate_has_no_detections():
    tally = DetectionAp().start()
    got = tally.add(TRUTH, TRUTH, unreadable=True)
    assert (got.score, got.misses[0]) == (0.0, "$ (candidate is not JSON)")
    assert tally.add(TRUTH, MISSING).score == 0.0
    assert tally.summary()["AP"] == 0.0


def test_image_without_regions_on_either_side_is_vacuous():
    got = DetectionAp().evaluate({"regions": []}, {})
    assert (got.score, got.vacuous) == (1.0, True)


def test_metrics_cover_the_whole_data_set():
    tally = DetectionAp(format="xywh").start()
    pages = [
        (page(([0, 0, 10, 10], "a"), ([30, 30, 40, 50], "b")), page(([0, 0, 10, 9], "a", 0.7))),
        (page(([5, 5, 10, 10], "a")), page(([5, 5, 10, 10], "a", 0.9), ([0, 0, 9, 9], "b", 0.4))),
    ]
    for expected, candidate in pages:
        tally.add(expected, candidate)
    entries = [
        [
            {"image_id": n, "category_id": r["class"], **r}
            for n, sides in enumerate(pages)
            for r in sides[side]["regions"]
        ]
        for side in (0, 1)
    ]
    want = coco_ap(*entries)
    del want["classes"]
    summary = tally.summary()
    assert {name: summary[name] for name in want} == want
    assert (summary["images"], summary["regions"], summary["detections"]) == (2, 3, 3)
    assert summary["classes"]["a"]["pascal"]["every_point"] == pytest.approx(1.0)
    assert summary["pascal"]["every_point"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("options", "expected", "candidate", "ap50"),
    [
        pytest.param({"boxes": "boxes[]", "class_": "labels[]", "score": "scores[]"}, {"boxes": [CAR, DOG], "labels": ["car", "dog"]}, {"boxes": [DOG, CAR], "labels": ["dog", "car"], "scores": [0.4, 0.5]}, 1.0, id="parallel-lists"),
        pytest.param({"class_": None, "score": None}, page((CAR, "car")), page((CAR, "dog")), 1.0, id="one-class-without-scores"),
        pytest.param({"crowd": "regions[].many"}, {"regions": [{"bbox": CAR, "many": True}, {"bbox": DOG}]}, {"regions": [{"bbox": [1, 1, 4, 4], "score": 0.9}, {"bbox": DOG, "score": 0.5}]}, 1.0, id="crowd"),
        pytest.param({}, page((CAR, 7)), page((CAR, 7, 0.5)), 1.0, id="numeric-classes"),
        pytest.param({"format": "polygon"}, page(([[0, 0], [10, 0], [10, 10]], "a")), page(([[0, 0], [10, 0], [0, 10]], "a", 0.5)), 1.0, id="polygons-by-their-bounds"),
        pytest.param({}, page((CAR, "car")), page((DOG, "car"), (CAR, "car", 0.1)), 1.0, id="detection-without-score-comes-last"),
    ],
)  # fmt: skip
def test_regions_are_read_from_configured_paths(options, expected, candidate, ap50):
    tally = DetectionAp(**options).start()
    tally.add(expected, candidate)
    assert tally.summary()["AP50"] == pytest.approx(ap50)


def test_given_areas_decide_the_size_range():
    tally = DetectionAp(area="regions[].area").start()
    tally.add({"regions": [{"bbox": CAR, "area": 5000}]}, {})
    summary = tally.summary()
    assert (summary["APsmall"], summary["APmedium"]) == (None, 0.0)


@pytest.mark.parametrize(
    ("crowd", "truth"),
    [
        pytest.param("regions[].iscrowd", {"regions": [{"bbox": CAR, "class": "car"}, {"bbox": DOG, "class": "car", "iscrowd": 1}]}, id="flag"),
        pytest.param("crowd[]", {"regions": [{"bbox": CAR, "class": "car"}], "crowd": [{"bbox": DOG, "class": "car"}]}, id="separate-list"),
    ],
)  # fmt: skip
def test_crowds_are_marked(crowd, truth):
    inside = [55, 55, 60, 60]
    tally = DetectionAp(crowd=crowd).start()
    got = tally.add(truth, page((CAR, "car", 0.9), (inside, "car", 0.8)))
    assert (got.score, got.hits, got.misses) == (1.0, ("regions[0].bbox",), ())
    assert tally.summary()["AP"] == pytest.approx(1.0)
    assert DetectionAp().evaluate(truth, page((CAR, "car", 0.9), (inside, "car", 0.8))).score < 1
