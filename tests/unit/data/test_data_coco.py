"""COCO files as cases, one per image."""

from __future__ import annotations

import gzip
import io
import json

import pytest

import fieldmark as fm
from fieldmark.data.inputs import Inputs
from fieldmark.data.pairing import open_pairs, open_truth
from fieldmark.errors import DataError, LimitError, OptionError
from fieldmark.values.json_text import Limits

COCO = Inputs(format_in="coco")
TRUTH = {
    "images": [{"id": 12}, {"id": 3}, {"id": 100}],
    "categories": [{"id": 7, "name": "car"}, {"id": 8, "name": "dog"}],
    "annotations": [
        {"id": 1, "image_id": 12, "category_id": 7, "bbox": [0, 0, 5, 5], "area": 20, "iscrowd": 0},
        {"id": 2, "image_id": 12, "category_id": 8, "bbox": [1, 1, 9, 9], "area": 80, "iscrowd": 1},
    ],
}
FOUND = [{"image_id": 12, "category_id": 7, "bbox": [0, 0, 5, 4], "score": 0.5}]


def cases(truth, found, options=COCO):
    stream = open_pairs(truth, found, options)
    return [case for batch in stream.batches() for case in batch], stream


def changed(part, number, **values):
    """Return the truth with one entry changed; a value of `None` removes the key."""
    entries = [dict(entry) for entry in TRUTH[part]]
    entries[number] = {k: v for k, v in {**entries[number], **values}.items() if v is not None}
    return {**TRUTH, part: entries}


def test_every_image_is_a_case_in_the_order_of_ids():
    found, stream = cases(TRUTH, FOUND)
    assert [case.id for case in found] == ["3", "12", "100"]
    assert found[0].expected == {"regions": [], "crowd": []}
    assert found[0].candidate == {"regions": []}
    assert found[1].expected == {
        "regions": [{"bbox": [0, 0, 5, 5], "class": "car", "area": 20}],
        "crowd": [{"bbox": [1, 1, 9, 9], "class": "dog", "area": 80}],
    }
    assert found[1].candidate == {"regions": [{"bbox": [0, 0, 5, 4], "class": "car", "score": 0.5}]}
    assert (stream.coverage.total, stream.coverage.missing) == (3, 0)


@pytest.mark.parametrize(
    ("truth", "classes"),
    [
        pytest.param(TRUTH, ["car"], id="by-the-name-of-the-category"),
        pytest.param({**TRUTH, "categories": []}, ["7"], id="by-number-where-there-is-no-name"),
        pytest.param({k: v for k, v in TRUTH.items() if k != "categories"}, ["7"], id="by-number-without-categories"),
        pytest.param({**TRUTH, "categories": [{"id": 7, "name": "car"}, {"id": 8, "name": "car"}]}, ["7"], id="by-number-where-names-are-not-unique"),
    ],
)  # fmt: skip
def test_classes_have_names(truth, classes):
    (case,) = [case for case in cases(truth, FOUND)[0] if case.id == "12"]
    assert [region["class"] for region in case.expected["regions"]] == classes
    assert [region["class"] for region in case.candidate["regions"]] == classes


def test_detections_on_unknown_images_are_a_warning():
    stray = [*FOUND, {**FOUND[0], "image_id": 55}]
    found, stream = cases(TRUTH, stray)
    assert len(found) == 3
    assert stream.coverage.unexpected == 1
    assert "1 prediction without ground truth (55)" in stream.warnings


def test_compressed_files_and_streams_are_read(tmp_path):
    truth, packed = tmp_path / "truth.json", tmp_path / "found.json.gz"
    truth.write_text(json.dumps(TRUTH))
    packed.write_bytes(gzip.compress(json.dumps(FOUND).encode()))
    want = cases(TRUTH, FOUND)[0]
    assert cases(truth, str(packed))[0] == want
    assert cases(truth, io.StringIO(json.dumps(FOUND)))[0] == want
    assert cases(TRUTH, {"annotations": FOUND})[0] == want


