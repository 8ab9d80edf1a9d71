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
COUNTS = ("true_positives", "false_positives", "false_negatives")
RATES = ("precision", "recall", "f1")


def written(run, tmp_path):
    EvalResults().write(run, tmp_path / "eval-results.json")
    document = json.loads((tmp_path / "eval-results.json").read_text("utf-8"))
    jsonschema_rs.validator_for(SCHEMA).validate(document)
    return document


# The first case has 1 match and 3 wrong values, the second 3 matches, the third 3 missing values;
# "Acme GmbH" and "Acme Gmbh" match if case is ignored.
@pytest.mark.parametrize(
    ("convention", "counts", "rates", "micro"),
    [
        pytest.param("confusion", (1, 3, 3), (1 / 4, 1 / 4, 1 / 4), (4 / 7, 4 / 10, 8 / 17), id="confusion"),
        pytest.param("taxonomy", (2, 2, 2), (1 / 2, 1 / 2, 1 / 2), (5 / 7, 5 / 10, 10 / 17), id="text-ignores-case"),
        pytest.param("taxonomy_code", (2, 2, 0), (1 / 2, 1, 2 / 3), (5 / 7, 5 / 8, 10 / 15), id="wrong-value-is-no-false-negative"),
    ],
)  # fmt: skip
def test_metrics_follow_the_guide(tmp_path, convention, counts, rates, micro):
    summary = fm.score(TRUTH, CANDIDATES, convention=convention, out=tmp_path / "run").summary
    document = written(shown(tmp_path / "run"), tmp_path)
    first, second, third = (result["metrics"] for result in document["eval_results"])
    assert first == {
        **dict(zip(COUNTS, counts, strict=True)), "total_gt_fields": 4, "correct_fields": counts[0],
        **dict(zip(RATES, map(pytest.approx, rates), strict=True)),
    }  # fmt: skip
    assert [second[name] for name in (*COUNTS, *RATES)] == [3, 0, 0, 1, 1, 1]
    assert [third[name] for name in (*COUNTS, *RATES)] == [0, 0, 3, 0, 0, 0]
    aggregate = document["aggregate"]
    assert aggregate["eval_count"] == 3
    totals = [aggregate[f"total_{name}"] for name in COUNTS]
    assert totals == [sum(case[name] for case in (first, second, third)) for name in COUNTS]
    assert [aggregate["micro"][name] for name in RATES] == pytest.approx(list(micro))
    means = [sum(case[name] for case in (first, second, third)) / 3 for name in RATES]
    assert [aggregate["macro"][name] for name in RATES] == pytest.approx(means)
    assert aggregate["macro"]["f1"] == pytest.approx(summary.macro_f1_by_case)
    assert aggregate["micro"]["f1"] == pytest.approx(summary.micro.f1)


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


def test_cases_with_errors_are_listed_but_not_counted(ordinary, tmp_path):
    cases = list(ordinary.cases())
    case, stats = cases[0].case, cases[0].stats
    stats = stats._replace(score=None, verdict=None, errors_count=1)
    broken = replace(cases[0], case=case._replace(id="z"), stats=stats)
    failed = replace(broken, case=case._replace(id="y", input=CaseInput.FAILED))
    document = written(replace(ordinary, cases=lambda: [*cases, broken, failed]), tmp_path)
    assert document["not_evaluated"] == [
        {"eval_id": "z", "input": "ok", "error": "error"},
        {"eval_id": "y", "input": "failed", "error": "failed"},
    ]
    assert document["aggregate"] == written(ordinary, tmp_path)["aggregate"]


def test_without_evals_every_rate_is_zero(ordinary, tmp_path):
    aggregate = written(replace(ordinary, cases=list), tmp_path)["aggregate"]
    macro, micro = aggregate.pop("macro"), aggregate.pop("micro")
    assert {*aggregate.values(), *macro.values(), *micro.values()} == {0}


def test_hostile_ids_are_unchanged(hostile, tmp_path):
    document = written(hostile, tmp_path)
    assert [result["eval_id"] for result in document["eval_results"]] == [
        c.id for c in hostile.cases()
    ]
