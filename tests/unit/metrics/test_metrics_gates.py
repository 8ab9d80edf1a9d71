from __future__ import annotations

import pytest

import fieldmark as fm
from fieldmark.errors import OptionError
from fieldmark.metrics.gates import Gate, GateKind, GateResult, check_gate, check_gates, parse_gate

MIN, MAX = GateKind

SUMMARY = {
    "format": 1,
    "convention": {"name": "confusion", "version": 1},
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
        pytest.param("micro.f1=0.9", MIN, 0.9, True, id="at-least-and-equal"),
        pytest.param("micro.f1=0.91", MIN, 0.9, False, id="too-little"),
        pytest.param("micro.f1=0.9", MAX, 0.9, True, id="at-most-and-equal"),
        pytest.param("hallucination=0.05", MAX, 0.06, False, id="too-much-by-its-short-name"),
        pytest.param("quality.hallucination=0.07", MAX, 0.06, True, id="by-its-long-name"),
        pytest.param("rqs=0.7", MIN, 0.7, True, id="another-short-name"),
        pytest.param("micro_f1=0.9", MIN, 0.9, True, id="an-underscore-for-the-dot"),
        pytest.param("macro_f1_by_attribute=0.3", MIN, 0.1 + 0.2, True, id="top-level"),
        pytest.param("attributes.total.recall=0.95", MIN, 0.95, True, id="an-attribute"),
        pytest.param("attributes.total.net.recall=0.5", MIN, 0.5, True, id="longest-name-first"),
        pytest.param(
            "attributes.total.recall.recall=0.2", MIN, 0.25, True, id="a-name-like-a-rate"
        ),
        pytest.param("attributes.items[].a.recall=1", MIN, 1.0, True, id="a-list's-attribute"),
        pytest.param("attributes.total.net.errors_by_type.omission=1", MAX, 0, True, id="a-count"),
        pytest.param(
            "attributes.total.errors_by_type.omission=1",
            MAX,
            7,
            False,
            id="of-two-readings-the-longer-attribute",
        ),
        pytest.param("cases.total=3", MIN, 3, True, id="a-number-of-cases"),
    ],
)
def test_a_gate(text, kind, value, passed):
    result = check_gate(parse_gate(text, kind), SUMMARY)
    assert (result.value, result.passed) == (value, passed)


def test_a_figure_is_not_failed_for_a_rounding_error():
    almost = {"mean_score": 0.8999999999999999}
    assert check_gate(Gate(name="mean_score", limit=0.9), almost).passed
    slightly_more = {"mean_score": 0.05000000000000001}
    assert check_gate(Gate(name="mean_score", limit=0.05, kind=MAX), slightly_more).passed


@pytest.mark.parametrize("kind", GateKind)
def test_an_undefined_figure_fails_and_says_so(kind):
    result = check_gate(Gate(name="micro.recall", limit=0.5, kind=kind), SUMMARY)
    assert result == GateResult(
        name="micro.recall", kind=kind, limit=0.5, value=None, passed=False, note="undefined"
    )


def test_a_defined_figure_needs_no_note():
    (result,) = check_gates([Gate(name="micro.f1", limit=0.5)], SUMMARY)
    assert (result.note, result.known) == ("", True)


@pytest.mark.parametrize(
    ("name", "guess"),
    [
        pytest.param("halucination", "hallucination", id="a-short-name"),
        pytest.param("attributes.totl.recall", "attributes.total.recall", id="an-attribute"),
        pytest.param("micro", "micro", id="a-group-is-no-figure"),
        pytest.param("convention.version", None, id="the-convention-is-no-figure"),
        pytest.param("quality.flags.safety", None, id="a-flag-is-no-figure"),
        pytest.param("macro.by_case.vacuous", None, id="a-yes-or-no-is-no-figure"),
    ],
)
def test_an_unknown_figure_is_refused_with_the_nearest(name, guess):
    question = "$" if guess is None else f". Did you mean .*{guess}"
    with pytest.raises(OptionError, match=f"unknown figure '{name}'{question}"):
        check_gate(Gate(name=name, limit=0.5), SUMMARY)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("micro.f1", "not of the form name=limit", id="no-limit"),
        pytest.param("micro.f1=high", "'high' in 'micro.f1=high' is no number", id="no-number"),
        pytest.param("micro.f1=nan", "must be a finite number", id="not-finite"),
        pytest.param("=0.5", "needs the name of a figure", id="no-name"),
    ],
)
def test_a_gate_that_cannot_be_read_is_refused(text, message):
    with pytest.raises(OptionError, match=message):
        parse_gate(text, MIN)


def test_a_name_may_hold_an_equals_sign():
    assert parse_gate("attributes.a=b.f1=0.5", MIN).name == "attributes.a=b.f1"


def test_a_gate_can_stand_on_an_evaluator():
    said = {"evaluators": {"house.rule": {"mean_score": 0.4}}}
    gate = Gate(name="evaluators.house.rule.mean_score", limit=0.5, kind=GateKind.MAX)
    assert check_gate(gate, said).passed


PAIR = [({"total": 5}, {"total": 5})]


@pytest.mark.parametrize(
    "figure", ["macro_f1_by_attribute", "macro_f1_by_case", "mean_score", "micro.f1", "rqs"]
)
@pytest.mark.parametrize(
    "asked",
    [
        pytest.param({"rules": {"scope": "configured", "fields": [{"path": "totl"}]}}, id="typo"),
        pytest.param({"match": "ignore"}, id="everything-ignored"),
    ],
)
def test_a_perfect_figure_over_nothing_passes_no_gate(asked, figure):
    run = fm.score(PAIR, at_least={figure: 0.5}, **asked)
    assert not run.passed
    assert run.summary.gates[0].note in ("nothing was scored", "undefined")


def test_a_run_that_scored_something_passes():
    assert fm.score(PAIR, at_least={"macro_f1_by_attribute": 1, "mean_score": 1}).passed


def test_only_configured_fields_and_none_configured_is_refused():
    with pytest.raises(fm.FieldmarkError, match="there are none"):
        fm.score(PAIR, scope="configured")


def test_the_stamp_says_what_was_used():
    options = fm.score(PAIR, scope="truth", match="fuzzy", align="index").summary.convention.options
    assert (options["scope"], options["comparator"], options["aligner"]) == (
        "truth",
        "fuzzy",
        "index",
    )


def test_a_case_scores_by_attribute_whatever_places_rules_name():
    expected = {"rows": [{"a": 1}, {"a": 2}, {"a": 3}]}
    candidate = {"rows": [{"a": 1}, {"a": 2}, {"a": 4}]}
    rules = {"rows[0].a": {"match": "exact", "weight": 2}, "rows": {"align": "index"}}
    assert fm.compare(expected, candidate, rules=rules).score == pytest.approx(2 / 3)
