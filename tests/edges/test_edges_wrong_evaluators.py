"""Inputs for which a wrong result once looked right, through every door that shows the figure."""

from __future__ import annotations

import json

import pytest

import fieldmark as fm
from fieldmark.analyses.judge import as_judge
from fieldmark.metrics.summary import Summary
from fieldmark.report.html.metrics import tiles
from fieldmark.runs.stored_run import open_run

# --- evaluators: what they compare, and which cases are perfect ------------------------------------

BOX, NEAR, FAR = [10, 10, 30, 30], [10, 10, 30, 28], [50, 50, 60, 60]
PAGES = {"p": [{"page": 1, "l": [{"sku": "A", "n": 1}, {"sku": "B", "n": 2}]}]}
HALF = {"p": [{"page": 1, "l": [{"sku": "A", "n": 1}]}]}
LINES = {"type": "line_items", "path": "p[*].l", "match_fields": ["sku"]}
ACCURACY = {"type": "field_accuracy", "fields": [{"path": "l[*].x"}, {"path": "po"}]}
ITEMS = {"type": "field_accuracy", "fields": [{"path": "l[*].x"}]}
TOTAL = {"type": "field_accuracy", "fields": [{"path": "total"}]}
OPTIONAL = {"type": "field_accuracy", "fields": [{"path": "a"}, {"path": "b", "required": False}]}
SCHEMA = {"type": "json_schema", "schema": {"type": "object"}}
SUM = {"type": "constraints", "rules": ["total > 0"]}
OVERLAP = {"type": "iou_score", "path": "box"}

EVALUATORS = [
    # id, expected, candidate, evaluators, score, verdict, TP/TN/FP/FN, perfect
    pytest.param(PAGES, HALF, [LINES], 2 / 3, "partial", (2, 0, 0, 2), 0, id="line-items-below-a-wildcard"),
    pytest.param(PAGES, PAGES, [LINES], 1.0, "pass", (4, 0, 0, 0), 1, id="right-line-items-below-a-wildcard"),
    pytest.param({"l": [{"x": 1}]}, {"l": [{"x": 1}, {"x": 99}]}, [ACCURACY], 0.5, "partial", (1, 1, 1, 0), 0, id="extra-item"),
    pytest.param({"l": [{"x": 1}]}, {"l": [{"x": 1}], "po": 7}, [ACCURACY], 0.5, "partial", (1, 0, 1, 0), 0, id="value-for-an-absent-key"),
    pytest.param({"l": [{"x": 1}]}, {"l": [{"x": 1}]}, [ACCURACY], 1.0, "pass", (1, 1, 0, 0), 1, id="key-absent-on-both-sides"),
    pytest.param(
        {"l": [{"x": 1}]}, {"l": [{"x": 1}, {"x": 99}], "po": 7}, [{**ACCURACY, "absent_truth": "skip"}],
        1.0, "pass", (1, 0, 0, 0), 1, id="absent-keys-leniently",
    ),
    pytest.param({"a": 1, "b": 2}, {"a": 1}, [OPTIONAL], 1.0, "pass", (1, 0, 0, 1), 0, id="missing-optional-field"),
    pytest.param({"total": 1}, {"total": 2}, [SCHEMA], 1.0, "pass", (0, 0, 1, 1), 0, id="schema-on-a-wrong-value"),
    pytest.param({"total": 1}, {"total": 2}, [SUM], 1.0, "pass", (0, 0, 1, 1), 0, id="constraint-on-a-wrong-value"),
    pytest.param({"total": 1}, {"total": 1}, [SCHEMA, SUM], 1.0, "pass", (1, 0, 0, 0), 1, id="schema-on-a-right-value"),
    pytest.param(
        {"total": 1}, {"total": 1}, [TOTAL, {"type": "constraints", "rules": ["total > 5"], "weight": 0}],
        1.0, "pass", (1, 0, 0, 0), 0, id="failing-evaluator-without-weight",
    ),
    pytest.param({"box": BOX}, {"box": NEAR}, [OVERLAP], 0.9, "pass", (1, 0, 0, 0), 1, id="box-that-overlaps"),
    pytest.param({"box": BOX}, {"box": FAR}, [OVERLAP], 0.0, "fail", (0, 0, 1, 1), 0, id="box-elsewhere"),
    pytest.param({"box": [BOX, FAR]}, {"box": [BOX]}, [OVERLAP], 0.5, "fail", (1, 0, 0, 1), 0, id="missing-box"),
    pytest.param({"box": [BOX]}, {"box": [BOX, FAR]}, [OVERLAP], 0.5, "fail", (1, 0, 1, 0), 0, id="extra-box"),
    pytest.param(
        {"box": [BOX, FAR]}, {"box": [FAR, NEAR]}, [{**OVERLAP, "matching": "optimal"}],
        0.95, "pass", (2, 0, 0, 0), 1, id="boxes-in-another-order",
    ),
    pytest.param(
        {"r": [{"b": BOX, "t": "x"}]}, {"r": [{"b": NEAR, "t": "x"}]}, [{"type": "iou_score", "path": "r[].b"}],
        0.9, "pass", (2, 0, 0, 0), 1, id="boxes-of-list-items",
    ),
    pytest.param(
        {"at": [1, 1]}, {"at": [1, 1.1]}, [{"type": "coordinate_distance", "path": "at"}],
        pytest.approx(1 / 1.1), "pass", (1, 0, 0, 0), 1, id="point-nearby",
    ),
    pytest.param(
        {"regions": [{"bbox": BOX, "class": "a"}]}, {"regions": [{"bbox": NEAR, "class": "a"}]}, [{"type": "detection_ap"}],
        1.0, "pass", (2, 0, 0, 0), 1, id="detection",
    ),
]  # fmt: skip
EVALUATOR_COLUMNS = ("expected", "candidate", "evaluators", "score", "verdict", "counts", "perfect")


