"""Field accuracy and field confusion, and the state that field evaluators reuse between cases."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import pytest
from evaluator_fields import fields

from fieldmark.compare.date import DateMatch
from fieldmark.compare.distance import Distance
from fieldmark.compare.exact import Exact
from fieldmark.compare.fuzzy import Fuzzy
from fieldmark.compare.iou import Iou
from fieldmark.compare.numeric import Boolean, NumericTolerance
from fieldmark.compare.providers import Recorded
from fieldmark.compare.semantic import Semantic
from fieldmark.evaluators import field_evaluators
from fieldmark.evaluators.base import Status
from fieldmark.evaluators.field_evaluators import (
    ExtractionMetrics,
    FieldAccuracy,
    FieldConfusion,
)
from fieldmark.model.case import Verdict
from fieldmark.model.comparison import Comparison
from fieldmark.model.json import MISSING
from fieldmark.model.rule import Rule
from fieldmark.values.records import to_json

PASS, PARTIAL, FAIL = Verdict
TOTAL = "invoice.total"
SILENT = Recorded(scores={})
ASKS = Semantic(provider=SILENT)


def scored(settings, expected, candidate, **options):
    return FieldAccuracy(fields=fields(*settings), **options).evaluate(expected, candidate)


def total(value):
    return {"invoice": {"total": value}}


# --- one field ------------------------------------------------------------------------------------

BOX = [10, 10, 30, 30]


@pytest.mark.parametrize(
    ("field", "expected", "candidate", "score", "reason"),
    [
        pytest.param(Exact(), "INV-001", "INV-001", 1.0, None, id="match"),
        pytest.param(Exact(), "INV-001", "INV-002", 0.0, "", id="wrong-value"),
        pytest.param(Exact(), "INV-001", MISSING, 0.0, " (required, missing)", id="missing"),
        pytest.param(Exact(), "INV-001", None, 0.0, " (null value)", id="null"),
        pytest.param(Exact(), "INV-001", " \t", 0.0, " (blank value)", id="blank"),
        pytest.param(Exact(), 100, "100", 0.0, " (type mismatch)", id="wrong-type"),
        pytest.param(Exact(), None, "INV-001", 0.0, " (unexpected value)", id="extra"),
        pytest.param(Exact(), None, "", 1.0, None, id="both-empty"),
        pytest.param(NumericTolerance(tolerance=1), 0, MISSING, 0.0, " (required, missing)", id="missing-is-not-0"),
        pytest.param(NumericTolerance(), 5, math.nan, 0.0, " (invalid number)", id="not-a-number"),
        pytest.param(Fuzzy(threshold=0.8), "Acme Corp", "Acme Korp", 8 / 9, None, id="score-is-the-similarity"),
        pytest.param(Fuzzy(threshold=0.9), "Acme Corp", "Acme Korp", 0.0, "", id="below-the-threshold"),
        pytest.param(DateMatch(), "2025-01-15", "31-FEB-2025", 0.0, " (unparseable date)", id="not-a-date"),
        pytest.param(Boolean(), True, "perhaps", 0.0, " (not a boolean)", id="not-a-boolean"),
        pytest.param(Iou(), BOX, [30, 10, 10, 30], 0.0, " (invalid bounding box)", id="not-a-box"),
        pytest.param(Iou(), BOX, [0, 0, 1, 1], 0.0, "", id="no-overlap"),
        pytest.param(Distance(), [1, 2], [1, None], 0.0, " (invalid point)", id="not-a-point"),
        pytest.param(Distance(), [1, 2], [1, 2, 3], 0.0, " (dimension mismatch)", id="other-dimension"),
        pytest.param(Semantic(), "It was paid.", "It was not paid.", 0.0, " (negations differ: none vs. not)", id="failed-guard"),
        pytest.param(Semantic(), "It was paid.", "A blue car", 0.0, "", id="dissimilar"),
    ],
)  # fmt: skip
def test_one_field_is_a_hit_or_a_miss_with_its_reason(field, expected, candidate, score, reason):
    evaluator = FieldAccuracy(fields=(Rule(path="a.b", comparator=field),))
    sides = [{"a": {} if side is MISSING else {"b": side}} for side in (expected, candidate)]
    result = evaluator.evaluate(*sides)
    assert result.score == pytest.approx(score, abs=1e-9)
    assert result.details["fields"][0]["score"] == result.score
    assert result.hits == (("a.b",) if reason is None else ())
    assert result.misses == (() if reason is None else (f"a.b{reason}",))
    assert result.verdict is (PASS if reason is None else FAIL)


def test_fuzzy_mismatch_reports_the_similarity():
    result = scored([{"path": "a", "match": "fuzzy"}], {"a": "Acme Corp"}, {"a": "XYZ Inc"})
    assert result.details["fields"][0]["similarity"] == pytest.approx(1 / 9)


def test_two_items_of_one_list_have_their_own_weights():
    settings = [{"path": "rows[0]", "weight": 1}, {"path": "rows[1]", "weight": 3}]
    assert scored(settings, {"rows": ["a", "b"]}, {"rows": ["a", "x"]}).score == 0.25


# --- the result -----------------------------------------------------------------------------------

INVOICE = {"invoice": {"number": "1", "date": "2", "vendor": "3", "total": 4}}
PATHS = ("invoice.number", "invoice.date", "invoice.vendor", "invoice.total")


def test_mixed_result():
    candidate = {"invoice": {**INVOICE["invoice"], "total": 5}}
    result = scored(PATHS, INVOICE, candidate)
    assert (result.score, result.verdict, result.status) == (0.75, PARTIAL, Status.OK)
    assert (result.hits, result.misses) == (PATHS[:3], PATHS[3:])
    assert result.reasoning == "3/4 fields matched"


def test_result_as_json():
    result = scored(["a"], {"a": 1}, {"a": 2})
    assert to_json(result) == {
        "score": 0.0,
        "verdict": "fail",
        "status": "ok",
        "vacuous": False,
        "hits": [],
        "misses": ["a"],
        "skipped": [],
        "reasoning": "0/1 fields matched",
        "details": {
            "fields": [
                {
                    "path": "a",
                    "score": 0.0,
                    "weight": 1.0,
                    "required": True,
                    "outcome": "wrong_value",
                    "reason": "different",
                }
            ],
            "fields_total": 1,
        },
    }


def test_details_are_bounded_and_have_a_field_total():
    document = {f"f{number}": number for number in range(7)}
    result = scored(list(document), document, document, max_rows=3)
    assert len(result.details["fields"]) == 3
    assert result.details["fields_total"] == 7


# --- optional fields and fields absent from the truth ---------------------------------------------

NOTES = {"path": "notes", "required": False}
LEFT_OUT = ("notes (optional, missing)",)


@pytest.mark.parametrize(
    ("expected", "candidate", "score", "misses", "skipped"),
    [
        pytest.param({"notes": "rush"}, {}, 1.0, (), LEFT_OUT, id="left-out-is-neutral"),
        pytest.param({"notes": "rush"}, {"notes": None}, 1.0, (), LEFT_OUT, id="null-is-left-out"),
        pytest.param({"notes": "rush"}, {"notes": " "}, 1.0, (), LEFT_OUT, id="blank-is-left-out"),
        pytest.param({"notes": "rush"}, {"notes": "slow"}, 0.5, ("notes",), (), id="wrong-counts"),
        pytest.param({"notes": "rush"}, {"notes": 7}, 0.5, ("notes (type mismatch)",), (), id="wrong-type-counts"),
        pytest.param({"notes": None}, {"notes": "rush"}, 0.5, ("notes (unexpected value)",), (), id="extra-counts"),
        pytest.param({"notes": None}, {}, 1.0, (), (), id="empty-on-both-sides-is-a-hit"),
    ],
)  # fmt: skip
def test_optional_fields(expected, candidate, score, misses, skipped):
    result = scored(["number", NOTES], {"number": 1, **expected}, {"number": 1, **candidate})
    assert (result.score, result.misses, result.skipped) == (score, misses, skipped)


SKIPPED = ("x (no expected value)",)
EXTRA = ("x (unexpected value)",)


@pytest.mark.parametrize(
    ("options", "candidate", "score", "misses", "skipped"),
    [
        pytest.param({}, {"a": 1, "x": 1}, 0.5, EXTRA, (), id="value-is-a-miss"),
        pytest.param({}, {"a": 1}, 1.0, (), SKIPPED, id="absent-on-both-sides-is-skipped"),
        pytest.param({}, {"a": 1, "x": None}, 1.0, (), SKIPPED, id="null-is-skipped"),
        pytest.param({"absent_truth": "skip"}, {"a": 1, "x": 1}, 1.0, (), SKIPPED, id="leniently"),
        pytest.param({"absent_truth": "skip"}, {"a": 1}, 1.0, (), SKIPPED, id="leniently-absent"),
        pytest.param({"absent_truth": "miss"}, {"a": 1, "x": 1}, 0.5, EXTRA, (), id="by-name"),
    ],
)
def test_key_absent_from_the_truth(options, candidate, score, misses, skipped):
    result = scored(["a", "x"], {"a": 1}, candidate, **options)
    assert (result.score, result.misses, result.skipped) == (score, misses, skipped)


@pytest.mark.parametrize(
    ("options", "score", "misses"),
    [
        pytest.param({}, 0.5, ("l[→1].x (unexpected value)",), id="is-a-miss"),
        pytest.param({"absent_truth": "skip"}, 1.0, (), id="leniently"),
    ],
)
def test_extra_item_of_a_list(options, score, misses):
    result = scored(["l[*].x"], {"l": [{"x": 1}]}, {"l": [{"x": 1}, {"x": 99}]}, **options)
    assert (result.score, result.misses) == (score, misses)


# --- unreadable candidates and failed comparisons -------------------------------------------------


@pytest.mark.parametrize(
    ("candidate", "reason"),
    [
        pytest.param(None, "required, missing", id="null"),
        pytest.param("text", "string where an object belongs", id="string"),
        pytest.param([], "list where an object belongs", id="list"),
        pytest.param(7, "number where an object belongs", id="number"),
        pytest.param({"invoice": "text"}, "string where an object belongs", id="string-for-object"),
        pytest.param({"invoice": " "}, "required, missing", id="blank-for-object"),
        pytest.param({"invoice": {}}, "required, missing", id="object-without-the-key"),
    ],
)
def test_document_with_another_structure_misses_all_fields(candidate, reason):
    result = scored([TOTAL], total(100), candidate)
    assert (result.score, result.misses) == (0.0, (f"{TOTAL} ({reason})",))


def test_failed_comparison_is_an_error_without_a_score():
    rules = (Rule(path="name", comparator=ASKS), Rule(path="number"))
    documents = {"name": "Acme", "number": 1}, {"name": "Apex", "number": 1}
    result = FieldAccuracy(fields=rules).evaluate(*documents)
    assert (result.score, result.verdict, result.status) == (None, None, Status.ERROR)
    assert result.misses == ("name (evaluation error: no similarity recorded for this pair)",)
    assert result.hits == ("number",)
    assert result.details["fields"][0]["score"] is None


def test_on_error_zero_scores_0():
    evaluator = FieldAccuracy(fields=(Rule(path="name", comparator=ASKS),), on_error="zero")
    result = evaluator.evaluate({"name": "Acme"}, {"name": "Apex"})
    assert (result.score, result.verdict, result.status) == (0.0, FAIL, Status.OK)


# --- confusion ------------------------------------------------------------------------------------

COUNTS = ("tp", "tn", "fp", "fn")


def confusion(paths, expected, candidate, **options):
    return FieldConfusion(fields=fields(*paths), **options).evaluate(expected, candidate)


NO_MATCH = {"f1_when_no_match": "undefined"}


@pytest.mark.parametrize(
    ("options", "expected", "candidate", "rates"),
    [
        pytest.param({}, {"x": 1}, {"x": 1}, {"precision": 1, "recall": 1, "f1": 1}, id="right"),
        pytest.param({}, {"x": 1}, {"x": 2}, {"precision": 0, "recall": 0, "f1": 0}, id="wrong-value"),
        pytest.param({}, {"x": 1}, {}, {"recall": 0, "f1": 0}, id="missing-has-no-precision"),
        pytest.param({}, {}, {"x": 1}, {"precision": 0, "f1": 0}, id="extra-has-no-recall"),
        pytest.param({}, {}, {}, {}, id="empty-has-no-metrics"),
        pytest.param(NO_MATCH, {"x": 1}, {"x": 2}, {"precision": 0, "recall": 0}, id="no-f1-without-a-match-on-request"),
    ],
)  # fmt: skip
def test_undefined_metrics_are_omitted(options, expected, candidate, rates):
    result = confusion(["x"], expected, candidate, **options)
    metrics = result.details["metrics"]["x"]
    assert {name: metrics[name] for name in metrics if name not in COUNTS} == rates
    nothing_to_count = not expected and not candidate
    assert result.vacuous is result.details["summary"].get("vacuous", False) is nothing_to_count


def test_means_leave_out_undefined_precision_and_recall_and_count_f1_as_0():
    result = confusion(["a", "b", "c"], {"a": 1, "b": 2}, {"a": 1, "c": 3})
    summary = result.details["summary"]
    assert (summary["macro_precision"], summary["macro_recall"]) == (0.5, 0.5)
    assert summary["macro_f1"] == result.score == pytest.approx(1 / 3)


def test_ignored_field_is_not_counted():
    result = confusion(["a", {"path": "b", "match": "ignore"}], {"a": 1, "b": 2}, {"a": 1, "b": 3})
    assert list(result.details["metrics"]) == ["a"]
    assert (result.hits, result.misses, result.skipped) == (("a",), (), ())


def test_failed_comparison_is_only_counted_as_an_error():
    rules = (Rule(path="a", comparator=Semantic(provider=Recorded(scores={}))), Rule(path="b"))
    result = FieldConfusion(fields=rules).evaluate({"a": "x", "b": 1}, {"a": "y", "b": 1})
    assert (result.score, result.status) == (None, Status.ERROR)
    assert result.details["metrics"]["a"] == {"tp": 0, "tn": 0, "fp": 0, "fn": 0, "errors": 1}


# --- fields with an index -------------------------------------------------------------------------


def test_fields_with_an_index_are_attributes_of_their_own():
    expected = {"l": [{"a": 1}, {"a": 2}], "v": {"b": 3}}
    candidate = {"l": [{"a": 1}, {"a": 9}], "v": {"b": 3}}
    result = confusion(["l[0].a", "l[1]['a']", "v['b']", "none"], expected, candidate)
    counts = {path: (own["tp"], own["fp"]) for path, own in result.details["metrics"].items()}
    assert counts == {"l[0].a": (1, 0), "l[1]['a']": (0, 1), "v.b": (1, 0), "none": (0, 0)}
    # The mean F1 of three attributes: one that occurs nowhere is left out.
    assert result.score == pytest.approx(2 / 3)
    assert result.misses == ("l[1]['a']",)


def test_field_with_an_index_is_counted_there_only():
    expected, candidate = {"l": [{"a": 1}, {"a": 2}]}, {"l": [{"a": 2}, {"a": 2}]}
    result = confusion(["l[0].a", "l[*].a"], expected, candidate)
    counts = {path: (own["tp"], own["fp"]) for path, own in result.details["metrics"].items()}
    assert counts == {"l[0].a": (0, 1), "l[].a": (1, 0)}


# --- examples of mismatches -----------------------------------------------------------------------


def test_mismatches_show_both_values():
    result = confusion(["a", "b", "c"], {"a": 1, "b": 2, "c": 3}, {"a": 1, "b": "2"})
    assert result.details["mismatches"] == [
        {
            "path": "b",
            "outcome": "format_error",
            "reason": "type_mismatch",
            "expected": 2,
            "candidate": "2",
        },
        {"path": "c", "outcome": "omission", "reason": "missing", "expected": 3},
    ]
    assert result.details["mismatches_total"] == 2


def test_mismatches_can_omit_values():
    result = confusion(["a"], {"a": "secret"}, {"a": "other"}, example_values=False)
    assert result.details["mismatches"] == [
        {"path": "a", "outcome": "wrong_value", "reason": "different"}
    ]


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        pytest.param({}, 20, id="twenty-by-default"),
        pytest.param({"max_examples": 3}, 3, id="limit"),
        pytest.param({"max_examples": 0}, 0, id="none"),
    ],
)
def test_mismatches_are_bounded_and_counted(options, shown):
    expected = {f"f{number}": number for number in range(25)}
    result = confusion(list(expected), expected, {}, **options)
    assert len(result.details["mismatches"]) == shown
    assert result.details["mismatches_total"] == 25


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        pytest.param("x" * 200, "x" * 200, id="matching-string"),
        pytest.param("x" * 201, "x" * 199 + "…", id="string-too-long"),
        pytest.param([1, {"k": None}], [1, {"k": None}], id="matching-container"),
        pytest.param(["x" * 300], '["' + "x" * 197 + "…", id="text-of-large-container"),
    ],
)
def test_long_values_of_mismatches_are_truncated(value, shown):
    (mismatch,) = confusion(["a"], {"a": value}, {}).details["mismatches"]
    assert mismatch["expected"] == shown


# --- state that is reused between cases ----------------------------------------------------------


def test_plan_is_compiled_once_for_sequential_cases(monkeypatch):
    compiled = []
    monkeypatch.setattr(
        field_evaluators, "compile_plan", lambda rules: compiled.append(rules) or COMPILE(rules)
    )
    evaluator = ExtractionMetrics()
    for _ in range(5):
        evaluator.evaluate({"a": 1}, {"a": 2})
    assert len(compiled) == 1


def test_plan_is_replaced_before_rare_keys_accumulate(monkeypatch):
    monkeypatch.setattr(field_evaluators, "_MAX_PLAN_CASES", 3)
    evaluator = ExtractionMetrics()
    sizes = []
    for number in range(7):
        _, table = evaluator._workspace.compare({f"key{number}": 1}, {})
        sizes.append(len(table))
    assert sizes == [1, 2, 3, 1, 2, 3, 1]


COMPILE = field_evaluators.compile_plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreliable:
    """Raises an exception for some values, as a plug-in might."""

    name: ClassVar[str] = "unreliable"
    reflexive: ClassVar[bool] = False

    def compare(self, expected, candidate):
        if expected == "raise":
            raise RuntimeError
        return Comparison.differs() if expected != candidate else Exact().compare(1, 1)


def test_plan_is_discarded_after_an_exception():
    evaluator = FieldAccuracy(fields=(Rule(path="a", comparator=Unreliable()),))
    evaluator.evaluate({"a": 1}, {"a": 1})
    with pytest.raises(RuntimeError):
        evaluator.evaluate({"a": "raise"}, {"a": 1})
    assert evaluator._workspace.idle == []
    assert evaluator.evaluate({"a": 1}, {"a": 1}).score == 1.0
