from __future__ import annotations

import json

import pytest
from metrics_cells import EXACT_PAIR, STRATEGY_PAIR, block_of

from fieldmark.metrics.averages import MacroMean
from fieldmark.metrics.case_score import CaseCounter
from fieldmark.metrics.conventions import CONVENTIONS
from fieldmark.metrics.gates import Gate, GateKind
from fieldmark.metrics.summary import EvaluatorSummary, summarise, with_gates
from fieldmark.metrics.tally import Tally, VerdictCounts
from fieldmark.model.outcomes import AttributeTable
from fieldmark.model.rule import Depth, Rules

ITEMS = (("id", "match"), ("items[].price", "match"), ("items[].price", "wrong"))
MISSED = (("id", "omission"), ("items[].price", "invented-key"))


def summary_of(*cases, convention="confusion", **more):
    table = AttributeTable()
    counter = CaseCounter(CONVENTIONS[convention], table)
    tally = Tally(table)
    for fields in cases:
        block = block_of(fields, table)
        tally.add(block, counter.stats(block))
    return summarise(tally, CONVENTIONS[convention], **more)


def test_the_shape_on_the_wire():
    wire = summary_of(ITEMS, MISSED).to_dict()
    assert list(wire) == [
        "format",
        "convention",
        "cases",
        "verdicts",
        "micro",
        "macro",
        "macro_f1_by_attribute",
        "macro_f1_by_case",
        "mean_score",
        "consistency",
        "attributes",
        "errors_by_type",
        "quality",
        "evaluators",
        "gates",
        "warnings",
    ]
    assert list(wire["convention"]) == [
        "name", "version", "options", "comparison_sha256", "counting_sha256",
    ]  # fmt: skip
    assert wire["cases"] == {
        "total": 2, "scored": 2, "perfect": 0, "errors": 0,
        "missing": 0, "unparseable": 0, "invalid_truth": 0, "unexpected": 0,
    }  # fmt: skip
    assert wire["verdicts"] == {"pass": 0, "partial": 1, "fail": 1}
    assert wire["micro"] == {
        "tp": 2, "tn": 0, "fp": 2, "fn": 2, "precision": 0.5, "recall": 0.5, "f1": 0.5,
    }  # fmt: skip
    assert wire["errors_by_type"] == {
        "omission": 1, "hallucination": 1, "format_error": 0, "wrong_value": 1,
    }  # fmt: skip
    assert json.loads(json.dumps(wire, allow_nan=False)) == wire


def test_an_attribute_on_the_wire():
    attributes = summary_of(ITEMS, MISSED).to_dict()["attributes"]
    assert list(attributes) == ["id", "items[].price"]
    assert attributes["items[].price"] == {
        "tp": 1,
        "tn": 0,
        "fp": 2,
        "fn": 1,
        "precision": pytest.approx(1 / 3),
        "recall": 0.5,
        "f1": 0.4,
        "accuracy": pytest.approx(1 / 3),
        "errors": 0,
        "errors_by_type": {
            "omission": 0, "hallucination": 1, "format_error": 0, "wrong_value": 1,
        },
    }  # fmt: skip


def test_both_macro_means():
    summary = summary_of(ITEMS, MISSED)
    assert summary.macro_f1_by_attribute == pytest.approx((2 / 3 + 0.4) / 2)
    assert summary.macro_f1_by_case == pytest.approx((2 / 3 + 0.0) / 2)
    assert summary.mean_score == pytest.approx(((1 + 0.5) / 2 + 0.0) / 2)
    assert summary.macro.by_case.precision == pytest.approx((2 / 3 + 0.0) / 2)


def test_the_primary_score_of_a_taxonomy_is_its_mean_by_case():
    summary = summary_of(ITEMS, MISSED, (("id", "null-null"),), convention="taxonomy")
    assert summary.mean_score == summary.macro_f1_by_case == pytest.approx(2 / 9)


def test_errors_are_counted_beside_everything_else():
    summary = summary_of((("a", "error"), ("b", "match")))
    assert summary.attributes["a"].errors == 1
    assert summary.attributes["a"].accuracy is None
    assert summary.mean_score is None
    assert summary.micro.tp == 1
    assert summary.macro.by_case == MacroMean(None, None, None, vacuous=True)
    assert summary.macro_f1_by_attribute == 1.0


def test_a_run_with_nothing_to_find_is_vacuously_perfect():
    macro = summary_of((("a", "null-null"),)).to_dict()["macro"]
    vacuous = {"precision": None, "recall": None, "f1": 1.0, "vacuous": True}
    assert macro == {"by_attribute": vacuous, "by_case": vacuous}


def test_a_run_without_a_scored_case_has_no_score():
    summary = summary_of()
    assert (summary.macro_f1_by_attribute, summary.macro_f1_by_case) == (None, None)
    assert summary.mean_score is None


def test_quality_pools_the_keys_of_all_cases():
    quality = summary_of(STRATEGY_PAIR, STRATEGY_PAIR, convention="four_phase").quality
    assert quality.rqs == pytest.approx(0.7375, abs=1e-9)
    assert quality.to_dict()["buckets"]["gt_non_null"] == 8
    assert quality.depth is Depth.TOP


def test_every_convention_reports_quality_on_its_own_leaves():
    assert summary_of(EXACT_PAIR).quality.depth is Depth.LEAF
    assert summary_of(EXACT_PAIR, rules=Rules(depth=Depth.TOP)).quality.depth is Depth.TOP
    assert summary_of(EXACT_PAIR).quality.accuracy == pytest.approx(1 / 3)


def test_evaluators_warnings_and_gates_are_carried():
    verdicts = VerdictCounts(passed=1)
    evaluator = EvaluatorSummary(mean_score=0.5, scored=1, errors=0, verdicts=verdicts)
    summary = summary_of(ITEMS, evaluators={"header": evaluator}, warnings=["odd"])
    gated = with_gates(summary, [Gate(name="micro.f1", limit=0.5)]).to_dict()
    assert gated["evaluators"] == {
        "header": {
            "mean_score": 0.5,
            "scored": 1,
            "errors": 0,
            "verdicts": {"pass": 1, "partial": 0, "fail": 0},
        }
    }
    assert gated["warnings"] == ["odd"]
    assert [gate["passed"] for gate in gated["gates"]] == [True]


def test_a_gate_can_stand_on_an_evaluator():
    verdicts = VerdictCounts()
    evaluator = EvaluatorSummary(mean_score=0.4, scored=1, errors=0, verdicts=verdicts)
    summary = summary_of(ITEMS, evaluators={"house.rule": evaluator})
    gate = Gate(name="evaluators.house.rule.mean_score", limit=0.5, kind=GateKind.MAX)
    assert with_gates(summary, [gate]).gates[0].passed
