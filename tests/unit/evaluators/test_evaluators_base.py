"""What all evaluators have in common, and the state that they reuse between cases."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from evaluator_fields import fields

from fieldmark.evaluators.base import Score, Status
from fieldmark.evaluators.constraints import Constraints
from fieldmark.evaluators.detection_ap import DetectionAp
from fieldmark.evaluators.field_evaluators import (
    ExtractionMetrics,
    FieldAccuracy,
    FieldConfusion,
    ResponseQuality,
)
from fieldmark.evaluators.geometry import CoordinateDistance, IouScore
from fieldmark.evaluators.json_schema import JsonSchema
from fieldmark.evaluators.line_items import LineItems
from fieldmark.model.case import Case, CaseInput, Verdict
from fieldmark.model.json import MISSING
from fieldmark.plan import compile_plan

PASS, PARTIAL, FAIL = Verdict
OPTIONAL = {"path": "notes", "required": False}
BOX = [10, 10, 30, 30]


@pytest.mark.parametrize(
    ("evaluator", "expected", "misses"),
    [
        pytest.param(FieldAccuracy(fields=fields("a", OPTIONAL, "empty")), {"a": 1, "notes": "x", "empty": None}, ["a ({})", "notes ({})"], id="field-accuracy-also-of-optional-fields"),
        pytest.param(FieldAccuracy(fields=fields("a")), {"a": None}, ["$ ({})"], id="field-accuracy-without-expected-values"),
        pytest.param(FieldConfusion(fields=fields("a", "b")), {"a": 1, "b": None}, ["a ({})"], id="field-confusion"),
        pytest.param(LineItems(), {"line_items": ["a"]}, ["line_items[0] ({})"], id="line-items"),
        pytest.param(LineItems(), {"line_items": []}, ["$ ({})"], id="line-items-without-items"),
        pytest.param(ResponseQuality(), {"a": 1}, ["a ({})"], id="response-quality"),
        pytest.param(JsonSchema(schema=True), None, ["$: {}"], id="json-schema"),
        pytest.param(Constraints(rules=("a > 1", "b > 1")), {}, ["a > 1: {}", "b > 1: {}"], id="constraints"),
        pytest.param(IouScore(), BOX, ["$ ({})"], id="iou"),
        pytest.param(DetectionAp(), {}, ["$ ({})"], id="detections"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    ("candidate", "unreadable", "reason"),
    [
        pytest.param(MISSING, False, "no candidate", id="missing"),
        pytest.param(MISSING, True, "candidate is not JSON", id="unreadable"),
        pytest.param({"a": 1}, True, "candidate is not JSON", id="unreadable-with-document"),
    ],
)
def test_unreadable_candidate_fails(evaluator, expected, misses, candidate, unreadable, reason):
    result = evaluator.evaluate(expected, candidate, unreadable=unreadable)
    assert (result.score, result.verdict, result.vacuous) == (0.0, FAIL, False)
    assert (result.status, result.hits) == (Status.OK, ())
    assert list(result.misses) == [miss.format(reason) for miss in misses]


@pytest.mark.parametrize(
    "evaluator",
    [
        FieldAccuracy(fields=fields("a..b")),
        FieldConfusion(fields=fields("a..b")),
        LineItems(path="a..b"),
        IouScore(path="a..b"),
    ],
    ids=lambda each: each.name,
)
def test_malformed_path_is_a_miss(evaluator):
    result = evaluator.evaluate({"a": {"b": 1}}, {"a": {"b": 1}})
    assert (result.score, result.misses) == (0.0, ("a..b (invalid path)",))


@pytest.mark.parametrize("evaluator", [FieldAccuracy, FieldConfusion])
def test_malformed_path_of_an_optional_field_is_skipped(evaluator):
    rules = fields("a", {"path": "a..b", "required": False})
    result = evaluator(fields=rules).evaluate({"a": 1}, {"a": 1})
    assert (result.score, result.misses, result.skipped) == (1.0, (), ("a..b (invalid path)",))


HALF = {"a": 1, "b": 2}, {"a": 1, "b": 3}
LISTS = {"line_items": ["a", "b"]}, {"line_items": ["a"]}


@pytest.mark.parametrize(
    ("evaluator", "options", "documents", "score", "verdict"),
    [
        pytest.param(FieldAccuracy, {"fields": fields("a", "b")}, HALF, 0.5, PARTIAL, id="field-accuracy"),
        pytest.param(FieldConfusion, {"fields": fields("a", "b")}, HALF, 0.5, PARTIAL, id="field-confusion"),
        pytest.param(LineItems, {"aggregation": "similarity"}, LISTS, 0.5, PARTIAL, id="line-items"),
        pytest.param(Constraints, {"rules": ("a == 1", "b == 2")}, HALF, 0.5, PARTIAL, id="constraints"),
        pytest.param(ResponseQuality, {"pass_threshold": None}, HALF, 0.625, PARTIAL, id="response-quality"),
        pytest.param(IouScore, {}, (BOX, [10, 10, 30, 18]), 0.4, FAIL, id="iou-from-0.5"),
        pytest.param(CoordinateDistance, {}, ([0, 0], [3, 4]), 1 / 6, FAIL, id="distance-from-0.8"),
        pytest.param(JsonSchema, {"schema": False}, HALF, 0.0, FAIL, id="json-schema"),
    ],
)  # fmt: skip
def test_pass_threshold_decides_the_verdict(evaluator, options, documents, score, verdict):
    result = evaluator(**options).evaluate(*documents)
    assert (result.score, result.verdict) == (pytest.approx(score), verdict)
    for threshold, decided in ((result.score, PASS), (result.score + 0.01, FAIL)):
        limited = evaluator(**{**options, "pass_threshold": threshold})
        assert limited.evaluate(*documents).verdict is decided


# --- state that is reused between cases -----------------------------------------------------------

RULES = fields("a", {"path": "b", "weight": 2})
OUTCOME_EVALUATORS = [
    FieldAccuracy(fields=RULES),
    FieldConfusion(fields=RULES),
    LineItems(path="a"),
    ExtractionMetrics(),
    ResponseQuality(),
]
OTHERS = [
    JsonSchema(schema={"type": "object", "required": ["b"], "properties": {"a": {"minimum": 1}}}),
    Constraints(rules=("a > 0", "b matches '[a-z]+'")),
    IouScore(path="a"),
]
PAIRS = [
    ({"a": 1, "b": 2}, {"a": 1, "b": 3}),
    ({"z": {"y": 1}, "a": [{"description": "x"}]}, {"a": [{"description": "x", "k": 1}]}),
    ({"b": None}, {"a": 4, "q": [1, 2]}),
]

evaluators = pytest.mark.parametrize(
    "evaluator", [*OUTCOME_EVALUATORS, *OTHERS], ids=lambda each: each.name
)


@evaluators
def test_result_does_not_depend_on_earlier_cases(evaluator):
    fresh = [replace(evaluator).evaluate(*pair) for pair in PAIRS]
    used = replace(evaluator)
    for order in (PAIRS, PAIRS[::-1], PAIRS):
        again = {id(pair): used.evaluate(*pair) for pair in order}
        assert [again[id(pair)] for pair in PAIRS] == fresh


@evaluators
def test_evaluator_is_thread_safe(evaluator):
    alone = [replace(evaluator).evaluate(*pair) for pair in PAIRS] * 40
    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(lambda pair: evaluator.evaluate(*pair), PAIRS * 40))
    assert together == alone


@evaluators
def test_evaluator_can_be_pickled(evaluator):
    evaluator.evaluate(*PAIRS[0])
    sent = pickle.loads(pickle.dumps(evaluator))  # noqa: S301 - our own bytes
    assert sent == evaluator
    assert sent.evaluate(*PAIRS[1]) == evaluator.evaluate(*PAIRS[1])
    if evaluator in OUTCOME_EVALUATORS:
        assert hash(sent) == hash(evaluator)


@pytest.mark.parametrize("evaluator", [each for each in OUTCOME_EVALUATORS if each.rules])
@pytest.mark.parametrize("candidate", [*(pair[1] for pair in PAIRS), MISSING], ids=range(4))
def test_outcomes_of_the_same_rules_can_be_scored_directly(evaluator, candidate):
    state = CaseInput.MISSING if candidate is MISSING else CaseInput.OK
    plan = compile_plan(evaluator.rules)
    for expected, _ in PAIRS:
        case = Case("id", expected, candidate, state)
        outcomes = plan.compare(expected, candidate)
        assert evaluator.score_outcomes(outcomes, plan.table, case) == evaluator.evaluate(
            expected, candidate
        )


@pytest.mark.parametrize(
    ("score", "failing"),
    [
        pytest.param(Score(score=0.2, verdict=Verdict.PASS), False, id="passes-with-a-low-score"),
        pytest.param(Score(score=0.0, verdict=Verdict.PASS), True, id="passes-with-score-0"),
        pytest.param(Score(score=0.9, verdict=Verdict.PARTIAL), True, id="partial"),
        pytest.param(Score(score=1.0, verdict=Verdict.FAIL), True, id="fails-with-score-1"),
        pytest.param(Score(score=0.0, verdict=Verdict.PASS, vacuous=True), False, id="vacuous"),
        pytest.param(Score(score=0.0, verdict=Verdict.FAIL, vacuous=True), True, id="vacuous-fail"),
        pytest.param(Score.error("down"), False, id="error"),
    ],
)
def test_score_that_fails_a_candidate(score, failing):
    assert score.failing is failing
