from __future__ import annotations

import pytest

import fieldmark as fm
from fieldmark.errors import OptionError
from fieldmark.metrics.gates import (
    Gate,
    GateKind,
    GateResult,
    check_gate,
    check_gates,
    drop_gates,
    parse_gate,
    run_failures,
)
from fieldmark.metrics.tally import CaseTotals

MIN, MAX = GateKind

SUMMARY = {
    "format": 1,
    "convention": {"name": "confusion", "version": 2},
    "cases": {"total": 3},
    "micro": {"tp": 9, "fp": 1, "fn": 1, "f1": 0.9, "recall": None},
    "macro": {"by_case": {"vacuous": True}},
    "macro_f1_by_attribute": 0.1 + 0.2,
    "attributes": {
        "total": {"recall": 0.95, "errors_by_type": {"omission": 2}},
        "total.net": {"recall": 0.5, "errors_by_type": {"omission": 0}},
        "total.errors_by_type": {"omission": 7},
        "total.recall": {"recall": 0.25},
        "items[].a": {"recall": 1.0},
    },
    "quality": {"hallucination": 0.06, "rqs": 0.7, "flags": {"safety": ["not_evaluated"]}},
    "gates": [],
    "warnings": [],
}


@pytest.mark.parametrize(
    ("text", "kind", "value", "passed"),
    [
        pytest.param("micro.f1=0.9", MIN, 0.9, True, id="minimum-reached-exactly"),
        pytest.param("micro.f1=0.91", MIN, 0.9, False, id="below-minimum"),
        pytest.param("micro.f1=0.9", MAX, 0.9, True, id="maximum-reached-exactly"),
        pytest.param("hallucination=0.05", MAX, 0.06, False, id="above-maximum-by-short-name"),
        pytest.param("quality.hallucination=0.07", MAX, 0.06, True, id="long-name"),
        pytest.param("rqs=0.7", MIN, 0.7, True, id="another-short-name"),
        pytest.param("micro_f1=0.9", MIN, 0.9, True, id="underscore-instead-of-dot"),
        pytest.param("macro_f1_by_attribute=0.3", MIN, 0.1 + 0.2, True, id="top-level"),
        pytest.param("attributes.total.recall=0.95", MIN, 0.95, True, id="attribute"),
        pytest.param("attributes.total.net.recall=0.5", MIN, 0.5, True, id="attribute-with-dots"),
        pytest.param(
            "attributes.total.recall.recall=0.2", MIN, 0.25, True, id="attribute-named-like-a-rate"
        ),
        pytest.param("attributes.items[].a.recall=1", MIN, 1.0, True, id="list-attribute"),
        pytest.param("attributes.total.net.errors_by_type.omission=1", MAX, 0, True, id="count"),
        pytest.param(
            "attributes.total.errors_by_type.omission=1",
            MAX,
            7,
            False,
            id="longest-attribute-wins",
        ),
        pytest.param("cases.total=3", MIN, 3, True, id="number-of-cases"),
    ],
)
def test_gate(text, kind, value, passed):
    result = check_gate(parse_gate(text, kind), SUMMARY)
    assert (result.value, result.passed) == (value, passed)


def test_gate_tolerates_rounding_errors():
    almost = {"mean_score": 0.8999999999999999}
    assert check_gate(Gate(name="mean_score", limit=0.9), almost).passed
    slightly_more = {"mean_score": 0.05000000000000001}
    assert check_gate(Gate(name="mean_score", limit=0.05, kind=MAX), slightly_more).passed


@pytest.mark.parametrize("kind", GateKind)
def test_undefined_metric_fails_with_a_note(kind):
    result = check_gate(Gate(name="micro.recall", limit=0.5, kind=kind), SUMMARY)
    assert result == GateResult(
        name="micro.recall", kind=kind, limit=0.5, value=None, passed=False, note="undefined"
    )


def test_defined_metric_has_no_note():
    (result,) = check_gates([Gate(name="micro.f1", limit=0.5)], SUMMARY)
    assert (result.note, result.known) == ("", True)
    (unknown,) = check_gates([Gate(name="micro.f2", limit=0.5)], SUMMARY)
    assert (unknown.value, unknown.passed, unknown.known) == (None, False, False)
    assert "unknown metric" in unknown.note


