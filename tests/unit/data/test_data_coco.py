"""COCO files as cases: one image, one case."""

from __future__ import annotations

import gzip
import io
import json

import pytest

import fieldmark as fm
from fieldmark.data.inputs import Inputs, Limits
from fieldmark.data.pairing import open_pairs, open_truth
from fieldmark.errors import DataError, LimitError, OptionError

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
    """The truth with one entry changed; a value that is `None` is taken out."""
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


def test_detections_on_unknown_images_are_told():
    stray = [*FOUND, {**FOUND[0], "image_id": 55}]
    found, stream = cases(TRUTH, stray)
    assert len(found) == 3
    assert stream.coverage.unexpected == 1
    assert "candidates without truth: 1 (55)" in stream.warnings


def test_files_are_read_packed_or_not_and_from_streams(tmp_path):
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
        pytest.param([], [], "the truth: not a COCO file: there is no list of images", id="a-list-as-truth"),
        pytest.param({"images": []}, [], "the truth: not a COCO file: there is no list of annotations", id="no-annotations"),
        pytest.param({**TRUTH, "images": [5]}, [], "the truth: image 1 is not an object", id="an-image-that-is-a-number"),
        pytest.param(changed("images", 0, id=None), [], "the truth: image has no id", id="an-image-without-an-id"),
        pytest.param(changed("images", 0, id=[1]), [], "the truth: image has an odd id", id="an-id-that-is-a-list"),
        pytest.param(changed("annotations", 1, image_id=99), [], "the truth: annotation 2 names image 99, which is not among the images", id="an-unknown-image"),
        pytest.param(changed("annotations", 1, image_id=None), [], "the truth: annotation 2 has no image_id", id="an-annotation-without-an-image"),
        pytest.param(changed("annotations", 0, bbox=None), [], "the truth: annotation 1 has no bbox", id="an-annotation-without-a-box"),
        pytest.param(changed("annotations", 0, category_id=True), [], "the truth: annotation 1 has an odd category_id", id="a-category-that-is-a-flag"),
        pytest.param(changed("categories", 0, id=None), [], "the truth: a category has no id", id="a-category-without-an-id"),
        pytest.param(TRUTH, {"results": []}, "the candidate: not a COCO results file", id="no-list-of-detections"),
        pytest.param(TRUTH, [3], "the candidate: detection 1 is not an object", id="a-detection-that-is-a-number"),
        pytest.param(TRUTH, [{**FOUND[0], "image_id": None}], "the candidate: detection 1 has no image_id", id="a-detection-without-an-image"),
        pytest.param(TRUTH, [{k: v for k, v in FOUND[0].items() if k != "score"}], "the candidate: detection 1 has no score", id="a-detection-without-a-score"),
    ],
)  # fmt: skip
def test_what_is_no_coco_file_is_refused_in_one_line(truth, found, message):
    with pytest.raises(DataError, match=f"^{message}"):
        cases(truth, found)


def test_broken_json_names_the_file(tmp_path):
    file = tmp_path / "truth.json"
    file.write_text('{"images": [')
    with pytest.raises(DataError, match=r"truth.json: not JSON: .*the text ends too early"):
        cases(file, FOUND)
    with pytest.raises(DataError, match="no such file"):
        cases(tmp_path / "nowhere.json", FOUND)


def test_limits_hold_and_are_higher_than_those_of_one_document(tmp_path):
    file = tmp_path / "truth.json"
    many = [{**TRUTH["annotations"][0], "segmentation": [list(range(1000))]} for _ in range(1100)]
    file.write_text(json.dumps({**TRUTH, "annotations": many}))
    assert len(cases(file, FOUND)[0]) == 3
    small = Inputs(format_in="coco", limits=Limits(document_bytes=1000))
    with pytest.raises(LimitError):
        cases(file, FOUND, small)


def test_what_a_rows_option_would_mean_is_not_guessed():
    with pytest.raises(OptionError, match="rows"):
        Inputs(format_in="coco", rows="list")
    with pytest.raises(OptionError, match="format_in"):
        Inputs(format_in="voc")


def test_a_truth_alone_can_be_read_for_proposals():
    found = [case for batch in open_truth(TRUTH, COCO).batches() for case in batch]
    assert [case.id for case in found] == ["3", "12", "100"]


def test_one_file_does_not_hold_both_sides():
    with pytest.raises(DataError, match="a single input must hold both sides"):
        open_pairs(TRUTH, None, COCO)


def test_a_run_has_the_figures_of_the_field():
    run = fm.score(TRUTH, FOUND, inputs={"format_in": "coco"})
    detection = run.to_dict()["detection"]
    assert (detection["images"], detection["regions"], detection["detections"]) == (3, 2, 1)
    assert detection["AP50"] == pytest.approx(1.0)
    assert run.attributes["regions[].bbox"].f1 == 1.0
    assert "crowd" not in {path for path, each in run.attributes.items() if each.fn or each.fp}


def test_a_run_without_regions_has_none_of_them():
    assert "detection" not in fm.score([({"a": 1}, {"a": 1})]).to_dict()


def test_rules_of_the_user_win():
    rules = {
        "fields": [{"path": "regions[*].bbox", "match": "iou", "format": "xywh", "threshold": 0.9}]
    }
    run = fm.score(TRUTH, FOUND, inputs={"format_in": "coco"}, rules=rules)
    assert run.attributes["regions[].bbox"].f1 is None
