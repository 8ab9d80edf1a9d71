"""Boxes in eval files: figures of whole data sets, their gates, and runs that go on."""

from __future__ import annotations

import json
import sys

import pytest

from published.command_line import DATA, fieldmark

COCO = DATA / "coco-val2014-100"
TWELVE = json.loads((COCO / "published_results.json").read_text("utf-8"))["published_3_decimals"]
OF_COCO = f"""
cases: {{coco: {COCO / "ground_truth.json"}}}
candidates: {COCO / "detections_fakebbox100.json"}
evaluators:
  - {{name: boxes, type: detection_ap, format: xywh, area: "regions[].area", crowd: "crowd[]"}}
gates: {{min: {{evaluators.boxes.figures.AP: 0.5, detection.AP: 0.5}}}}
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
import json, os, sys
case = json.load(sys.stdin)
if case["case_id"] == "40" and os.path.exists("broken"):
    os.kill(os.getppid(), 2)
    import time; time.sleep(20)
left = int(case["case_id"]) % 3
print(json.dumps({"regions": [{"bbox": [left, 0, 10, 10], "kind": "dog", "score": 0.9}]}))
"""


def page(number, shift):
    box = {"bbox": [shift, 0, 10, 10], "kind": "dog" if number % 2 else "cat"}
    return {"regions": [{**box, "score": 0.5 + number / 1000}]}


@pytest.fixture
def pages(folder):
    rows = [{"id": str(n), "expected": page(n, 0), "candidate": page(n, n % 3)} for n in range(100)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "pages.jsonl").write_text(text, "utf-8")
    (folder / "a.eval.yaml").write_text(BOXES, "utf-8")
    return folder


def summary_of(folder, run="run"):
    return json.loads((folder / run / "summary.json").read_text("utf-8"))


def test_a_coco_data_set_has_its_published_figures_and_gates(folder, command):
    (folder / "a.eval.yaml").write_text(OF_COCO, "utf-8")
    done = command("eval", "a.eval.yaml", "--out", "run")
    assert done.code == 0, done.err
    assert "boxes: AP 0.505, AP50 0.697, AP75 0.573" in done.out
    assert "mean score (evaluators)" in done.out
    summary = summary_of(folder)
    for figures in (summary["detection"], summary["evaluators"]["boxes"]["figures"]):
        assert {name: round(figures[name], 3) for name in TWELVE} == TWELVE
    assert summary["cases"]["total"] == 100


def test_boxes_inside_documents_also_inside_of_another_evaluator(pages, command):
    done = command(
        "eval", "a.eval.yaml", "--out", "run", "--min", "evaluators.boxes.figures.AP=0.1"
    )
    assert done.code == 0, done.err
    said = summary_of(pages)["evaluators"]
    figures = said["boxes"]["figures"]
    assert (figures["images"], sorted(figures["classes"])) == (100, ["cat", "dog"])
    assert said["both"]["figures"] == {"inner": figures}
    again = command("eval", "a.eval.yaml", "--no-save", "--min", "evaluators.boxes.figures.classes.cat.AP=0.1")  # fmt: skip
    assert again.code == 0, again.err


@pytest.mark.parametrize(
    ("gate", "said"),
    [
        pytest.param("evaluators.boxes.figures.APP=0.1", "Did you mean evaluators.boxes.figures.AP?", id="a-misspelt-figure"),
        pytest.param("evaluators.boxes.figures.classes.cow.AP=0.1", "unknown figure", id="a-class-that-there-is-not"),
        pytest.param("usage.csot=1", "Did you mean usage.cost?", id="a-misspelt-part-of-the-usage"),
    ],
)  # fmt: skip
def test_a_gate_on_a_figure_that_there_is_not(pages, command, gate, said):
    done = command("eval", "a.eval.yaml", "--no-save", "--min", gate)
    assert done.code == 2
    assert said in done.err


@pytest.mark.parametrize(
    ("key", "said"),
    [
        pytest.param("clas", "Unknown key: clas. Did you mean class?", id="a-slip"),
        pytest.param(
            "class_", "Unknown key: class_. Did you mean class?", id="as-python-spells-it"
        ),
    ],
)
def test_a_keyword_of_python_is_an_option_like_any_other(pages, command, key, said):
    text = BOXES.replace("class:", f"{key}:", 1)
    (pages / "a.eval.yaml").write_text(text, "utf-8")
    done = command("validate", "a.eval.yaml")
    assert done.code == 2
    assert said in done.out + done.err


def broken_off(folder, command, *options):
    """A run of a target that was interrupted after some cases."""
    (folder / "target.py").write_text(TARGET, "utf-8")
    target = f"target: {{command: [{sys.executable}, target.py], concurrency: 1}}\n"
    rows = [{"id": str(n), "expected": page(1, 0)} for n in range(80)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "pages.jsonl").write_text(text, "utf-8")
    (folder / "a.eval.yaml").write_text(BOXES + target, "utf-8")
    whole = command("eval", "a.eval.yaml", "--out", "whole", *options)
    assert whole.code == 0, whole.err
    (folder / "broken").touch()
    assert fieldmark("eval", "a.eval.yaml", "--out", "run", *options, cwd=folder).code == 130
    (folder / "broken").unlink()


def test_figures_of_a_run_that_went_on_are_those_of_all_cases(folder, command):
    broken_off(folder, command)
    assert (folder / "run" / "results.jsonl").read_text().count("\n") == 32
    done = command("eval", "--resume", "run")
    assert done.code == 0, done.err
    assert summary_of(folder) == summary_of(folder, "whole")


def test_without_the_candidates_of_the_cases_done_a_run_cannot_go_on(folder, command):
    broken_off(folder, command, "--no-values")
    done = command("eval", "--resume", "run")
    assert done.code == 2
    assert "were not kept" in done.err
    assert "Start a new run." in done.err


def test_candidates_of_files_need_not_be_kept(pages, command, monkeypatch):
    from fieldmark.store.run_folder import RunFolder

    append, times = RunFolder.append, []

    def interrupted(self, rows, attributes):
        append(self, rows, attributes)
        times.append(1)
        raise KeyboardInterrupt

    rows = (pages / "pages.jsonl").read_text("utf-8").splitlines()
    more = [row.replace('"id": "', '"id": "x') for row in rows]
    rest = [row.replace('"id": "', '"id": "y') for row in rows]
    (pages / "pages.jsonl").write_text("\n".join([*rows, *more, *rest]) + "\n", "utf-8")
    assert command("eval", "a.eval.yaml", "--out", "whole", "--no-values").code == 0
    with monkeypatch.context() as patched:
        patched.setattr(RunFolder, "append", interrupted)
        assert command("eval", "a.eval.yaml", "--out", "run", "--no-values").code == 130
    done = command("eval", "--resume", "run")
    assert done.code == 0, done.err
    assert summary_of(pages) == summary_of(pages, "whole")
