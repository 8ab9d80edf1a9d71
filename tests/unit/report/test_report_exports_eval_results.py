"""`eval-results.json`: structure and metrics."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema_rs
import pytest

import fieldmark as fm
from fieldmark.model.case import CaseInput
from fieldmark.report.exports.eval_results import EvalResults
from unit.report.exported import CANDIDATES, TRUTH, shown

SCHEMA = json.loads(
    (Path(__file__).parents[3] / "schemas" / "eval-results.schema.json").read_text("utf-8")
)


def compute_metrics(total_gt_fields, counts, *, both):
    """Compute metrics by the guide; with `both`, a wrong value is an FP and an FN."""
    wrong = counts["format_error"] + counts["wrong_value"]
    tp = total_gt_fields - counts["omission"] - wrong
    fp = counts["hallucination"] + wrong
    fn = counts["omission"] + (wrong if both else 0)
    precision = tp / (tp + fp) if tp + fp else 0.0
    recall = tp / (tp + fn) if tp + fn else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return {
        "precision": precision,
        "recall": recall,
        "f1": f1,
        "true_positives": tp,
        "false_positives": fp,
        "false_negatives": fn,
        "total_gt_fields": total_gt_fields,
        "correct_fields": tp,
    }


def compute_aggregate_metrics(eval_results):
    """Compute macro and micro averages by the guide."""
    number = len(eval_results)
    macro = {
        name: sum(result["metrics"][name] for result in eval_results) / number
        for name in ("precision", "recall", "f1")
    }
    tp, fp, fn = (
        sum(result["metrics"][name] for result in eval_results)
        for name in ("true_positives", "false_positives", "false_negatives")
    )
    precision = tp / (tp + fp) if tp + fp else 0
    recall = tp / (tp + fn) if tp + fn else 0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0
    return {
        "macro": macro,
        "micro": {"precision": precision, "recall": recall, "f1": f1},
        "total_true_positives": tp,
        "total_false_positives": fp,
        "total_false_negatives": fn,
        "eval_count": number,
    }


def flat(metrics):
    parts = metrics.items()
    return {k: v for k, v in parts if not isinstance(v, dict)} | {
        f"{k}.{name}": value for k, v in parts if isinstance(v, dict) for name, value in v.items()
    }


def written(run, tmp_path):
    EvalResults().write(run, tmp_path / "eval-results.json")
    document = json.loads((tmp_path / "eval-results.json").read_text("utf-8"))
    jsonschema_rs.validator_for(SCHEMA).validate(document)
    return document


@pytest.mark.parametrize(
    ("convention", "both"),
    [
        pytest.param("confusion", True, id="confusion"),
        pytest.param("taxonomy", True, id="taxonomy"),
        pytest.param("taxonomy_code", False, id="taxonomy-code"),
    ],
)
def test_metrics_follow_the_guide(tmp_path, convention, both):
    fm.score(TRUTH, CANDIDATES, convention=convention, out=tmp_path / "run")
    document = written(shown(tmp_path / "run"), tmp_path)
    for result in document["eval_results"]:
        total = result["metrics"]["total_gt_fields"]
        expected = compute_metrics(total, result["errors_by_type"], both=both)
        assert result["metrics"] == pytest.approx(expected)
    aggregate = compute_aggregate_metrics(document["eval_results"])
    assert flat(document["aggregate"]) == pytest.approx(flat(aggregate))


@pytest.mark.parametrize("convention", ["taxonomy", "taxonomy_code"])
def test_the_aggregate_equals_the_summary(tmp_path, convention):
    result = fm.score(TRUTH, CANDIDATES, convention=convention, out=tmp_path / "run")
    aggregate = written(shown(tmp_path / "run"), tmp_path)["aggregate"]
    assert aggregate["macro"]["f1"] == result.summary.macro_f1_by_case
    assert aggregate["micro"]["f1"] == result.summary.micro.f1


def test_discrepancies_have_path_type_and_values(ordinary, tmp_path):
    first, second, third = written(ordinary, tmp_path)["eval_results"]
    assert first["discrepancies"][1] == {
        "path": "total",
        "error_type": "format_error",
        "reason": "type_mismatch",
        "expected": 12.5,
        "candidate": "twelve",
    }
    assert second["discrepancies"] == []
    assert third["discrepancies"][0] == {
        "path": "vendor",
        "error_type": "omission",
        "reason": "missing",
        "expected": "Gone",
    }


def test_all_fields_of_a_missing_prediction_are_false_negatives(ordinary, tmp_path):
    *_, third = written(ordinary, tmp_path)["eval_results"]
    assert third["metrics"] == compute_metrics(3, third["errors_by_type"], both=True)
    assert third["metrics"]["false_negatives"] == 3


def test_cases_with_errors_are_listed_but_not_counted(ordinary, tmp_path):
    cases = list(ordinary.cases())
    case, stats = cases[0].case, cases[0].stats
    stats = stats._replace(score=None, verdict=None, errors_count=1)
    broken = replace(cases[0], case=case._replace(id="z"), stats=stats)
    failed = replace(broken, case=case._replace(id="y", input=CaseInput.FAILED))
    document = written(replace(ordinary, cases=lambda: [*cases, broken, failed]), tmp_path)
    assert document["not_evaluated"] == [
        {"eval_id": "z", "input": "ok"},
        {"eval_id": "y", "input": "failed"},
    ]
    assert document["aggregate"] == written(ordinary, tmp_path)["aggregate"]


def test_without_evals_every_rate_is_zero(ordinary, tmp_path):
    run = replace(ordinary, cases=list)
    aggregate = written(run, tmp_path)["aggregate"]
    assert set(flat(aggregate).values()) == {0}


def test_hostile_ids_are_unchanged(hostile, tmp_path):
    document = written(hostile, tmp_path)
    assert [result["eval_id"] for result in document["eval_results"]] == [
        c.id for c in hostile.cases()
    ]