def eval_spec(expected, candidate, evaluators):
    cases = [{"id": "a", "expected": expected, "candidate": candidate}]
    named = [{"name": f"e{n}", **evaluator} for n, evaluator in enumerate(evaluators)]
    return {"cases": cases, "evaluators": named}


def counts_of(summary):
    micro = summary["micro"]
    return micro["tp"], micro["tn"], micro["fp"], micro["fn"]


@pytest.mark.parametrize(EVALUATOR_COLUMNS, EVALUATORS)
def test_evaluators_on_the_command_line(command, folder, expected, candidate, evaluators, score, verdict, counts, perfect):  # fmt: skip
    spec = eval_spec(expected, candidate, evaluators)
    (folder / "a.eval.yaml").write_text(json.dumps(spec), "utf-8")
    done = command("eval", "a.eval.yaml", "--format", "json", "--out", "run")
    summary = json.loads(done.out)
    assert summary["mean_score"] == pytest.approx(score)
    assert summary["verdicts"] == {**dict.fromkeys(("pass", "partial", "fail"), 0), verdict: 1}
    assert (counts_of(summary), summary["cases"]["perfect"]) == (counts, perfect)
    # What is stored, and what a report shows of it, are the same.
    stored = open_run(folder / "run").summary
    assert isinstance(stored, Summary)
    shown = {tile.label: tile.value for tile in tiles(stored)}
    assert shown["Perfect"] == perfect
    rescored = fm.rescore(str(folder / "run"), out=None)
    assert rescored.summary.cases.perfect == perfect


@pytest.mark.parametrize(EVALUATOR_COLUMNS, EVALUATORS)
def test_evaluators_in_python(expected, candidate, evaluators, score, verdict, counts, perfect):
    run = fm.evaluate(eval_spec(expected, candidate, evaluators))
    (row,) = run.cases
    assert (row.score, row.verdict) == (pytest.approx(score), verdict)
    assert (counts_of(run.to_dict()), run.summary.cases.perfect) == (counts, perfect)


@pytest.mark.parametrize(
    ("name", "options", "expected", "candidate", "score", "verdict"),
    [
        pytest.param("line_items", LINES, PAGES, HALF, 2 / 3, "partial", id="line-items-below-a-wildcard"),
        pytest.param("field_accuracy", ITEMS, {"l": [{"x": 1}]}, {"l": [{"x": 1}, {"x": 99}]}, 0.5, "partial", id="extra-item"),
        pytest.param("field_accuracy", ACCURACY, {"l": [{"x": 1}]}, {"l": [{"x": 1}, {"x": 99}]}, None, None, id="path-in-neither-document"),
        pytest.param("field_accuracy", ACCURACY, {"l": [{"x": 1}]}, {"l": [{"x": 1}], "po": 7}, 0.5, "partial", id="absent-key"),
        pytest.param("iou_score", OVERLAP, {"box": [BOX, FAR]}, {"box": [BOX]}, 0.5, "fail", id="missing-box"),
    ],
)  # fmt: skip
def test_evaluators_as_judges(name, options, expected, candidate, score, verdict):
    request = json.dumps({"expected": expected, "candidate": candidate}).encode()
    own = {key: value for key, value in options.items() if key != "type"}
    response = as_judge(name, request, own)
    assert (response["score"], response["verdict"]) == (pytest.approx(score), verdict)


def test_wrong_line_items_below_a_wildcard_fail_a_gate(command, folder):
    spec = eval_spec(PAGES, {"p": [{"l": []}]}, [LINES])
    (folder / "a.eval.yaml").write_text(json.dumps(spec), "utf-8")
    done = command("eval", "a.eval.yaml", "--no-save", "--min", "mean_score=0.5")
    assert (done.code, "0 perfect" in done.out) == (1, True)


@pytest.mark.parametrize(
    ("response", "perfect"),
    [
        pytest.param({"score": 0, "pass": True}, 0, id="score-0-that-passes"),
        pytest.param({"score": 0.5, "pass": False}, 0, id="fails"),
        pytest.param({"score": 0.5, "pass": True}, 1, id="passes"),
    ],
)
def test_judge_that_fails_a_case_or_scores_nothing(folder, response, perfect):
    (folder / "judge.py").write_text(f"print('''{json.dumps(response)}''')", "utf-8")
    judge = {"type": "code_judge", "script": ["python3", str(folder / "judge.py")]}
    run = fm.evaluate(eval_spec({"a": 1}, {"a": 1}, [judge]))
    assert run.summary.cases.perfect == perfect


def test_errors_of_an_evaluator_without_weight_are_shown(command, folder):
    judge = {"type": "code_judge", "script": ["python3", "-c", "raise SystemExit(3)"], "weight": 0}
    spec = eval_spec({"total": 1}, {"total": 1}, [TOTAL, judge])
    (folder / "a.eval.yaml").write_text(json.dumps(spec), "utf-8")
    done = command("eval", "a.eval.yaml", "--out", "run")
    assert "1 case, 1 scored, 1 perfect, 1 error of evaluators" in done.out
    stored = open_run(folder / "run").summary
    assert isinstance(stored, Summary)
    (errors,) = (tile for tile in tiles(stored) if tile.label == "Errors")
    assert (errors.value, errors.meaning) == (1, "1 error of evaluators")


def test_unsafe_prediction_is_not_perfect():
    safety = {"type": "wordlist", "words": ["hell"]}
    rows = [
        {"id": name, "expected": {"x": name}, "candidate": {"x": name}} for name in ("hell", "one")
    ]
    run = fm.score(rows, rules={"safety": safety})
    assert run.summary.cases.perfect == 1
