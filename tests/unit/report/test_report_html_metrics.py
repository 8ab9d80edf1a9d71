"""Object detection metrics in the HTML, Markdown and XLSX reports."""

from __future__ import annotations

import json
import math
import statistics

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fieldmark as fm
from fieldmark.analyses.report import write_report
from fieldmark.report.exports.markdown import markdown
from fieldmark.report.html.metrics import COCO_METRICS, detection_tables, score_histogram
from fieldmark.report.html.view import view_of
from unit.report.exported import rows_of, shown

TRUTH = {
    "images": [{"id": 1}, {"id": 2}],
    "categories": [{"id": 18, "name": "dachshund"}],
    "annotations": [
        {"id": 1, "image_id": 1, "category_id": 18, "bbox": [10, 10, 50, 40], "area": 2000},
        {"id": 2, "image_id": 2, "category_id": 18, "bbox": [0, 0, 30, 30], "area": 900},
    ],
}
DETECTIONS = [{"image_id": 1, "category_id": 18, "bbox": [10, 10, 50, 36], "score": 0.9}]
EVAL = """\
cases: {coco: truth.json}
candidates: detections.json
evaluators:
  - {name: boxes, type: detection_ap, format: xywh, area: "regions[].area", crowd: "crowd[]"}
  - {name: strict, type: detection_ap, format: xywh, iou_threshold: 0.95}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Evaluate COCO files with an evaluator that agrees with the run and one that does not."""
    directory = tmp_path_factory.mktemp("dogs")
    (directory / "truth.json").write_text(json.dumps(TRUTH), "utf-8")
    (directory / "detections.json").write_text(json.dumps(DETECTIONS), "utf-8")
    (directory / "dogs.eval.yaml").write_text(EVAL, "utf-8")
    fm.evaluate(directory / "dogs.eval.yaml", out=directory / "run")
    return directory / "run"


def test_the_view_contains_the_metrics_of_the_summary(run):
    summary = shown(run).summary
    own, strict = view_of(shown(run)).run["detection"]
    values = {metric["name"]: metric["value"] for metric in own["metrics"]}
    sizes = [own[name] for name in ("images", "regions", "detections")]
    assert (own["title"], sizes) == ("", [2, 2, 1])
    assert {name: values[name] for name in COCO_METRICS} == {
        name: summary.detection[name] for name in COCO_METRICS
    }
    assert values["PASCAL AP"] == summary.detection["pascal"]["every_point"]
    assert values["PASCAL AP 11"] == summary.detection["pascal"]["eleven_point"]
    [dogs] = rows_of(own["classes"])
    precision = summary.detection["classes"]["dachshund"]["AP"]
    assert (dogs["class"], dogs["AP"]) == ("dachshund", precision)
    curve = own["curves"]["AP50"]
    assert statistics.fmean(curve) == pytest.approx(summary.detection["AP50"])
    assert strict["title"] == "strict"


def test_a_run_without_regions_has_no_detection_section(tmp_path):
    fm.score([{"a": 1}], [{"a": 1}], out=tmp_path / "run")
    assert "detection" not in view_of(shown(tmp_path / "run")).run


def test_markdown_contains_detection_and_evaluators(run):
    text = markdown(shown(run))
    average = shown(run).summary.detection["AP"]
    assert f"| AP | {average:.3f} | mean over IoU 0.50 to 0.95 |" in text
    assert "| Detection `strict` | Value | |" in text
    assert "| `boxes` | 0.500 | 2 | 1 | 0 | 1 | 0 |" in text


def test_xlsx_contains_detection_and_evaluators(run, tmp_path):
    write_report(run, tmp_path / "report.xlsx", kind="xlsx")
    rows = {
        row[0]: row[1] for row in openpyxl.load_workbook(tmp_path / "report.xlsx")["Summary"].values
    }
    assert rows["detection: AP50"] == pytest.approx(shown(run).summary.detection["AP50"])
    assert rows["detection strict: AP50"] is not None
    assert rows["evaluator: boxes"] == 0.5


@pytest.mark.parametrize("kind", ["html", "markdown", "json"])
def test_without_values_class_names_are_omitted(run, tmp_path, kind):
    path = write_report(run, tmp_path / "report", kind=kind, values=False)
    assert "dachshund" not in path.read_text("utf-8")


def test_without_values_metrics_are_unchanged(run):
    hidden = detection_tables(shown(run).without_values().summary)
    assert [line[0] for line in hidden] == ["", "strict"]
    assert [line[2] for line in hidden] == [
        line[2] for line in detection_tables(shown(run).summary)
    ]


# --- the distribution of scores -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("score", "lower"),
    [
        pytest.param(0.0, 0.0, id="zero"),
        pytest.param(0.049, 0.0, id="below-a-boundary"),
        pytest.param(0.05, 0.05, id="on-a-boundary"),
        pytest.param(0.1 + 0.2, 0.3, id="float-noise-above"),
        pytest.param(1 - 0.65, 0.35, id="float-noise-below"),
        pytest.param(0.999, 0.95, id="almost-one"),
        pytest.param(1.0, 0.95, id="one"),
    ],
)
def test_score_belongs_to_the_bin_of_its_lower_bound(score, lower):
    [(low, high, number)] = [bin_ for bin_ in score_histogram([score]).bins if bin_[2]]
    assert (low, high, number) == (lower, pytest.approx(lower + 0.05), 1)


@given(st.lists(st.none() | st.floats(0, 1)))
def test_every_case_is_counted_once(scores):
    histogram = score_histogram(scores)
    assert sum(number for *_, number in histogram.bins) + histogram.unscored == len(scores)
    assert histogram.unscored == scores.count(None)
    assert len(histogram.bins) == 20


def test_nan_is_not_a_score():
    assert score_histogram([math.nan]).unscored == 1