@pytest.mark.parametrize(
    ("name", "guess"),
    [
        pytest.param("halucination", "hallucination", id="short-name"),
        pytest.param("attributes.totl.recall", "attributes.total.recall", id="attribute"),
        pytest.param("micro", "micro", id="group-is-not-a-metric"),
        pytest.param("macro_f1", "macro_f1_by_attribute", id="start-of-a-name"),
        pytest.param("net.recall", "attributes.net.recall", id="attribute-not-its-end"),
        pytest.param("convention.version", None, id="convention-is-not-a-metric"),
        pytest.param("quality.flags.safety", None, id="flag-is-not-a-metric"),
        pytest.param("macro.by_case.vacuous", None, id="boolean-is-not-a-metric"),
    ],
)
def test_unknown_metric_is_rejected_with_a_suggestion(name, guess):
    examples = "; for example mean_score, micro_f1 or attributes.total.f1$"
    question = examples if guess is None else f"; did you mean '.*{guess}"
    with pytest.raises(OptionError, match=f"unknown metric '{name}'{question}"):
        check_gate(Gate(name=name, limit=0.5), SUMMARY)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("micro.f1", "expected METRIC=LIMIT, got 'micro.f1'", id="no-limit"),
        pytest.param(
            "micro.f1=high", "expected a number, got 'high' in 'micro.f1=high'", id="not-a-number"
        ),
        pytest.param("micro.f1=nan", "must be a finite number", id="not-finite"),
        pytest.param("=0.5", "the name of a metric is required", id="no-name"),
    ],
)
def test_invalid_gate_is_rejected(text, message):
    with pytest.raises(OptionError, match=message):
        parse_gate(text, MIN)


def test_name_may_contain_an_equals_sign():
    assert parse_gate("attributes.a=b.f1=0.5", MIN).name == "attributes.a=b.f1"


def test_gate_on_an_evaluator():
    summary = {"evaluators": {"house.rule": {"mean_score": 0.4}}}
    gate = Gate(name="evaluators.house.rule.mean_score", limit=0.5, kind=GateKind.MAX)
    assert check_gate(gate, summary).passed


SLICED = {"slices": {"vendor=acme": {"micro": {"f1": 0.9}}, "vendor=odd": None}}


def test_gate_on_a_slice():
    gate = Gate(name='slices["vendor=acme"].micro.f1', limit=0.8)
    assert check_gate(gate, SLICED).value == 0.9


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        pytest.param("vendor=acne", "did you mean 'vendor=acme'", id="similar-name"),
        pytest.param("page=1", "no case is in this slice", id="other-name"),
    ],
)
def test_unknown_slice_is_rejected(name, hint):
    with pytest.raises(OptionError, match=f"unknown slice '{name}'; {hint}"):
        check_gate(Gate(name=f'slices["{name}"].micro.f1', limit=0.8), SLICED)


def test_vacuous_quality_metric_is_not_the_count_of_the_same_name():
    summary = {
        "errors_by_type": {"hallucination": 0},
        "quality": {"hallucination": 0.0, "flags": {"hallucination": ["vacuous"]}},
    }
    count, rate = (
        check_gate(Gate(name=f"{group}.hallucination", limit=0, kind=MAX), summary)
        for group in ("errors_by_type", "quality")
    )
    assert (count.passed, count.note) == (True, "")
    assert (rate.passed, rate.note) == (False, "nothing was scored")


MISSED = GateResult(name="f1", kind=MIN, limit=1, value=0, passed=False)
UNKNOWN = MISSED._replace(known=False)


@pytest.mark.parametrize(
    ("cases", "gates", "options", "failures"),
    [
        pytest.param({}, [], {}, [], id="passed"),
        pytest.param({"invalid_truth": 1}, [], {}, ["invalid_truth"], id="invalid-truth"),
        pytest.param({"errors": 1}, [], {}, ["too_many_errors"], id="no-errors-by-default"),
        pytest.param({"errors": 2}, [], {"max_errors": 2}, [], id="errors-up-to-a-limit"),
        pytest.param({"errors": 2, "scored": 0}, [], {"max_errors": 2}, ["nothing_scored"], id="nothing-scored"),
        pytest.param({}, [], {"unmet": True}, ["unmet_selection"], id="selection-without-cases"),
        pytest.param({}, [], {"failed_evaluator": True}, ["failed_evaluator"], id="evaluator"),
        pytest.param({}, [MISSED], {}, ["gate_failed"], id="gate"),
        pytest.param({}, [UNKNOWN], {}, ["unknown_metric"], id="unknown-metric-is-no-failed-gate"),
        pytest.param({"invalid_truth": 1, "errors": 1}, [MISSED, UNKNOWN], {}, ["unknown_metric", "invalid_truth", "too_many_errors", "gate_failed"], id="most-important-first"),
    ],
)  # fmt: skip
def test_reasons_why_a_run_did_not_pass(cases, gates, options, failures):
    assert (
        list(run_failures(CaseTotals(**{"total": 3, "scored": 1, **cases}), gates, **options))
        == failures
    )


