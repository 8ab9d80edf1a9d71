"""Object detection in eval files: metrics of data sets, gates and resumed runs."""

from __future__ import annotations

import json

import pytest

import fieldmark as fm
from interrupted_runs import interrupted_at_segment
from published.command_line import DATA
from row_files import lines, write_rows

COCO = DATA / "coco-val2014-100"
TWELVE = json.loads((COCO / "published_results.json").read_text("utf-8"))["published_3_decimals"]
COCO_EVAL = f"""
cases: {{coco: {COCO / "ground_truth.json"}}}
candidates: {COCO / "detections_fakebbox100.json"}
evaluators:
  - {{name: boxes, type: detection_ap, format: xywh, area: "regions[].area", crowd: "crowd[]"}}
gates: {{min: {{evaluators.boxes.metrics.AP: 0.5, detection.AP: 0.5}}}}
"""
BOXES = """
cases: pages.jsonl
evaluators:
  - {name: boxes, type: detection_ap, class: "regions[].kind"}
  - name: both
    type: composite
    evaluators:
      - {name: inner, type: detection-ap, class: "regions[].kind"}
      - {name: first, type: iou_score, path: "regions[].bbox", matching: greedy}
"""
TARGET = """
def extract(case):
    left = int(case["case_id"]) % 3
    return {"regions": [{"bbox": [left, 0, 10, 10], "kind": "dog", "score": 0.9}]}
"""


def page(number, shift):
    box = {"bbox": [shift, 0, 10, 10], "kind": "dog" if number % 2 else "cat"}
    return {"regions": [{**box, "score": 0.5 + number / 1000}]}


@pytest.fixture
def pages(folder):
    rows = [{"id": str(n), "expected": page(n, 0), "candidate": page(n, n % 3)} for n in range(100)]
    text = lines(rows)
    (folder / "pages.jsonl").write_text(text, "utf-8")
    (folder / "a.eval.yaml").write_text(BOXES, "utf-8")
    return folder


def summary_of(folder, run="run"):
    return json.loads((folder / run / "summary.json").read_text("utf-8"))


def test_coco_data_set_has_the_published_metrics(folder, command):
    (folder / "a.eval.yaml").write_text(COCO_EVAL, "utf-8")
    done = command("eval", "a.eval.yaml", "--out", "run")
    assert done.code == 0, done.err
    assert "boxes: AP 0.505, AP50 0.697, AP75 0.573" in done.out
    assert "mean score (evaluators)" in done.out
    summary = summary_of(folder)
    for metrics in (summary["detection"], summary["evaluators"]["boxes"]["metrics"]):
        assert {name: round(metrics[name], 3) for name in TWELVE} == TWELVE
    assert summary["cases"]["total"] == 100


def test_boxes_in_documents_and_in_a_composite_evaluator(pages, command):
    done = command(
        "eval", "a.eval.yaml", "--out", "run", "--min", "evaluators.boxes.metrics.AP=0.1"
    )
    assert done.code == 0, done.err
    evaluators = summary_of(pages)["evaluators"]
    metrics = evaluators["boxes"]["metrics"]
    assert (metrics["images"], sorted(metrics["classes"])) == (100, ["cat", "dog"])
    assert evaluators["both"]["metrics"] == {"inner": metrics}
    again = command("eval", "a.eval.yaml", "--no-save", "--min", "evaluators.boxes.metrics.classes.cat.AP=0.1")  # fmt: skip
    assert again.code == 0, again.err


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        pytest.param("evaluators.boxes.metrics.APP=0.1", "did you mean 'evaluators.boxes.metrics.AP'?", id="misspelled-metric"),
        pytest.param("evaluators.boxes.metrics.classes.cow.AP=0.1", "unknown metric", id="unknown-class"),
        pytest.param("usage.csot=1", "did you mean 'usage.cost'?", id="misspelled-usage"),
    ],
)  # fmt: skip
def test_gate_on_unknown_metric_is_rejected(pages, command, gate, message):
    done = command("eval", "a.eval.yaml", "--no-save", "--min", gate)
    assert done.code == 2
    assert message in done.err


@pytest.mark.parametrize(
    ("key", "message"),
    [
        pytest.param("clas", "unknown key 'clas'; did you mean 'class'?", id="typo"),
        pytest.param("class_", "unknown key 'class_'; did you mean 'class'?", id="python-spelling"),
    ],
)
def test_misspelled_class_option_gets_a_suggestion(pages, command, key, message):
    text = BOXES.replace("class:", f"{key}:", 1)
    (pages / "a.eval.yaml").write_text(text, "utf-8")
    done = command("validate", "a.eval.yaml")
    assert done.code == 2
    assert message in done.out + done.err


def interrupted_run(folder, **options):
    """Interrupt a run with a target after some cases."""
    (folder / "target.py").write_text(TARGET, "utf-8")
    rows = [{"id": str(n), "expected": page(1, 0)} for n in range(45)]
    write_rows(folder / "pages.jsonl", rows)
    (folder / "a.eval.yaml").write_text(f"{BOXES}target: {{python: target.py:extract}}\n", "utf-8")
    with interrupted_at_segment(2):
        fm.evaluate("a.eval.yaml", out="run", **options)


def test_metrics_of_a_resumed_run_include_all_cases(folder, command):
    interrupted_run(folder)
    assert (folder / "run" / "results.jsonl").read_text().count("\n") == 32
    assert fm.evaluate("a.eval.yaml", out="whole").passed
    done = command("eval", "--resume", "run")
    assert done.code == 0, done.err
    assert summary_of(folder) == summary_of(folder, "whole")


def test_run_without_stored_predictions_cannot_be_resumed(folder, command):
    interrupted_run(folder, values=False)
    done = command("eval", "--resume", "run")
    assert done.code == 2
    assert "were not saved" in done.err
    assert "start a new run" in done.err


def test_run_with_prediction_files_resumes_without_stored_values(pages, command):
    rows = (pages / "pages.jsonl").read_text("utf-8").splitlines()
    more = [row.replace('"id": "', '"id": "x') for row in rows]
    rest = [row.replace('"id": "', '"id": "y') for row in rows]
    (pages / "pages.jsonl").write_text("\n".join([*rows, *more, *rest]) + "\n", "utf-8")
    assert command("eval", "a.eval.yaml", "--out", "whole", "--no-values").code == 0
    with interrupted_at_segment(2):
        fm.evaluate("a.eval.yaml", out="run", values=False)
    done = command("eval", "--resume", "run")
    assert done.code == 0, done.err
    assert summary_of(pages) == summary_of(pages, "whole")