@pytest.mark.parametrize(
    ("truth", "found", "message"),
    [
        pytest.param([], [], "ground truth: not a COCO file: no list of images", id="list-as-truth"),
        pytest.param({"images": []}, [], "ground truth: not a COCO file: no list of annotations", id="no-annotations"),
        pytest.param({**TRUTH, "images": [5]}, [], "ground truth: image 1 is not an object", id="image-that-is-a-number"),
        pytest.param(changed("images", 0, id=None), [], "ground truth: image has no id", id="image-without-an-id"),
        pytest.param(changed("images", 0, id=[1]), [], "ground truth: image has an invalid id", id="id-that-is-a-list"),
        pytest.param(changed("annotations", 1, image_id=99), [], "ground truth: annotation 2: unknown image 99", id="unknown-image"),
        pytest.param(changed("annotations", 1, image_id=None), [], "ground truth: annotation 2 has no image_id", id="annotation-without-an-image"),
        pytest.param(changed("annotations", 0, bbox=None), [], "ground truth: annotation 1 has no bbox", id="annotation-without-a-box"),
        pytest.param(changed("annotations", 0, category_id=True), [], "ground truth: annotation 1 has an invalid category_id", id="category-that-is-a-flag"),
        pytest.param(changed("categories", 0, id=None), [], "ground truth: a category has no id", id="category-without-an-id"),
        pytest.param(TRUTH, {"results": []}, "predictions: not a COCO results file", id="no-list-of-detections"),
        pytest.param(TRUTH, [3], "predictions: detection 1 is not an object", id="detection-that-is-a-number"),
        pytest.param(TRUTH, [{**FOUND[0], "image_id": None}], "predictions: detection 1 has no image_id", id="detection-without-an-image"),
        pytest.param(TRUTH, [{k: v for k, v in FOUND[0].items() if k != "score"}], "predictions: detection 1 has no score", id="detection-without-a-score"),
    ],
)  # fmt: skip
def test_invalid_coco_files(truth, found, message):
    with pytest.raises(DataError, match=f"^{message}"):
        cases(truth, found)


def test_invalid_json_is_an_error_with_the_file(tmp_path):
    file = tmp_path / "truth.json"
    file.write_text('{"images": [')
    with pytest.raises(DataError, match=r"truth.json: invalid JSON: .*unexpected end"):
        cases(file, FOUND)
    with pytest.raises(DataError, match="file not found"):
        cases(tmp_path / "nowhere.json", FOUND)


def test_limits_are_higher_than_for_documents(tmp_path):
    file = tmp_path / "truth.json"
    many = [{**TRUTH["annotations"][0], "segmentation": [list(range(1000))]} for _ in range(1100)]
    file.write_text(json.dumps({**TRUTH, "annotations": many}))
    assert len(cases(file, FOUND)[0]) == 3
    small = Inputs(format_in="coco", limits=Limits(document_bytes=1000))
    with pytest.raises(LimitError):
        cases(file, FOUND, small)


def test_rows_option_is_rejected():
    with pytest.raises(OptionError, match="rows"):
        Inputs(format_in="coco", rows="list")
    with pytest.raises(OptionError, match="format_in"):
        Inputs(format_in="voc")


def test_truth_alone_can_be_read_for_proposals():
    found = [case for batch in open_truth(TRUTH, COCO).batches() for case in batch]
    assert [case.id for case in found] == ["3", "12", "100"]


def test_single_coco_file_is_rejected():
    with pytest.raises(DataError, match="each row of a single input must contain both sides"):
        open_pairs(TRUTH, None, COCO)


def test_run_has_detection_metrics():
    run = fm.score(TRUTH, FOUND, inputs={"format_in": "coco"})
    detection = run.to_dict()["detection"]
    assert (detection["images"], detection["regions"], detection["detections"]) == (3, 2, 1)
    assert detection["AP50"] == pytest.approx(1.0)
    assert run.attributes["regions[].bbox"].f1 == 1.0
    assert "crowd" not in {path for path, each in run.attributes.items() if each.fn or each.fp}


def test_run_without_regions_has_no_detection_metrics():
    assert "detection" not in fm.score([({"a": 1}, {"a": 1})]).to_dict()


def test_user_rules_override_default_rules():
    rules = {
        "fields": [{"path": "regions[*].bbox", "match": "iou", "format": "xywh", "threshold": 0.9}]
    }
    run = fm.score(TRUTH, FOUND, inputs={"format_in": "coco"}, rules=rules)
    assert run.attributes["regions[].bbox"].f1 == 0.0
