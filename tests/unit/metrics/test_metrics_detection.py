"""COCO's twelve figures and PASCAL's average precision."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from fieldmark.errors import DataError, OptionError
from fieldmark.metrics.detection import matching
from fieldmark.metrics.detection.coco import CocoSettings, coco_ap, coco_figures
from fieldmark.metrics.detection.matching import match_image
from fieldmark.metrics.detection.pascal import pascal_ap
from fieldmark.metrics.detection.regions import DetectedRegion, Regions, TruthRegion
from reference.coco_oracle import coco_oracle

DATA = Path(__file__).parents[2] / "data"
SPOT = 1 - 2**-52
"""Precision of one right detection, as the reference implementation rounds it."""


def truth(*boxes, **more):
    return [
        {"image_id": 1, "category_id": 1, "bbox": list(box), "area": box[2] * box[3], **more}
        for box in boxes
    ]


def found(*boxes, score=0.5, **more):
    return [
        {"image_id": 1, "category_id": 1, "bbox": list(box), "score": score, **more}
        for box in boxes
    ]


def loaded(name):
    return [
        json.loads((DATA / name / file).read_text("utf-8"))
        for file in ("truth.json", "detections.json")
    ]


def test_recorded_figures_of_random_regions_come_out_to_the_last_digit():
    want = json.loads((DATA / "coco-random" / "figures.json").read_text("utf-8"))
    got = coco_ap(*loaded("coco-random"))
    assert {name: got[name] for name in want} == want


def test_the_slow_and_obvious_way_gives_the_same():
    ground_truth, detections = loaded("coco-random")
    got = coco_ap(ground_truth, detections)
    want = coco_oracle(ground_truth, detections)
    assert {name: got[name] for name in want} == pytest.approx(want, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_random_regions_come_out_as_the_definition_says(seed):
    random = np.random.default_rng(seed)
    ids = random.integers(1, 4, size=(2, 40)).tolist()
    boxes = random.integers(1, 60, size=(80, 4)).astype(float).tolist()
    scores = random.integers(1, 6, size=40) / 5
    annotations = [
        {"image_id": i, "category_id": c, "bbox": box, "area": box[2] * box[3], "iscrowd": int(n % 7 == 0)}
        for n, (i, c, box) in enumerate(zip(*ids, boxes[:40], strict=True))
    ]  # fmt: skip
    results = [
        {"image_id": i, "category_id": c, "bbox": box, "score": float(score)}
        for i, c, box, score in zip(ids[1], ids[0], boxes[40:], scores, strict=True)
    ]
    ground_truth = {
        "images": [{"id": n} for n in (3, 1, 2, 9)],
        "categories": [{"id": n, "name": str(n)} for n in (1, 2, 3, 4)],
        "annotations": annotations,
    }
    got = coco_ap(ground_truth, [*results, *[{**a, "score": 0.6} for a in annotations[::3]]])
    want = coco_oracle(ground_truth, [*results, *[{**a, "score": 0.6} for a in annotations[::3]]])
    assert {name: got[name] for name in want} == pytest.approx(want, abs=1e-12)


def test_pairs_are_looked_at_in_blocks_of_any_size(monkeypatch):
    want = coco_ap(*loaded("coco-random"))
    monkeypatch.setattr(matching, "_BLOCK", 3)
    assert coco_ap(*loaded("coco-random")) == want


@pytest.mark.parametrize(
    ("truths", "detections", "ap50", "ar100"),
    [
        pytest.param(truth((0, 0, 10, 10)), found((0, 0, 10, 10)), SPOT, 1.0, id="found"),
        pytest.param(truth((0, 0, 10, 10)), found((0, 0, 10, 5)), SPOT, 0.1, id="the-threshold-is-inside"),
        pytest.param(truth((0, 0, 10, 10)), [], 0.0, 0.0, id="an-image-without-detections-counts"),
        pytest.param(truth((0, 0, 10, 10)), found((0, 0, 10, 4)), 0.0, 0.0, id="too-little-overlap"),
        pytest.param(truth((0, 0, 10, 10)), found((0, 0, 10, 10), category_id=2), 0.0, 0.0, id="another-class"),
        pytest.param(truth((0, 0, 10, 10)), found((0, 0, 10, 10), image_id=2), 0.0, 0.0, id="another-image"),
        pytest.param(truth((0, 0, 10, 10)), found((0, 0, 10, 10), (0, 0, 10, 9)), SPOT, 1.0, id="a-second-find-comes-too-late-to-cost"),
        pytest.param(truth((0, 0, 10, 10)), [*found((50, 50, 9, 9), score=0.9), *found((0, 0, 10, 10))], 0.5, 1.0, id="a-surer-one-that-is-wrong"),
        pytest.param(truth((0, 0, 10, 10), iscrowd=1), found((0, 0, 5, 5)), None, None, id="a-crowd-alone-is-nothing-to-find"),
        pytest.param([*truth((0, 0, 10, 10)), *truth((20, 20, 50, 50), iscrowd=1)], [*found((22, 22, 5, 5), (30, 30, 5, 5), score=0.9), *found((0, 0, 10, 10))], SPOT, 1.0, id="detections-inside-a-crowd-cost-nothing"),
        pytest.param([], found((0, 0, 10, 10)), None, None, id="nothing-to-find"),
    ],
)  # fmt: skip
def test_what_counts(truths, detections, ap50, ar100):
    figures = coco_ap(truths, detections)
    assert figures["AP50"] == (None if ap50 is None else pytest.approx(ap50, abs=1e-12))
    assert figures["AR100"] == (None if ar100 is None else pytest.approx(ar100))


@pytest.mark.parametrize(
    ("area", "defined"),
    [
        pytest.param(100, {"APsmall"}, id="small"),
        pytest.param(32**2, {"APsmall", "APmedium"}, id="the-ends-belong-to-both-ranges"),
        pytest.param(5000, {"APmedium"}, id="medium"),
        pytest.param(20_000, {"APlarge"}, id="large"),
    ],
)
def test_regions_belong_to_ranges_of_sizes(area, defined):
    figures = coco_ap(truth((0, 0, 10, 10), area=area), [])
    spans = {f"AP{span}" for span in ("small", "medium", "large")}
    assert {name for name in spans if figures[name] is not None} == defined


def test_only_the_surest_detections_of_an_image_count():
    truths = truth(*[(20 * n, 0, 10, 10) for n in range(5)])
    results = [f for n in range(5) for f in found((20 * n, 0, 10, 10), score=1 - n / 10)]
    figures = coco_ap(truths, results, settings=CocoSettings(max_detections=(1, 3)))
    assert (figures["AR1"], figures["AR3"]) == pytest.approx((0.2, 0.6))
    assert "AR100" not in figures
    late = [*found((90, 0, 5, 5), score=0.9), *found((0, 0, 10, 10))]
    assert coco_ap(truths[:1], late)["AP50"] == pytest.approx(0.5)
    alone = CocoSettings(max_detections=(1,))
    assert coco_ap(truths[:1], late, settings=alone)["AP50"] == 0.0


def test_other_thresholds_and_ranges_on_request():
    settings = CocoSettings(iou_thresholds=(0.3,), areas={"tiny": (0, 1)})
    figures = coco_ap(truth((0, 0, 10, 10)), found((0, 0, 10, 4)), settings=settings)
    assert figures["AP"] == pytest.approx(1.0)
    assert (figures["AP50"], figures["APtiny"]) == (None, None)


@pytest.mark.parametrize(
    ("options", "option"),
    [
        pytest.param({"iou_thresholds": ()}, "iou_thresholds", id="no-threshold"),
        pytest.param({"iou_thresholds": (0.0, 0.5)}, "iou_thresholds", id="a-threshold-of-nothing"),
        pytest.param({"iou_thresholds": (1.5,)}, "iou_thresholds", id="a-threshold-above-1"),
        pytest.param({"max_detections": ()}, "max_detections", id="no-number-of-detections"),
        pytest.param({"max_detections": (10, 1)}, "max_detections", id="numbers-that-fall"),
        pytest.param({"max_detections": (0,)}, "max_detections", id="no-detections"),
        pytest.param({"areas": {"odd": (5, 1)}}, "areas", id="a-range-that-ends-before-it-starts"),
        pytest.param({"areas": {"odd": (5,)}}, "areas", id="a-range-without-an-end"),
    ],
)
def test_settings_that_make_no_sense_are_refused(options, option):
    with pytest.raises(OptionError) as caught:
        CocoSettings(**options)
    assert caught.value.option == option


@pytest.mark.parametrize(
    ("ground_truth", "detections", "message"),
    [
        pytest.param({"images": []}, [], "no list of annotations", id="a-file-without-annotations"),
        pytest.param({"annotations": []}, [], "no list of images", id="a-file-without-images"),
        pytest.param([{"image_id": 1, "category_id": 1}], [], "an annotation has no bbox", id="an-annotation-without-a-box"),
        pytest.param([7], [], "an annotation has no image_id: 7", id="an-annotation-that-is-a-number"),
        pytest.param([], [{"image_id": 1, "category_id": 1, "bbox": [0, 0, 1, 1]}, 5], "a detection has no", id="a-detection-that-is-a-number"),
        pytest.param(truth((0, 0, 1, 1)), [{"image_id": 1, "category_id": 1, "bbox": [0, 0, 1, 1]}], "a detection has no score", id="a-detection-without-a-score"),
        pytest.param(truth((0, 0, 1, 1)), found((0, 0, 1, 1), score="high"), "the score of a detection", id="a-score-that-is-text"),
        pytest.param(truth((0, 0, 1, 1)), found((0, 0, 1, 1), score=float("nan")), "the score of a detection", id="a-score-that-is-no-number"),
        pytest.param(truth((0, 0, 1, 1)), found((0, 0, 1)), "not 4 numbers", id="a-box-of-three"),
        pytest.param(truth((0, 0, 1, 1)), found((0, 0, 1, 10**400)), "the bbox of a detection", id="a-box-beyond-numbers"),
        pytest.param({"images": [{"id": 5}], "annotations": truth((0, 0, 1, 1))}, [], "names 1, which", id="an-image-that-is-not-there"),
        pytest.param({"images": [{"id": 1}], "annotations": truth((0, 0, 1, 1))}, found((0, 0, 1, 1), image_id=8), "names 8, which", id="a-detection-on-an-unknown-image"),
    ],
)  # fmt: skip
def test_objects_that_cannot_be_read_are_refused(ground_truth, detections, message):
    with pytest.raises(DataError, match=message):
        coco_ap(ground_truth, detections)


def test_each_class_has_its_own_figures_under_its_name():
    ground_truth = {
        "images": [{"id": 1}],
        "annotations": truth((0, 0, 10, 10)),
        "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
    }
    classes = coco_ap(ground_truth, found((0, 0, 10, 10)))["classes"]
    assert classes["cat"]["AP"] == pytest.approx(1.0)
    assert classes["dog"] == {"AP": None, "AP50": None, "AP75": None, "AR100": None}


def gathered(parts):
    whole = Regions()
    for images in parts:
        part = Regions()
        for image in images:
            part.add(*image)
        whole.merge(pickle.loads(pickle.dumps(part)))  # noqa: S301 - our own
    return whole


def test_parts_of_a_data_set_merge_exactly():
    random = np.random.default_rng(3)
    images = []
    for _ in range(12):
        boxes = random.integers(1, 50, size=(8, 4)).astype(float).tolist()
        labels = random.choice(["b", "a", "c"], size=8).tolist()
        scores = (random.integers(1, 4, size=8) / 4).tolist()
        found = [
            DetectedRegion(tuple(b), n, s)
            for b, n, s in zip(boxes[3:], labels[3:], scores[3:], strict=True)
        ]
        images.append(
            ([TruthRegion(tuple(b), n) for b, n in zip(boxes[:4], labels[:4], strict=True)], found)
        )
    figures = [
        coco_figures(gathered(parts).table(), CocoSettings())
        for parts in ([images], [images[:5], images[5:]], [[image] for image in images])
    ]
    assert figures[0] == figures[1] == figures[2]
    assert figures[0]["AP"] > 0


@pytest.mark.parametrize(
    ("truths", "detections", "every", "eleven"),
    [
        pytest.param(truth((0, 0, 10, 10)), found((0, 0, 10, 10)), 1.0, 1.0, id="found"),
        pytest.param(truth((0, 0, 10, 10)), [], 0.0, 0.0, id="lost"),
        pytest.param(truth((0, 0, 10, 10)), found((0, 0, 10, 10), (0, 0, 10, 10)), 1.0, 1.0, id="found-twice"),
        pytest.param(truth((0, 0, 10, 10), (50, 0, 10, 10)), found((0, 0, 10, 10)), 0.5, 6 / 11, id="one-of-two"),
        pytest.param(truth((0, 0, 10, 10)), [*found((90, 0, 10, 10), score=0.9), *found((0, 0, 10, 10))], 0.5, 0.5, id="a-surer-one-that-is-wrong"),
        pytest.param([*truth((0, 0, 10, 10)), *truth((50, 0, 10, 10), iscrowd=1)], [*found((50, 0, 10, 10), score=0.9), *found((0, 0, 10, 10))], 1.0, 1.0, id="a-region-that-need-not-be-found"),
        pytest.param([], found((0, 0, 10, 10)), None, None, id="nothing-to-find"),
    ],
)  # fmt: skip
def test_pascal_counts_both_ways(truths, detections, every, eleven):
    figures = pascal_ap(truths, detections)
    assert figures["every_point"] == (None if every is None else pytest.approx(every))
    assert figures["eleven_point"] == (None if eleven is None else pytest.approx(eleven))


def test_a_threshold_of_pascal_that_makes_no_sense_is_refused():
    with pytest.raises(OptionError, match="iou_threshold"):
        pascal_ap([], [], iou_threshold=0)


@pytest.mark.parametrize(
    ("truths", "detections", "most", "pairs", "lost", "invented"),
    [
        pytest.param([TruthRegion((0, 0, 9, 9), "a")], [DetectedRegion((0, 0, 9, 9), "a")], 9, [(0, 0)], [], [], id="found"),
        pytest.param([TruthRegion((0, 0, 9, 9), "a")], [DetectedRegion((0, 0, 9, 9), "b")], 9, [], [0], [0], id="another-class"),
        pytest.param([TruthRegion((0, 0, 9, 9), "a")], [DetectedRegion((0, 0, 9, 8), "a", 0.1), DetectedRegion((0, 0, 9, 9), "a", 0.9)], 9, [(0, 1)], [], [0], id="the-surer-one-first"),
        pytest.param([TruthRegion((0, 0, 9, 9), "a", crowd=True)], [DetectedRegion((1, 1, 2, 2), "a")] * 2, 9, [], [], [], id="inside-a-crowd"),
        pytest.param([TruthRegion((0, 0, 9, 9), "a")], [DetectedRegion((30, 0, 9, 9), "a", 0.9), DetectedRegion((0, 0, 9, 9), "a", 0.5)], 1, [], [0], [0], id="beyond-the-most-detections"),
        pytest.param([TruthRegion((0, 0, 0, 0), "a")], [DetectedRegion((0, 0, 0, 0), "a")], 9, [], [0], [0], id="regions-without-area"),
    ],
)  # fmt: skip
def test_one_image_by_itself(truths, detections, most, pairs, lost, invented):
    got = match_image(truths, detections, 0.5, most)
    assert [pair[:2] for pair in got.pairs] == pairs
    assert (got.lost, got.invented) == (lost, invented)
