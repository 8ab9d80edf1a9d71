"""The twelve COCO metrics and PASCAL VOC average precision."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from fieldmark.errors import DataError, OptionError
from fieldmark.metrics import detections
from fieldmark.metrics.average_precision import CocoSettings, coco_ap, coco_metrics, pascal_ap
from fieldmark.metrics.detections import DetectedRegion, Regions, TruthRegion, match_image
from reference.coco_oracle import coco_oracle

DATA = Path(__file__).parents[2] / "data"
SPOT = 1 - 2**-52
"""Precision of one correct detection, rounded as in the reference implementation."""


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


def test_recorded_metrics_of_random_regions_are_reproduced_exactly():
    want = json.loads((DATA / "coco-random" / "figures.json").read_text("utf-8"))
    got = coco_ap(*loaded("coco-random"))
    assert {name: got[name] for name in want} == want


def test_metrics_equal_those_of_the_slow_reference():
    ground_truth, detections = loaded("coco-random")
    got = coco_ap(ground_truth, detections)
    want = coco_oracle(ground_truth, detections)
    assert {name: got[name] for name in want} == pytest.approx(want, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_metrics_of_random_regions_follow_the_definition(seed):
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


def test_result_does_not_depend_on_block_size(monkeypatch):
    want = coco_ap(*loaded("coco-random"))
    monkeypatch.setattr(detections, "_BLOCK", 3)
    assert coco_ap(*loaded("coco-random")) == want


@pytest.mark.parametrize(
    ("truths", "detections", "ap50", "ar100"),
    [
        pytest.param(truth((0, 0, 10, 10)), found((0, 0, 10, 10)), SPOT, 1.0, id="detected"),
        pytest.param(truth((0, 0, 10, 10)), found((0, 0, 10, 5)), SPOT, 0.1, id="overlap-at-the-threshold"),
        pytest.param(truth((0, 0, 10, 10)), [], 0.0, 0.0, id="image-without-detections-counts"),
        pytest.param(truth((0, 0, 10, 10)), found((0, 0, 10, 4)), 0.0, 0.0, id="too-little-overlap"),
        pytest.param(truth((0, 0, 10, 10)), found((0, 0, 10, 10), category_id=2), 0.0, 0.0, id="another-class"),
        pytest.param(truth((0, 0, 10, 10)), found((0, 0, 10, 10), image_id=2), 0.0, 0.0, id="another-image"),
        pytest.param(truth((0, 0, 10, 10)), found((0, 0, 10, 10), (0, 0, 10, 9)), SPOT, 1.0, id="duplicate-detection-with-lower-score"),
        pytest.param(truth((0, 0, 10, 10)), [*found((50, 50, 9, 9), score=0.9), *found((0, 0, 10, 10))], 0.5, 1.0, id="wrong-detection-with-higher-score"),
        pytest.param(truth((0, 0, 10, 10), iscrowd=1), found((0, 0, 5, 5)), None, None, id="only-a-crowd"),
        pytest.param([*truth((0, 0, 10, 10)), *truth((20, 20, 50, 50), iscrowd=1)], [*found((22, 22, 5, 5), (30, 30, 5, 5), score=0.9), *found((0, 0, 10, 10))], SPOT, 1.0, id="detections-inside-a-crowd-cost-nothing"),
        pytest.param([], found((0, 0, 10, 10)), None, None, id="no-regions"),
    ],
)  # fmt: skip
def test_ap50_and_ar100(truths, detections, ap50, ar100):
    metrics = coco_ap(truths, detections)
    assert metrics["AP50"] == (None if ap50 is None else pytest.approx(ap50, abs=1e-12))
    assert metrics["AR100"] == (None if ar100 is None else pytest.approx(ar100))


@pytest.mark.parametrize(
    ("area", "defined"),
    [
        pytest.param(100, {"APsmall"}, id="small"),
        pytest.param(32**2, {"APsmall", "APmedium"}, id="bounds-belong-to-both-ranges"),
        pytest.param(5000, {"APmedium"}, id="medium"),
        pytest.param(96**2, {"APmedium", "APlarge"}, id="upper-bound-of-medium"),
        pytest.param(20_000, {"APlarge"}, id="large"),
        pytest.param(1e10, {"APlarge"}, id="largest"),
        pytest.param(1e10 + 1, set(), id="too-large"),
        pytest.param(0, {"APsmall"}, id="no-area"),
    ],
)
def test_regions_belong_to_size_ranges(area, defined):
    metrics = coco_ap(truth((0, 0, 10, 10), area=area), [])
    spans = {f"AP{span}" for span in ("small", "medium", "large")}
    assert {name for name in spans if metrics[name] is not None} == defined
    assert metrics["AP"] == (0.0 if defined else None)


def test_region_without_an_area_has_that_of_its_box():
    [region] = truth((0, 0, 10, 200))
    del region["area"]
    metrics = coco_ap([region], [])
    assert (metrics["APsmall"], metrics["APmedium"], metrics["APlarge"]) == (None, 0.0, None)


def test_only_the_highest_scoring_detections_of_an_image_count():
    truths = truth(*[(20 * n, 0, 10, 10) for n in range(5)])
    results = [f for n in range(5) for f in found((20 * n, 0, 10, 10), score=1 - n / 10)]
    metrics = coco_ap(truths, results, settings=CocoSettings(max_detections=(1, 3)))
    assert (metrics["AR1"], metrics["AR3"]) == pytest.approx((0.2, 0.6))
    assert "AR100" not in metrics
    late = [*found((90, 0, 5, 5), score=0.9), *found((0, 0, 10, 10))]
    assert coco_ap(truths[:1], late)["AP50"] == pytest.approx(0.5)
    alone = CocoSettings(max_detections=(1,))
    assert coco_ap(truths[:1], late, settings=alone)["AP50"] == 0.0


def test_mean_of_each_curve_is_its_average_precision():
    large = (50, 50, 200, 200)
    metrics = coco_ap(truth((0, 0, 10, 10), large), found(large))
    curves = metrics["precision_by_recall"]
    assert {name: np.mean(curve) for name, curve in curves.items()} == pytest.approx(
        {name: metrics[name] for name in ("AP", "AP50", "AP75")}, abs=1e-4
    )


def test_crowd_is_marked_by_true_or_1():
    box, other = (0, 0, 10, 10), (50, 0, 10, 10)
    marked, numbered, plain = (
        coco_ap([*truth(box), *truth(other, iscrowd=crowd)], found(box, other))
        for crowd in (True, 1, False)
    )
    assert marked == numbered
    assert marked["AR1"] == 1.0 > plain["AR1"]


def test_custom_thresholds_and_ranges():
    settings = CocoSettings(iou_thresholds=(0.3,), areas={"tiny": (0, 1)})
    metrics = coco_ap(truth((0, 0, 10, 10)), found((0, 0, 10, 4)), settings=settings)
    assert metrics["AP"] == pytest.approx(1.0)
    assert (metrics["AP50"], metrics["APtiny"]) == (None, None)


@pytest.mark.parametrize(
    ("options", "option"),
    [
        pytest.param({"iou_thresholds": ()}, "iou_thresholds", id="no-thresholds"),
        pytest.param({"iou_thresholds": (0.0, 0.5)}, "iou_thresholds", id="zero-threshold"),
        pytest.param({"iou_thresholds": (1.5,)}, "iou_thresholds", id="threshold-above-1"),
        pytest.param({"max_detections": ()}, "max_detections", id="no-number-of-detections"),
        pytest.param({"max_detections": (10, 1)}, "max_detections", id="descending-numbers"),
        pytest.param({"max_detections": (0,)}, "max_detections", id="no-detections"),
        pytest.param({"areas": {"odd": (5, 1)}}, "areas", id="reversed-range"),
        pytest.param({"areas": {"odd": (5,)}}, "areas", id="open-range"),
    ],
)
def test_invalid_settings_are_rejected(options, option):
    with pytest.raises(OptionError) as caught:
        CocoSettings(**options)
    assert caught.value.option == option


@pytest.mark.parametrize(
    ("ground_truth", "detections", "message"),
    [
        pytest.param({"images": []}, [], "no list of annotations", id="file-without-annotations"),
        pytest.param({"annotations": []}, [], "no list of images", id="file-without-images"),
        pytest.param([{"image_id": 1, "category_id": 1}], [], "an annotation has no bbox", id="annotation-without-a-box"),
        pytest.param([7], [], "an annotation has no image_id: 7", id="annotation-is-a-number"),
        pytest.param([], [{"image_id": 1, "category_id": 1, "bbox": [0, 0, 1, 1]}, 5], "a detection has no", id="detection-is-a-number"),
        pytest.param(truth((0, 0, 1, 1)), [{"image_id": 1, "category_id": 1, "bbox": [0, 0, 1, 1]}], "a detection has no score", id="detection-without-a-score"),
        pytest.param(truth((0, 0, 1, 1)), found((0, 0, 1, 1), score="high"), "the score of a detection", id="string-score"),
        pytest.param(truth((0, 0, 1, 1)), found((0, 0, 1, 1), score=float("nan")), "the score of a detection", id="nan-score"),
        pytest.param(truth((0, 0, 1, 1)), found((0, 0, 1)), "the bbox of a detection must be 4 numbers", id="box-of-three-numbers"),
        pytest.param(truth((0, 0, 1, 1)), found((0, 0, 1, 10**400)), "the bbox of a detection", id="infinite-box"),
        pytest.param({"images": [{"id": 5}], "annotations": truth((0, 0, 1, 1))}, [], "an annotation refers to id 1, which", id="annotation-of-an-unknown-image"),
        pytest.param({"images": [{"id": 1}], "annotations": truth((0, 0, 1, 1))}, found((0, 0, 1, 1), image_id=8), "a detection refers to id 8, which", id="detection-on-an-unknown-image"),
    ],
)  # fmt: skip
def test_invalid_objects_are_rejected(ground_truth, detections, message):
    with pytest.raises(DataError, match=message):
        coco_ap(ground_truth, detections)


def test_each_class_has_its_own_metrics_under_its_name():
    ground_truth = {
        "images": [{"id": 1}],
        "annotations": truth((0, 0, 10, 10)),
        "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
    }
    classes = coco_ap(ground_truth, found((0, 0, 10, 10)))["classes"]
    assert classes["cat"]["AP"] == pytest.approx(1.0)
    assert classes["dog"] == {"AP": None, "AP50": None, "AP75": None, "AR100": None}


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        pytest.param(["cat", "dog"], ["cat", "dog"], id="names"),
        pytest.param(["cat", "cat"], ["1", "2"], id="same-name-twice"),
        pytest.param(["cat", None], ["1", "2"], id="class-without-a-name"),
    ],
)
def test_classes_have_ids_unless_each_has_its_own_name(names, labels):
    categories = [{"id": number, "name": name} for number, name in enumerate(names, 1)]
    ground_truth = {"images": [], "annotations": [], "categories": categories}
    assert list(coco_ap(ground_truth, [])["classes"]) == labels


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
    metrics = [
        coco_metrics(gathered(parts).table(), CocoSettings())
        for parts in ([images], [images[:5], images[5:]], [[image] for image in images])
    ]
    assert metrics[0] == metrics[1] == metrics[2]
    assert metrics[0]["AP"] > 0


@pytest.mark.parametrize(
    ("truths", "detections", "every", "eleven"),
    [
        pytest.param(truth((0, 0, 10, 10)), found((0, 0, 10, 10)), 1.0, 1.0, id="detected"),
        pytest.param(truth((0, 0, 10, 10)), [], 0.0, 0.0, id="missing"),
        pytest.param(truth((0, 0, 10, 10)), found((0, 0, 10, 10), (0, 0, 10, 10)), 1.0, 1.0, id="detected-twice"),
        pytest.param(truth((0, 0, 10, 10), (50, 0, 10, 10)), found((0, 0, 10, 10)), 0.5, 6 / 11, id="one-of-two"),
        pytest.param(truth((0, 0, 10, 10)), [*found((90, 0, 10, 10), score=0.9), *found((0, 0, 10, 10))], 0.5, 0.5, id="wrong-detection-with-higher-score"),
        pytest.param([*truth((0, 0, 10, 10)), *truth((50, 0, 10, 10), iscrowd=1)], [*found((50, 0, 10, 10), score=0.9), *found((0, 0, 10, 10))], 1.0, 1.0, id="ignored-region"),
        pytest.param(truth((0, 0, 10, 10), (0, 0, 10, 10)), found((0, 0, 10, 10), (0, 0, 10, 10)), 0.5, 6 / 11, id="same-region-twice-is-one"),
        pytest.param([*truth((0, 0, 10, 10)), *truth((0, 0, 10, 10), iscrowd=1)], found((0, 0, 10, 10)), 1.0, 1.0, id="first-of-two-equal-regions"),
        pytest.param([], found((0, 0, 10, 10)), None, None, id="no-regions"),
    ],
)  # fmt: skip
def test_pascal_average_precision(truths, detections, every, eleven):
    metrics = pascal_ap(truths, detections)
    assert metrics["every_point"] == (None if every is None else pytest.approx(every))
    assert metrics["eleven_point"] == (None if eleven is None else pytest.approx(eleven))


@pytest.mark.parametrize(("pixels", "right"), [(True, 1.0), (False, 0.0)])
def test_pixels_include_the_last_row_and_column(pixels, right):
    """10 by 5 of 10 by 10 pixels are half of them; 9 by 4 of 9 by 9 are less."""
    metrics = pascal_ap(truth((0, 0, 9, 9)), found((0, 0, 9, 4)), pixels=pixels)
    assert metrics["every_point"] == right
    assert pascal_ap(truth((0, 0, 9, 9)), found((0, 0, 9, 4)))["every_point"] == 0.0


def test_invalid_pascal_threshold_is_rejected():
    with pytest.raises(OptionError, match="iou_threshold"):
        pascal_ap([], [], iou_threshold=0)


@pytest.mark.parametrize(
    ("truths", "detections", "most", "pairs", "missing", "extra"),
    [
        pytest.param([TruthRegion((0, 0, 9, 9), "a")], [DetectedRegion((0, 0, 9, 9), "a")], 9, [(0, 0)], [], [], id="detected"),
        pytest.param([TruthRegion((0, 0, 9, 9), "a")], [DetectedRegion((0, 0, 9, 9), "b")], 9, [], [0], [0], id="another-class"),
        pytest.param([TruthRegion((0, 0, 9, 9), "a")], [DetectedRegion((0, 0, 9, 8), "a", 0.1), DetectedRegion((0, 0, 9, 9), "a", 0.9)], 9, [(0, 1)], [], [0], id="higher-score-first"),
        pytest.param([TruthRegion((0, 0, 9, 9), "a", crowd=True)], [DetectedRegion((1, 1, 2, 2), "a")] * 2, 9, [], [], [], id="inside-a-crowd"),
        pytest.param([TruthRegion((0, 0, 9, 9), "a")], [DetectedRegion((30, 0, 9, 9), "a", 0.9), DetectedRegion((0, 0, 9, 9), "a", 0.5)], 1, [], [0], [0], id="above-the-detection-limit"),
        pytest.param([TruthRegion((0, 0, 9, 9), "a")], [DetectedRegion((0, 0, 9, 9), "a", 1.0), DetectedRegion((0, 0, 9, 9), "a")], 9, [(0, 0)], [], [1], id="score-is-1-by-default"),
        pytest.param([TruthRegion((0.1, 0.1, 0.2, 0.2), "a")], [DetectedRegion((0.1, 0.1, 0.2, 0.2), "a")], 9, [(0, 0)], [], [], id="coordinates-from-0-to-1"),
        pytest.param([TruthRegion((0, 0, 0, 0), "a")], [DetectedRegion((0, 0, 0, 0), "a")], 9, [], [0], [0], id="regions-without-area"),
        pytest.param([TruthRegion((0, 0, 8, 8), "a")], [DetectedRegion((0, 0, 8, 4), "a")], 9, [(0, 0)], [], [], id="overlap-at-the-threshold"),
        pytest.param([TruthRegion((0, 0, 8, 8), "a")], [DetectedRegion((0, 0, 8, 3), "a")], 9, [], [0], [0], id="overlap-below-the-threshold"),
        pytest.param([TruthRegion((0, 0, 8, 8), "a", crowd=True)], [DetectedRegion((4, 0, 8, 8), "a")], 9, [], [], [], id="half-inside-a-crowd"),
        pytest.param([TruthRegion((0, 0, 8, 8), "a", crowd=True)], [DetectedRegion((5, 0, 8, 8), "a")], 9, [], [], [0], id="less-than-half-inside-a-crowd"),
        pytest.param([TruthRegion((0, 0, 8, 8), "a", crowd=True), TruthRegion((0, 0, 80, 8), "a", crowd=True)], [DetectedRegion((0, 0, 80, 8), "a")], 9, [], [], [], id="inside-one-of-two-crowds"),
        pytest.param([TruthRegion((0, 0, 80, 8), "a", crowd=True), TruthRegion((0, 0, 8, 8), "a", crowd=True)], [DetectedRegion((0, 0, 80, 8), "a")], 9, [], [], [], id="inside-the-first-of-two-crowds"),
        pytest.param([TruthRegion((0, 0, 8, 8), "a", crowd=True), TruthRegion((0, 0, 8, 6), "a")], [DetectedRegion((0, 0, 8, 8), "a")], 9, [(1, 0)], [], [], id="region-before-crowd"),
        pytest.param([TruthRegion((0, 0, 8, 8), "a"), TruthRegion((0, 0, 8, 8), "a")], [DetectedRegion((0, 0, 8, 8), "a")], 9, [(1, 0)], [0], [], id="later-of-equal-overlaps"),
        pytest.param([TruthRegion((0, 0, 8, 7), "a"), TruthRegion((0, 0, 8, 5), "a")], [DetectedRegion((0, 0, 8, 8), "a")], 9, [(0, 0)], [1], [], id="largest-overlap"),
        pytest.param([TruthRegion((0, 0, 8, 8), "a"), TruthRegion((0, 0, 8, 8), "b")], [DetectedRegion((0, 0, 8, 8), "b", 0.9), DetectedRegion((0, 0, 8, 8), "a", 0.5)], 1, [(0, 1), (1, 0)], [], [], id="detection-limit-by-class"),
        pytest.param([TruthRegion((0, 0, 8, 8), "a"), TruthRegion((50, 0, 8, 8), "a")], [DetectedRegion((90, 0, 8, 8), "a", 0.1), DetectedRegion((50, 0, 8, 8), "a", 0.2), DetectedRegion((70, 0, 8, 8), "a", 0.9), DetectedRegion((0, 0, 8, 8), "a", 0.3)], 9, [(0, 3), (1, 1)], [], [0, 2], id="in-the-order-of-the-lists"),
        pytest.param([TruthRegion((0, 0, 8, 8), "a")], [DetectedRegion((8, 0, 8, 8), "a"), DetectedRegion((0, 8, 8, 8), "a")], 9, [], [0], [0, 1], id="touching-regions"),
    ],
)  # fmt: skip
def test_matching_in_one_image(truths, detections, most, pairs, missing, extra):
    got = match_image(truths, detections, 0.5, most)
    assert [pair[:2] for pair in got.pairs] == pairs
    assert (got.missing, got.extra) == (missing, extra)


def pixels(extent, margin):
    left, top, width, height = map(int, extent)
    across = range(left, left + width + margin)
    return {(x, y) for x in across for y in range(top, top + height + margin)}


@pytest.mark.parametrize("margin", [0, 1])
@pytest.mark.parametrize("block", [3, 1 << 20])
def test_overlaps_are_shares_of_pixels(margin, block, monkeypatch):
    """The oracle counts pixels. With a margin, a region includes its last row and column."""
    monkeypatch.setattr(detections, "_BLOCK", block)
    random = np.random.default_rng(5)
    extents = random.integers(1, 7, size=(2, 30, 4)).astype(float).tolist()
    images = [
        (
            [TruthRegion(tuple(e), "ab"[n % 2], crowd=n % 5 == 0) for n, e in enumerate(truths)],
            [DetectedRegion(tuple(e), "ba"[n % 2], n % 4) for n, e in enumerate(found)],
        )
        for truths, found in ([e[start : start + 10] for e in extents] for start in (0, 10, 20))
    ]
    table = gathered([images]).table()
    by_score = detections.ordered(table, 9)
    order = np.argsort(table.truth_key, kind="stable")
    pairs = detections.overlapping(table, by_score, order, 0.25, margin)
    shares = {}
    for number, (key, extent) in enumerate(zip(by_score.key, by_score.extent, strict=True)):
        own = pixels(extent, margin)
        for position, index in enumerate(order):
            other = pixels(table.truth_extent[index], margin)
            whole = own if table.crowd[index] else own | other
            share = len(own & other) / len(whole)
            if table.truth_key[index] == key and share >= 0.25:
                shares[number, position] = share
    assert len(shares) > 20
    assert dict(zip(zip(pairs.detection, pairs.truth, strict=True), pairs.iou, strict=True)) == (
        pytest.approx(shares)
    )


def test_equal_regions_match_at_any_threshold_despite_rounding():
    extent = (0.14, 0.86, 0.77, 0.27)
    truths, detections = [TruthRegion(extent, "a")], [DetectedRegion(extent, "a")]
    assert [pair[:2] for pair in match_image(truths, detections, 1.0, 9).pairs] == [(0, 0)]
    table = gathered([[(truths, detections)]]).table()
    assert coco_metrics(table, CocoSettings(iou_thresholds=(1.0,)))["AP"] == pytest.approx(1)


def test_classes_of_a_single_image_have_their_own_metrics():
    large = (0, 0, 100, 100)
    truths = [TruthRegion(large, "a"), TruthRegion(large, "b")]
    table = gathered([[(truths, [DetectedRegion(large, "a")])]]).table()
    classes = coco_metrics(table, CocoSettings())["classes"]
    assert {name: (own["AP"], own["AP50"]) for name, own in classes.items()} == {
        "a": (pytest.approx(1), pytest.approx(1)),
        "b": (0.0, 0.0),
    }