VACUOUS = {"mean_score": 1.0, "scored": 2, "errors": 0, "vacuous": 2, "verdicts": {"pass": 2}}


@pytest.mark.parametrize(
    ("metric", "kind", "totals", "passed"),
    [
        pytest.param("mean_score", MIN, VACUOUS, False, id="mean-of-nothing"),
        pytest.param("verdicts.pass", MIN, VACUOUS, False, id="verdicts-on-nothing"),
        pytest.param("errors", MAX, VACUOUS, True, id="count-of-errors"),
        pytest.param("mean_score", MIN, {**VACUOUS, "vacuous": 1}, True, id="something-scored"),
    ],
)
def test_evaluator_with_nothing_to_score_passes_no_gate(metric, kind, totals, passed):
    summary = {"evaluators": {"a": {**VACUOUS, "vacuous": 0}, "a.b": totals}}
    result = check_gate(Gate(name=f"evaluators.a.b.{metric}", limit=0.5, kind=kind), summary)
    assert (result.passed, result.note) == (passed, "" if passed else "nothing was scored")


def test_evaluator_whose_fields_no_ground_truth_has_passes_no_gate():
    case = {"id": "a", "expected": {"x": 1}, "candidate": {"x": 1, "po": 7}}
    evaluator = {"name": "header", "type": "field_accuracy", "fields": [{"path": "po"}]}
    run = fm.evaluate(
        {"cases": [case], "evaluators": [{**evaluator, "absent_truth": "skip"}]},
        min={"evaluators.header.mean_score": 0.9},
    )
    assert run.summary.evaluators["header"].is_vacuous
    assert not run.passed


@pytest.mark.parametrize("metric", ["mean_score", "verdicts.pass", "cases.perfect"])
def test_evaluators_that_compare_no_fields_score_cases(metric):
    evaluator = {"name": "sums", "type": "constraints", "rules": ["net + 2 == total"]}
    cases = [{"id": "a", "candidate": {"total": 3, "net": 1}}]
    run = fm.evaluate({"cases": cases, "evaluators": [evaluator]}, min={metric: 1})
    assert [(gate.passed, gate.note) for gate in run.summary.gates] == [(True, "")]


PAIR = {"total": 5}, {"total": 5}
IGNORED = {"match": "ignore"}
TYPO = {"rules": {"scope": "configured", "fields": [{"path": "totl"}]}}
EMPTY = {"total": None}, {"total": None}
APART = {"total": 5}, {"sum": 5}
NO_VALUES = {"a": 1, "n": None}, {"b": 2, "n": None}
NO_PAIR = "no expected value was compared with a prediction"


@pytest.mark.parametrize(
    ("pair", "options", "metrics", "note"),
    [
        pytest.param(PAIR, {}, ["macro_f1_by_attribute", "mean_score"], "", id="fields"),
        pytest.param(PAIR, {}, ["safety", "quality.safety"], "not evaluated", id="no-safety-judge"),
        pytest.param(PAIR, IGNORED, ["micro.f1"], "undefined", id="no-counts"),
        pytest.param(PAIR, IGNORED, ["macro_f1_by_case", "mean_score", "rqs"], "nothing was scored", id="all-ignored"),
        pytest.param(PAIR, TYPO, ["macro_f1_by_attribute", "mean_score"], "nothing was scored; no document has 'totl'", id="path-of-no-document"),
        pytest.param(EMPTY, {}, ["mean_score", "verdicts.pass", "cases.perfect"], "nothing was scored", id="empty-values"),
        pytest.param(NO_VALUES, {}, ["accuracy"], "nothing was scored", id="accuracy-of-no-compared-value"),
        pytest.param(NO_VALUES, {}, ["completeness"], "", id="other-quality-of-these-fields"),
    ],
)  # fmt: skip
def test_metric_of_nothing_passes_no_gate(pair, options, metrics, note):
    run = fm.score([pair], min=dict.fromkeys(metrics, 0.0), **options)
    expected = dict.fromkeys(metrics, (not note, note))
    assert {gate.name: (gate.passed, gate.note) for gate in run.summary.gates} == expected
    assert run.passed is (not note)


