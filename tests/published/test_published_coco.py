"""Object detection: 100 images of COCO val2014 and a toy case of PASCAL, with published metrics."""

from __future__ import annotations

import json

import pytest

from fieldmark.metrics.average_precision import coco_ap, pascal_ap
from published.command_line import DATA, fieldmark, scored

COCO = DATA / "coco-val2014-100"
PUBLISHED = json.loads((COCO / "published_results.json").read_text("utf-8"))
TOY = json.loads((COCO / "pascal_toy_case.json").read_text("utf-8"))
FILES = (COCO / "ground_truth.json", COCO / "detections_fakebbox100.json")


@pytest.fixture(scope="module")
def metrics():
    return coco_ap(*(json.loads(file.read_text("utf-8")) for file in FILES))


@pytest.mark.parametrize("name", PUBLISHED["published_3_decimals"])
def test_metrics_equal_the_published_metrics(metrics, name):
    assert round(metrics[name], 3) == PUBLISHED["published_3_decimals"][name]
    assert metrics[name] == PUBLISHED["independent_recomputation"][name]


@pytest.mark.parametrize("name", ["AP", "AP50", "AP75"])
def test_average_precision_is_the_mean_of_its_curve(metrics, name):
    curve = metrics["precision_by_recall"][name]
    assert len(curve) == 101
    assert sum(curve) / 101 == pytest.approx(metrics[name], abs=1e-5)
    assert curve == sorted(curve, reverse=True)


@pytest.mark.parametrize("points", ["every_point", "eleven_point"])
@pytest.mark.parametrize("threshold", [0.1, 0.3, 0.5, 0.75])
def test_pascal_toy_case(points, threshold):
    truth, detections = (
        [
            {"image_id": image, "category_id": each["class"], "bbox": each["bbox_xywh"], **each}
            for image, boxes in TOY[side].items()
            for each in boxes
        ]
        for side in ("gts", "dets")
    )
    got = pascal_ap(truth, detections, iou_threshold=threshold, pixels=True)
    assert got[points] == pytest.approx(TOY["published_AP"][points][str(threshold)], abs=1e-10)


@pytest.fixture(scope="module")
def summary():
    return scored(*FILES, "--format-in", "coco")


def test_command_gives_the_same_metrics(summary, metrics):
    for name in PUBLISHED["published_3_decimals"]:
        assert summary["detection"][name] == pytest.approx(metrics[name], abs=1e-12)
    assert summary["detection"]["images"] == summary["cases"]["total"] == 100
    assert (summary["detection"]["regions"], summary["detection"]["detections"]) == (839, 734)


def test_image_without_detections_is_scored(summary):
    assert summary["cases"]["missing"] == summary["cases"]["unexpected"] == 0
    assert summary["cases"]["scored"] == 100


def test_regions_are_also_compared_as_fields(summary):
    boxes = summary["attributes"]["regions[].bbox"]
    assert boxes["tp"] + boxes["fn"] == 839 - 9  # crowd regions are not counted
    assert boxes["tp"] + boxes["fp"] == 734


def test_detection_metric_as_a_gate():
    options = ("--format-in", "coco", "--no-save", "--min", "detection.AP=0.6")
    done = fieldmark("score", *FILES, *options)
    assert done.code == 1
    assert "gate failed: detection.AP is 0.5046, must be at least 0.6" in done.out
    assert "APsmall            0.586" in done.out