@pytest.mark.parametrize(
    ("metric", "note"),
    [
        ("errors_by_type.omission", NO_PAIR),
        ("attributes.total.errors", NO_PAIR),
        ("mean_score", NO_PAIR),
        ("cases.errors", ""),
    ],
)
def test_mistakes_are_not_counted_if_no_expected_value_met_a_prediction(metric, note):
    run = fm.score([APART], max={metric: 9})
    assert [(gate.passed, gate.note) for gate in run.summary.gates] == [(not note, note)]


# --- paths that no document has -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("missing", "note"),
    [
        pytest.param([], "", id="none"),
        pytest.param([{"path": "totl", "nearest": "total"}], "no document has 'totl'; did you mean 'total'?", id="one"),
        pytest.param(
            [{"path": path} for path in "abcd"],
            "no document has 'a', no document has 'b', no document has 'c' and 1 more", id="many",
        ),
    ],
)  # fmt: skip
def test_missing_path_fails_gates_and_gates_against_a_baseline(missing, note):
    metrics = {"mean_score": 0.9, "micro": {"tp": 1}, "missing_paths": missing}
    gates = [Gate(name="mean_score", limit=0.5), Gate(name="no_metric", limit=0)]
    own, unknown = check_gates(gates, metrics)
    assert (own.passed, own.note) == (not note, note)
    assert (unknown.known, unknown.passed) == (False, False)
    (drop,) = drop_gates({**metrics, "mean_score": None}, metrics, {"mean_score": 0.1})
    assert drop.passed is not bool(note)


FAILED_RUN = {
    "mean_score": 0.5,
    "bounds": {"failed": 11, "of": 12, "low": {"mean_score": 0.04}, "high": {"mean_score": 0.96}},
}


@pytest.mark.parametrize(
    ("gate", "metrics", "passed", "note"),
    [
        pytest.param(("mean_score", 0.04, MIN), FAILED_RUN, True, "11 of 12 cases failed", id="low-bound-reaches-it"),
        pytest.param(("mean_score", 0.5, MIN), FAILED_RUN, False, "11 of 12 cases failed", id="only-the-scored-cases-reach-it"),
        pytest.param(("mean_score", 0.96, MAX), FAILED_RUN, True, "11 of 12 cases failed", id="high-bound-is-allowed"),
        pytest.param(("mean_score", 0.9, MAX), FAILED_RUN, False, "11 of 12 cases failed", id="high-bound-is-too-high"),
        pytest.param(("confidence.ece", 1, MAX), {**FAILED_RUN, "confidence": {"ece": 0.1}}, False, "11 of 12 cases failed", id="no-bounds"),
        pytest.param(("cases.errors", 11, MAX), {**FAILED_RUN, "cases": {"errors": 11}}, True, "", id="number-of-errors"),
        pytest.param(("cases.perfect", 1, MIN), {**FAILED_RUN, "cases": {"perfect": 1}}, False, "11 of 12 cases failed", id="perfect-cases-are-no-such-number"),
    ],
)  # fmt: skip
def test_gates_with_failed_cases(gate, metrics, passed, note):
    name, limit, kind = gate
    result = check_gate(Gate(name=name, limit=limit, kind=kind), metrics)
    assert (result.passed, result.note) == (passed, note)


@pytest.mark.parametrize(
    ("before", "common", "limit", "passed", "drop"),
    [
        pytest.param({"mean_score": 0.08}, {"mean_score": 0.5}, 0.05, True, 0.0, id="allowed"),
        pytest.param({"mean_score": 0.08}, {"mean_score": 1.0}, 0.1, False, 0.5, id="common-cases-dropped"),
        pytest.param({"mean_score": 0.9}, {"mean_score": 0.5}, 0.1, False, 0.0, id="failed-cases-may-have-dropped"),
        pytest.param(FAILED_RUN, None, 0.9, False, 0.0, id="both-have-failed-cases"),
        pytest.param(FAILED_RUN, None, 0.93, True, 0.0, id="largest-drop-is-allowed"),
    ],
)  # fmt: skip
def test_drops_with_failed_cases(before, common, limit, passed, drop):
    both = None if common is None else (common, FAILED_RUN)
    [result] = drop_gates(before, FAILED_RUN, {"mean_score": limit}, both)
    assert (result.passed, result.value) == (passed, pytest.approx(drop))
